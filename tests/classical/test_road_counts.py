"""Method "road_counts": sensitivities, guarantee, release on the map, and what black-box tests make of its looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import META, from_metres, walks

from trajkit import geo
from trajkit.attacks.threshold_audit import epsilon_lower_bound
from trajkit.classical import looks as looks_module
from trajkit.classical import trip_habits
from trajkit.classical.looks import Looks
from trajkit.classical.road_counts import RoadCountsConfig, take_looks
from trajkit.contributions import at_most
from trajkit.datasets.city import simulate
from trajkit.datasets.city_off_roads import leave_roads
from trajkit.errors import DataContractError, ParameterError
from trajkit.grid import Grid
from trajkit.methods import make_method
from trajkit.privacy.mechanisms import Geometric
from trajkit.public_map import lattice
from trajkit.routing import Router
from trajkit.trajectories import Trajectories

RNG = np.random.default_rng
SMALL: dict[str, Any] = {"lattice_m": 2000.0, "coarse": 2, "halvings": 1, "rounds": 1, "length": 16}
ROUTER = Router(lattice(META.box, META.crs, 2000.0).network)


def timed(trajs: Trajectories, seed: int = 0) -> Trajectories:
    start = RNG(seed).integers(0, 86_400_000, len(trajs))
    step = np.arange(trajs.n_points) - np.repeat(trajs.offsets[:-1], trajs.lengths)
    return replace(trajs, t=np.repeat(start, trajs.lengths) + 15_000 * step)


# ---- sensitivity ----------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 10**6))
def test_one_trajectory_changes_every_count_by_at_most_its_sensitivity(n: int, length: int, seed: int) -> None:
    trajs = timed(walks(n, length, seed), seed)
    grid = Grid(geo.box_xy(META.box, META.crs), 5, 5)

    def counts(t: Trajectories) -> dict[str, tuple[np.ndarray, int]]:
        return {
            "detour": (trip_habits.detour_counts(t), 1),
            "hour": (trip_habits.hour_counts(t), 1),
            "speed": (trip_habits.speed_counts(t), 1),
            "on and off": (trip_habits.on_off_map(t, ROUTER), 1),
            "ends": (trip_habits.end_counts(grid, t.xy[t.starts], t.xy[t.ends]), 2),
        }

    without = counts(trajs.take(np.arange(1, n)))
    for what, (vector, sensitivity) in counts(trajs).items():
        assert np.abs(vector - without[what][0]).sum() <= sensitivity, what


def test_the_looks_are_what_was_declared_and_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vector of a whole fit, with and without one trajectory, grids being equal."""
    trajs = timed(walks(30, 10, 1))
    config = RoadCountsConfig(**{**SMALL, "epsilon": 1e4, "fine": 4, "times": True})
    seen: list[list[tuple[np.ndarray, int]]] = []
    take = Looks.counts

    def spy(looks: Looks, what: str, values: np.ndarray, *, epsilon: Any, sensitivity: int = 1) -> np.ndarray:
        seen[-1].append((np.array(values), sensitivity))
        return take(looks, what, values, epsilon=epsilon, sensitivity=sensitivity)

    monkeypatch.setattr(Looks, "counts", spy)
    for t in (trajs, trajs.take(np.arange(1, 30))):
        seen.append([])
        looks = Looks(config.epsilon, seed=0, stream="test")
        take_looks(t, ROUTER, looks, config)
        assert looks.left == 0
    assert (
        len(seen[0]) == 6
    )  # ends, density, detours, on and off the map, hours, speeds; the tree adds its noise itself
    for (a, sensitivity), (b, _) in zip(*seen, strict=True):
        assert np.abs(a - b).sum() <= sensitivity


def test_a_user_is_capped_by_a_rule_that_looks_at_nobody_else() -> None:
    trajs = replace(walks(12, 5, 0), user=np.array([0] * 6 + [1] * 4 + [2] * 2), user_ids=np.array(["a", "b", "c"]))
    kept = at_most(trajs, 3, seed=1)
    assert np.bincount(kept.user).tolist() == [3, 3, 2]
    own = trajs.take(trajs.user == 1)
    renamed = replace(own, traj_ids=np.array([f"another-{i}" for i in range(len(own))]))
    alone = at_most(renamed, 3, seed=1)
    theirs = kept.take(kept.user == 1)
    assert sorted(map(tuple, alone.lonlat[alone.starts])) == sorted(map(tuple, theirs.lonlat[theirs.starts]))
    guarantee = (
        make_method("road_counts", **SMALL, epsilon=2.0, trips_per_user=3)
        .fit(trajs, seed=0)
        .release(2, seed=0)
        .guarantee
    )
    assert guarantee.unit == "user" and guarantee.epsilon == pytest.approx(2.0)
    assert any("at most 3 trajectories of a user" in a for a in guarantee.assumptions)
    looks = guarantee.parts[0].details["looks"]
    assert {look["sensitivity"] % 3 for look in looks} == {0}


