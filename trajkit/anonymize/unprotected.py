"""What is often published and protects nobody: real trips under new names, and real trips with noise on every point.

Both stand in a study as contrasts: on these every adversary must succeed, or his failure elsewhere would say nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Self

import numpy as np
from pydantic import Field

from trajkit import seeds
from trajkit.anonymize.anonymizer import all_of_them
from trajkit.anonymize.pseudonyms import fresh
from trajkit.baselines import public_meta
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig, fitted_attribute
from trajkit.preprocess import cut_after
from trajkit.privacy.guarantee import Guarantee, no_guarantee
from trajkit.privacy.planar_laplace import PlanarLaplace
from trajkit.release import Release
from trajkit.trajectories import Trajectories


class PseudonymsConfig(MethodConfig):
    """``names``: one pseudonym for all trips of a "user", drawn afresh for each release, or another for every "trip".

    ``cut_s``: every trip is cut into pieces of so many seconds, each a trip of its own; None: whole.
    """

    names: Literal["user", "trip"] = "user"
    cut_s: float | None = Field(None, gt=0, allow_inf_nan=False)


class PlanarLaplaceConfig(PseudonymsConfig):
    """``mean_m``: how far a printed point lies from the true one on average, metres (epsilon is 2 / mean_m per metre)."""

    mean_m: float = Field(200.0, gt=0, allow_inf_nan=False)


class Pseudonyms:
    """Publishes all real trips as they are, in random order, under new names. ``origin_``: which trip each was. Not private."""

    RELEASES_ALL = True
    Config: type[PseudonymsConfig] = PseudonymsConfig
    TEMPLATE = "method-uniform"

    def __init__(self, config: PseudonymsConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> Self:
        """Keep the training set. Raises DataContractError where it breaks the contract, ParameterError for ``cut_s`` without times."""
        self.train_, self.trip_ = train.check(), np.arange(len(train))
        if self.config.cut_s is not None:
            self.train_, self.trip_ = _pieces(train, self.config.cut_s)
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return every trip (``n`` must be None, else ParameterError)."""
        all_of_them(n)
        train: Trajectories = fitted_attribute(self, "train_")
        order = seeds.rng(seed, "sampling", "order").permutation(len(train))
        self.origin_ = self.trip_[order]
        out = self._changed(train.take(order), seed)
        names = fresh(out.user if self.config.names == "user" else np.arange(len(out)), seed)
        user_ids, user = np.unique(names, return_inverse=True)
        ids = np.array([f"r{i}" for i in range(len(out))], dtype=str)
        out = replace(out, user=user.astype(np.int64), user_ids=user_ids, traj_ids=ids, meta=public_meta(train.meta))
        return Release(out, self._guarantee(out))

    def _changed(self, trajs: Trajectories, seed: int) -> Trajectories:
        return trajs

    def _guarantee(self, out: Trajectories) -> Guarantee:
        return no_guarantee("publishes real trips; a name in place of a person is no anonymity")


def _pieces(trajs: Trajectories, seconds: float) -> tuple[Trajectories, np.ndarray]:
    """Pieces of ``seconds`` since the begin of each trip, and int64 [p] the trip of each."""
    if trajs.t is None:
        raise ParameterError(f"{trajs.meta.dataset} has no times, so trips cannot be cut by cut_s: leave it out")
    since = trajs.t - np.repeat(trajs.t[trajs.starts], trajs.lengths)
    return cut_after(trajs, np.diff(np.floor(since / (1000 * seconds))) != 0)


class PerturbedPoints(Pseudonyms):
    """`Pseudonyms` with planar Laplace noise on each point (`privacy.planar_laplace`); times stay as they are. Not private."""

    Config = PlanarLaplaceConfig
    config: PlanarLaplaceConfig

    @property
    def mechanism(self) -> PlanarLaplace:
        """The noise of a point."""
        return PlanarLaplace(2 / self.config.mean_m)

    def _changed(self, trajs: Trajectories, seed: int) -> Trajectories:
        return self.mechanism.perturbed(trajs, seed=seed)

    def _guarantee(self, out: Trajectories) -> Guarantee:
        return self.mechanism.guarantee(out)
