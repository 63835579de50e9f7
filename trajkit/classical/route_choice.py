"""How people choose their way, fitted to noisy counts: costs of edges and how widely opinions about them differ.

Nothing here sees the data: it reads noisy densities and histograms, and the public map, so all of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.classical.cleaning import norm_sub
from trajkit.grid import Grid
from trajkit.roads import RoadNetwork
from trajkit.route_points import spaced_points
from trajkit.routing import Router, Routes

SPREADS = (0.0, 0.25, 0.5, 0.8)
DETOURS = np.array(
    [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0]
)  # borders of the histogram of way over crow flight
LEAST_M = 500.0  # a trip shorter than this has no detour to speak of
SPEEDS = np.array([0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.7, 2.2])  # borders of the speed over that of the map
LEAST, MOST = 0.25, 4.0  # of the cost that the map gives an edge
POINTS = 32
STEP = 0.25
MOST_PACE = 3.0  # times slower or faster than the map says


@dataclass(frozen=True)
class RouteChoice:
    """``cost`` float64 [m], seconds an edge seems to take when ways are chosen; ``spread``: see `Router.routes`. ``pace`` float64 [m], seconds that
    it takes when it is driven, which decides how densely points lie there. ``misfit``: half the
    sum over the cells that say something of |routed - noisy| share of density, after each round, last after the fit of the pace."""

    cost: np.ndarray
    spread: float
    pace: np.ndarray
    misfit: tuple[float, ...]


def detour_ratios(way_m: np.ndarray, crow_m: np.ndarray) -> np.ndarray:
    """float64: way over crow flight of each trip but those that are nearly still (crow flight below 500 m)."""
    moving = crow_m >= LEAST_M
    return way_m[moving] / crow_m[moving]


def detours(way_m: np.ndarray, crow_m: np.ndarray) -> np.ndarray:
    """int64 [11]: trips by their `detour_ratios`."""
    bins = np.searchsorted(DETOURS, detour_ratios(way_m, crow_m), side="right") - 1
    return np.bincount(np.clip(bins, 0, len(DETOURS) - 1), minlength=len(DETOURS))


def fit_choice(
    router: Router,
    sources: np.ndarray,
    targets: np.ndarray,
    *,
    grid: Grid,
    density: np.ndarray,
    noise: float,
    detour_counts: np.ndarray,
    rounds: int,
    seed: int,
) -> RouteChoice:
    """Fit edge costs so that routes between the sample's junctions pass the cells as often as ``density`` [cells] says.

    density: noisy trajectories a cell of ``grid`` (each weighs 1 over its cells); ``noise``: its standard deviation, below twice of
    which a cell says nothing. Each round multiplies the cost of the edges in a cell by (routed / counted)^STEP, within
    `LEAST` … `MOST` of the map's; where that fits worse, it is taken back and the step halved. What is left is
    laid to the pace: edges of a cell that is fuller than routed are driven more slowly, within `MOST_PACE`. The spread is the one whose detours are nearest to
    ``detour_counts``.
    """
    network = router.network
    base = network.travel_time_s
    cell_of_edge = _cell_of_edges(network, grid)
    sure = density > 2 * noise
    cleaned = norm_sub(density)  # not the positive part, which would count half of the noise of empty cells
    target = cleaned / max(cleaned.sum(), 1e-12)
    spread = _spread(router, sources, targets, base, detour_counts, seed)
    floor = 1e-3 / max(int(sure.sum()), 1)
    best, ratio, fits, step = np.ones(len(network)), np.ones(grid.n_cells), [], STEP
    for _ in range(rounds + 1):
        factor = np.clip(best * ratio[cell_of_edge] ** step, LEAST, MOST)
        rng = np.random.default_rng(seed)  # the same opinions each time, so that rounds can be compared
        routes = router.routes(sources, targets, base * factor, spread=spread, random=rng)
        routed = _density(network, routes, grid)
        fits.append(0.5 * float(np.abs(routed - target)[sure].sum()))
        if fits[-1] > min(fits):
            step /= 2  # too far: try again from the best one
            continue
        best, kept = factor, (routes, routed)
        ratio[sure] = np.clip((routed[sure] + floor) / (target[sure] + floor), 0.5, 2.0)
    routes, routed = kept
    ratio = np.ones(grid.n_cells)
    ratio[sure] = np.clip((target[sure] + floor) / (routed[sure] + floor), 1 / MOST_PACE, MOST_PACE)
    pace = base * ratio[cell_of_edge]
    left = 0.5 * float(np.abs(_density(network, routes, grid, pace) - target)[sure].sum())
    if left > min(fits):
        pace = base
    return RouteChoice(base * best, spread, pace, (*fits, min(left, min(fits))))


def _spread(
    router: Router, sources: np.ndarray, targets: np.ndarray, cost: np.ndarray, counts: np.ndarray, seed: int
) -> float:
    """The spread whose detours have the nearest distribution (1-Wasserstein over the bins)."""
    wanted = np.cumsum(np.maximum(counts, 0)) / max(np.maximum(counts, 0).sum(), 1e-12)
    xy = router.network.node_xy
    crow = np.hypot(*(xy[sources] - xy[targets]).T)
    off = []
    for spread in SPREADS:
        rng = np.random.default_rng([seed, 77])
        routes = router.routes(sources, targets, cost, spread=spread, random=rng)
        found = detours(routes.total(router.network.length_m), crow)
        off.append(np.abs(np.cumsum(found) / max(found.sum(), 1) - wanted).sum())
    return SPREADS[int(np.argmin(off))]


def _cell_of_edges(network: RoadNetwork, grid: Grid) -> np.ndarray:
    """int64 [m]: cell of the middle vertex of each edge, the nearest one beyond the grid."""
    middle = (network.edge_offsets[:-1] + network.edge_offsets[1:] - 1) // 2
    x0, y0, x1, y1 = grid.bounds
    return grid.cell_of(np.clip((network.edge_xy[middle] + network.edge_xy[middle + 1]) / 2, [x0, y0], [x1, y1]))


def _density(network: RoadNetwork, routes: Routes, grid: Grid, pace: np.ndarray | None = None) -> np.ndarray:
    """Share of places per cell, equally spaced in time along every route."""
    places = spaced_points(network, routes, POINTS, by="seconds", edge_s=pace).reshape(-1, 2)
    counts = grid.counts(places).astype(np.float64)
    return counts / max(counts.sum(), 1.0)
