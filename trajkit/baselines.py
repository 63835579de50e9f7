"""Reference methods that every table shows: `RealData` is the floor of each metric, `Uniform` and `StraightLines` the ceilings.

`Cloud` is what a diffusion model samples from before it has learned anything: what does not beat it has learned nothing.

They run through the same path as any other method, so floor and ceiling have the same number and length of trajectories.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from pydantic import Field

from trajkit import geo, seeds
from trajkit.errors import DataContractError
from trajkit.methods import MethodConfig, count_asked, fitted_attribute
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee, Part, no_guarantee
from trajkit.release import Release
from trajkit.trajectories import Meta, Trajectories


class LengthConfig(MethodConfig):
    """Points of each released trajectory (a public number)."""

    length: int = Field(64, ge=2)


class StraightConfig(LengthConfig):
    """``cap_m``: longest line in metres (a public number, about a long trip of the data set)."""

    cap_m: float = Field(10_000.0, gt=0)


class RealData:
    """Publishes real training trajectories, resampled to ``length``: the floor that sampling alone leaves. Not private."""

    Config = LengthConfig
    TEMPLATE = "method-uniform"

    def __init__(self, config: LengthConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> RealData:
        """Keep the training set. Raises DataContractError where it breaks the contract."""
        self.train_ = train.check()
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` training trajectories drawn without replacement (``origin_``: which). Raises DataContractError where there are fewer."""
        train: Trajectories = fitted_attribute(self, "train_")
        n = count_asked(n)
        if n > len(train):
            raise DataContractError(
                f"{n} real trajectories were asked for, but {train.meta.dataset} has {len(train)} in training: release at most as many"
            )
        index = seeds.rng(seed, "sampling", "real").choice(len(train), size=n, replace=False)
        lonlat = to_fixed_length(train.take(index), length=self.config.length)
        self.origin_ = index
        return Release(
            Trajectories.from_fixed(train.meta.box.clip(lonlat), meta=public_meta(train.meta)),
            no_guarantee("publishes real trajectories"),
        )


class _Blind:
    """What the baselines share that know nothing about the data."""

    Config: type[LengthConfig] = LengthConfig
    TEMPLATE = "method-uniform"

    def __init__(self, config: LengthConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> Self:
        """Keep what is public about the training set; no record is read."""
        self.meta_ = public_meta(train.meta)
        return self


class Uniform(_Blind):
    """Independent uniform points in the public box. The point-level ceiling."""

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trajectories of ``length`` points (in degrees), those beyond the box moved onto its border."""
        meta: Meta = fitted_attribute(self, "meta_")
        lonlat = meta.box.clip(meta.box.from_unit(self._unit((count_asked(n), self.config.length, 2), seed)))
        return Release(Trajectories.from_fixed(lonlat, meta=meta), _blind("length is public"))

    def _unit(self, shape: tuple[int, ...], seed: int) -> np.ndarray:
        """Points on the scale where the box is [-1, 1]."""
        return seeds.rng(seed, "sampling", "uniform").uniform(-1, 1, shape)


class Cloud(Uniform):
    """Independent normal points about the middle of the public box, a third of half the box wide."""

    def _unit(self, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return seeds.rng(seed, "sampling", "cloud").normal(0, 1 / 3, shape)


class StraightLines(_Blind):
    """Straight lines between uniform ends, shortened to ``cap_m``. The trajectory-level ceiling."""

    Config = StraightConfig
    config: StraightConfig

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` lines of ``length`` equally spaced points (straight in degrees; capped to within 0.1 % of ``cap_m``)."""
        meta: Meta = fitted_attribute(self, "meta_")
        unit = seeds.rng(seed, "sampling", "straight").uniform(-1, 1, (count_asked(n), 2, 2))
        start, end = np.moveaxis(meta.box.from_unit(unit), 1, 0)
        share = np.minimum(1.0, self.config.cap_m / np.maximum(geo.haversine_m(start, end), 1e-9))
        along = np.linspace(0.0, 1.0, self.config.length)[None, :, None] * share[:, None, None]
        lonlat = meta.box.clip(start[:, None] + along * (end - start)[:, None])
        return Release(Trajectories.from_fixed(lonlat, meta=meta), _blind("length and cap_m are public"))


def public_meta(meta: Meta) -> Meta:
    """Drop the preprocessing record: its counts come from private records."""
    return replace(meta, steps=())


def _blind(assumption: str) -> Guarantee:
    mechanism = "does not look at the data"
    return Guarantee(
        holds=True,
        kind="dp",
        epsilon=0.0,
        delta=0.0,
        unit="trajectory",
        adjacency="add-remove",
        mechanism=mechanism,
        accountant="none needed",
        parts=(Part("training set", mechanism, 0.0, 0.0, {}),),
        numerics="exact",
        assumptions=("the box is public", assumption, "the number of released trajectories is public"),
    )
