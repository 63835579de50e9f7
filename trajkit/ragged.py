"""Ragged arrays: rows of different lengths one after another, row i at ``offsets[i]:offsets[i + 1]``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def concatenate_offsets(lengths: np.ndarray) -> np.ndarray:
    """Return int64 offsets [n + 1] for the given lengths [n]."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ragged_rows(offsets: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (int64 [N], offsets int64 [r + 1]): the entries of the rows ``index`` [r] of a ragged array, and where each row begins."""
    counts = offsets[index + 1] - offsets[index]
    begin = concatenate_offsets(counts)
    return np.repeat(offsets[index] - begin[:-1], counts) + np.arange(begin[-1]), begin


def equal_rows(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Return int64 [n], the same number for rows of equal ``values`` [N] or [N, w], from 0 in order of first appearance; and how many."""
    seen: dict[bytes, int] = {}
    of = [seen.setdefault(values[a:b].tobytes(), len(seen)) for a, b in pairwise(offsets)]
    return np.array(of, dtype=np.int64), len(seen)
