"""Signatures: the one canonical form in which trajectories are grouped, audited, attacked and emitted.

A signature is the sequence of (cell, time bin) of a trajectory with consecutive repeats merged, so that the sampling rate leaves no
mark; returns (A, B, A) stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.anonymize.tessellation import Tessellation
from trajkit.anonymize.time_bins import TimeBins
from trajkit.trajectories import Trajectories, concatenate_offsets


@dataclass(frozen=True)
class Signatures:
    """Signatures of n trajectories with M labels in all: ``cells``, ``bins`` int64 [M], ``offsets`` int64 [n + 1]."""

    cells: np.ndarray
    bins: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1


def signatures(trajs: Trajectories, cells: Tessellation, bins: TimeBins) -> Signatures:
    """The signature of each trajectory."""
    c, b = cells.cell_of(trajs.xy), bins.bin_of(trajs.t, trajs.n_points)
    same = np.append(False, (c[1:] == c[:-1]) & (b[1:] == b[:-1]) & (np.diff(trajs.traj_of_point) == 0))[: len(c)]
    lengths = np.bincount(trajs.traj_of_point[~same], minlength=len(trajs))
    return Signatures(c[~same], b[~same], concatenate_offsets(lengths))


@dataclass(frozen=True)
class Classes:
    """Equivalence classes of signatures: ``of`` int64 [n] class of each trajectory; int64 [c]: its ``trajectories``, distinct ``users``."""

    of: np.ndarray
    trajectories: np.ndarray
    users: np.ndarray
