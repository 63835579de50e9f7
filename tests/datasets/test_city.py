"""The simulated city: contract, map, speeds, clock, popularity, determinism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely
from scipy.ndimage import gaussian_filter
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import jensenshannon

from trajkit import geo
from trajkit.datasets import load, roads_of
from trajkit.datasets.city import City, simulate
from trajkit.datasets.city_map import BOX, CRS, SPEED_MPS, CityMap, build_map
from trajkit.datasets.city_off_roads import leave_roads
from trajkit.datasets.city_people import STAY, WORK, draw_people, draw_places, home_weights, plan_days
from trajkit.datasets.city_streets import RIVER_HALF_WIDTH_M
from trajkit.datasets.city_trips import INTERVAL_S, find_routes, network_of
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.grid import Grid
from trajkit.trajectories import Trajectories

SIZE = {"people": 130, "days": 7}


@pytest.fixture(scope="module")
def town() -> CityMap:
    return build_map()


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(**SIZE, seed=3)


def local_time(city: City) -> pd.DatetimeIndex:
    trajs = city.trajectories
    assert trajs.t is not None
    return pd.to_datetime(trajs.t[trajs.starts], unit="ms", utc=True).tz_convert(trajs.meta.tz)


# ---- the map ----------------------------------------------------------------------------------------------------


def test_map_is_one_connected_city(town: CityMap) -> None:
    roads = town.roads
    assert roads.checks() == []
    strong = connected_components(roads.graph(), connection="strong", return_labels=False)
    assert strong == 1, "one-way streets must not trap anyone"
    width, height = np.ptp(roads.node_xy, axis=0)
    assert 9_000 < width < 12_000
    assert 9_000 < height < 12_000
    assert set(roads.road_class) == set(SPEED_MPS)
    assert 0.05 < roads.oneway[roads.road_class == "residential"].mean() < 0.4
    assert not roads.oneway[roads.road_class != "residential"].any()


def test_twins_are_the_same_street_reversed(town: CityMap) -> None:
    two_way = np.flatnonzero(town.twin >= 0)
    assert (town.twin[town.twin[two_way]] == two_way).all()
    assert (town.roads.edge_nodes[town.twin[two_way]] == town.roads.edge_nodes[two_way][:, ::-1]).all()
    assert (town.roads.oneway == (town.twin < 0)).all()


def test_blocks_are_short_in_the_centre_and_long_outside(town: CityMap) -> None:
    side = town.roads.road_class == "residential"
    middle = town.roads.node_xy[town.roads.edge_nodes[side]].mean(axis=1) - town.centre
    r = np.hypot(*middle.T)
    length = town.roads.length_m[side]
    assert np.median(length[r < 1000]) < 0.6 * np.median(length[r > 3500])


def test_few_bridges_and_no_other_road_over_the_river(town: CityMap) -> None:
    lines = shapely.linestrings(
        town.roads.edge_xy, indices=np.repeat(np.arange(len(town.roads)), np.diff(town.roads.edge_offsets))
    )
    over = np.flatnonzero(shapely.crosses(lines, town.river.buffer(-RIVER_HALF_WIDTH_M / 2)))
    assert set(over) == set(town.bridges.tolist())
    assert 8 <= len(over) <= 14  # both directions of four to seven bridges


def test_parks_have_no_side_streets(town: CityMap) -> None:
    side = np.flatnonzero(town.roads.road_class == "residential")
    middle = town.roads.edge_xy[town.roads.edge_offsets[side] + 1]
    assert not shapely.contains_xy(town.parks.buffer(-25), *middle.T).any()


# ---- routes -----------------------------------------------------------------------------------------------------


def test_routes_are_fastest_and_unbroken(town: CityMap) -> None:
    random = np.random.default_rng(0)
    places = draw_places(town, random)
    people = draw_people(town, places, home_weights(town, random), 40, random)
    moves = plan_days(people, np.array([0, 5]), random)
    network = network_of(town, 1)
    routes = find_routes(town, network, people, moves)
    tail, head = town.roads.edge_nodes.T
    trees: dict[tuple[int, int], np.ndarray] = {}
    for i in range(len(moves.person)):
        hops = routes.hops[routes.begin[i] : routes.begin[i] + routes.count[i]]
        assert (head[hops[:-1]] == tail[hops[1:]]).all()
        profile = int(people.profile[moves.person[i]])
        source = int(tail[people.place_edge[moves.person[i], moves.origin[i]]])
        target = int(tail[people.place_edge[moves.person[i], moves.target[i]]])
        if (profile, source) not in trees:
            seen = _costed(town, network.cost[profile])
            trees[profile, source] = dijkstra(seen, indices=source)
        passed = hops[(np.cumsum(tail[hops] == source) > 0) & ~(np.cumsum(tail[hops] == target) > 0)]
        if source != target:
            assert network.cost[profile][passed].sum() == pytest.approx(trees[profile, source][target])
    assert (routes.leave_m >= routes.enter_m).all()
    assert (routes.leave_m <= town.roads.length_m[routes.hops] + 1e-9).all()


def _costed(town: CityMap, cost: np.ndarray):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(town.roads, speed_mps=town.roads.length_m / cost).graph()


def test_days_start_at_home_and_chain(town: CityMap) -> None:
    random = np.random.default_rng(1)
    people = draw_people(town, draw_places(town, random), home_weights(town, random), 50, random)
    moves = plan_days(people, np.array([0, 1, 5, 6]), random)
    assert (moves.origin != moves.target).all()
    assert (moves.target != STAY).all()
    key = moves.person * 4 + moves.day
    same_day = np.diff(key) == 0
    assert (moves.origin[1:][same_day] == moves.target[:-1][same_day]).all()
    assert (np.diff(moves.depart_s)[same_day] >= 3600).all()
    first = np.append(True, ~same_day)
    assert (moves.origin[first] == 0).all()
    weekend = moves.day >= 2
    assert not (moves.target[weekend] == WORK).any()


# ---- traces -----------------------------------------------------------------------------------------------------


def test_contract_box_and_drop_report(city: City) -> None:
    trajs = city.trajectories.check(min_points=10)
    assert trajs.meta.box == BOX
    assert trajs.lengths.max() <= 200
    margin = 0.004
    low, high = trajs.lonlat.min(axis=0), trajs.lonlat.max(axis=0)
    assert BOX.lon_min + margin < low[0] < high[0] < BOX.lon_max - margin
    assert BOX.lat_min + margin < low[1] < high[1] < BOX.lat_max - margin
    (step,) = trajs.meta.steps
    assert step["step"] == "simulate"
    assert step["trajectories_out"] == len(trajs)
    assert step["points_in"] - sum(points for _, points in step["dropped"].values()) == trajs.n_points
    assert 25 <= np.median(trajs.lengths) <= 45


def test_points_lie_on_roads(city: City) -> None:
    distance = city.roads.nearest_distance(city.trajectories.xy, 100.0)
    assert (distance <= 30.0).mean() > 0.99
    assert 1.0 < np.median(distance) < 8.0, "GPS noise of about 5 m"


def test_river_is_crossed_only_on_bridges(city: City, town: CityMap) -> None:
    xy = city.trajectories.xy
    wet = shapely.contains_xy(town.river.buffer(-20), xy[:, 0], xy[:, 1])
    assert wet.sum() > 50
    bridges = shapely.multilinestrings(
        [town.roads.edge_xy[town.roads.edge_offsets[b] : town.roads.edge_offsets[b + 1]] for b in town.bridges]
    )
    assert shapely.distance(shapely.points(xy[wet]), bridges).max() < 30.0


def test_fixes_every_15_s_at_plausible_speed(city: City) -> None:
    trajs = city.trajectories
    assert trajs.t is not None
    within = np.diff(trajs.traj_of_point) == 0
    assert (np.diff(trajs.t)[within] == INTERVAL_S * 1000).all()
    speed = np.hypot(*np.diff(trajs.xy, axis=0).T)[within] / INTERVAL_S
    assert 4.0 < np.median(speed) < 12.0
    assert np.quantile(speed, 0.999) < 30.0
    assert trajs.t.dtype == np.int64


def test_a_person_is_in_one_place_at_a_time(city: City) -> None:
    trajs = city.trajectories
    assert trajs.t is not None
    same = np.diff(trajs.user) == 0
    assert (trajs.t[trajs.starts[1:]] > trajs.t[trajs.ends[:-1]])[same].all()


def test_weekday_peaks_are_in_local_time(city: City) -> None:
    when = local_time(city)
    weekday = when.day_of_week < 5
    hours = np.bincount(when.hour[weekday], minlength=24)
    assert hours[[7, 8]].mean() > 2 * hours[[10, 11]].mean()
    assert hours[[17, 18]].mean() > 2 * hours[[14, 15]].mean()
    assert hours[[2, 3, 4]].sum() == 0
    weekend = np.bincount(when.hour[~weekday], minlength=24)
    assert weekend[7:9].sum() / weekend.sum() < 0.5 * hours[7:9].sum() / hours.sum()


def test_trips_end_at_the_places_of_the_truth(city: City) -> None:
    trajs, people = city.trajectories, city.truth["people"].set_index("user_id")
    home = people.loc[trajs.user_ids[trajs.user], ["home_lon", "home_lat"]].to_numpy()
    from_home = geo.haversine_m(trajs.lonlat[trajs.starts], home)
    assert 0.3 < (from_home < 30).mean() < 0.7
    places = city.truth["places"][["lon", "lat"]].to_numpy()
    to_place = geo.haversine_m(trajs.lonlat[trajs.starts][:, None], places[None]).min(axis=1)
    assert ((from_home < 30) | (to_place < 30)).all()


def test_popularity_is_unequal(city: City) -> None:
    places = city.truth["places"]
    assert places.groupby("kind")["popularity"].sum().to_numpy() == pytest.approx(1.0)
    work = city.truth["people"].groupby(["work_lon", "work_lat"]).size().sort_values(ascending=False)
    assert work.head(10).sum() > 0.2 * work.sum()
    assert len(work) > 30


# ---- determinism and loading ------------------------------------------------------------------------------------


def test_seed_decides_and_workers_do_not(city: City) -> None:
    one = simulate(**SIZE, seed=3, workers=1).trajectories
    assert one.fingerprint() == city.trajectories.fingerprint()
    assert simulate(**SIZE, seed=4).trajectories.fingerprint() != one.fingerprint()


def test_more_people_change_nobody(city: City) -> None:
    fewer = simulate(people=70, days=7, seed=3).trajectories
    head = city.trajectories.take(city.trajectories.user < 70)
    assert (fewer.traj_ids == head.traj_ids).all()
    assert (fewer.lonlat == head.lonlat).all()


def test_saved_and_read_back(city: City, tmp_path: Path) -> None:
    city.to_folder(tmp_path)
    again = City.from_folder(tmp_path)
    assert again.trajectories.fingerprint() == city.trajectories.fingerprint()
    assert (again.roads.segments() == city.roads.segments()).all()
    pd.testing.assert_frame_equal(again.truth["people"], city.truth["people"])
    assert not list(tmp_path.glob("*.part"))
    (tmp_path / "roads.parquet").unlink()
    with pytest.raises(MissingDataError, match=r"roads\.parquet does not exist"):
        City.from_folder(tmp_path)


def test_load_draws_exactly_the_trips_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path))
    trajs = load("city", settings={"people": 60, "days": 2, "seed": 3, "trips": 200})
    assert len(trajs) == 200
    assert [step["step"] for step in trajs.meta.steps[:2]] == ["simulate", "draw_trips"]
    roads = roads_of("city", settings={"people": 60, "days": 2, "seed": 3})
    assert roads.crs == CRS == trajs.meta.crs
    with pytest.raises(DataContractError, match="raise people or days"):
        load("city", settings={"people": 1, "days": 1, "trips": 500})
    with pytest.raises(ParameterError, match="people = 0"):
        load("city", settings={"people": 0})


@pytest.mark.parametrize("bad", [{"people": 0}, {"days": 1.5}, {"workers": 0}, {"seed": -1}, {"people": True}])
def test_bad_sizes_are_refused(bad: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(ParameterError, match=r"whole number|non-negative integer"):
        simulate(**{"people": 2, "days": 1, "seed": 1, **bad})


@pytest.mark.shared
def test_traffic_is_as_spread_out_as_in_porto(shared: Path) -> None:
    """How much a blur by one cell changes the density, as a share of the distance to uniform: streets against side streets."""

    def sharpness(trajs: Trajectories) -> float:
        counts = Grid(geo.box_xy(trajs.meta.box, trajs.meta.crs), 64, 64).counts(trajs.xy).reshape(64, 64)
        p = counts / counts.sum()
        change = jensenshannon(p.ravel(), gaussian_filter(p, 1).ravel(), base=2) ** 2
        return float(change / jensenshannon(p.ravel(), np.full(p.size, 1 / p.size), base=2) ** 2)

    porto = load("porto", data=str(shared / "data" / "porto" / "train_by_taxi.csv.gz")).take(np.arange(20_000))
    city = load("city", settings={"trips": 20_000, "seed": 0})
    assert sharpness(city) == pytest.approx(sharpness(porto), rel=0.25)


def test_people_who_leave_the_roads_keep_ends_and_times(city: City) -> None:
    before = city.trajectories
    after = leave_roads(before, share=0.25, seed=5).check()
    changed = np.unique(before.user[before.traj_of_point[(after.lonlat != before.lonlat).any(axis=1)]])
    assert len(changed) == pytest.approx(0.25 * SIZE["people"], abs=1)
    astray = np.isin(before.user, changed)
    assert np.allclose(after.xy[after.starts], before.xy[before.starts], atol=1) and (after.t == before.t).all()  # type: ignore[attr-defined]
    near = city.roads.near(after.xy, 20.0)
    assert near[~astray[after.traj_of_point]].mean() > 0.95 > 0.7 > near[astray[after.traj_of_point]].mean()
    assert (leave_roads(before, share=0.25, seed=5).lonlat == after.lonlat).all()
    assert (leave_roads(before, share=0.0, seed=5).lonlat == before.lonlat).all()
