"""What may be released: one signature a class, and the trajectories that stand in it, whole ones here, parts in `segments`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.anonymize.signatures import Classes, Signatures, merged
from trajkit.anonymize.tessellation import Tessellation
from trajkit.anonymize.time_bins import TimeBins
from trajkit.trajectories import Trajectories


@dataclass(frozen=True)
class Groups:
    """R rows to release in c classes. ``signatures``: one for each class. int64 [R]: class ``of`` each row, trajectory that is its
    ``origin``, and the ``points`` of the input that it stands for.
    """

    signatures: Signatures
    of: np.ndarray
    origin: np.ndarray
    points: np.ndarray

    def released_points(self, n: int) -> np.ndarray:
        """int64 [n]: points released of each of the n trajectories of the input."""
        return np.bincount(self.origin, weights=self.points, minlength=n).astype(np.int64)


def whole(
    trajs: Trajectories, cells: Tessellation, bins: TimeBins, found: Classes, *, k: int, min_labels: int
) -> Groups:
    """Whole trajectories: those of classes of at least ``k`` persons whose signature has at least ``min_labels`` labels."""
    many = np.flatnonzero(found.users >= k)
    sig, _ = merged(trajs, cells, bins, found.first[many])
    long = np.diff(sig.offsets) >= min_labels
    number = np.full(len(found), -1, dtype=np.int64)
    number[many[long]] = np.arange(long.sum())
    of = number[found.of]
    origin = np.flatnonzero(of >= 0)
    return Groups(sig.take(np.flatnonzero(long)), of[origin], origin, trajs.lengths[origin])
