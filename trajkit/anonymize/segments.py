"""Segment suppression: the longest contiguous parts of signatures that enough persons share, where whole trips are too rare.

The rule. From the longest length down to ``min_labels``: a part of L labels is released where at least ``k`` distinct persons have it
outside of what was released before at a greater length. Within a trajectory, parts of one length are taken from its start on, without
overlap; taking one can cost another its occurrences, so the persons of what was taken are counted again and parts with fewer than k are
given up, until none is left. Equal parts have equal length, so this count is that of the release. What remains is suppressed.

Windows are compared exactly, without digests: a window of L labels is the pair of its first and its last 2^j labels, 2^j < L <= 2^(j+1),
whose numbers are known from length 2^j (prefix doubling of suffix arrays, Karp, Miller and Rosenberg 1972). A window can only be shared by
k persons if both windows of L - 1 labels in it are, so few have to be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.groups import Groups
from trajkit.anonymize.signatures import Signatures
from trajkit.trajectories import concatenate_offsets


def parts(sig: Signatures, points: np.ndarray, persons: np.ndarray, *, k: int, min_labels: int) -> Groups:
    """Parts to release of signatures whose labels stand for ``points`` (int64 [M]) and belong to ``persons`` (int64 [n])."""
    windows = _Windows(sig, persons, k)
    covered = np.zeros(len(sig.cells), dtype=np.bool_)
    starts, lengths = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    of, n = [np.zeros(0, dtype=np.int64)], 0
    for length in range(windows.longest, min_labels - 1, -1):
        at = windows.starts(length)
        # what was taken is at least as long, so it covers an end of every window that it meets
        at = at[~covered[at] & ~covered[at + length - 1]]
        at, code = _taken(at, length, windows, k)
        _cover(at, length, covered)
        code, fresh = kernels.group_exact(code)
        starts.append(at)
        lengths.append(np.full(len(at), length))
        of.append(code + n)
        n += fresh
    return _groups(sig, points, windows.owner, np.concatenate(starts), np.concatenate(lengths), np.concatenate(of))


def _taken(at: np.ndarray, length: int, windows: _Windows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts of the windows to release among those that start ``at``, and what equal ones have in common."""
    code, n = windows.codes(at, length)
    person = windows.person[at]
    allowed = kernels.distinct(code, person, n) >= k
    while True:
        taken = _leftmost(at, length, allowed[code])
        users = kernels.distinct(code[taken], person[taken], n)
        few = (users > 0) & (users < k)
        if not few.any():
            return at[taken], code[taken]
        allowed &= ~few


@dataclass
class _Windows:
    """Windows of consecutive labels that at least ``k`` persons share. ``reach`` [M]: the longest such window that starts there."""

    sig: Signatures
    persons: np.ndarray
    k: int
    owner: np.ndarray = field(init=False)  # int64 [M]: trajectory of each label
    person: np.ndarray = field(init=False)
    reach: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        lengths = np.diff(self.sig.offsets)
        self.owner = np.repeat(np.arange(len(lengths)), lengths)
        self.person = self.persons[self.owner]
        end = np.repeat(self.sig.offsets[1:], lengths)
        (cell, _), (bin_, _) = kernels.group_exact(self.sig.cells), kernels.group_exact(self.sig.bins)
        self._numbers = {1: kernels.group_exact(cell << np.int64(32) | bin_)[0]}
        self.reach = np.zeros(len(end), dtype=np.int64)
        at, length = np.arange(len(end)), 1
        while len(at):
            code, n = self.codes(at, length)
            shared = kernels.distinct(code, self.person[at], n)[code] >= self.k
            at, code = at[shared], code[shared]
            self.reach[at] = length
            if length & (length - 1) == 0:
                self._numbers[length] = np.full(len(end), -1, dtype=np.int64)
                self._numbers[length][at] = code
            length += 1
            at = at[at + length <= end[at]]
            at = at[self.reach[at + 1] >= length - 1]
        self._start = np.flatnonzero(self.reach)

    @property
    def longest(self) -> int:
        """Labels of the longest window."""
        return int(self.reach.max()) if len(self.reach) else 0

    def starts(self, length: int) -> np.ndarray:
        """int64: where shared windows of ``length`` labels start, in order."""
        return self._start[self.reach[self._start] >= length]

    def codes(self, at: np.ndarray, length: int) -> tuple[np.ndarray, int]:
        """Number of each window of ``length`` labels that starts ``at``, equal for equal ones, and how many there are."""
        if length == 1:
            return kernels.group_exact(self._numbers[1][at])
        half = 1 << ((length - 1).bit_length() - 1)
        numbers = self._numbers[half]
        return kernels.group_exact(numbers[at] << np.int64(32) | numbers[at + length - half])


def _groups(
    sig: Signatures, points: np.ndarray, owner: np.ndarray, start: np.ndarray, length: np.ndarray, of: np.ndarray
) -> Groups:
    """Groups of the parts that begin at ``start`` and have ``length`` labels."""
    _, first = np.unique(of, return_index=True)
    offsets = concatenate_offsets(length[first])
    labels = np.repeat(start[first] - offsets[:-1], length[first]) + np.arange(offsets[-1])
    total = concatenate_offsets(points)
    return Groups(
        Signatures(sig.cells[labels], sig.bins[labels], offsets), of, owner[start], total[start + length] - total[start]
    )


@njit(cache=True)
def _leftmost(at, length, allowed):  # pragma: no cover - compiled
    """int64: positions in ``at`` (sorted) of the allowed windows, from left to right without overlap."""
    out = np.empty(len(at), dtype=np.int64)
    n, free = 0, np.int64(0)
    for i in range(len(at)):
        if allowed[i] and at[i] >= free:
            out[n] = i
            n += 1
            free = at[i] + length
    return out[:n]


@njit(cache=True)
def _cover(at, length, covered):  # pragma: no cover - compiled
    for i in at:
        covered[i : i + length] = True
