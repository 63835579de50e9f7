"""`evaluate`: what it computes, records and refuses; settings and rescaling."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from toys import BOX, META, from_metres, walks

from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import Box
from trajkit.metrics import METRICS, METRICS_VERSION, MetricResult, MetricSettings, evaluate, rescale
from trajkit.parameters import checked

POINT = ["SWD", "JSD", "RQ", "HS", "HSD"]
TRAJECTORY = ["TTD", "TD", "TE", "HD", "NHD", "DTW"]
PATTERN = ["CQ", "FP"]
DEFAULTS = MetricSettings()


def test_the_thirteen_and_two_road_metrics_are_declared_in_full() -> None:
    by_level: dict[str, list[str]] = {}
    for m in METRICS.values():
        by_level.setdefault(m.level, []).append(m.name)
    expected = {"point": POINT, "trajectory": TRAJECTORY, "pattern": PATTERN, "road": ["ORP", "ORL"]}
    assert list(by_level.items()) == list(expected.items())  # in the order of the reports
    for name, metric in METRICS.items():
        assert metric.name == name and metric.unit and metric.title
        assert metric.definition.endswith(".") and len(metric.definition) > 40
        assert set(metric.uses) <= set(MetricSettings.model_fields)
        assert metric.direction == "lower is better"


def test_every_setting_is_recorded_by_some_metric() -> None:
    assert {name for m in METRICS.values() for name in m.uses} == set(MetricSettings.model_fields)


def test_defaults_are_the_studys() -> None:
    assert DEFAULTS.model_dump() == {
        "n_points_swd": 10_000,
        "n_projections": 50,
        "jsd_cells": 64,
        "hotspots": 50,
        "rq_queries": 200,
        "rq_side": 1 / 3,
        "rq_sanity": 0.01,
        "te_cells": 16,
        "n_pairs": 3_000,
        "pattern_cells": 8,
        "cq_queries": 2_000,
        "cq_length": 4,
        "cq_sanity": 0.01,
        "fp_top": 50,
        "road_distance_m": 25.0,
        "road_step_m": 10.0,
        "road_places": 200_000,
    }


@pytest.mark.parametrize(
    "bad",
    [{"hotspot": 5}, {"n_pairs": 0}, {"n_pairs": "3"}, {"rq_side": 1.5}, {"rq_side": float("nan")}, {"te_cells": 2.5}],
)
def test_bad_settings_are_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        checked(MetricSettings, bad, where="evaluation")


def test_results_carry_what_is_needed_to_compute_them_again() -> None:
    results = evaluate(walks(8, 6, 0), walks(5, 6, 1), settings=MetricSettings(jsd_cells=8), seed=3)
    assert [r.metric for r in results] == POINT + TRAJECTORY + PATTERN
    by_name = {r.metric: r for r in results}
    assert by_name["JSD"].settings == {
        "jsd_cells": 8,
        "seed": 3,
        "n_real": 8,
        "n_released": 5,
        "points_outside_real": 0,
        "points_outside_released": 0,
        "metrics_version": METRICS_VERSION,
    }
    assert by_name["DTW"].settings["n_pairs"] == 5
    for r in results:
        assert (r.level, r.unit, r.direction) == (
            METRICS[r.metric].level,
            METRICS[r.metric].unit,
            METRICS[r.metric].direction,
        )
        assert json.loads(json.dumps(r.as_dict()))["value"] == r.value


def test_a_subset_gives_the_same_values_in_the_order_asked() -> None:
    a, b = walks(9, 6, 0), walks(9, 6, 1)
    everything = {r.metric: r for r in evaluate(a, b, settings=DEFAULTS, seed=0)}
    assert evaluate(a, b, settings=DEFAULTS, seed=0, names=["DTW", "SWD"]) == [everything["DTW"], everything["SWD"]]


def test_same_seed_same_values_other_seed_other_draws() -> None:
    settings = MetricSettings(n_points_swd=40, n_pairs=5)
    a, b = walks(20, 6, 0), walks(20, 6, 1)
    first = evaluate(a, b, settings=settings, seed=1)
    assert evaluate(a, b, settings=settings, seed=1) == first
    other = {r.metric: r.value for r in evaluate(a, b, settings=settings, seed=2)}
    drawn = {r.metric for r in first if r.value != other[r.metric]}
    assert drawn == {"SWD", "RQ", "HD", "NHD", "DTW", "CQ"}


def test_points_outside_the_box_are_counted() -> None:
    out = from_metres([[(0.0, 0.0), (0.0, 50_000.0), (0.0, 60_000.0)]])
    (result,) = evaluate(walks(1, 3, 0), out, settings=DEFAULTS, seed=0, names=["JSD"])
    assert (result.settings["points_outside_real"], result.settings["points_outside_released"]) == (0, 2)


def test_an_unknown_metric_is_named_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"'swd' is unknown: use some of SWD, JSD"):
        evaluate(walks(2, 3, 0), walks(2, 3, 1), settings=DEFAULTS, seed=0, names=["swd"])


@pytest.mark.parametrize(
    "meta", [replace(META, box=Box(-8.72, 41.10, -8.50, 41.25)), replace(META, crs="EPSG:32630")], ids=["box", "crs"]
)
def test_sets_must_share_box_and_crs(meta) -> None:  # type: ignore[no-untyped-def]
    a = walks(2, 3, 0)
    with pytest.raises(ParameterError, match="do not share box and CRS"):
        evaluate(a, replace(a, meta=meta), settings=DEFAULTS, seed=0)


@pytest.mark.parametrize("role", ["real", "released"])
def test_an_empty_set_is_refused(role: str) -> None:
    a = walks(2, 3, 0)
    sets = {"real": a, "released": a, role: a.take(np.zeros(0, dtype=np.int64))}
    with pytest.raises(DataContractError, match=f"the {role} set .* has no trajectories"):
        evaluate(sets["real"], sets["released"], settings=DEFAULTS, seed=0)


def test_coordinates_that_are_not_numbers_are_refused() -> None:
    a = walks(2, 3, 0)
    lonlat = a.lonlat.copy()
    lonlat[4] = np.nan
    with pytest.raises(DataContractError, match="not a finite number: 1"):
        evaluate(a, replace(a, lonlat=lonlat), settings=DEFAULTS, seed=0)


def test_a_set_wholly_outside_the_box_is_refused() -> None:
    a = walks(2, 3, 0)
    with pytest.raises(DataContractError, match="none of the 6 points of the released set"):
        evaluate(a, replace(a, lonlat=a.lonlat[:, ::-1]), settings=DEFAULTS, seed=0)


def test_a_result_is_never_nan() -> None:
    with pytest.raises(DataContractError, match="SWD came out as nan"):
        MetricResult("SWD", "point", float("nan"), "m", "lower is better", {})


def test_one_point_trajectories_can_be_compared() -> None:
    a, b = walks(3, 1, 0), walks(3, 1, 1)
    values = {r.metric: r.value for r in evaluate(a, b, settings=DEFAULTS, seed=0)}
    assert values["TTD"] == values["TD"] == 0.0
    assert values["HD"] == pytest.approx(values["DTW"])
    assert values["FP"] == 0.0  # neither side has a pattern of two cells


def test_rescale_maps_floor_to_zero_and_ceiling_to_one() -> None:
    assert rescale(2.0, 2.0, 6.0) == 0.0
    assert rescale(6.0, 2.0, 6.0) == 1.0
    assert rescale(1.0, 2.0, 6.0) == -0.25
    assert rescale(0.75, 1.0, 0.5) == 0.5  # a ceiling below the floor: higher is better


@pytest.mark.parametrize(
    "args",
    [(1.0, 2.0, 2.0), (1.0, 0.0, 0.0), (1.0, 2.0, 2.0 + 1e-12), (float("nan"), 0.0, 1.0), (1.0, 0.0, float("inf"))],
)
def test_rescale_is_undefined_rather_than_nan(args: tuple[float, float, float]) -> None:
    assert rescale(*args) is None


def test_the_toy_box_is_the_porto_box() -> None:
    assert META.box == BOX
