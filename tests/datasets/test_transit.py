"""Simulated transit weeks: the published figures, structure, and what a seed decides."""

from __future__ import annotations

import numpy as np
import pytest

from trajkit.datasets.transit import MAX_LENGTH, N_SEQUENCES, STATIONS, length_law, simulate_transit
from trajkit.errors import ParameterError
from trajkit.metrics.frequent_patterns import top_patterns
from trajkit.sequences import Sequences


@pytest.fixture(scope="module")
def transit() -> Sequences:
    return simulate_transit(300_000, seed=1).check()


def test_the_law_of_lengths_is_the_published_one() -> None:
    law, rides = length_law(), np.arange(1, MAX_LENGTH + 1)
    assert law.sum() == pytest.approx(1) and (law > 0).all()
    assert law @ rides == pytest.approx(6.7, abs=1e-9)
    assert rides[law.argmax()] == 2
    assert law[rides <= 20].sum() > 0.95
    assert law[-1] * N_SEQUENCES > 20  # the maximum is reached at the published size


def test_published_figures(transit: Sequences) -> None:
    assert (N_SEQUENCES, STATIONS) == (1_210_096, 1_012)
    assert len(transit) == 300_000 and transit.n_symbols == STATIONS
    assert transit.lengths.mean() == pytest.approx(6.7, abs=0.05)
    assert transit.lengths.min() == 1 and transit.lengths.max() == MAX_LENGTH
    assert len(np.unique(transit.symbols)) == STATIONS


def test_popularity_has_a_long_tail(transit: Sequences) -> None:
    counts = np.sort(np.bincount(transit.symbols, minlength=STATIONS))[::-1]
    share = np.cumsum(counts) / counts.sum()
    assert 0.3 < share[50] < 0.6 and share[506] > 0.8
    assert counts[0] > 50 * counts[-1] > 0


def test_there_and_back_is_frequent(transit: Sequences) -> None:
    """Pairs and returns are among the top patterns, most of which are short."""
    top = top_patterns(transit, 250)
    lengths = np.array([len(p) for p in top.patterns])
    assert (lengths <= 3).mean() > 0.8 and (lengths == 2).sum() > 20
    returns = [p for p in top.patterns if len(p) == 3 and p[0] == p[2] != p[1]]
    assert returns and any((p[1], p[0]) in top.patterns for p in returns)


def test_elements_depend_on_those_before(transit: Sequences) -> None:
    """Returns after two rides, and neighbours in number (one line), far above what independent elements would give."""
    shuffled = np.random.default_rng(0).permutation(transit.symbols)
    place = np.arange(len(shuffled)) - np.repeat(transit.offsets[:-1], transit.lengths)
    third, later = np.flatnonzero(place >= 2), np.flatnonzero(place >= 1)
    back, back_by_chance = (np.mean(s[third] == s[third - 2]) for s in (transit.symbols, shuffled))
    near, near_by_chance = (np.mean(np.abs(s[later] - s[later - 1]) < 12) for s in (transit.symbols, shuffled))
    assert back > 0.4 and back_by_chance < 0.02
    assert near > 0.2 and near_by_chance < 0.06


def test_stations_repeat_and_follow_themselves(transit: Sequences) -> None:
    inside = np.ones(len(transit.symbols), dtype=bool)
    inside[transit.offsets[:-1]] = False
    same = np.flatnonzero(inside[1:] & (transit.symbols[1:] == transit.symbols[:-1]))
    assert 0.01 < len(same) / inside.sum() < 0.1


def test_a_seed_decides_the_week_and_not_the_network(transit: Sequences) -> None:
    again, other = simulate_transit(300_000, seed=1), simulate_transit(300_000, seed=2)
    assert np.array_equal(again.symbols, transit.symbols) and np.array_equal(again.offsets, transit.offsets)
    assert not np.array_equal(other.offsets, transit.offsets)
    a, b = (np.bincount(s.symbols, minlength=STATIONS) / len(s.symbols) for s in (transit, other))
    assert np.abs(a - b).sum() < 0.1  # the same stations are popular


def test_the_law_does_not_depend_on_n(transit: Sequences) -> None:
    few = simulate_transit(40_000, seed=1)
    assert few.lengths.mean() == pytest.approx(transit.lengths.mean(), abs=0.15)
    a, b = (np.bincount(s.symbols, minlength=STATIONS) / len(s.symbols) for s in (transit, few))
    assert np.abs(a - b).sum() < 0.2


@pytest.mark.parametrize("stations", [2, 3, 30])
def test_small_networks(stations: int) -> None:
    s = simulate_transit(500, stations=stations, seed=0).check()
    assert s.n_symbols == stations and len(np.unique(s.symbols)) == stations
    assert len(simulate_transit(0, stations=stations, seed=0)) == 0


@pytest.mark.parametrize("bad", [{"n": -1}, {"stations": 1}, {"seed": -1}])
def test_bad_sizes_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        simulate_transit(**{"n": 5, "seed": 0, **bad})