# ---- release --------------------------------------------------------------------------------------------------------


def test_everything_released_lies_on_the_public_map_and_the_guarantee_names_it() -> None:
    method = make_method("road_counts", **SMALL, epsilon=3.0).fit(walks(100, 12, 0), seed=0)
    release = method.release(40, seed=1)
    assert ROUTER.network.near(release.trajectories.xy, 30.0).all()
    g = release.guarantee
    assert g.holds and g.epsilon == pytest.approx(3.0) and g.delta == 0 and g.numerics == "exact"
    assert any("lattice" in a and "not computed from the data" in a for a in g.assumptions)
    assert release.report["trips by the tree"] > 0 and len(release.report["misfit of the density, by round"]) == 3


def test_where_many_leave_the_map_the_report_says_so() -> None:
    off = {**SMALL, "lattice_m": 9000.0, "epsilon": 50.0}
    assert "warning" in make_method("road_counts", **off).fit(walks(100, 12, 0), seed=0).release(1, seed=0).report
    along = [[(-3000.0, 0.0), (3000.0, 0.0)]] * 50
    x0, y0, _, _ = geo.box_xy(META.box, META.crs)
    assert x0 < y0  # the toy box; where the lattice runs is not the point here
    assert "map" in make_method("road_counts", **SMALL).fit(from_metres(along), seed=0).release(1, seed=0).report


def test_a_popular_trip_comes_out() -> None:
    there = [[(-6000.0, -5000.0), (6000.0, 5000.0)]] * 300
    out = (
        make_method("road_counts", **SMALL, epsilon=20.0, bands=1)
        .fit(from_metres(there), seed=0)
        .release(100, seed=0)
        .trajectories
    )
    xy = out.xy.reshape(100, -1, 2)
    moved = xy[:, -1] - xy[:, 0]
    assert (moved > 0).all(axis=1).mean() > 0.9


def test_nothing_private_is_kept_and_no_data_is_refused() -> None:
    method = make_method("road_counts", **SMALL).fit(walks(30, 8, 0), seed=0)
    model = vars(method)["model_"]
    assert not any(isinstance(v, Trajectories) for v in vars(model).values())
    with pytest.raises(DataContractError, match="no trajectory"):
        make_method("road_counts").fit(walks(3, 8, 0).take(np.zeros(0, dtype=np.int64)), seed=0)


def test_timed_releases_have_the_interval_the_day_and_the_hours() -> None:
    train = timed(walks(200, 12, 0))
    base = {**SMALL, "epsilon": 50.0, "times": True, "interval_s": 30.0, "day": "2021-03-04"}
    release = make_method("road_counts", **base).fit(train, seed=0).release(50, seed=0)
    out = release.trajectories
    assert out.violations() == [] and out.t is not None and len(out) == 50
    inner = np.delete(np.diff(out.t), out.offsets[1:-1] - 1)
    assert set(inner) == {30_000}
    days = out.t[out.starts] / 86_400_000
    assert (np.floor(days) == np.datetime64("2021-03-04").astype(int)).all()
    assert any("time zone" in a for a in release.guarantee.assumptions) and ROUTER.network.near(out.xy, 30.0).all()
    with pytest.raises(DataContractError, match="no times"):
        make_method("road_counts", **base).fit(walks(10, 5, 0), seed=0)


def test_no_record_can_make_an_hour_fail() -> None:
    odd = replace(walks(3, 1, 0), t=np.array([np.iinfo(np.int64).min, 10**17, 0]))
    hours = trip_habits.hours_of(odd)
    assert hours is not None and ((hours >= 0) & (hours <= 24)).all() and trip_habits.hour_counts(odd).sum() == 3
    assert trip_habits.speed_counts(odd).sum() == 3


def fitted(roads: Any, n: int = 10) -> Any:
    method: Any = make_method("road_counts", **SMALL)
    return method.fit(walks(n, 5, 0), seed=0, roads=roads)


def test_a_map_of_another_place_or_crs_is_refused_and_one_that_is_larger_is_cut() -> None:
    with pytest.raises(ParameterError, match="junctions in the box"):
        fitted(lattice(geo.Box(-6.0, 41.1, -5.8, 41.24), META.crs, 2000.0).network)
    with pytest.raises(ParameterError, match="CRS"):
        fitted(replace(ROUTER.network, crs="EPSG:3763"))
    model = fitted(lattice(geo.Box(-9.0, 40.9, -8.2, 41.5), META.crs, 2000.0).network, 50).model_
    x0, y0, x1, y1 = geo.box_xy(META.box, META.crs)
    xy = model.router.network.node_xy
    assert ((xy >= [x0, y0]) & (xy <= [x1, y1])).all() and "cut to the box" in model.report["map"]


@pytest.mark.parametrize("side", [2, 5, 40])
def test_no_weight_is_lost_where_a_cell_has_no_junction(side: int) -> None:
    grid = Grid(geo.box_xy(META.box, META.crs), side, side)
    weights = RNG(0).random(side * side)
    assert trip_habits.at_nodes(ROUTER, grid, weights).sum() == pytest.approx(weights.sum())


