"""Routes against Floyd-Warshall, one-way streets, parallel edges, points on known geometry, driving times and flows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import floyd_warshall

from trajkit import routing
from trajkit.errors import DataContractError, ParameterError
from trajkit.roads import RoadNetwork
from trajkit.route_points import spaced_points, timed_points
from trajkit.routing import Router, Routes


def network(
    nodes: list[tuple[float, float]], lines: list[list[tuple[float, float]]], speed: float = 10.0
) -> RoadNetwork:
    """One-way edges along the given lines, whose ends are among the nodes."""
    xy = np.array(nodes, dtype=float)
    ends = [[nodes.index(line[0]), nodes.index(line[-1])] for line in lines]
    flat = np.array([point for line in lines for point in line], dtype=float)
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    length = [np.hypot(*np.diff(np.array(line, dtype=float), axis=0).T).sum() for line in lines]
    return RoadNetwork(
        node_xy=xy,
        node_ids=np.arange(len(xy)),
        edge_nodes=np.array(ends, dtype=np.int64),
        length_m=np.array(length),
        speed_mps=np.full(len(lines), speed),
        road_class=np.full(len(lines), "residential"),
        oneway=np.ones(len(lines), dtype=bool),
        edge_xy=flat,
        edge_offsets=offsets.astype(np.int64),
        crs="EPSG:32629",
    )


def random_network(seed: int, nodes: int, edges: int) -> RoadNetwork:
    """Straight edges between random nodes at random speeds: loops, parallel edges and unreachable nodes included."""
    random = np.random.default_rng(seed)
    places = [tuple(p) for p in random.uniform(0, 1000, (nodes, 2))]
    roads = network(places, [[places[a], places[b]] for a, b in random.integers(0, nodes, (edges, 2))])
    return replace(roads, speed_mps=random.uniform(5, 20, edges))


TRIANGLE = network(
    [(0, 0), (100, 0), (100, 50), (900, 900)],
    [
        [(0, 0), (100, 0)],
        [(100, 0), (100, 50)],
        [(100, 50), (0, 50), (0, 0)],
        [(0, 0), (50, 80), (100, 0)],  # parallel to the first, longer
        [(100, 0), (120, 0), (100, 0)],  # a loop
        [(0, 0), (900, 900)],  # a way out, none back
    ],
)
ROUTER = Router(TRIANGLE)


def one(source: int, target: int, cost: np.ndarray | None = None) -> list[int]:
    return ROUTER.routes(np.array([source]), np.array([target]), cost).edges.tolist()


# ---- paths ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(2, 25), spread=st.sampled_from([0.0, 0.7]))
def test_costs_are_the_smallest_and_the_edges_join(seed: int, nodes: int, spread: float) -> None:
    roads = random_network(seed, nodes, 3 * nodes)
    source, target = (part.ravel() for part in np.meshgrid(np.arange(nodes), np.arange(nodes)))
    routes = Router(roads).routes(source, target, spread=spread, profiles=3, random=np.random.default_rng(seed))
    factors = (
        np.random.default_rng(seed).lognormal(0.0, spread, (3, len(roads))) if spread else np.ones((1, len(roads)))
    )
    for p, cost in enumerate(factors * roads.travel_time_s):
        chosen = routes.take(routes.profile == p)
        exact = floyd_warshall(np.where(np.isinf(dense := dense_costs(roads, cost)), 0, dense))
        assert chosen.cost == pytest.approx(exact[chosen.source, chosen.target])
        assert chosen.total(cost)[chosen.reached] == pytest.approx(chosen.cost[chosen.reached])
    for i in range(len(routes)):
        path = roads.edge_nodes[routes.edges[routes.offsets[i] : routes.offsets[i + 1]]]
        if len(path):
            assert (path[0, 0], path[-1, 1]) == (source[i], target[i])
            assert (path[1:, 0] == path[:-1, 1]).all()
        else:
            assert source[i] == target[i] or not routes.reached[i]


def dense_costs(roads: RoadNetwork, cost: np.ndarray) -> np.ndarray:
    out = np.full((len(roads.node_xy),) * 2, np.inf)
    np.minimum.at(out, tuple(roads.edge_nodes.T), cost)
    np.fill_diagonal(out, np.inf)
    return out


def test_one_way_streets_are_driven_one_way() -> None:
    assert one(0, 1) == [0]
    assert one(1, 0) == [1, 2]


def test_of_parallel_edges_the_cheapest() -> None:
    assert one(0, 1, np.array([9.0, 1, 1, 2, 0, 1])) == [3]
    assert one(0, 2, np.array([9.0, 1, 1, 9.5, 0, 1])) == [0, 1]


def test_no_route_and_no_way_to_go_are_told_apart() -> None:
    routes = ROUTER.routes(np.array([3, 2, 0]), np.array([0, 2, 3]))
    assert routes.reached.tolist() == [False, True, True]
    assert routes.counts.tolist() == [0, 0, 1]
    assert routes.cost[:2].tolist() == [np.inf, 0.0]


def test_a_free_edge_is_an_edge_and_a_closed_one_is_none() -> None:
    free = TRIANGLE.travel_time_s.copy()
    free[0] = 0.0
    assert one(0, 1, free) == [0]
    free[0] = np.inf
    assert one(0, 1, free) == [3]


def test_few_trees_at_a_time_give_the_same_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    roads = random_network(5, 60, 200)
    source, target = np.random.default_rng(1).integers(0, 60, (2, 300))
    whole = Router(roads).routes(source, target)
    monkeypatch.setattr(routing, "TREE_CELLS", 150)
    pieces = Router(roads).routes(source, target)
    assert (whole.edges == pieces.edges).all()
    assert (whole.offsets == pieces.offsets).all()


def test_a_spread_varies_routes_and_repeats_by_seed() -> None:
    roads = random_network(5, 60, 300)
    ask = Router(roads).routes
    source, target = np.full(200, 3), np.full(200, 44)
    first, again = (ask(source, target, spread=0.8, random=np.random.default_rng(9)) for _ in range(2))
    assert (first.edges == again.edges).all()
    assert len({tuple(first.edges[a:b]) for a, b in zip(first.offsets[:-1], first.offsets[1:], strict=True)}) > 1
    assert set(first.profile) == set(range(routing.PROFILES))


def test_nothing_asked() -> None:
    none = np.zeros(0, dtype=np.int64)
    routes = ROUTER.routes(none, none, spread=0.5, random=np.random.default_rng(0))
    assert (len(routes), len(routes.edges), routes.offsets.tolist()) == (0, 0, [0])
    assert spaced_points(TRIANGLE, routes, 4).shape == (0, 4, 2)
    assert timed_points(TRIANGLE, routes, 5.0)[2].tolist() == [0]
    assert ROUTER.edge_flows(routes).tolist() == [0.0] * 6


def test_nearest_node_of_the_part_that_one_can_leave() -> None:
    node, metres = ROUTER.nodes_near(np.array([[3.0, 4.0], [900.0, 850.0]]))
    assert node.tolist() == [0, 2]
    assert metres == pytest.approx([5.0, np.hypot(800, 800)])
    with pytest.raises(DataContractError, match="1 of 1 points"):
        ROUTER.nodes_near(np.array([[np.nan, 0.0]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": [0, 1]}, "2 sources but 1 targets"),
        ({"targets": [4]}, "targets reach from 4 to 4, but nodes are 0 to 3"),
        ({"sources": [0.5]}, "sources must be a list of node indices"),
        ({"cost": np.array([1.0, -1, 1, 1, 1, 1])}, "edge 1 costs -1.0"),
        ({"cost": np.full(6, np.nan)}, "edge 0 costs nan"),
        ({"cost": np.ones(5)}, "there are 6 edges"),
        ({"spread": 0.5}, "seeded generator"),
        ({"spread": -0.5}, "must be at least 0"),
    ],
)
def test_bad_requests(change: dict, message: str) -> None:
    request = {"sources": [0], "targets": [1], **change}
    with pytest.raises(ParameterError, match=message):
        ROUTER.routes(**request)


# ---- points -----------------------------------------------------------------------------------------------------


def test_points_on_known_geometry() -> None:
    routes = ROUTER.routes(np.array([1, 2]), np.array([0, 2]))  # 50 m up, 100 m left, 50 m down; nowhere
    points = spaced_points(TRIANGLE, routes, 5)
    assert points[0] == pytest.approx(np.array([[100, 0], [100, 50], [50, 50], [0, 50], [0, 0]], dtype=float))
    assert (points[1] == [100.0, 50.0]).all()


def test_ends_along_the_first_and_the_last_edge() -> None:
    routes = ROUTER.routes(np.array([1, 0, 2]), np.array([0, 1, 2]))
    ends = {"enter_m": np.array([40.0, 20.0, 0.0]), "leave_m": np.array([120.0, 60.0, 0.0])}
    points = spaced_points(TRIANGLE, routes, 3, **ends)
    assert points[0] == pytest.approx(np.array([[100, 40], [45, 50], [0, 30]], dtype=float))
    assert points[1] == pytest.approx(np.array([[20, 0], [40, 0], [60, 0]], dtype=float))
    xy, t, offsets = timed_points(TRIANGLE, routes, 2.0, **ends)
    assert np.diff(offsets).tolist() == [7, 3, 1]  # 130 m, 40 m and 0 m at 10 m/s
    assert xy[7:10] == pytest.approx(points[1])
    assert t[7:10].tolist() == [0, 2000, 4000]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(2, 40))
def test_points_start_and_end_at_the_junctions_at_equal_steps(seed: int, length: int) -> None:
    roads = random_network(seed, 12, 40)
    asked = np.random.default_rng(seed).integers(0, 12, (2, 30))
    routes = Router(roads).routes(*asked)
    routes = routes.take(routes.reached)
    points = spaced_points(roads, routes, length)
    assert points[:, 0] == pytest.approx(roads.node_xy[routes.source])
    assert points[:, -1] == pytest.approx(roads.node_xy[routes.target])
    straight = routes.counts == 1
    steps = np.hypot(*np.diff(points[straight], axis=1).transpose(2, 0, 1))
    whole = routes.total(roads.length_m)
    assert steps == pytest.approx(np.repeat(whole[straight, None] / (length - 1), length - 1, axis=1))
    steps = np.hypot(*np.diff(points, axis=1).transpose(2, 0, 1))
    assert (steps <= whole[:, None] / (length - 1) + 1e-6).all()


def test_fixes_at_the_speed_of_each_edge() -> None:
    roads = replace(TRIANGLE, speed_mps=np.array([10.0, 5.0, 20.0, 10.0, 10.0, 10.0]))
    routes = ROUTER.routes(np.array([1, 1]), np.array([0, 0]))
    xy, t, offsets = timed_points(
        roads, routes, 4.0, depart_ms=np.array([1000, 500]), speed_factor=np.array([1.0, 0.5])
    )
    assert offsets.tolist() == [0, 5, 14]  # 10 s + 7.5 s, then twice that
    expected = [[100, 0], [100, 20], [100, 40], [60, 50], [0, 30]]
    assert xy[:5] == pytest.approx(np.array(expected, dtype=float))
    assert xy[5:14:2] == pytest.approx(np.array(expected, dtype=float))
    assert t[:5].tolist() == [1000, 5000, 9000, 13000, 17000]
    assert t[5] == 500
    assert (np.diff(t[5:]) == 4000).all()


def test_a_geometry_with_repeated_vertices_and_an_edge_without_length() -> None:
    roads = network([(0, 0), (10, 0), (10.0, 0.0001)], [[(0, 0), (0, 0), (10, 0), (10, 0)], [(10, 0), (10.0, 0.0001)]])
    roads = replace(roads, edge_xy=np.where(roads.edge_xy == 0.0001, 0.0, roads.edge_xy))
    routes = Router(roads).routes(np.array([0, 1]), np.array([2, 2]))
    assert spaced_points(roads, routes, 3)[:, :, 0] == pytest.approx(np.array([[0.0, 5, 10], [10, 10, 10]]))
    assert np.isfinite(timed_points(roads, routes, 0.3)[0]).all()


def test_bad_points() -> None:
    routes = ROUTER.routes(np.array([0, 3]), np.array([1, 0]))
    with pytest.raises(DataContractError, match=r"1 of 2 routes do not exist \(the first is 1, from node 3 to 0\)"):
        spaced_points(TRIANGLE, routes, 3)
    routes = routes.take(routes.reached)
    with pytest.raises(ParameterError, match="at least 2 points"):
        spaced_points(TRIANGLE, routes, 1)
    with pytest.raises(ParameterError, match=r"leave_m of route 0 is 101\.0, but its edge is 100\.0 m"):
        spaced_points(TRIANGLE, routes, 3, leave_m=np.array([101.0]))
    with pytest.raises(ParameterError, match="leave it before it enters"):
        spaced_points(TRIANGLE, routes, 3, enter_m=np.array([60.0]), leave_m=np.array([40.0]))
    with pytest.raises(ParameterError, match=r"interval must be at least 0\.001"):
        timed_points(TRIANGLE, routes, 0.0)
    with pytest.raises(ParameterError, match="speed_factor must be positive"):
        timed_points(TRIANGLE, routes, 1.0, speed_factor=0.0)
    with pytest.raises(ParameterError, match="depart_ms has shape"):
        timed_points(TRIANGLE, routes, 1.0, depart_ms=np.zeros(2, dtype=np.int64))
    with pytest.raises(ParameterError, match="more than"):
        timed_points(TRIANGLE, routes, 1.0, speed_factor=1e-9)


# ---- flows ------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_flows_in_flows_out(seed: int) -> None:
    roads = random_network(seed, 15, 50)
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 15, (2, 100))
    router = Router(roads)
    routes: Routes = router.routes(source, target)
    weights = np.where(routes.reached, random.uniform(0, 5, 100), 0.0)
    flows = router.edge_flows(routes, weights)
    out, into = (np.bincount(roads.edge_nodes[:, side], flows, minlength=15) for side in (0, 1))
    asked = np.bincount(source, weights, minlength=15) - np.bincount(target, weights, minlength=15)
    assert out - into == pytest.approx(asked, abs=1e-9)
    assert router.edge_flows(routes).sum() == len(routes.edges)
    with pytest.raises(ParameterError, match="there are 100 routes"):
        router.edge_flows(routes, weights[:5])
