"""Who is a target of a membership attack, and that nobody is on both sides of a split."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trajkit import seeds
from trajkit.anonymize.anonymizer import COPIED
from trajkit.errors import DataContractError, ParameterError
from trajkit.preprocess import original_of
from trajkit.trajectories import Trajectories, concatenate_offsets

Unit = Literal["user", "trajectory"]


def people(trajs: Trajectories, unit: Unit) -> tuple[np.ndarray, int]:
    """(int64 [n], number): the target that each trajectory belongs to.

    A record of at least three fixes that is stored twice is one record: those who share one, and all of theirs, are one target.
    """
    label = trajs.user if unit == "user" else np.arange(len(trajs), dtype=np.int64)
    if not len(trajs):
        return label, 0
    original = np.where(trajs.lengths >= COPIED, original_of(trajs), np.arange(len(trajs)))
    size = int(label.max()) + 1
    links = coo_array((np.ones(len(trajs)), (label, label[original])), shape=(size, size))
    joined = connected_components(links, directed=False)[1][label]
    found, dense = np.unique(joined, return_inverse=True)
    return dense.astype(np.int64), len(found)


def check_apart(inside: Trajectories, outside: Trajectories, unit: Unit) -> None:
    """Raise DataContractError where a person (``unit`` "user"), a trajectory or a copy of one is on both sides."""
    pairs = [("trajectories", inside.traj_ids, outside.traj_ids)]
    if unit == "user":
        pairs.append(("users", *(t.user_ids[np.unique(t.user)] for t in (inside, outside))))
    for what, a, b in pairs:
        both = np.intersect1d(a, b)
        if len(both):
            raise DataContractError(
                f"{len(both)} {what} are on both sides (the first is {both[0]}): split by {unit} first"
            )
    joined = _joined(inside, outside)
    copies = (joined.lengths >= COPIED) & (original_of(joined) < len(inside)) & (np.arange(len(joined)) >= len(inside))
    if copies.any():
        first = outside.traj_ids[int(np.flatnonzero(copies)[0]) - len(inside)]
        raise DataContractError(
            f"{int(copies.sum())} trajectories outside are copies of some inside (the first is {first}): who is outside was trained on "
            "under another name; keep copies together (`membership.people`)"
        )


def set_aside(trajs: Trajectories, share: float, *, unit: Unit, seed: int) -> tuple[Trajectories, Trajectories]:
    """(targets, reference): a ``share`` of the people (or trajectories) drawn into a reference set that no model is trained on.

    Raises ParameterError where one of the two sides would be empty.
    """
    label, n = people(trajs, unit)
    size = round(share * n) if 0 < share < 1 else 0
    if not 0 < size < n:
        raise ParameterError(f"share = {share!r} of {n} targets: both sides need at least one")
    chosen = np.zeros(n, dtype=bool)
    chosen[seeds.rng(seed, "attack", "reference").permutation(n)[:size]] = True
    targets, reference = trajs.take(~chosen[label]), trajs.take(chosen[label])
    check_apart(reference, targets, unit)
    return targets, reference


def _joined(a: Trajectories, b: Trajectories) -> Trajectories:
    """The trajectories of both, nameless."""
    n = len(a) + len(b)
    ids = np.arange(n).astype(str)
    return replace(
        a,
        lonlat=np.concatenate([a.lonlat, b.lonlat]),
        offsets=concatenate_offsets(np.concatenate([a.lengths, b.lengths])),
        t=None if a.t is None or b.t is None else np.concatenate([a.t, b.t]),
        user=np.arange(n, dtype=np.int64), user_ids=ids, traj_ids=ids,
    )  # fmt: skip
