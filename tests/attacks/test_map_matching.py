"""The adversary with a map: wins on raw trips, loses on noise, people before and after by hand, countermeasures, Porto's roads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toys import META

from trajkit import geo
from trajkit.anonymize.tessellation import SquareCells
from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.map_matching import MapMatching, map_matching, rebuilt
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.street_countermeasures import as_cells, compare, emitted
from trajkit.attacks.street_sequences import Streets
from trajkit.attacks.street_sets import Regions, street_sets
from trajkit.datasets import load
from trajkit.datasets.city import City, simulate
from trajkit.datasets.city_off_roads import leave_roads
from trajkit.datasets.city_routes import true_streets
from trajkit.errors import DataContractError, ParameterError
from trajkit.roads import read_roads
from trajkit.trajectories import Trajectories, make


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=40, days=3, seed=5)


@pytest.fixture(scope="module")
def true(city: City) -> Streets:
    return Streets(*true_streets(city.trajectories))


@pytest.fixture(scope="module")
def matcher(city: City) -> Matcher:
    return Matcher(city.roads, MatchSettings())


def attacked(city: City, true: Streets, released: Trajectories, matcher: Matcher, **settings: object) -> MapMatching:
    origin = Origin.one_each(np.arange(len(city.trajectories)))
    found = map_matching(city.trajectories, true, released, origin, city.roads, seed=0, matcher=matcher, **settings)
    assert isinstance(found, MapMatching)
    return found


# ---- the truth --------------------------------------------------------------------------------------------------


def test_true_streets_run_under_the_fixes(city: City, true: Streets) -> None:
    trajs, roads = city.trajectories, city.roads
    joined = roads.edge_nodes[true.edges[:-1], 1] == roads.edge_nodes[true.edges[1:], 0]
    joined[true.offsets[1:-1] - 1] = True
    assert joined.all()
    for i in range(0, len(trajs), 11):
        mine = true.edges[true.offsets[i] : true.offsets[i + 1]]
        lines = np.concatenate([roads.edge_xy[roads.edge_offsets[e] : roads.edge_offsets[e + 1]] for e in mine])
        from shapely import LineString, distance, points

        off = distance(LineString(lines), points(trajs.xy[trajs.offsets[i] : trajs.offsets[i + 1]]))
        assert off.max() < 30 and off.mean() < 6, "5 m of noise on each axis"


def test_true_streets_of_some_trips_and_of_no_others(city: City, true: Streets) -> None:
    trajs = city.trajectories
    edges, offsets = true_streets(trajs.take(np.array([7, 3])))
    assert np.array_equal(edges, true.take(np.array([7, 3])).edges) and len(offsets) == 3
    with pytest.raises(DataContractError, match="trip zz is not one"):
        true_streets(replace(trajs.take(np.array([0])), traj_ids=np.array(["zz"])))
    for other in (trajs.with_meta(dataset="porto"), leave_roads(trajs, share=0.5, seed=0)):
        with pytest.raises(DataContractError, match="only there are the streets known"):
            true_streets(other)


# ---- the attack -------------------------------------------------------------------------------------------------


def test_recovers_the_streets_of_raw_trips(city: City, true: Streets, matcher: Matcher) -> None:
    found = attacked(city, true, city.trajectories, matcher)
    assert found.targets == len(city.trajectories) and found.suppressed == found.no_roads == 0
    assert found.exact > 0.75 and found.but_ends > 0.9 and found.f1 > 0.98
    assert found.exact_interval[0] < found.exact < found.exact_interval[1]
    assert found.guess_exact < 0.05 and found.guess_f1 < 0.1 and found.guess == 1 / 40
    assert found.fits_before == 1.0 and found.named_after >= found.named_before > 0.9
    assert len(found.to_frame()) == 1 and found.to_frame().notna().drop(columns="bound").all(axis=None)


def test_recovers_much_from_small_cells_and_less_from_large_ones(city: City, true: Streets, matcher: Matcher) -> None:
    f1 = []
    for size in (150.0, 500.0, 2000.0):
        found = attacked(city, true, as_cells(city.trajectories, size), matcher, cells_m=size)
        assert found.fits_before == 1.0 and found.named_before <= 1.0
        f1.append(found.f1)
    assert f1[0] > 0.85 and f1[0] > f1[1] + 0.1 and f1[1] > f1[2] + 0.1
    assert found.f1 > found.guess_f1


def test_noise_leaves_a_guess(city: City, true: Streets, matcher: Matcher) -> None:
    """Every released trajectory is another one of the city, drawn at random: what is rebuilt is somebody else's."""
    n = len(city.trajectories)
    other = city.trajectories.take((np.arange(n) + n // 2) % n)
    found = attacked(city, true, other, matcher)
    assert found.exact < 0.05 and abs(found.f1 - found.guess_f1) < 0.05
    assert found.named_after < 0.05


def test_cells_are_known_wherever_a_place_is_printed_in_them(city: City, true: Streets) -> None:
    table = compare(city.trajectories, true, city.roads, cells_m=(300.0,), seed=1, targets=100)
    assert len(table) == 6 and table["cells_m"].eq(300).all()
    knows = table[table["adversary"] == "knows the cells"]
    assert knows["f1"].nunique() == 1 and knows["named_after"].nunique() == 1, "another place of the cell buys nothing"
    points = table[table["adversary"] == "takes points"].set_index("printed")
    assert (points["f1"] < knows["f1"].iloc[0] - 0.1).all()
    assert points.loc["random", "named_before"] < points.loc["centre", "named_before"]


def test_emitted_places_stay_in_their_cells(city: City) -> None:
    released, cells = as_cells(city.trajectories, 400.0), SquareCells(400.0)
    label = cells.cell_of(released.xy)
    assert len(np.unique(released.lonlat, axis=0)) == len(np.unique(label))
    for where in ("random", "junction"):
        out = emitted(released, 400.0, where, city.roads, seed=3)
        assert (cells.cell_of(out.xy) == label).all()
        assert np.array_equal(out.lonlat, emitted(released, 400.0, where, city.roads, seed=3).lonlat)
        assert not np.array_equal(out.lonlat, emitted(released, 400.0, where, city.roads, seed=4).lonlat)
        if where == "junction":
            far = np.hypot(*(out.xy[:, None, :] - city.roads.node_xy[None, :, :])[:50].transpose(2, 0, 1)).min(axis=1)
            at_centre = np.hypot(*(out.xy - cells.centres(label)).T)[:50] < 1e-3
            assert ((far < 1e-3) | at_centre).all() and (far < 1e-3).any()
    with pytest.raises(ParameterError, match="where = 'corner'"):
        emitted(released, 400.0, "corner", city.roads, seed=3)  # type: ignore[arg-type]


# ---- who is left ------------------------------------------------------------------------------------------------


def test_people_before_and_after_by_hand() -> None:
    """Squares of 100 m in a row. u0 and u1 pass both squares on different streets, u2 leaves them, u3 goes the other way; u1 has two trips."""
    origin = geo.project(np.array([[-8.61, 41.17]]), META.crs)[0]
    ways = [
        [(0, 0), (100, 0)],
        [(0, 10), (100, 10)],
        [(0, 20), (100, 20)],
        [(0, 0), (100, 0), (300, 0)],
        [(100, 0), (0, 0)],
    ]
    lonlat = [geo.unproject(np.array(w, dtype=float) + origin, META.crs) for w in ways]
    raw = make(*[list(map(tuple, x)) for x in lonlat], meta=META, users=["u0", "u1", "u1", "u2", "u3"])
    true = Streets(np.array([0, 1, 2, 3, 2, 3, 0, 1, 4, 0]), np.array([0, 2, 4, 6, 9, 10]))
    squares = Regions(origin + np.array([[0.0, 0.0], [100.0, 0.0]]), np.full(2, 50.0), np.array([0, 2]))
    got = Streets(np.array([0, 1]), np.array([0, 2]))
    args = (squares, got, np.zeros(3, dtype=np.int64), raw, true, np.array([0, 1, 4]), np.ones(5))
    whole = street_sets(*args, agree=0.9, whole=True)
    assert whole.before.tolist() == [2, 2, 2] and whole.in_before.tolist() == [True, True, False]
    assert whole.after.tolist() == [1, 1, 1] and whole.in_after.tolist() == [True, False, False]
    part = street_sets(*args, agree=0.6, whole=False)
    assert part.before.tolist() == [3, 3, 3] and part.after.tolist() == [2, 2, 2], (
        "u2's trip goes on, on the same streets"
    )
    nothing = street_sets(squares, Streets(got.edges[:0], np.array([0, 0])), *args[2:], agree=0.9, whole=True)
    assert nothing.after.tolist() == [2, 2, 2], "streets that agree with nobody's leave everybody"


# ---- what it says and refuses -----------------------------------------------------------------------------------


def test_same_seed_same_figures_and_inputs_stay(city: City, true: Streets, matcher: Matcher) -> None:
    before = city.trajectories.fingerprint()
    one, two = (attacked(city, true, city.trajectories, matcher, targets=30) for _ in range(2))
    assert one == two and one.targets == 30 and city.trajectories.fingerprint() == before


def test_squares_of_their_own_sizes(city: City, true: Streets, matcher: Matcher) -> None:
    released = as_cells(city.trajectories, 250.0)
    by_size = attacked(city, true, released, matcher, cells_m=250.0)
    each = attacked(city, true, released, matcher, half_m=np.full(released.n_points, 125.0))
    assert each.f1 == pytest.approx(by_size.f1, abs=0.01) and each.persons_before == by_size.persons_before


def test_several_people_behind_one_released_trajectory(city: City, true: Streets, matcher: Matcher) -> None:
    one = city.trajectories.take(np.array([0]))
    origin = Origin(np.zeros(2, dtype=np.int64), np.array([0, 5]))
    found = map_matching(city.trajectories, true, one, origin, city.roads, seed=0, matcher=matcher, k=2)
    assert isinstance(found, MapMatching)
    assert found.targets == 2 and found.but_ends <= 0.5 and found.bound == 0.5
    assert found.suppressed == len(city.trajectories) - 2


def test_says_where_there_is_nothing_to_recover(city: City, true: Streets) -> None:
    trajs = city.trajectories
    for released, origin in ((trajs, None), (trajs.take(np.zeros(0, dtype=np.int64)), Origin.one_each(np.zeros(0)))):
        found = map_matching(trajs, true, released, origin, city.roads, seed=0)
        assert isinstance(found, NotPossible) and found.to_frame().loc[0, "attack"] == "map matching"


def test_refuses_what_does_not_fit(city: City, true: Streets, matcher: Matcher) -> None:
    trajs, each = city.trajectories, Origin.one_each(np.arange(len(city.trajectories)))
    for change, message in (
        ({"cells_m": -1.0}, "cells_m = -1.0"),
        ({"agre": 0.5}, "agre is unknown"),
        ({"k": 1}, "k = 1"),
        ({"half_m": np.ones(3)}, "half_m"),
    ):
        with pytest.raises(ParameterError, match=message):
            map_matching(trajs, true, trajs, each, city.roads, seed=0, matcher=matcher, **change)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="true has 2 street sequences"):
        map_matching(trajs, true.take(np.array([0, 1])), trajs, each, city.roads, seed=0, matcher=matcher)
    with pytest.raises(ParameterError, match="read the roads in its CRS"):
        rebuilt(trajs.with_meta(crs="EPSG:32629"), city.roads, matcher=matcher)
    with pytest.raises(ParameterError, match="another network"):
        rebuilt(trajs, replace(city.roads), matcher=matcher)
    lone = trajs.take(np.array([0]))
    with pytest.raises(ParameterError, match="at least two raw"):
        map_matching(lone, true.take(np.array([0])), lone, Origin.one_each(np.array([0])), city.roads, seed=0)


# ---- real data --------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_porto_by_its_own_roads(shared: Path) -> None:
    """Nobody knows the true streets: those of the raw fixes stand in. Small cells give most of them back, and large ones less."""
    roads = read_roads(shared / "data" / "porto_roads", "EPSG:32629")
    box = [-8.689, 41.141, -8.556, 41.186]
    trajs = load("porto", data=shared / "data" / "porto" / "train.1k.csv", settings={"box": box})
    trajs = trajs.take(np.arange(min(len(trajs), 200)))
    matcher = Matcher(roads, MatchSettings())
    reference = rebuilt(trajs, roads, matcher=matcher)
    origin = Origin.one_each(np.arange(len(trajs)))
    f1 = []
    for size in (100.0, 400.0):
        found = map_matching(
            trajs, reference, as_cells(trajs, size), origin, roads, seed=0, matcher=matcher, cells_m=size
        )
        assert isinstance(found, MapMatching)
        f1.append(found.f1)
        assert found.f1 > 2 * found.guess_f1
    assert f1[0] > 0.8 and f1[0] > f1[1] + 0.1