# ---- black box ------------------------------------------------------------------------------------------------------

LOW, HIGH = -3000.0, 3000.0
OTHERS = [[(LOW, LOW), (LOW, LOW + 10)], [(LOW, LOW), (HIGH, LOW)]]
TARGET = [(HIGH, HIGH), (LOW, HIGH)]
FITS = {"habits": 1200}  # two looks share its budget, so less is to be seen in one fit
USUAL_FITS = 400
CASES = {  # nearly all of the budget for one look
    "starts and ends": ([0.01, 0.97, 0.01, 0.01], slice(0, 1)),
    "density": ([0.01, 0.01, 0.97, 0.01], slice(1, 2)),
    "habits": ([0.01, 0.01, 0.01, 0.97], slice(2, 4)),
}


class HalfTheNoise(Geometric):
    """The bug to be caught."""

    @classmethod
    def calibrate(cls, epsilon: float, *, sensitivity: int, exact: bool = False) -> Geometric:
        return Geometric.calibrate(2 * epsilon, sensitivity=sensitivity, exact=exact)


def transcripts(case: str, monkeypatch: pytest.MonkeyPatch, *, seed: int) -> tuple[list[float], list[float]]:
    """Log-likelihood ratio of the noisy vectors of some looks, of fits without the target and with it."""
    split, which = CASES[case]
    config = RoadCountsConfig(**{**SMALL, "epsilon": 1.0, "fine": 2, "split": split})
    record: list[tuple[np.ndarray, np.ndarray, float]] = []
    take = Looks.counts

    def spy(looks: Looks, what: str, values: np.ndarray, *, epsilon: Any, sensitivity: int = 1) -> np.ndarray:
        found = take(looks, what, values, epsilon=epsilon, sensitivity=sensitivity)
        record.append((np.array(values), found, looks.taken[-1].scale))
        return found

    def look(trajs: Trajectories, at: int) -> list[tuple[np.ndarray, np.ndarray, float]]:
        record.clear()
        take_looks(trajs, ROUTER, Looks(1.0, seed=at, stream="test"), config)
        return record[which]

    with monkeypatch.context() as patch:
        patch.setattr(Looks, "counts", spy)
        sets = [from_metres(OTHERS), from_metres([*OTHERS, TARGET])]
        exact = [[values for values, _, _ in look(t, 0)] for t in sets]
        found: tuple[list[float], list[float]] = ([], [])
        for i in range(FITS.get(case, USUAL_FITS)):
            for k, trajs in enumerate(sets):
                rows = zip(look(trajs, seed + 2 * i + k), *exact, strict=True)
                found[k].append(
                    float(sum((np.abs(z - a) - np.abs(z - b)).sum() / scale for (_, z, scale), a, b in rows))
                )
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_claim_survives_and_half_the_noise_does_not(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = epsilon_lower_bound(*transcripts(case, monkeypatch, seed=1000), delta=0.0).epsilon
    monkeypatch.setattr(looks_module, "Geometric", HalfTheNoise)
    broken = epsilon_lower_bound(*transcripts(case, monkeypatch, seed=5000), delta=0.0).epsilon
    print(case, honest, broken)
    assert honest <= 1.0 < broken


def test_a_count_left_without_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoNoise(Geometric):
        def randomise(self, values: Any, rng: Any) -> np.ndarray:
            return np.asarray(values, dtype=np.int64)

        @classmethod
        def calibrate(cls, epsilon: float, *, sensitivity: int, exact: bool = False) -> Geometric:
            made = Geometric.calibrate(epsilon, sensitivity=sensitivity, exact=exact)
            return cls(made.scale, made.sensitivity, made.exact)

    monkeypatch.setattr(looks_module, "Geometric", NoNoise)
    assert epsilon_lower_bound(*transcripts("starts and ends", monkeypatch, seed=9000), delta=0.0).epsilon > 1.0


def test_people_who_cut_across_blocks_are_counted_as_off_the_map() -> None:
    town = simulate(people=130, days=3, seed=3)
    router, share = Router(town.roads), 0.3
    before, after = town.trajectories, leave_roads(town.trajectories, share=share, seed=1)
    counts = [trip_habits.on_off_map(t, router) for t in (before, after)]
    astray = float((before.lonlat != after.lonlat).any(axis=1)[after.starts + 1].mean())
    assert counts[0][1] == 0 and counts[1][1] / len(after) == pytest.approx(astray, abs=0.05)
    assert 0.2 < astray < 0.4


def test_the_map_of_another_year_is_used_and_named() -> None:
    town = simulate(people=60, days=2, seed=3)
    release = (
        make_method("road_counts", length=8, rounds=1, changed_streets=0.05)
        .fit(town.trajectories, seed=0, roads=town.roads)
        .release(5, seed=0)
    )
    assert "as in another year" in release.report["map"]
    assert any("as in another year" in a for a in release.guarantee.assumptions)
