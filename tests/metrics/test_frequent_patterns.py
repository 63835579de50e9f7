"""The exact top k against enumeration of every subsequence, ties, and the comparison of two tops."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import ParameterError
from trajkit.metrics.frequent_patterns import Overlap, TopPatterns, compare, top_patterns
from trajkit.sequences import Sequences

SYMBOLS = 4
ROWS = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=6), max_size=15)


def by_enumeration(rows: list[list[int]], k: int, low: int, high: int | None) -> list[tuple[tuple[int, ...], int]]:
    support: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        top = len(row) if high is None else min(high, len(row))
        support.update({p for m in range(low, top + 1) for p in combinations(row, m)})
    return sorted(support.items(), key=lambda item: (-item[1], item[0]))[:k]


def found(top: TopPatterns) -> list[tuple[tuple[int, ...], int]]:
    return list(zip(top.patterns, top.supports.tolist(), strict=True))


@settings(deadline=None)  # the first call compiles
@given(ROWS, st.integers(1, 40), st.integers(1, 3), st.sampled_from([None, 0, 2]))
def test_equals_enumeration(rows: list[list[int]], k: int, low: int, more: int | None) -> None:
    high = None if more is None else low + more
    top = top_patterns(Sequences.of(rows, n_symbols=SYMBOLS), k, min_length=low, max_length=high)
    assert found(top) == by_enumeration(rows, k, low, high)


def test_equals_enumeration_on_a_larger_set() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 12, rng.integers(0, 9)).tolist() for _ in range(400)]
    s = Sequences.of(rows, n_symbols=12)
    for k in (1, 30, 500):
        assert found(top_patterns(s, k, max_length=4)) == by_enumeration(rows, k, 1, 4)


def test_gaps_and_repetitions_by_hand() -> None:
    s = Sequences.of([[0, 1, 0], [0, 2, 1, 0], [1, 0]], n_symbols=3)
    assert found(top_patterns(s, 6)) == [
        ((0,), 3), ((1,), 3), ((1, 0), 3), ((0, 0), 2), ((0, 1), 2), ((0, 1, 0), 2),
    ]  # fmt: skip


def test_fewer_patterns_than_asked_for() -> None:
    assert found(top_patterns(Sequences.of([[2, 2]], n_symbols=3), 10)) == [((2,), 1), ((2, 2), 1)]
    assert len(top_patterns(Sequences.of([[2]], n_symbols=3), 10, min_length=2)) == 0
    assert len(top_patterns(Sequences.of([], n_symbols=3), 10)) == 0


def test_one_long_sequence_is_no_explosion() -> None:
    """2^60 patterns have support 1: the first 50 in lexicographic order are found without looking at the others."""
    top = top_patterns(Sequences.of([list(range(60))], n_symbols=60), 50)
    assert top.patterns == tuple(tuple(range(m)) for m in range(1, 51))


def test_comparison_counts_both_sides() -> None:
    def top(*patterns: tuple[int, ...]) -> TopPatterns:
        return TopPatterns(patterns, np.ones(len(patterns), dtype=np.int64))

    same = compare(top((0,), (0, 1)), top((0, 1), (0,)))
    assert same == Overlap(2, 0, 0) and same.accuracy == 1.0
    some = compare(top((0,), (1,), (0, 1), (2,)), top((0,), (1, 0), (2,), (3,)))
    assert some == Overlap(2, 2, 2) and some.accuracy == 0.5
    fewer = compare(top((0,), (1,), (2,), (3,)), top((0,)))
    assert fewer == Overlap(1, 0, 3) and fewer.accuracy == 0.25
    assert compare(top(), top()).accuracy == 1.0 and compare(top((0,)), top()).accuracy == 0.0


@pytest.mark.parametrize(
    ("given_values", "says"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 1, "min_length": 0}, "min_length must be at least 1"),
        ({"k": 1, "min_length": 3, "max_length": 2}, "max_length must be at least 3"),
    ],
)
def test_bad_parameters_are_refused(given_values: dict[str, int], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        top_patterns(Sequences.of([[0]], n_symbols=1), **given_values)
