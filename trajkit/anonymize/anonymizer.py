"""What all anonymizers share: their parameters, who counts as a person, ids that say nothing, and their guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trajkit import seeds
from trajkit.anonymize.stay_points import suppress_stays
from trajkit.baselines import public_meta
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.preprocess import DropReport, original_of, split_at_gaps
from trajkit.trajectories import Meta, Trajectories

COPIED = 3
MADE = "made-"  # how ids of trajectories begin that a synthesizer made, in a release that has true ones too
# a table without a column for users gives every trajectory one of its own
WHO = (
    "user ids tell persons apart rightly: where a person has several, or each trajectory its own, k counts those and not people "
    f"(users who share a record of {COPIED} fixes or more, to the millisecond, count as one person)"
)


class AnonymizerConfig(MethodConfig):
    """``k``: how many stand together; ``count``: distinct users (default) or trajectories, of which one person may have many.

    Before anything else, trips are cut at silences of more than ``gap_s`` seconds, and stays of ``stay_s`` seconds within ``stay_m``
    metres are cut out, with what lies ``around_m`` metres about them at ends: those at home-like places (``stays`` "home"), or "all".
    """

    k: int = Field(5, ge=2)
    count: Literal["user", "trajectory"] = "user"
    gap_s: float | None = Field(None, gt=0, allow_inf_nan=False)
    stays: Literal["keep", "home", "all"] = "keep"
    stay_s: float = Field(1200.0, gt=0, allow_inf_nan=False)
    stay_m: float = Field(200.0, gt=0, allow_inf_nan=False)
    around_m: float = Field(300.0, ge=0, allow_inf_nan=False)


class Anonymizer:
    """What marks an anonymizer: it releases all that it may, so ``release`` takes None for the number of trajectories.

    ``origin_``, left by ``release``, is the private map, int64 [r]: from which trajectory of the input each released one was made, -1 for
    those that a synthesizer made of nobody. It is for those who audit the release (`trajkit.attacks`), and never leaves.
    """

    RELEASES_ALL = True
    config: Any  # each has its own AnonymizerConfig
    origin_: np.ndarray
    source_: np.ndarray
    steps_: list[dict[str, Any]]

    def prepared(self, train: Trajectories) -> Trajectories:
        """``train`` cut at silences and without stays, as the parameters say; ``source_``: the trajectory of each part; ``steps_``: reports.

        Raises DataContractError for a set that breaks the contract, ParameterError where silences or stays are asked for and there are no times.
        """
        c: AnonymizerConfig = self.config
        trajs, self.source_, self.steps_ = train.check(), np.arange(len(train)), []
        if trajs.t is None and (c.gap_s is not None or c.stays != "keep"):
            raise ParameterError(
                f"{trajs.meta.dataset} has no times, so gap_s and stays cannot be used: leave both out"
            )
        steps: list[Callable[[Trajectories], tuple[Trajectories, DropReport]]] = []
        if c.gap_s is not None:
            steps.append(partial(split_at_gaps, gap_s=c.gap_s))
        if c.stays != "keep":
            stay = {"radius_m": c.stay_m, "dwell_s": c.stay_s, "which": c.stays, "around_m": c.around_m}
            steps.append(partial(suppress_stays, **stay))  # type: ignore[arg-type]
        for step in steps:
            number = {name: i for i, name in enumerate(trajs.traj_ids.tolist())}
            after, report = step(trajs)
            parent = [number[name.rpartition("_")[0]] for name in after.traj_ids.tolist()]  # parts are named <id>_<k>
            self.source_, trajs = self.source_[np.array(parent, dtype=np.int64)], after
            self.steps_.append(report.as_dict())
        return trajs


def all_of_them(n: int | None) -> None:
    """Raise ParameterError unless ``n`` is None: an anonymizer releases what it may of its input, not a number of one's choice."""
    if n is not None:
        raise ParameterError(f"n = {n!r}: an anonymizer releases all that it may of its input; call release(None)")


def persons(trajs: Trajectories, count: str) -> np.ndarray:
    """int64 [n]: label of who each trajectory counts for.

    A record that is stored twice, fix by fix and to the millisecond, was made once: its users (GeoLife has 821 such groups) count as one
    person, and so do its trajectories. Records of fewer than `COPIED` fixes may coincide, and those without times are not compared.
    """
    label = trajs.user if count == "user" else np.arange(len(trajs), dtype=np.int64)
    if trajs.t is None or not len(trajs):
        return label
    original = np.where(trajs.lengths >= COPIED, original_of(trajs), np.arange(len(trajs)))
    n = int(label.max()) + 1
    links = coo_array((np.ones(len(trajs)), (label, label[original])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1][label], dtype=np.int64)


def published(
    lonlat: np.ndarray, offsets: np.ndarray, t: np.ndarray | None, group: np.ndarray, *, meta: Meta, seed: int
) -> tuple[Trajectories, np.ndarray]:
    """Trajectories to hand over, from points [N, 2] (degrees; moved into the public box) with their ``group`` [n] (class, cluster).

    Order and ids are drawn afresh for every release and come from nothing but ``seed``: ``c<class>-<number in it>``, class numbers being a
    random permutation, never a hash of the content. Every trajectory is its own user, so that no two of a person can be linked by name.
    Also returns the private map, int64 [n]: which of the given trajectories each of them is.
    """
    rng = seeds.rng(seed, "sampling", "ids")
    n = len(group)
    names = rng.permutation(int(group.max()) + 1 if n else 0)[group] if n else group
    order = np.lexsort([rng.random(n), names])
    names = names[order]
    first = np.append(True, names[1:] != names[:-1])[:n]
    number = np.arange(n) - np.maximum.accumulate(np.where(first, np.arange(n), 0)) if n else names
    ids = np.array([f"c{c}-{i}" for c, i in zip(names, number, strict=True)], dtype=str)
    given = Trajectories.generated(meta.box.clip(lonlat), offsets, t=t, meta=public_meta(meta))
    sorted_ = given.take(order)
    return replace(sorted_, user=np.arange(n, dtype=np.int64), user_ids=ids, traj_ids=ids), order
