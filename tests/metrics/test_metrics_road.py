"""Road fidelity on a single straight road along the x axis, where every answer is plain geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toys import META, ORIGIN, from_metres, walks

from trajkit.errors import ParameterError
from trajkit.metrics import MetricSettings, evaluate
from trajkit.metrics.road import places_along
from trajkit.roads import RoadNetwork

ONE = np.array([0, 1])


def one_road(crs: str = META.crs) -> RoadNetwork:
    ends = ORIGIN + np.array([[-10_000.0, 0.0], [10_000.0, 0.0]])
    return RoadNetwork(
        node_xy=ends,
        node_ids=ONE,
        edge_nodes=ONE[None].astype(np.int64),
        length_m=np.array([20_000.0]),
        speed_mps=np.array([10.0]),
        road_class=np.array(["unclassified"]),
        oneway=np.array([False]),
        edge_xy=ends,
        edge_offsets=np.array([0, 2], dtype=np.int64),
        crs=crs,
    )


def shares(paths: list[list[tuple[float, float]]], **settings: Any) -> tuple[float, float]:
    released = from_metres(paths)
    results = evaluate(
        released, released, settings=MetricSettings(**settings), seed=0, roads=one_road(), names=["ORP", "ORL"]
    )
    return results[0].value, results[1].value


def test_on_the_road_nothing_is_off_it() -> None:
    assert shares([[(0.0, 0.0), (500.0, 20.0)]]) == (0.0, 0.0)


def test_points_and_length_are_counted_apart() -> None:
    """Ends on the road and 100 m beside it: half the points, and the 75 of 100 metres past 25 m, are off it."""
    points, length = shares([[(0.0, 0.0), (0.0, 100.0)]], road_step_m=0.1)
    assert points == 0.5
    assert length == pytest.approx(0.75, abs=2e-3)


def test_the_distance_is_a_setting() -> None:
    assert shares([[(0.0, 30.0), (100.0, 30.0)]]) == (1.0, 1.0)
    assert shares([[(0.0, 30.0), (100.0, 30.0)]], road_distance_m=31.0) == (0.0, 0.0)


def test_length_weighs_trajectories_by_their_metres() -> None:
    """300 m on the road, 100 m far from it; half of the points each."""
    points, length = shares([[(0.0, 0.0), (300.0, 0.0)], [(0.0, 900.0), (100.0, 900.0)]])
    assert points == 0.5
    assert length == pytest.approx(0.25)


def test_the_way_between_trajectories_does_not_count() -> None:
    """Both trajectories are on the road; the jump from one to the next would not be."""
    assert shares([[(0.0, 0.0), (100.0, 0.0)], [(5000.0, 0.0), (5100.0, 0.0)]])[1] == 0.0


def test_what_does_not_move_counts_by_its_points() -> None:
    assert shares([[(0.0, 900.0), (0.0, 900.0)], [(0.0, 0.0), (0.0, 0.0)]]) == (0.5, 0.5)


def test_places_stand_for_the_whole_length_and_stay_few() -> None:
    trajs = walks(20, 30, 0)
    places, metres = places_along(trajs, step_m=10.0, limit=200_000)
    length = np.linalg.norm(np.diff(trajs.xy.reshape(20, 30, 2), axis=1), axis=2).sum()
    assert metres.sum() == pytest.approx(length)
    assert metres.max() <= 10.0 and len(places) == len(metres)
    few, _ = places_along(trajs, step_m=10.0, limit=500)
    assert 500 <= len(few) <= 500 + len(trajs)


def test_places_are_midpoints_of_pieces() -> None:
    places, metres = places_along(from_metres([[(0.0, 0.0), (0.0, 30.0), (40.0, 30.0)]]), step_m=14.0, limit=1000)
    np.testing.assert_allclose(metres, 14.0, rtol=1e-6)
    expected = np.array([(0, 7), (0, 21), (5, 30), (19, 30), (33, 30)])
    np.testing.assert_allclose(places - ORIGIN, expected, atol=1e-4)


def test_roads_in_another_crs_are_refused() -> None:
    a = walks(2, 4, 0)
    with pytest.raises(ParameterError, match="roads are in EPSG:32631"):
        evaluate(a, a, settings=MetricSettings(), seed=0, roads=one_road("EPSG:32631"))


def test_road_metrics_need_roads() -> None:
    a = walks(2, 4, 0)
    with pytest.raises(ParameterError, match="ORP needs a road network"):
        evaluate(a, a, settings=MetricSettings(), seed=0, names=["SWD", "ORP"])
    assert not [r for r in evaluate(a, a, settings=MetricSettings(), seed=0) if r.level == "road"]
