"""Count queries on sequences: how many of them hold all of a set of symbols, in any order and however often.

Chen, Fung, Desai (arXiv 1112.2020, section III) measure a release by the relative error of such counts, for queries whose
symbols are drawn uniformly from the universe (`random_queries`). Most uniform queries of three symbols or more have the
answer 0 in sparse data and then say little, so `queries_from` draws the symbols of one query from one real sequence. That
is a choice of the evaluation, made by looking at real data: such queries, and their answers, are never part of a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.errors import DataContractError, ParameterError
from trajkit.metrics.first_visits import FirstVisits
from trajkit.sequences import Sequences
from trajkit.trajectories import concatenate_offsets


@dataclass(frozen=True)
class Queries:
    """q sets of symbols: query i asks for ``symbols[offsets[i]:offsets[i + 1]]``, which are distinct.

    symbols int32 [M], offsets int64 [q + 1], n_symbols size of the public universe
    """

    symbols: np.ndarray
    offsets: np.ndarray
    n_symbols: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """int64 [q]: symbols asked for by each query."""
        return np.diff(self.offsets)

    def to_lists(self) -> list[list[int]]:
        """One list of symbols a query."""
        return [self.symbols[a:b].tolist() for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    @classmethod
    def of(cls, lists: list[list[int]], *, n_symbols: int) -> Queries:
        """Build from one list of symbols a query; a symbol named twice counts once. Raises DataContractError for a bad one."""
        made = Sequences.of([sorted(set(row)) for row in lists], n_symbols=n_symbols)
        return cls(made.symbols, made.offsets, n_symbols)


def random_queries(n_symbols: int, n: int, max_length: int, rng: np.random.Generator) -> Queries:
    """Draw ``n`` queries: length uniform in 1 … ``max_length``, then a set of that many symbols uniform over the universe.

    Raises ParameterError for sizes below 1 and for queries longer than the universe.
    """
    _check(n, max_length)
    if max_length > n_symbols:
        raise ParameterError(
            f"max_length {max_length}: a universe of {n_symbols} symbols has no query that long, lower it"
        )
    lengths = rng.integers(1, max_length + 1, n)
    drawn = np.full((n, max_length), -1, dtype=np.int64)
    for j in range(max_length):  # Floyd's sampling of a set without replacement, all queries at once
        rows = np.flatnonzero(lengths > j)
        top = n_symbols - lengths[rows] + j
        symbol = rng.integers(0, top + 1)
        known = (drawn[rows, :j] == symbol[:, None]).any(axis=1)
        drawn[rows, j] = np.where(known, top, symbol)
    return Queries(drawn[drawn >= 0].astype(np.int32), concatenate_offsets(lengths), n_symbols)


def queries_from(sequences: Sequences, n: int, max_length: int, rng: np.random.Generator) -> Queries:
    """Draw ``n`` queries that real sequences answer: a sequence uniform among those that are not empty, a length uniform in
    1 … ``max_length``, then that many of its distinct symbols (all where it has fewer), uniform.

    Popular sets are asked for most. This looks at real data: for evaluation only. Raises ParameterError for sizes below 1,
    DataContractError where every sequence is empty.
    """
    _check(n, max_length)
    held = np.flatnonzero(sequences.lengths)
    if not len(held):
        raise DataContractError("every sequence is empty: no query can be drawn from them, use random_queries")
    chosen = sequences.take(held[rng.integers(0, len(held), n)])
    lengths = rng.integers(1, max_length + 1, n)
    pairs = np.unique(chosen.sequence_of_element * sequences.n_symbols + chosen.symbols)
    row, symbol = np.divmod(pairs, sequences.n_symbols)
    order = np.lexsort((rng.random(len(row)), row))
    row, symbol = row[order], symbol[order]
    first = np.searchsorted(row, np.arange(n))
    kept = np.arange(len(row)) - first[row] < lengths[row]
    offsets = concatenate_offsets(np.bincount(row[kept], minlength=n))
    return Queries(symbol[kept].astype(np.int32), offsets, sequences.n_symbols)


def _check(n: int, max_length: int) -> None:
    for name, value in (("n", n), ("max_length", max_length)):
        if value < 1:
            raise ParameterError(f"{name} must be at least 1, got {value}")


class Index:
    """Inverted lists of a set of sequences, built once and asked often. ``n`` is the number of sequences.

    Memory: 4 bytes for each pair of a sequence and a symbol that it holds (12 while it is built).
    """

    def __init__(self, sequences: Sequences, *, visits: FirstVisits | None = None) -> None:
        found = FirstVisits.of(sequences) if visits is None else visits
        self.n, self.n_symbols = len(sequences), sequences.n_symbols
        self._starts, self._owners = found.starts, found.owners

    def answers(self, queries: Queries) -> np.ndarray:
        """int64 [q]: sequences that hold every symbol of the query; all of them for a query without symbols.

        Raises ParameterError where queries and sequences have another universe, DataContractError for symbols beyond it.
        """
        if queries.n_symbols != self.n_symbols:
            raise ParameterError(
                f"queries over {queries.n_symbols} symbols, sequences over {self.n_symbols}: give both one public universe"
            )
        asked = queries.symbols
        if len(asked) and not (asked.min() >= 0 and asked.max() < self.n_symbols):
            raise DataContractError(
                f"queries ask for symbols from {asked.min()} to {asked.max()}, not all in 0 … {self.n_symbols - 1}: correct them"
            )
        return _answers(self._starts, self._owners, queries.symbols, queries.offsets, self.n)


def answers(sequences: Sequences, queries: Queries) -> np.ndarray:
    """int64 [q]: `Index.answers` for one use of the index."""
    return Index(sequences).answers(queries)


def relative_errors(real: np.ndarray, released: np.ndarray, sanity: float) -> np.ndarray:
    """float64 [q]: |real - released| / max(real, ``sanity``).

    Answers may be counts or shares; where a release has another number of sequences, scale its answers (or take shares)
    first. ``sanity`` is in the same unit and keeps tiny answers from deciding. Raises ParameterError unless it is positive.
    """
    if not sanity > 0:
        raise ParameterError(f"sanity = {sanity}: must be positive, or an answer of 0 has no relative error")
    return np.abs(np.subtract(real, released, dtype=np.float64)) / np.maximum(real, sanity)


@njit(cache=True)
def _answers(starts, owners, symbols, offsets, n):  # pragma: no cover - compiled
    """Leapfrog over the lists, rarest first: a candidate is looked for in the next list, which answers with the next one."""
    out = np.zeros(len(offsets) - 1, dtype=np.int64)
    longest = max(1, np.diff(offsets).max()) if len(out) else 1
    at = np.empty(longest, dtype=np.int64)
    end = np.empty(longest, dtype=np.int64)
    for q in range(len(out)):
        m = offsets[q + 1] - offsets[q]
        for j in range(m):
            a, b = starts[symbols[offsets[q] + j]], starts[symbols[offsets[q] + j] + 1]
            k = j  # insertion sort by the length of the list
            while k > 0 and end[k - 1] - at[k - 1] > b - a:
                at[k], end[k] = at[k - 1], end[k - 1]
                k -= 1
            at[k], end[k] = a, b
        if m == 0:
            out[q] = n
        elif m == 1:
            out[q] = end[0] - at[0]
        else:
            out[q] = _common(owners, at, end, m)
    return out


@njit(cache=True)
def _common(owners, at, end, m):  # pragma: no cover - compiled
    found, j = 0, 1
    if at[0] == end[0]:
        return 0
    candidate = owners[at[0]]
    while True:
        k = _gallop(owners, at[j], end[j], candidate)
        if k == end[j]:
            return found
        at[j] = k
        if owners[k] != candidate:
            candidate = owners[k]
            k = _gallop(owners, at[0], end[0], candidate)
            if k == end[0]:
                return found
            at[0] = k
            candidate, j = owners[k], 1
            continue
        j += 1
        if j == m:
            found += 1
            at[0] += 1
            if at[0] == end[0]:
                return found
            candidate, j = owners[at[0]], 1


@njit(cache=True, inline="always")
def _gallop(owners, low, end, value):  # pragma: no cover - compiled
    """First position from ``low`` on whose owner is at least ``value``: doubling steps, then halving ones."""
    if low < end and owners[low] >= value:
        return low
    step = 1
    while low + step < end and owners[low + step] < value:
        low += step
        step *= 2
    high = min(low + step, end)  # owners[low] < value, and owners[high] >= value where it exists
    low += 1
    while low < high:
        middle = (low + high) // 2
        if owners[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
