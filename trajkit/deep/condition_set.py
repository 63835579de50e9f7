"""The conditioning set: whose trajectories condition what is generated, their private vectors, and how often they were released."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trajkit.deep import attributes
from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.condition_inputs import source_columns
from trajkit.deep.conditioning import Privatised, bounded
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.geo import project
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.accounting import delta_for
from trajkit.seeds import child_seed, rng
from trajkit.trajectories import Trajectories

LINEUP = 100  # the own condition and this many less one others stand beside each released trajectory

Encode = Callable[[Tensor], Tensor]


def split_conditions(
    train: Trajectories, test: Trajectories | None, config: ConditionConfig, *, seed: int
) -> tuple[Trajectories, Trajectories | None]:
    """(training set, conditioning set). Which trajectory is held out is a seeded draw that looks at none of them.

    Raises ParameterError where the test set is asked for and not there, DataContractError where a set is too small.
    """
    if not config.is_conditional:
        return train, None
    if config.drawn_from == "test":
        if test is None:
            raise ParameterError("condition.drawn_from is test, but no test set was given: pass fit(train, test=...)")
        both = np.intersect1d(train.traj_ids, test.traj_ids)
        if len(both):
            raise DataContractError(
                f"condition.drawn_from is test, but {len(both)} of its trajectories are training trajectories too: give a "
                "disjoint test set, or use drawn_from: training"
            )
        return train, _some(test, config.size or len(test), seed)
    if config.drawn_from == "training":
        return train, _some(train, config.size or len(train), seed)
    size = config.size or max(2, len(train) // 10)
    if size >= len(train):
        raise DataContractError(
            f"condition.size is {size}, but {train.meta.dataset} has {len(train)} trajectories in training: hold out fewer"
        )
    held = np.zeros(len(train), dtype=bool)
    held[_draw(len(train), size, seed)] = True
    return train.take(~held), train.take(held)


def _some(trajs: Trajectories, size: int, seed: int) -> Trajectories:
    if not 2 <= size <= len(trajs):
        raise DataContractError(
            f"condition.size is {size}, but the set to draw from has {len(trajs)} trajectories (and 2 are needed): lower it"
        )
    return trajs if size == len(trajs) else trajs.take(np.sort(_draw(len(trajs), size, seed)))


def _draw(n: int, size: int, seed: int) -> np.ndarray:
    return rng(seed, "split", "conditions").permutation(n)[:size]


@dataclass(frozen=True)
class Drawn:
    """Vectors [n, …] for n trajectories, the conditioning trajectory behind each, and how well a mechanism kept their direction."""

    vectors: Tensor
    index: np.ndarray
    cosine: float | None = None
    predicted: float | None = None


class ConditioningSet:
    """``size`` trajectories whose (private) vectors condition what is generated; counts the releases of each of them.

    With ``redraw`` every generated trajectory has noise of its own: n trajectories are ceil(n / size) releases of every
    record. Without it one private vector a record is made here and used for everything, which is one release.
    ``stream`` names the run in the seed of the noise: runs that share it could be compared to find what stands behind the noise.
    """

    def __init__(
        self,
        config: ConditionConfig,
        trajs: Trajectories,
        records: Tensor,
        *,
        redraw: bool,
        seed: int,
        noise: str,
        half_box: float,
        stream: str = "",
    ) -> None:
        self.config, self.trajs, self.redraw, self.seed, self.noise = config, trajs, redraw, seed, noise
        self.stream = stream
        packed = source_columns(config, trajs)
        self.source = records.flatten(1) / half_box if packed is None else packed
        self.delta = config.delta
        if config.mechanism == "gaussian" and self.delta is None:
            self.delta = delta_for(len(trajs))
        self.private = Privatised.of(config, delta=self.delta)
        self._pool: Drawn | None = None
        self._released: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.trajs)

    @property
    def releases(self) -> int:
        """How often the mechanism has been applied to each record for what has left, at least once."""
        return max(1, sum(self._released.values())) if self.redraw else 1

    def draw(self, n: int, *, seed: int, encode: Encode) -> Drawn:
        """Return the vectors for ``n`` trajectories: every record once before any is taken again.

        ``encode`` compresses sources [m, inputs]. The same ``n`` and ``seed`` give the same bytes, which is no further release,
        unless the noise comes from the operating system.
        """
        times = math.ceil(n / len(self))
        index = np.concatenate([rng(seed, "sampling", "conditions", k).permutation(len(self)) for k in range(times)])[
            :n
        ]
        if not self.redraw or not self.config.is_private:
            pool = self.pool(encode)
            return replace(pool, vectors=pool.vectors[torch.from_numpy(index)], index=index)
        key = (n, len(self._released) if self.noise == "os" else seed)
        if key not in self._released:
            self._refuse_beyond(sum(self._released.values()) + times)
            self._released[key] = times
        # another n is another release, and its noise must have nothing in common with this one's
        return self._vectors(index, encode, self._rng(seed, n))

    def _refuse_beyond(self, releases: int) -> None:
        if releases * (self.delta or 0.0) >= 1:
            raise PrivacyAccountingError(
                f"{releases} releases of the conditioning set at delta {self.delta:.2g} each promise nothing: release fewer "
                "trajectories, make condition.size larger or condition.delta smaller, or set condition.redraw: false"
            )

    def pool(self, encode: Encode) -> Drawn:
        """One vector for each record, made once."""
        if self._pool is None:
            self._pool = self._vectors(np.arange(len(self)), encode, self._rng(self.seed, len(self)))
        return self._pool

    def keep(self, vectors: Tensor) -> None:
        """Use these vectors, those of a checkpoint where a training was resumed: made again they would be another release."""
        if self._pool is None or not torch.equal(self._pool.vectors, vectors):
            self._pool = Drawn(vectors, np.arange(len(self)))

    def _rng(self, seed: int, n: int) -> np.random.Generator:
        if self.noise == "os":
            return np.random.default_rng()
        return np.random.default_rng(child_seed(seed, "noise", "condition", self.stream, n))

    @torch.no_grad()
    def _vectors(self, index: np.ndarray, encode: Encode, noise: np.random.Generator) -> Drawn:
        source = self.source[torch.from_numpy(index)]
        rows = torch.cat([encode(part) for part in source.split(4096)])
        if self.private is None:
            return Drawn(rows, index)
        c = self.config
        if not bool(torch.isfinite(rows).all()):
            raise DataContractError(
                "the compressed conditions are not finite numbers: lower learning_rate and train again"
            )
        exact = bounded(rows.double(), norm=c.norm, order=c.order, how="clip").numpy()
        made = self.private.randomise(exact, noise)
        some = exact[: 200 if c.mechanism == "laplace" else None]
        return Drawn(
            torch.from_numpy(made.astype(np.float32)), index, _cosine(exact, made), self.private.expected_cosine(some)
        )

    def leak(self, released: Trajectories, index: np.ndarray, *, seed: int) -> dict[str, float] | None:
        """How near each released trajectory lies to its own conditioning trajectory, among others of the set.

        ``ratio``: median of (distance to its own / median distance to the others); 1 gives nothing away. ``found``: share whose
        own is the nearest of all, by chance ``chance``. Distances are means over positions, in metres. None for a set of one.
        """
        distinct, place = np.unique(index, return_inverse=True)
        others = min(LINEUP, len(distinct)) - 1
        if others < 1:
            return None
        length, meta = int(released.lengths[0]), released.meta
        real = project(to_fixed_length(self.trajs, length=length).reshape(-1, 2), meta.crs).reshape(
            len(self), length, 2
        )
        out = released.xy.reshape(len(released), length, 2)
        shifts = 1 + rng(seed, "metrics", "leak").permutation(len(distinct) - 1)[:others]
        own = np.linalg.norm(out - real[index], axis=2).mean(axis=1)
        away = np.column_stack(
            [np.linalg.norm(out - real[distinct[(place + k) % len(distinct)]], axis=2).mean(axis=1) for k in shifts]
        )
        return {
            "ratio": float(np.median(own / np.median(away, axis=1))),
            "found": float((own < away.min(axis=1)).mean()),
            "chance": 1 / (others + 1),
        }


def public_vectors(config: ConditionConfig, n: int) -> Tensor:
    """Vectors [n, …] such as conditions have, that belong to nobody: what a model makes of them gives nothing away."""
    draws = torch.Generator().manual_seed(0)
    if config.compresses:
        return bounded(torch.randn(n, config.d_out, generator=draws), norm=config.norm, order=2, how="scale")
    made = torch.rand(n, len(attributes.NAMES), generator=draws) * 2 - 1
    for column, size in zip(attributes.IDS, (attributes.SLOTS, attributes.CELLS, attributes.CELLS), strict=True):
        made[:, column] = torch.randint(size, (n,), generator=draws).float()
    return made


def _cosine(rows: np.ndarray, made: np.ndarray) -> float:
    sizes = np.linalg.norm(rows, axis=1) * np.linalg.norm(made, axis=1)
    return float(np.divide((rows * made).sum(axis=1), sizes, out=np.zeros(len(rows)), where=sizes > 0).mean())


def facts(conditions: ConditioningSet) -> dict[str, Any]:
    """Lines of a report that no record shaped."""
    c = conditions.config
    return {
        "type": c.name,
        "mechanism": c.mechanism,
        "drawn from": c.drawn_from,
        "size": len(conditions),
        "epsilon of one release": c.epsilon,
        "delta of one release": conditions.delta if c.is_private else None,
        "releases": conditions.releases if c.is_private else None,
        "d_out": c.d_out if c.compresses else None,
        "norm": c.norm if c.compresses else None,
    }
