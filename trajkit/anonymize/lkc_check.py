"""Whether sequences obey LKC-privacy, counted afresh: shares nothing with the search that is to bring it about.

Subsequences grow by one label at a time, each sequence keeping the leftmost occurrence of each of its subsequences; that is enough to
tell what it contains.
"""

from __future__ import annotations

import numpy as np


def violations(
    label: np.ndarray, offsets: np.ndarray, person: np.ndarray, *, k: int, known: int, confidence: float = 1.0,
    sensitive: np.ndarray | None = None,
) -> list[int]:  # fmt: skip
    """Number of violating subsequences of each length 1..known: of fewer than ``k`` distinct persons, or, where ``sensitive`` [n] is given,
    with a value that more than ``confidence`` of them have. ``label`` int64 [M], ``offsets`` int64 [n + 1], ``person`` int64 [n].
    """
    dense, person = (np.unique(a, return_inverse=True)[1].ravel() for a in (label, person))
    value = np.zeros(len(person), dtype=np.int64)
    if sensitive is not None:
        value = np.unique(sensitive, return_inverse=True)[1].ravel()
    record = np.flatnonzero(np.diff(offsets))
    begin, q = offsets[record], np.zeros(len(record), dtype=np.int64)
    found = []
    for _ in range(known):
        record, begin, q = _longer(dense, offsets, record, begin, q)
        limit = confidence if sensitive is not None else 1.0
        found.append(int(_broken(q, person[record], value[record], k, limit).sum()))
    return found


def _longer(
    label: np.ndarray, offsets: np.ndarray, record: np.ndarray, begin: np.ndarray, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One label more: rows (record, where the rest of it begins, subsequence) from such rows, one for each different subsequence."""
    rest = offsets[record + 1] - begin
    row = np.repeat(np.arange(len(record)), rest)
    at = np.arange(len(row)) - np.repeat(np.cumsum(rest) - rest, rest) + begin[row]
    longer = (
        np.unique(np.column_stack([q[row], label[at]]), axis=0, return_inverse=True)[1].ravel() if len(row) else row
    )
    order = np.lexsort([at, longer, record[row]])
    record, longer, at = record[row][order], longer[order], at[order]
    first = np.append(True, (np.diff(record) != 0) | (np.diff(longer) != 0))[: len(record)]
    return record[first], at[first] + 1, longer[first]


def _broken(q: np.ndarray, person: np.ndarray, value: np.ndarray, k: int, confidence: float) -> np.ndarray:
    """bool, one for each subsequence."""
    if not len(q):
        return np.zeros(0, dtype=bool)
    persons = np.bincount(np.unique(np.column_stack([q, person]), axis=0)[:, 0])
    with_value = np.unique(np.column_stack([q, value, person]), axis=0)[:, :2]
    pairs, number = np.unique(with_value, axis=0, return_counts=True)
    most = np.zeros(len(persons), dtype=np.int64)
    np.maximum.at(most, pairs[:, 0], number)
    return (persons < k) | ((most > confidence * persons + 1e-9) & (confidence < 1))
