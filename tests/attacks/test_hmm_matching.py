"""Map matching: the table of ways against Dijkstra, the most likely states against brute force, trips of known streets, cells, breaks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from toys import BOX, META

from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.route_table import find, route_table
from trajkit.attacks.street_sequences import Streets, agreement
from trajkit.errors import DataContractError, ParameterError
from trajkit.public_map import lattice, street_of
from trajkit.roads import RoadNetwork
from trajkit.route_points import timed_points
from trajkit.routing import Router, Routes

STEP = 1000.0


@pytest.fixture(scope="module")
def town() -> RoadNetwork:
    return lattice(BOX, META.crs, STEP).network


def trips(town: RoadNetwork, n: int, seed: int, interval_s: float = 10.0) -> tuple[np.ndarray, np.ndarray, Routes]:
    """Fixes [N, 2], offsets, and routes of n trips between random junctions, all roads at random costs (so that ways are no straight lines)."""
    rng = np.random.default_rng(seed)
    k = len(town.node_xy)
    source = rng.integers(0, k, n)
    target = (source + 1 + rng.integers(0, k - 1, n)) % k
    routes = Router(town).routes(source, target, town.length_m * rng.uniform(0.7, 1.3, len(town)))
    xy, _, offsets = timed_points(town, routes, interval_s)
    return xy, offsets, routes


@pytest.mark.parametrize("reach", [STEP / 2, 2.5 * STEP, 1e6])
def test_the_table_has_all_that_is_in_reach_and_the_ways_to_it(town: RoadNetwork, reach: float) -> None:
    table = route_table(town, reach)
    graph = town.graph().copy()
    tail, head = town.edge_nodes.T
    graph = graph.tolil()
    graph[tail, head] = town.length_m
    far = dijkstra(graph.tocsr())
    assert len(table.nodes) == (far <= reach).sum()
    for s in range(0, len(far), 17):
        for v in range(len(far)):
            k = find(table, s, v)
            assert (k >= 0) == (far[s, v] <= reach)
            if k >= 0:
                assert table.metres[k] == pytest.approx(far[s, v], rel=1e-5)
            if k >= 0 and s != v:
                e = table.via[k]
                assert head[e] == v and far[s, tail[e]] + town.length_m[e] == pytest.approx(far[s, v])


def test_too_large_a_table_is_refused(town: RoadNetwork) -> None:
    with pytest.raises(ParameterError, match=r"reach_m = 5000.0: more than 1,000 pairs"):
        route_table(town, 5000.0, most=1000)


State = tuple[int, float, float]


def cost_of(
    town: RoadNetwork, far: np.ndarray, street: np.ndarray, states: list[State], points: np.ndarray, s: MatchSettings
) -> float:
    """Cost of a sequence of (edge, metres along it, distance from the point), written down anew; ways ``far`` by SciPy."""
    tail, head = town.edge_nodes.T
    total = sum(0.5 * (d / s.sigma_m) ** 2 for _, _, d in states)
    for (e, x, _), (f, y, _), p, q in zip(states, states[1:], points, points[1:], strict=False):
        if e == f and y >= x - 2 * s.sigma_m:
            way = max(y - x, 0.0)
        else:
            way = town.length_m[e] - x + far[head[e], tail[f]] + y + (s.u_turn_m if street[e] == street[f] else 0.0)
        total += abs(way - np.hypot(*(q - p))) / s.beta_m
    return total


def test_the_most_likely_states_by_brute_force(town: RoadNetwork) -> None:
    graph = town.graph().copy().tolil()
    tail, head = town.edge_nodes.T
    graph[tail, head] = town.length_m
    about = town, dijkstra(graph.tocsr()), street_of(town)
    rng = np.random.default_rng(4)
    settings = MatchSettings(sigma_m=150.0, radius_m=600.0, beta_m=100.0, candidates=50, reach_m=1e6)
    matcher = Matcher(town, settings)
    a, b = town.node_xy[tail], town.node_xy[head]
    for _ in range(3):
        start = town.node_xy.mean(axis=0) + rng.uniform(-300, 300, 2)
        points = start + np.cumsum(rng.normal(0, 500, (4, 2)), axis=0)
        states = []
        for p in points:
            along = np.clip(((p - a) * (b - a)).sum(axis=1) / STEP, 0, STEP)
            d = np.hypot(*(p - a - along[:, None] * (b - a) / STEP).T)
            near = np.flatnonzero(d <= 600.0)
            states.append([(int(e), float(along[e]), float(d[e])) for e in near])
        assert all(states)
        best = min(cost_of(*about, list(way), points, settings) for way in product(*states))
        got = matcher.match(points, np.array([0, 4]))
        # the matched places are the chosen states up to their direction: the cheapest of those directions must be the best of all
        chosen = [
            [s for s in at if np.hypot(*(a[s[0]] + s[1] * (b - a)[s[0]] / STEP - place)) < 1e-6]
            for at, place in zip(states, got.xy, strict=True)
        ]
        assert min(cost_of(*about, list(way), points, settings) for way in product(*chosen)) == pytest.approx(
            best, rel=1e-4
        )


@pytest.mark.parametrize("noise", [0.0, 10.0])
def test_streets_of_trips_are_found_again(town: RoadNetwork, noise: float) -> None:
    xy, offsets, routes = trips(town, 60, seed=1)
    xy = xy + np.random.default_rng(0).normal(0, 1, xy.shape) * noise
    got = Matcher(town, MatchSettings(sigma_m=10.0)).match(xy, offsets)
    true = Streets(routes.edges, routes.offsets)
    same = agreement(got.streets, np.arange(60), true, np.arange(60), town.length_m)
    assert same.but_ends.mean() > 0.95 and same.f1.mean() > 0.95
    assert got.found.all() and not got.breaks.any()
    if not noise:
        assert same.same.mean() > 0.95
        assert np.hypot(*(got.xy - xy).T).max() < 1e-6
    e = got.streets.edges
    joined = town.edge_nodes[e[:-1], 1] == town.edge_nodes[e[1:], 0]
    joined[got.streets.offsets[1:-1] - 1] = True
    assert joined.all(), "each edge begins where the one before ends"


def test_what_is_out_of_reach_is_joined_and_counted_and_points_without_roads_are_passed_over(town: RoadNetwork) -> None:
    xy, offsets, routes = trips(town, 5, seed=2, interval_s=400.0)
    far = xy[offsets[:-1]] + 1e6
    with_far = np.insert(xy, offsets[:-1] + 1, far, axis=0)
    moved = offsets + np.arange(6)
    got = Matcher(town, MatchSettings(reach_m=500.0)).match(with_far, moved)
    assert (got.breaks > 0).any()
    assert (~got.found).sum() == 5 and (got.xy[~got.found] == with_far[~got.found]).all()
    ends = town.edge_nodes[got.streets.edges[got.streets.offsets[1:] - 1]]
    assert (np.diff(got.streets.offsets) > 0).all()
    for i, route in enumerate(np.split(got.streets.edges, got.streets.offsets[1:-1])):
        assert (town.edge_nodes[route[:-1], 1] == town.edge_nodes[route[1:], 0]).all(), i
    assert len(ends) == len(routes)


def test_cells_of_different_sizes_are_places_that_the_way_goes_through(town: RoadNetwork) -> None:
    """A trip east along one street, told by squares of which each holds that street alone, then by one so wide that it holds others too."""
    node = int(np.argmin(np.hypot(*(town.node_xy - town.node_xy.mean(axis=0)).T)))
    x, y = town.node_xy[node]
    points = np.array([[x + 500, y + 200], [x + 1500, y - 150], [x + 2500, y + 100]])
    got = Matcher(town, MatchSettings()).match(points, np.array([0, 3]), np.array([300.0, 200.0, 1200.0]))
    assert got.found.all()
    assert np.allclose(got.xy[:2, 1], y), "the street through the square, wherever its centre is"
    steps = town.node_xy[town.edge_nodes[got.streets.edges]]
    assert (steps[:2, 1, 0] > steps[:2, 0, 0]).all() and np.allclose(steps[:2, :, 1], y)


def test_refuses_what_cannot_be_matched(town: RoadNetwork) -> None:
    matcher = Matcher(town, MatchSettings())
    with pytest.raises(DataContractError, match="not finite"):
        matcher.match(np.array([[np.nan, 0.0]]), np.array([0, 1]))
    for half in (-1.0, np.ones(3)):
        with pytest.raises(ParameterError, match="half_m"):
            matcher.match(town.node_xy[:2], np.array([0, 2]), half)


def test_agreement_of_sequences_by_hand() -> None:
    length = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    rebuilt = Streets(np.array([0, 1, 2, 1, 2, 3, 2, 1]), np.array([0, 3, 6, 6, 8]))
    true = Streets(np.array([0, 1, 2, 0, 1, 2, 4, 1, 2]), np.array([0, 3, 7, 9]))
    found = agreement(rebuilt, np.array([0, 1, 2, 3, 0]), true, np.array([0, 1, 0, 2, 1]), length)
    assert found.same.tolist() == [True, False, False, False, False]
    assert found.but_ends.tolist() == [True, True, False, False, True]
    assert found.precision[1] == pytest.approx(5 / 9) and found.recall[1] == pytest.approx(5 / 11)
    assert found.f1[1] == pytest.approx(10 / 20) and found.jaccard[1] == pytest.approx(5 / 15)
    assert found.f1[2] == 0 and found.f1[3] == 1 and found.jaccard[0] == 1
