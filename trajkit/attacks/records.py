"""Records as sets of labels, coded alike across raw and released data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.anonymize.signatures import Signatures
from trajkit.errors import DataContractError, ParameterError

MOST_LABELS = 2**31 - 1
NOWHERE = -1  # code of a label that no record of the index holds


@dataclass(frozen=True)
class Records:
    """r sets of labels: ``tokens`` int32 [E], each label once in a record, ``offsets`` int64 [r + 1].

    ``where`` int64 [E]: place of each among the labels from which the records were made.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    n_tokens: int
    where: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """int64 [r]: distinct labels of each record."""
        return np.diff(self.offsets)


def coded(*sets: Signatures) -> tuple[list[np.ndarray], int]:
    """Codes int32 of the labels of each set, alike in all of them, and how many codes there are."""
    cells, bins = np.concatenate([s.cells for s in sets]), np.concatenate([s.bins for s in sets])
    if len(cells) > MOST_LABELS:
        raise DataContractError(f"{len(cells)} labels: at most {MOST_LABELS} can be coded, take a sample")
    codes, n = _codes(cells, bins, 1 << max(4, int(2 * len(cells)).bit_length()))
    return np.split(codes, np.cumsum([len(s.cells) for s in sets])[:-1]), int(n)


def records(tokens: np.ndarray, offsets: np.ndarray, group: np.ndarray, n_groups: int, n_tokens: int) -> Records:
    """The set of labels of each group; ``group`` int64 [n] in 0 … n_groups - 1 says to which the trajectories belong."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n_groups + 1))
    where, ends = _sets(tokens, offsets, order, starts, n_tokens)
    return Records(tokens[where], ends, n_tokens, where)


def dense_labels(names: np.ndarray, n: int, what: str) -> tuple[np.ndarray, int]:
    """``names`` [n] as int64 0 … m - 1, and m. Raises ParameterError where their number is not ``n``."""
    names = np.asarray(names)
    if names.shape != (n,):
        raise ParameterError(f"{what} has shape {names.shape}, but there are {n} trajectories: give one name for each")
    found, label = np.unique(names, return_inverse=True)
    return label.astype(np.int64), len(found)


def without_time(labels: Signatures) -> Signatures:
    """The same labels with their time dropped: the projection to space alone."""
    return Signatures(labels.cells, np.zeros_like(labels.bins), labels.offsets)


@njit(cache=True)
def _codes(cells, bins, size):  # pragma: no cover - compiled
    """Codes in order of first appearance, by an open-addressing table of ``size`` (a power of two above the number of labels)."""
    table = np.full(size, -1, dtype=np.int32)
    first = np.empty(len(cells), dtype=np.int32)
    codes = np.empty(len(cells), dtype=np.int32)
    n = 0
    mask = np.uint64(size - 1)
    for i in range(len(cells)):
        h = np.uint64(cells[i]) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(29)) ^ np.uint64(bins[i])) * np.uint64(0xBF58476D1CE4E5B9)
        at = (h ^ (h >> np.uint64(32))) & mask
        while True:
            c = table[at]
            if c < 0:
                table[at] = n
                first[n] = i
                codes[i] = n
                n += 1
                break
            j = first[c]
            if cells[j] == cells[i] and bins[j] == bins[i]:
                codes[i] = c
                break
            at = (at + np.uint64(1)) & mask
    return codes, n


@njit(cache=True)
def _sets(tokens, offsets, order, starts, n_tokens):  # pragma: no cover - compiled
    last = np.full(n_tokens, -1, dtype=np.int64)
    out = np.empty(len(tokens), dtype=np.int64)
    ends = np.zeros(len(starts), dtype=np.int64)
    n = 0
    for r in range(len(starts) - 1):
        for j in range(starts[r], starts[r + 1]):
            for k in range(offsets[order[j]], offsets[order[j] + 1]):
                s = tokens[k]
                if last[s] != r:
                    last[s] = r
                    out[n] = k
                    n += 1
        ends[r + 1] = n
    return out[:n].copy(), ends
