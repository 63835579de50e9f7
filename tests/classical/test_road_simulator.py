"""Trips on a public map as candidates: on the roads, the same for the same candidates, moved by about a degree, and voted on."""

from __future__ import annotations

import numpy as np
import pytest
from toys import META, from_metres

from trajkit import geo
from trajkit.classical.road_simulator import RoadSimulator, chosen_map
from trajkit.methods import make_method

SIMULATOR = RoadSimulator(chosen_map("lattice", META, None, lattice_m=1000.0))
RNG = np.random.default_rng


def test_candidates_lie_on_the_roads_and_are_the_same_when_asked_again() -> None:
    drawn = SIMULATOR.random(50, RNG(0))
    points = drawn.points(12)
    assert points.shape == (50, 12, 2) and np.array_equal(points, drawn.points(12))
    assert SIMULATOR.router.network.near(points.reshape(-1, 2), 1.0).all()
    some = drawn.take(np.array([3, 3, 7]))
    assert np.array_equal(some.points(12), points[[3, 3, 7]]) and len(some.joined(drawn)) == 53


def test_variations_move_by_about_the_degree_and_rarely_far() -> None:
    drawn = SIMULATOR.random(2000, RNG(1))
    xy = SIMULATOR.router.network.node_xy
    varied = SIMULATOR.vary(drawn, 1500.0, RNG(2))
    moved = np.hypot(*(xy[varied.source] - xy[drawn.source]).T)
    assert 800 < np.median(moved) < 2200 and 0.02 < (moved > 6000).mean() < 0.1
    assert 0.8 < (varied.profile == drawn.profile).mean() < 1.0


def test_the_map_is_named_in_the_guarantee_and_the_population_moves_to_where_people_go() -> None:
    there = from_metres([[(-6000.0, -5000.0), (-6000.0, 5000.0)]] * 400)
    parameters = {"epsilon": 20.0, "population": 200, "rounds": 4, "map": "lattice", "lattice_m": 1000.0, "length": 16}
    release = make_method("private_evolution", **parameters).fit(there, seed=0).release(100, seed=0)
    assert any("lattice" in a for a in release.guarantee.assumptions)
    off = np.hypot(*(release.trajectories.xy.reshape(100, 16, 2)[:, 0] - there.xy[0]).T)
    x0, y0, x1, y1 = geo.box_xy(META.box, META.crs)
    assert np.median(off) < 0.25 * np.hypot(x1 - x0, y1 - y0)


def test_a_profile_that_is_not_there_is_refused() -> None:
    from trajkit.errors import ParameterError

    with pytest.raises(ParameterError, match="profiles reach"):
        SIMULATOR.router.routes_under(np.array([0]), np.array([1]), SIMULATOR.costs, np.array([9]))
