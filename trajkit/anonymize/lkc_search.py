"""Local suppression for LKC-privacy: take single labels out of single sequences until no short subsequence tells anybody apart.

Known to an attacker: at most L labels of one sequence, in their order, not necessarily adjacent. A subsequence q with 1 <= |q| <= L is
violating where fewer than k distinct persons have a sequence that contains it, or where the share of those persons with one sensitive
value exceeds ``confidence`` (Mohammed, Fung, Debbabi 2009, "Walking in the crowd"; with confidence 1 it is k^m-anonymity, Terrovitis,
Mamoulis, Kalnis 2008, on sequences).

A q of too few persons can be mended by suppression only by taking it out of every sequence; one that says too much of a value, by taking
it out of sequences with that value until the share fits (of all, if need be). The lengths 1..L are worked off in turn, so what is
violating at length i first is minimal: all of its own subsequences are sound. In each sequence, the label with the best score goes until
nothing violating is left in it; score = (violating occurrences it breaks) / (1 + other occurrences it breaks, each by k / its persons). Where
a loss makes another q violating, that is found through counts kept up to date, and the pass over the sequences is repeated until nothing
changes: with every loss there are fewer labels, so this ends. Labels that come to lie next to their like are merged with it.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.errors import DataContractError, ParameterError
from trajkit.trajectories import concatenate_offsets

MOST = 50_000_000  # occurrences of subsequences held in memory at once, about 50 bytes each at the peak


class Table(NamedTuple):
    """Every occurrence of every subsequence of up to ``size`` labels, and who counts for it. E occurrences, q subsequences.

    place int16 [E, size]: positions in the sequence, -1 behind the last; of [E]: its pair (subsequence, person, value);
    pair_person [pairs]: its (subsequence, person); pair_value [pairs]: its (subsequence, value); person_q: subsequence of (q, person);
    value_start [q + 1]: where the (q, value) of q begin; n_*: how many of the finer kind are left.
    """

    place: np.ndarray
    of: np.ndarray
    pair_person: np.ndarray
    pair_value: np.ndarray
    person_q: np.ndarray
    value_start: np.ndarray
    n_pair: np.ndarray
    n_person: np.ndarray
    n_value: np.ndarray
    support: np.ndarray


def suppress(
    label: np.ndarray, offsets: np.ndarray, person: np.ndarray, *, k: int, known: int, confidence: float = 1.0,
    sensitive: np.ndarray | None = None,
) -> tuple[np.ndarray, list[int]]:  # fmt: skip
    """bool [M]: which labels stay, so that nothing is violating; and for each length the number of violating subsequences met first.

    ``label`` int64 [M] in sequences by ``offsets`` [n + 1], without adjacent repeats; ``person`` int64 [n]; ``sensitive`` [n].
    Raises ParameterError for confidence below 1 without ``sensitive``, DataContractError where the sequences are too long to search.
    """
    if confidence < 1 and sensitive is None:
        raise ParameterError(
            f"confidence = {confidence} bounds what is learned of a sensitive value: give one for each trajectory"
        )
    value = np.zeros(len(person), dtype=np.int64)
    if sensitive is not None and confidence < 1:
        value = np.unique(sensitive, return_inverse=True)[1].ravel()
    keep = np.ones(len(label), dtype=bool)
    owner = np.repeat(np.arange(len(person)), np.diff(offsets))
    met = []
    for size in range(1, known + 1):
        rows = np.flatnonzero(keep)
        dense = np.unique(label[rows], return_inverse=True)[1].ravel()
        left = concatenate_offsets(np.bincount(owner[rows], minlength=len(person)))
        starts = _occurrence_offsets(left, size)
        table = _table(dense, left, starts, person, value, size)
        gone, violating = _search(dense, left, starts, table, k, confidence)
        keep[rows[gone]] = False
        met.append(int(violating))
    return keep, met


def _occurrence_offsets(offsets: np.ndarray, size: int) -> np.ndarray:
    """int64 [n + 1]: where the occurrences of each sequence begin. Raises DataContractError beyond `MOST` in all."""
    lengths = np.diff(offsets)
    kinds, inverse = np.unique(lengths, return_inverse=True)
    numbers = [sum(comb(int(m), i) for i in range(1, size + 1)) for m in kinds]
    total = sum(a * int(b) for a, b in zip(numbers, np.bincount(inverse.ravel(), minlength=len(kinds)), strict=True))
    if total > MOST:
        raise DataContractError(
            f"{total:.2g} subsequences of up to {size} labels are too many to search (at most {MOST:.2g}); the longest sequence has "
            f"{lengths.max()} labels: cut trajectories at gaps, use coarser cells or longer bins, or a smaller known"
        )
    return concatenate_offsets(np.array(numbers, dtype=np.int64)[inverse.ravel()])


def _table(
    label: np.ndarray, offsets: np.ndarray, starts: np.ndarray, person: np.ndarray, value: np.ndarray, size: int
) -> Table:
    base = int(label.max(initial=0)) + 2
    if base**size >= 2**62:
        raise DataContractError(f"{base} labels are too many for known = {size}: use coarser cells or longer bins")
    key, place = _occurrences(label, offsets, starts, size, base)
    who = np.repeat(np.arange(len(person)), np.diff(starts))
    q = np.unique(key, return_inverse=True)[1].ravel()
    n_q, people, values = int(q.max(initial=-1)) + 1, int(person.max(initial=0)) + 1, int(value.max(initial=0)) + 1
    pairs, of = np.unique((q * people + person[who]) * values + value[who], return_inverse=True)
    persons, pair_person = np.unique(pairs // values, return_inverse=True)
    q_values, pair_value = np.unique(pairs // values // people * values + pairs % values, return_inverse=True)
    person_q = persons // people
    return Table(
        place=place,
        of=of.ravel(),
        pair_person=pair_person.ravel(),
        pair_value=pair_value.ravel(),
        person_q=person_q,
        value_start=concatenate_offsets(np.bincount(q_values // values, minlength=n_q)),
        n_pair=np.bincount(of.ravel(), minlength=len(pairs)),
        n_person=np.bincount(pair_person.ravel(), minlength=len(persons)),
        n_value=np.bincount(pair_value.ravel(), minlength=len(q_values)),
        support=np.bincount(person_q, minlength=n_q),
    )


@njit(cache=True)
def _occurrences(label, offsets, starts, size, base):  # pragma: no cover - compiled
    """int64 [E]: number of the subsequence, its labels being digits 1.. in ``base``; int16 [E, size]: where it occurs."""
    key = np.empty(starts[-1], dtype=np.int64)
    place = np.full((starts[-1], size), -1, dtype=np.int16)
    at = np.empty(size, dtype=np.int64)
    for r in range(len(offsets) - 1):
        e, m = starts[r], offsets[r + 1] - offsets[r]
        for length in range(1, min(size, m) + 1):
            for j in range(length):
                at[j] = j
            last = length - 1
            while last >= 0:
                code = 0
                for j in range(length):
                    code = code * base + label[offsets[r] + at[j]] + 1
                    place[e, j] = at[j]
                key[e] = code
                e += 1
                last = length - 1
                while last >= 0 and at[last] == m - length + last:
                    last -= 1
                if last >= 0:
                    at[last] += 1
                    for j in range(last + 1, length):
                        at[j] = at[j - 1] + 1
    return key, place


@njit(cache=True)
def _violating(table, q, k, confidence):  # pragma: no cover - compiled
    n = table.support[q]
    if n == 0:
        return False
    if n < k:
        return True
    most = 0
    for v in range(table.value_start[q], table.value_start[q + 1]):
        most = max(most, table.n_value[v])
    return most > confidence * n + 1e-9


@njit(cache=True)
def _search(label, offsets, starts, table, k, confidence):  # pragma: no cover - compiled
    """bool [M]: labels taken out; and how many subsequences were violating at the start."""
    alive = np.ones(len(table.of), dtype=np.bool_)
    gone = np.zeros(len(label), dtype=np.bool_)
    bad = np.zeros(len(table.support), dtype=np.bool_)
    for q in range(len(bad)):
        bad[q] = _violating(table, q, k, confidence)
    violating = bad.sum()
    again = True
    while again:
        again = False
        for r in range(len(offsets) - 1):
            lo, hi = offsets[r], offsets[r + 1]
            i = _worst(table, alive, bad, starts[r], starts[r + 1], hi - lo, k, confidence)
            while i >= 0:
                again = True
                _take_out(table, alive, bad, starts[r], starts[r + 1], i, k, confidence)
                gone[lo + i] = True
                a, b = lo + i - 1, lo + i + 1
                while a >= lo and gone[a]:
                    a -= 1
                while b < hi and gone[b]:
                    b += 1
                if a >= lo and b < hi and label[a] == label[b]:
                    _take_out(table, alive, bad, starts[r], starts[r + 1], b - lo, k, confidence)
                    gone[b] = True
                i = _worst(table, alive, bad, starts[r], starts[r + 1], hi - lo, k, confidence)
    return gone, violating


@njit(cache=True)
def _worst(table, alive, bad, start, end, m, k, confidence):  # pragma: no cover - compiled
    """Position of the best score among the ``m`` of a sequence; -1 where none has to go."""
    gain, loss = np.zeros(m), np.ones(m)
    for e in range(start, end):
        if alive[e]:
            q = table.person_q[table.pair_person[table.of[e]]]
            n, n_value = table.support[q], table.n_value[table.pair_value[table.of[e]]]
            to_go = bad[q] and (n < k or n_value > confidence * n + 1e-9)
            for j in range(table.place.shape[1]):
                if table.place[e, j] >= 0:
                    if to_go:
                        gain[table.place[e, j]] += 1.0
                    else:
                        loss[table.place[e, j]] += k / n
    best = -1
    for i in range(m):
        if gain[i] > 0 and (best < 0 or gain[i] * loss[best] > gain[best] * loss[i]):
            best = i
    return best


@njit(cache=True)
def _take_out(table, alive, bad, start, end, i, k, confidence):  # pragma: no cover - compiled
    """Strike every occurrence that uses position ``i`` and bring the counts up to date."""
    for e in range(start, end):
        hit = False
        for j in range(table.place.shape[1]):
            hit |= table.place[e, j] == i
        if alive[e] and hit:
            alive[e] = False
            pair = table.of[e]
            table.n_pair[pair] -= 1
            if table.n_pair[pair] == 0:
                person = table.pair_person[pair]
                q = table.person_q[person]
                table.n_value[table.pair_value[pair]] -= 1
                table.n_person[person] -= 1
                if table.n_person[person] == 0:
                    table.support[q] -= 1
                bad[q] = _violating(table, q, k, confidence)
