"""Point-level metrics: where the points are, whichever trajectory they belong to."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import rel_entr

from trajkit import seeds
from trajkit.metrics.comparison import Comparison
from trajkit.metrics.kernels import counts_in_rectangles


def wasserstein_1d(u: np.ndarray, v: np.ndarray, *, p: int = 1) -> float:
    """p-Wasserstein distance to the power ``p`` between two samples on a line; sizes may differ."""
    return _between_sorted(np.sort(u), np.sort(v), _quantile_steps(len(u), len(v)), p)


def sliced_wasserstein(a: np.ndarray, b: np.ndarray, directions: np.ndarray) -> float:
    """Sliced 2-Wasserstein distance of point sets [n, 2], [m, 2]: root mean square over unit ``directions`` [k, 2] (Bonneel et al. 2015).

    Projections are kept in float32 after centring, which moves the value by less than 1e-6 of the spread of the points.
    """
    centre = (a.mean(axis=0) + b.mean(axis=0)) / 2
    a, b = ((s - centre).T.astype(np.float32) for s in (a, b))
    steps = _quantile_steps(a.shape[1], b.shape[1])
    total = 0.0
    for x, y in directions.astype(np.float32):
        total += _between_sorted(np.sort(x * a[0] + y * a[1]), np.sort(x * b[0] + y * b[1]), steps, 2)
    return float(np.sqrt(total / len(directions)))


def jensen_shannon(a: np.ndarray, b: np.ndarray) -> float:
    """Jensen-Shannon divergence in bits (not its root) of two count vectors: 0 for equal shares, 1 for disjoint ones."""
    p, q = a / a.sum(), b / b.sum()
    middle = (p + q) / 2
    return max(0.0, float((rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / (2 * np.log(2))))


def densest(counts: np.ndarray, k: int) -> np.ndarray:
    """Ids of the ``k`` fullest cells, empty cells never among them; of equal cells the one with the smaller id comes first."""
    order = np.argsort(-counts, kind="stable")[:k]
    return order[counts[order] > 0]


def swd(c: Comparison) -> float:
    """Sliced 2-Wasserstein distance in units of the box."""
    k = c.settings.n_projections
    angle = np.pi * (np.arange(k) + seeds.rng(c.seed, "metrics", "SWD", "angle").random()) / k
    a, b = (c.in_box_units(s.xy[c.draw("SWD", s.n_points, c.settings.n_points_swd)]) for s in c.sides)
    return sliced_wasserstein(a, b, np.column_stack([np.cos(angle), np.sin(angle)]))


def jsd(c: Comparison) -> float:
    """Jensen-Shannon divergence of the shares of points per cell; the outside counts as one more cell."""
    return jensen_shannon(*(np.append(n, out) for n, out in zip(c.cell_counts, c.outside, strict=True)))


def queries(c: Comparison) -> np.ndarray:
    """float64 [q, 4] in metres: the seeded range queries, each ``rq_side`` of the box wide and high, all inside the box."""
    x0, y0, x1, y1 = c.bounds
    size = np.array([x1 - x0, y1 - y0])
    side = c.settings.rq_side
    low = [x0, y0] + seeds.rng(c.seed, "metrics", "RQ").random((c.settings.rq_queries, 2)) * (1 - side) * size
    return np.hstack([low, low + side * size])


def rq(c: Comparison) -> float:
    """Mean relative error of the shares of points in the queries."""
    rectangles = queries(c)
    real, released = (counts_in_rectangles(s.xy, rectangles) / s.n_points for s in c.sides)
    return float(np.mean(np.abs(real - released) / np.maximum(real, c.settings.rq_sanity)))


def hs(c: Comparison) -> float:
    """1 - Dice overlap of the densest cells."""
    a, b = (densest(n, c.settings.hotspots) for n in c.cell_counts)
    return 1.0 - 2.0 * len(np.intersect1d(a, b)) / (len(a) + len(b))


def hsd(c: Comparison) -> float:
    """Symmetric Hausdorff distance in metres between the centres of the densest cells."""
    grid = c.grid(c.settings.jsd_cells)
    between = cdist(*(grid.centres(densest(n, c.settings.hotspots)) for n in c.cell_counts))
    return float(max(between.min(axis=0).max(), between.min(axis=1).max()))


def _quantile_steps(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Where two step quantile functions of n and m steps are both constant: index into each, and length of the piece."""
    if n == m:
        return None
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    return (ends - 1) // m, (ends - 1) // n, np.diff(ends, prepend=0) / (n * m)


def _between_sorted(
    u: np.ndarray, v: np.ndarray, steps: tuple[np.ndarray, np.ndarray, np.ndarray] | None, p: int
) -> float:
    if steps is None:
        return float(np.mean(np.abs(np.subtract(u, v, dtype=np.float64)) ** p))
    i, j, weight = steps
    return float(np.sum(np.abs(np.subtract(u[i], v[j], dtype=np.float64)) ** p * weight))
