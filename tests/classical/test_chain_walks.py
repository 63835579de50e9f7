"""Chains, walks and trip tables against what can be worked out another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from toys import META

from trajkit.classical.adaptive_grid import AdaptiveGrid
from trajkit.classical.cleaning import norm_sub, parts
from trajkit.classical.trips import drawn_pairs, gravity
from trajkit.classical.walks import (
    Chain,
    first_order,
    free_walks,
    guided_walks,
    nearest_in_length,
    places,
    with_second_order,
)
from trajkit.geo import box_xy

GRID = AdaptiveGrid(box_xy(META.box, META.crs), 2, np.array([1, 2, 1, 1]))


def chain_of(seed: int, *, turning: float = 0.0) -> Chain:
    rng = np.random.default_rng(seed)
    return first_order(GRID, rng.uniform(0.1, 1, GRID.n_edges), rng.uniform(0.1, 1, GRID.n_cells), turning=turning)


def totals(chain: Chain) -> np.ndarray:
    return np.bincount(chain.state_of_pair, weights=chain.move, minlength=len(chain.stop)) + chain.stop


def test_probabilities_sum_to_one_and_turning_back_becomes_rare() -> None:
    free, straight = chain_of(0), chain_of(0, turning=2.0)
    for chain in (free, straight):
        assert totals(chain) == pytest.approx(np.ones(len(chain.stop)))
    back = free.bends > 1.999
    assert back.sum() == GRID.n_edges  # every edge has its way back, and of its equals none else
    assert (straight.move[back] < free.move[back]).all()
    assert (straight.bends[straight.state_of_pair >= GRID.n_edges] == 0).all()


def test_without_turning_the_next_step_depends_on_the_cell_alone() -> None:
    chain = chain_of(1)
    by_edge = [chain.move[chain.edge_of_pair == e] for e in range(GRID.n_edges)]
    assert all(np.ptp(p) < 1e-12 for p in by_edge)


def test_the_potential_is_the_sum_over_walks() -> None:
    chain, damping = chain_of(2, turning=1.0), 0.7
    states = len(chain.stop)
    step = np.zeros((states, states))
    step[chain.state_of_pair, chain.edge_of_pair] = damping**chain.leaps * chain.move
    end = np.zeros((states, GRID.n_cells))
    end[np.arange(states), chain.cell_of_state] = chain.stop
    assert chain.potential(damping, 128) == pytest.approx(np.linalg.solve(np.eye(states) - step, end), rel=1e-9)
    assert chain.potential(damping, 1) == pytest.approx(end + step @ end)


def test_guided_walks_end_where_they_should_by_steps_between_neighbours() -> None:
    chain, rng = chain_of(3), np.random.default_rng(0)
    starts, ends = rng.integers(0, GRID.n_cells, (2, 4000))
    cells, lengths = guided_walks(chain, chain.potential(0.8, 64), starts, ends, damping=0.8, most=60, rng=rng)
    assert (cells[:, 0] == starts).all() and (cells[np.arange(4000), lengths - 1] == ends).all()
    touch = np.zeros((GRID.n_cells, GRID.n_cells), dtype=bool)
    touch[GRID.tails, GRID.neighbours[1]] = True
    inner = np.arange(1, cells.shape[1]) < lengths[:, None]
    assert touch[cells[:, :-1], cells[:, 1:]][inner].all()


def test_guided_walks_follow_the_conditional_law() -> None:
    """Walks from 0 to 0 that stop at once: share stop(0) / potential(0, 0)."""
    chain, rng, n = chain_of(4), np.random.default_rng(1), 40_000
    potential = chain.potential(0.9, 64)
    nowhere = np.zeros(n, dtype=np.int64)
    _, lengths = guided_walks(chain, potential, nowhere, nowhere, damping=0.9, most=60, rng=rng)
    state = GRID.n_edges
    expected = chain.stop[state] / potential[state, 0]
    assert (lengths == 1).mean() == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / n))


def test_second_order_counts_take_over_in_chosen_cells_only() -> None:
    chain = chain_of(5)
    weights = np.zeros(len(chain.move) + len(chain.stop))
    weights[0] = 1000.0
    chosen = np.zeros(GRID.n_cells, dtype=bool)
    same = with_second_order(chain, weights, chosen, prior=1.0)
    assert same.move == pytest.approx(chain.move)
    chosen[chain.cell_of_state[0]] = True
    sharp = with_second_order(chain, weights, chosen, prior=1.0)
    assert sharp.move[0] > 0.99 and totals(sharp) == pytest.approx(np.ones(len(chain.stop)))
    assert sharp.move[chain.pairs[1] :] == pytest.approx(chain.move[chain.pairs[1] :])


def test_free_walks_stop_and_where_nothing_leads_on_they_do() -> None:
    ends = np.zeros(GRID.n_cells)
    nowhere = first_order(GRID, np.zeros(GRID.n_edges), ends)
    rng = np.random.default_rng(0)
    starts = np.arange(GRID.n_cells)
    _, lengths = free_walks(nowhere, starts, starts[::-1].copy(), most=20, rng=rng)
    assert (lengths == 1).all()
    cells, lengths = free_walks(chain_of(6), starts, starts, most=20, rng=rng)
    assert (cells[:, 0] == starts).all() and lengths.max() <= 20


def test_the_walk_nearest_in_length_is_taken() -> None:
    cells = np.arange(12).reshape(6, 2)
    found, lengths = nearest_in_length(cells, np.array([5, 3, 9, 1, 2, 7]), np.array([4, 6]), 3)
    assert lengths.tolist() == [5, 7] and found.tolist() == [[0, 1], [10, 11]]


def test_places_are_uniform_in_their_cells_and_smooth_walks_zigzag_less() -> None:
    rng = np.random.default_rng(0)
    cells, lengths = np.tile([[1, 2, 1]], (4000, 1)), np.full(4000, 3)
    out = {s: places(GRID, cells, lengths, smoothness=s, meta=META, rng=rng).xy.reshape(-1, 3, 2) for s in (0.0, 0.95)}
    x0, y0, x1, y1 = GRID.rectangles[1]
    for xy in out.values():
        unit = (xy[:, 2] - [x0, y0]) / [x1 - x0, y1 - y0]
        assert kstest(unit[:, 0], "uniform").pvalue > 1e-3 and kstest(unit[:, 1], "uniform").pvalue > 1e-3
    spread = {s: np.abs(xy[:, 2] - xy[:, 0]).mean() for s, xy in out.items()}
    assert spread[0.95] < 0.6 * spread[0.0]


def test_a_walk_of_one_cell_stays_in_it_and_rounding_keeps_the_ends() -> None:
    def walked(rounding: int) -> np.ndarray:
        cells, lengths = np.array([[3, 0, 0, 0], [0, 1, 2, 4]]), np.array([1, 4])
        rng = np.random.default_rng(0)
        return places(GRID, cells, lengths, smoothness=0.5, rounding=rounding, meta=META, rng=rng).xy

    sharp, round_ = walked(0), walked(3)
    assert len(sharp) == 6 and (GRID.cell_of(sharp[:2]) == 3).all()
    assert sharp[[0, 1, 2, 5]] == pytest.approx(round_[[0, 1, 2, 5]]) and np.abs(sharp - round_)[3:5].min() > 1.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
def test_norm_sub_is_the_projection_onto_what_is_possible(values: list[float]) -> None:
    noisy = np.array(values)
    found = norm_sub(noisy)
    assert (found >= 0).all() and found.sum() == pytest.approx(max(0.0, noisy.sum()), abs=1e-9)
    if found.sum() > 0:  # the same amount is taken from all that stay above 0, no less from those that do not
        taken = noisy - found
        assert np.ptp(taken[found > 0]) < 1e-9 and (taken[found == 0] <= taken[found > 0].max() + 1e-9).all()


def test_shares_add_up_to_the_budget_exactly() -> None:
    from fractions import Fraction

    for epsilon in (0.01, 1.0, 1 / 3, 100.0):
        assert sum(parts(Fraction(epsilon), (0.2, 0.4, 0.4))) == Fraction(epsilon)


def test_the_trip_table_has_the_sums_and_the_total_that_were_counted() -> None:
    rng = np.random.default_rng(0)
    size = GRID.n_cells
    lengths = 2.0 * GRID.hops + 2.0
    truth = rng.gamma(2.0, 10.0, (size, size))
    starts, ends = (truth / lengths).sum(axis=1), (truth / lengths).sum(axis=0)
    for total in (0.9 * truth.sum(), truth.sum()):
        found = gravity(starts, ends, lengths, total)
        assert (found / lengths).sum(axis=1) == pytest.approx(starts, rel=1e-3)
        assert (found / lengths).sum(axis=0) == pytest.approx(ends, rel=1e-3)
        assert found.sum() == pytest.approx(min(total, gravity(starts, ends, lengths, 1e12).sum()), rel=1e-3)
    nothing = gravity(np.zeros(size), np.zeros(size), lengths, -5.0)
    assert nothing == pytest.approx(np.full((size, size), 1 / size**2))


def test_pairs_are_drawn_in_proportion() -> None:
    starts, ends = drawn_pairs(np.array([[0.0, 3.0], [1.0, 0.0]]), 20_000, np.random.default_rng(0))
    assert set(zip(starts.tolist(), ends.tolist(), strict=True)) == {(0, 1), (1, 0)}
    assert (starts == 0).mean() == pytest.approx(0.75, abs=0.02)
