"""Signatures: the one canonical form in which trajectories are grouped, audited, attacked and emitted.

A signature is the sequence of (cell, time bin) of a trajectory with consecutive repeats merged, so that the sampling rate leaves no
mark; returns (A, B, A) stay. Grouping goes by 128-bit digests, computed in one pass over the points without the labels being kept;
`grouped` then compares every member of a class with its first, label by label, so that a collision cannot join two signatures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.tessellation import SquareCells, Tessellation
from trajkit.anonymize.time_bins import TimeBins
from trajkit.errors import DataContractError
from trajkit.local_time import DAY_MS
from trajkit.ragged import concatenate_offsets, ragged_rows
from trajkit.trajectories import Trajectories

KEYS = 8  # other digests to try after a collision; one is expected once in about 2^89 sets of a million trajectories


@dataclass(frozen=True)
class Signatures:
    """Signatures of n trajectories with M labels in all: ``cells``, ``bins`` int64 [M], ``offsets`` int64 [n + 1]."""

    cells: np.ndarray
    bins: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, index: np.ndarray) -> Signatures:
        """The signatures at ``index`` (int64 [m]), in that order."""
        labels, offsets = ragged_rows(self.offsets, index)
        return Signatures(self.cells[labels], self.bins[labels], offsets)


@dataclass(frozen=True)
class Classes:
    """Equivalence classes of signatures: ``of`` int64 [n] class of each trajectory; int64 [c]: its ``trajectories``, distinct ``users``.

    Classes are numbered in the order of their first trajectory.
    """

    of: np.ndarray
    trajectories: np.ndarray
    users: np.ndarray

    def __len__(self) -> int:
        return len(self.trajectories)

    @property
    def first(self) -> np.ndarray:
        """int64 [c]: the first trajectory of each class."""
        out = np.empty(len(self), dtype=np.int64)
        out[self.of[::-1]] = np.arange(len(self.of))[::-1]
        return out

    @property
    def unique_share(self) -> float:
        """Share of TRAJECTORIES (not of classes) whose signature no other trajectory has; 0 for none at all."""
        return int((self.trajectories == 1).sum()) / max(len(self.of), 1)


def signatures(trajs: Trajectories, cells: Tessellation, bins: TimeBins, index: np.ndarray | None = None) -> Signatures:
    """The signature of each trajectory, or of those at ``index`` (int64 [m]) in that order."""
    return merged(trajs, cells, bins, index)[0]


def merged(
    trajs: Trajectories, cells: Tessellation, bins: TimeBins, index: np.ndarray | None = None
) -> tuple[Signatures, np.ndarray]:
    """As `signatures`, and for each label the number of points merged into it, int64 [M]."""
    xy, t, offsets = trajs.xy, trajs.t, trajs.offsets
    if index is not None:
        points, offsets = ragged_rows(trajs.offsets, index)
        xy, t = xy[points], None if t is None else t[points]
    c, b = cells.cell_of(xy), bins.bin_of(t, len(xy))
    first, per = kernels.label_starts(c, b, offsets)
    return Signatures(c[first], b[first], concatenate_offsets(per)), np.diff(np.append(first, len(c)))


def digests(trajs: Trajectories, cells: Tessellation, bins: TimeBins, *, key: int = 0) -> np.ndarray:
    """uint64 [n, 2]: digest of the signature of each trajectory; equal signatures have equal digests. ``key`` gives other digests.

    Raises ParameterError where bins ask for times that the set has not.
    """
    return digests_of(trajs.xy, trajs.t, trajs.offsets, cells, bins, key=key)


def digests_of(
    xy: np.ndarray, t: np.ndarray | None, offsets: np.ndarray, cells: Tessellation, bins: TimeBins, *, key: int = 0
) -> np.ndarray:
    """As `digests`, of points [N, 2] (metres), times [N] (ms UTC) or None, and offsets [n + 1]."""
    if isinstance(cells, SquareCells):
        return kernels.square_digests(xy, offsets, cells.size_m, *binning(t, bins), key)
    return kernels.label_digests(cells.cell_of(xy), bins.bin_of(t, len(xy)), offsets, key)


def classes(digests: np.ndarray, persons: np.ndarray) -> Classes:
    """Classes of equal ``digests`` (uint64 [n, 2]) with their trajectories and distinct ``persons`` (int64 [n], >= 0)."""
    of, n = kernels.group(digests)
    users = kernels.distinct(of, persons, n)
    return Classes(of, np.bincount(of, minlength=n), users)


def grouped(trajs: Trajectories, cells: Tessellation, bins: TimeBins, persons: np.ndarray) -> Classes:
    """Classes of equal signatures, each member compared with the first of its class; another key is tried after a collision."""
    for key in range(KEYS):
        found = classes(digests(trajs, cells, bins, key=key), persons)
        if same_signature(trajs, cells, bins, found.first[found.of]).all():
            return found
    raise DataContractError(f"{KEYS} digests of different signatures agreed: this is no chance; look at the data")


def same_signature(trajs: Trajectories, cells: Tessellation, bins: TimeBins, other: np.ndarray) -> np.ndarray:
    """bool [n]: has each trajectory the same signature as the one at ``other`` (int64 [n])?"""
    if isinstance(cells, SquareCells):
        return kernels.square_same(trajs.xy, trajs.offsets, cells.size_m, *binning(trajs.t, bins), other)
    c, b = cells.cell_of(trajs.xy), bins.bin_of(trajs.t, trajs.n_points)
    return kernels.label_same(c, b, trajs.offsets, other)


def binning(t: np.ndarray | None, bins: TimeBins) -> tuple[np.ndarray, int, int, np.ndarray, np.ndarray]:
    """Times, bin width (0: no times), length of the cycle (0: none), and the shifts of `TimeBins.shifts`, for the kernels."""
    if not bins.width_ms:
        none = np.zeros(0, dtype=np.int64)
        return none, 0, 0, none, none
    t = bins.needed(t)
    return t, bins.width_ms, DAY_MS if bins.of == "clock" else 0, *bins.shifts(t)
