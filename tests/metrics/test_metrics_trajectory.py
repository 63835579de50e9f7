"""Trajectory-level metrics on toys whose answer is worked out by hand, and the matching against brute force."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from toys import from_metres, walks

from trajkit.errors import DataContractError
from trajkit.geo import haversine_m
from trajkit.metrics import MetricSettings, trajectory
from trajkit.metrics.comparison import Comparison
from trajkit.trajectories import Trajectories, make


def compare(real: Trajectories, released: Trajectories, **settings: Any) -> Comparison:
    return Comparison.of(real, released, settings=MetricSettings(**settings), seed=0)


SHORT = [(0.0, 0.0), (30.0, 0.0), (60.0, 0.0)]
LONG = [(0.0, 1000.0), (300.0, 1400.0), (0.0, 1000.0)]


def shifted(path: list[tuple[float, float]], metres: float) -> list[tuple[float, float]]:
    return [(x, y + metres) for x, y in path]


def test_pairs_are_matched_whatever_the_order() -> None:
    """Released in the other order, 5 m further north: every pair distance is 5 m, not a kilometre."""
    c = compare(from_metres([SHORT, LONG]), from_metres([shifted(LONG, 5.0), shifted(SHORT, 5.0)]))
    assert trajectory.hd(c) == pytest.approx(5.0, rel=1e-6)
    assert trajectory.dtw(c) == pytest.approx(5.0, rel=1e-6)
    assert trajectory.nhd(c) == pytest.approx(5.0, rel=5e-3)  # on the sphere, not in the plane


def test_dtw_forgives_another_pace_and_nhd_does_not() -> None:
    real = from_metres([[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (80.0, 0.0)]])
    released = from_metres([[(0.0, 0.0), (80.0, 0.0), (80.0, 0.0), (80.0, 0.0)]])
    c = compare(real, released)
    assert trajectory.dtw(c) == pytest.approx(0.0, abs=1e-6)
    assert trajectory.hd(c) == pytest.approx(0.0, abs=1e-6)
    assert trajectory.nhd(c) == pytest.approx(40.0, rel=5e-3)


def test_dtw_is_divided_by_the_number_of_points() -> None:
    c = compare(from_metres([SHORT]), from_metres([shifted(SHORT, 12.0)]))
    assert trajectory.dtw(c) == pytest.approx(12.0, rel=1e-6)


def test_matching_is_the_cheapest_of_all() -> None:
    a, b = walks(5, 8, 0), walks(5, 8, 1)
    between = haversine_m(a.lonlat.reshape(5, 1, 8, 2), b.lonlat.reshape(1, 5, 8, 2)).mean(axis=2)
    cheapest = min(sum(between[i, j] for i, j in enumerate(order)) for order in permutations(range(5)))
    assert trajectory.nhd(compare(a, b)) == pytest.approx(cheapest / 5, rel=1e-9)


def test_unequal_numbers_use_all_of_the_smaller_side() -> None:
    c = compare(walks(4, 6, 0), walks(9, 6, 1), n_pairs=100)
    assert c.n_pairs == 4 and len(c.pairs.real) == len(c.pairs.released) == 4
    assert compare(walks(4, 6, 0), walks(9, 6, 1), n_pairs=3).n_pairs == 3


def test_unequal_lengths_say_what_to_call() -> None:
    with pytest.raises(DataContractError, match=r"between 6 and 7 points.*to_fixed_length"):
        trajectory.nhd(compare(walks(4, 6, 0), walks(4, 7, 1)))


def test_ttd_and_td_by_hand() -> None:
    """Lengths 60 and 1000 m against 60 twice: half the mass moves 940 m. Diameters 60 and 500 against 60: 220 m."""
    c = compare(from_metres([SHORT, LONG]), from_metres([SHORT, shifted(SHORT, 100.0)]))
    assert trajectory.ttd(c) == pytest.approx(470.0, rel=5e-3)
    assert trajectory.td(c) == pytest.approx(220.0, rel=1e-6)


def test_ttd_is_scipys_distance_of_haversine_lengths() -> None:
    a, b = walks(20, 10, 0), walks(31, 10, 1)
    lengths = [
        haversine_m(s.lonlat.reshape(-1, 10, 2)[:, :-1], s.lonlat.reshape(-1, 10, 2)[:, 1:]).sum(axis=1) for s in (a, b)
    ]
    assert trajectory.ttd(compare(a, b)) == pytest.approx(wasserstein_distance(*lengths), rel=1e-9)


def test_ragged_sets_have_length_diameter_and_trips() -> None:
    a = walks(3, 4, 0)
    ragged = make([(-8.6, 41.2)], [(-8.6, 41.2), (-8.55, 41.15)], meta=a.meta)
    c = compare(ragged, a)
    assert trajectory.ttd(c) > 0 and trajectory.td(c) > 0 and trajectory.te(c) > 0


def test_trip_error_sees_direction() -> None:
    """Half the trips turn round: shares (1, 0) against (1/2, 1/2) over two (start, end) pairs."""
    out, back = [(0.0, 0.0), (5000.0, 0.0)], [(5000.0, 0.0), (0.0, 0.0)]
    c = compare(from_metres([out, out]), from_metres([out, back]))
    assert trajectory.te(c) == pytest.approx(0.3112781245, rel=1e-9)


def test_trip_error_counts_an_end_outside_as_a_place() -> None:
    stay, leave = [(0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 50_000.0)]
    assert trajectory.te(compare(from_metres([stay]), from_metres([leave]))) == 1.0


def test_matching_does_not_change_its_input() -> None:
    a, b = walks(6, 5, 0), walks(6, 5, 1)
    before = a.fingerprint(), b.fingerprint()
    assert np.isfinite(trajectory.dtw(compare(a, b)))
    assert (a.fingerprint(), b.fingerprint()) == before
