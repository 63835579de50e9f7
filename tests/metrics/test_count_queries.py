"""Count queries against Python sets, the two ways of drawing them, and relative errors by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import DataContractError, ParameterError
from trajkit.metrics.count_queries import Index, Queries, answers, queries_from, random_queries, relative_errors
from trajkit.sequences import Sequences

SYMBOLS = 6
ROWS = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=8), max_size=30)


@settings(deadline=None)  # the first call compiles
@given(ROWS, st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=4), max_size=12))
def test_answers_are_those_of_sets(rows: list[list[int]], asked: list[list[int]]) -> None:
    queries = Queries.of(asked, n_symbols=SYMBOLS)
    found = answers(Sequences.of(rows, n_symbols=SYMBOLS), queries)
    assert found.dtype == np.int64
    assert found.tolist() == [sum(set(q) <= set(row) for row in rows) for q in asked]


def test_long_lists_of_very_different_lengths() -> None:
    rng = np.random.default_rng(0)
    weight = 1.0 / np.arange(1, 41) ** 1.5
    lengths = rng.integers(0, 12, 3_000)
    drawn = rng.choice(40, lengths.sum(), p=weight / weight.sum())
    rows = [part.tolist() for part in np.split(drawn, np.cumsum(lengths)[:-1])]
    index = Index(Sequences.of(rows, n_symbols=40))
    queries = random_queries(40, 400, 5, rng)
    sets = [set(row) for row in rows]
    assert index.answers(queries).tolist() == [sum(set(q) <= s for s in sets) for q in queries.to_lists()]


def test_order_and_repetition_do_not_matter() -> None:
    s = Sequences.of([[0, 1, 0, 2], [2, 0], [1, 1]], n_symbols=3)
    assert answers(s, Queries.of([[0, 2], [2, 0, 2], [1], []], n_symbols=3)).tolist() == [2, 2, 2, 3]


def test_random_queries_are_uniform_sets() -> None:
    queries = random_queries(5, 30_000, 3, np.random.default_rng(1))
    assert np.bincount(queries.lengths, minlength=4)[1:] / 30_000 == pytest.approx(1 / 3, abs=0.015)
    assert all(len(set(q)) == len(q) for q in queries.to_lists())
    pairs = [tuple(sorted(q)) for q in queries.to_lists() if len(q) == 2]
    share = np.array([pairs.count(p) for p in sorted(set(pairs))]) / len(pairs)
    assert len(share) == 10 and share == pytest.approx(0.1, abs=0.02)


def test_a_query_may_ask_for_the_whole_universe() -> None:
    queries = random_queries(4, 200, 4, np.random.default_rng(0))
    assert {tuple(sorted(q)) for q in queries.to_lists() if len(q) == 4} == {(0, 1, 2, 3)}


def test_queries_from_sequences_all_have_an_answer() -> None:
    s = Sequences.of([[0, 1, 0, 2], [], [3], [4, 4, 5, 1]], n_symbols=9)
    queries = queries_from(s, 500, 3, np.random.default_rng(2))
    assert len(queries) == 500 and set(queries.lengths.tolist()) == {1, 2, 3}
    assert (answers(s, queries) > 0).all()
    assert all(len(set(q)) == len(q) for q in queries.to_lists())
    assert {s for q in queries.to_lists() for s in q} == {0, 1, 2, 3, 4, 5}


def test_same_generator_same_queries() -> None:
    s = Sequences.of([[0, 1, 2]] * 3, n_symbols=3)
    for draw in (
        lambda r: random_queries(50, 20, 6, r).to_lists(),
        lambda r: queries_from(s, 20, 2, r).to_lists(),
    ):
        assert draw(np.random.default_rng(3)) == draw(np.random.default_rng(3)) != draw(np.random.default_rng(4))


def test_relative_errors_by_hand() -> None:
    found = relative_errors(np.array([100, 0, 4]), np.array([90.5, 3.0, 0.0]), 10)
    assert found.tolist() == [0.095, 0.3, 0.4]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: random_queries(3, 5, 4, np.random.default_rng(0)), "max_length 4: a universe of 3"),
        (lambda: random_queries(3, 0, 1, np.random.default_rng(0)), "n must be at least 1"),
        (lambda: random_queries(3, 1, 0, np.random.default_rng(0)), "max_length must be at least 1"),
        (lambda: relative_errors(np.ones(1), np.ones(1), 0.0), "sanity"),
        (lambda: answers(Sequences.of([[0]], n_symbols=2), Queries.of([[0]], n_symbols=3)), "over 3 symbols"),
    ],
)
def test_bad_parameters_are_refused(call, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=says):
        call()


def test_bad_data_is_refused() -> None:
    with pytest.raises(DataContractError, match="every sequence is empty"):
        queries_from(Sequences.of([[], []], n_symbols=2), 1, 1, np.random.default_rng(0))
    with pytest.raises(DataContractError, match="symbol 4"):
        Queries.of([[4]], n_symbols=3)
    one, far = np.array([0, 1]), np.array([5], dtype=np.int32)
    with pytest.raises(DataContractError, match="symbol 5 is not in 0 … 2"):
        Index(Sequences(far, one, 3))
    with pytest.raises(DataContractError, match="symbols from 5 to 5, not all in 0 … 2"):
        Index(Sequences.of([[0]], n_symbols=3)).answers(Queries(far, one, 3))
