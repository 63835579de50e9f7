"""Trajectories on common times: what (k, delta)-anonymity compares. Times, steps and lengths are public numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.anonymize.clock import compared_times
from trajkit.errors import ParameterError
from trajkit.trajectories import Trajectories, concatenate_offsets


@dataclass(frozen=True)
class Aligned:
    """n trajectories on public times, M points in all.

    xy       float64 [M, 2], metres
    offsets  int64 [n + 1]
    t        int64 [M], ms on the compared time line, or None (places along the path)
    kept     int64 [n], their index in the set they come from
    span     int64 [n], label of the time span; those of one span have the same times
    """

    xy: np.ndarray
    offsets: np.ndarray
    t: np.ndarray | None
    kept: np.ndarray
    span: np.ndarray

    def __len__(self) -> int:
        return len(self.kept)


def along_path(trajs: Trajectories, length: int) -> Aligned:
    """``length`` places, equally spaced along each path (the path of one point stays there); all are of one span."""
    n = len(trajs)
    xy = _along(np.ascontiguousarray(trajs.xy), trajs.offsets, length)
    return Aligned(xy, np.arange(n + 1, dtype=np.int64) * length, None, np.arange(n), np.zeros(n, dtype=np.int64))


def on_grid(trajs: Trajectories, *, interval_s: int, span_s: int, of: str) -> Aligned:
    """Places every ``interval_s``, interpolated, from the start, rounded up, to the end, rounded down to a multiple of ``span_s``.

    So sets of trajectories with the same span arise (the preprocessing of NWA, Abul et al. 2008, where the step is called pi). What is
    left shorter than one step is not kept. Raises ParameterError for a set without times.
    """
    if trajs.t is None:
        raise ParameterError(
            f"{trajs.meta.dataset} has no times, which interval_s = {interval_s} needs: set interval_s to null to compare along the path"
        )
    t = compared_times(trajs, of)
    step, pi = interval_s * 1000, span_s * 1000
    start, end = -(-t[trajs.starts] // pi) * pi, t[trajs.ends] // pi * pi
    kept = np.flatnonzero(end > start)
    counts = (end[kept] - start[kept]) // step + 1
    offsets = concatenate_offsets(counts)
    when = np.repeat(start[kept] - offsets[:-1] * step, counts) + np.arange(offsets[-1]) * step
    xy = _interpolated(np.ascontiguousarray(trajs.xy), t, trajs.offsets, kept, when, offsets)
    _, span = np.unique(np.column_stack([start[kept], end[kept]]), axis=0, return_inverse=True)
    return Aligned(xy, offsets, when, kept, span.ravel().astype(np.int64))


@njit(cache=True)
def _interpolated(xy, t, offsets, kept, when, out_offsets):  # pragma: no cover - compiled
    out = np.empty((len(when), 2))
    for i in range(len(kept)):
        p, last = offsets[kept[i]], offsets[kept[i] + 1] - 1
        for q in range(out_offsets[i], out_offsets[i + 1]):
            while p + 1 < last and t[p + 1] <= when[q]:
                p += 1
            b = min(p + 1, last)
            w = (when[q] - t[p]) / (t[b] - t[p]) if b > p else 0.0
            for c in range(2):
                out[q, c] = xy[p, c] * (1 - w) + xy[b, c] * w
    return out


@njit(cache=True)
def _along(xy, offsets, length):  # pragma: no cover - compiled
    n = len(offsets) - 1
    out = np.empty((n * length, 2))
    for i in range(n):
        total = 0.0
        for p in range(offsets[i], offsets[i + 1] - 1):
            total += np.hypot(xy[p + 1, 0] - xy[p, 0], xy[p + 1, 1] - xy[p, 1])
        p, last, before = offsets[i], offsets[i + 1] - 1, 0.0
        for j in range(length):
            goal = total * j / (length - 1)
            b = min(p + 1, last)
            piece = np.hypot(xy[b, 0] - xy[p, 0], xy[b, 1] - xy[p, 1])
            while b < last and before + piece < goal:
                before += piece
                p, b = b, b + 1
                piece = np.hypot(xy[b, 0] - xy[p, 0], xy[b, 1] - xy[p, 1])
            w = min(max((goal - before) / piece, 0.0), 1.0) if piece > 0 else 0.0
            for c in range(2):
                out[i * length + j, c] = xy[p, c] * (1 - w) + xy[b, c] * w
    return out
