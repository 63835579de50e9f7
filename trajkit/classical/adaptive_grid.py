"""Two-level grid over the public box: K x K equal cells, each cut once more into kappa x kappa where noisy density asks for it.

K comes from a public or noisy number of trajectories and kappa from noisy density, so the grid itself is a release and everything
computed from it alone (rectangles, which cells touch, hops between them) is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from trajkit.classical.looks import WEIGHT
from trajkit.trajectories import Trajectories

MOST_SPLIT = 8  # a coarse cell becomes at most 8 x 8
MOST_K = 60  # cells along a side, as in the released code of PrivTrace
UNREACHED = 1 << 20
COARSE_NOISE, CELL_NOISE = (
    40.0,
    30.0,
)  # trajectories a coarse, a final cell holds at least, times epsilon: fewer drown in noise
MOST_COARSE, MOST_CELLS = 256, 700  # n over these does the same for large n: more cells cost time and gain little


@dataclass(frozen=True)
class AdaptiveGrid:
    """``bounds`` (x_min, y_min, x_max, y_max) in metres; ``splits`` int64 [k * k]: kappa of each coarse cell, at least 1.

    Final cells are numbered coarse cell by coarse cell (row * k + column), within it row by row.
    """

    bounds: tuple[float, float, float, float]
    k: int
    splits: np.ndarray

    @classmethod
    def uniform(cls, bounds: tuple[float, float, float, float], k: int) -> AdaptiveGrid:
        """The first level alone."""
        return cls(bounds, k, np.ones(k * k, dtype=np.int64))

    def refined(self, density: np.ndarray, *, per_cell: float, least: float) -> AdaptiveGrid:
        """Cut the cells whose noisy ``density`` [k * k] exceeds ``least`` into kappa = ceil(sqrt(density / per_cell)) rows and columns."""
        kappa = np.ceil(np.sqrt(np.maximum(density, 0.0) / per_cell)).astype(np.int64)
        return AdaptiveGrid(self.bounds, self.k, np.where(density > least, np.clip(kappa, 1, MOST_SPLIT), 1))

    @cached_property
    def first(self) -> np.ndarray:
        """int64 [k * k + 1]: number of the first final cell of each coarse cell."""
        return np.concatenate([[0], np.cumsum(self.splits**2)]).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """S: number of final cells."""
        return int(self.first[-1])

    @cached_property
    def coarse(self) -> np.ndarray:
        """int64 [S]: the coarse cell of each final cell."""
        return np.repeat(np.arange(self.k * self.k), self.splits**2)

    @cached_property
    def place(self) -> np.ndarray:
        """int64 [S, 5]: coarse column and row, column and row within it, kappa."""
        kappa = self.splits[self.coarse]
        within = np.arange(self.n_cells) - self.first[self.coarse]
        return np.column_stack([self.coarse % self.k, self.coarse // self.k, within % kappa, within // kappa, kappa])

    @cached_property
    def rectangles(self) -> np.ndarray:
        """float64 [S, 4]: x_min, y_min, x_max, y_max of each final cell in metres."""
        column, row, i, j, kappa = self.place.T
        x0, y0, x1, y1 = self.bounds
        w, h = (x1 - x0) / self.k, (y1 - y0) / self.k
        left, low = x0 + (column + i / kappa) * w, y0 + (row + j / kappa) * h
        right, high = x0 + (column + (i + 1) / kappa) * w, y0 + (row + (j + 1) / kappa) * h
        return np.column_stack([left, low, right, high])

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]: final cell of each point [N, 2] (metres); what lies beyond the box belongs to the nearest cell."""
        return _cells(np.ascontiguousarray(xy, dtype=np.float64), *self.shape)

    @property
    def shape(self) -> tuple[float, float, float, float, int, np.ndarray, np.ndarray]:
        """What compiled code needs to find a cell."""
        return (*self.bounds, self.k, self.splits, self.first)

    @cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """(indptr int64 [S + 1], indices int64 [E]): the cells that share an edge or a corner with each cell, in rising order.

        Entry ``e`` of ``indices`` is the directed edge number ``e`` from the cell whose row it lies in.
        """
        degree = _touching(self.place, self.k, self.first, np.zeros(1, np.int64), np.zeros(0, np.int64))
        indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        indices = np.empty(indptr[-1], dtype=np.int64)
        _touching(self.place, self.k, self.first, indptr, indices)
        return indptr, indices

    @property
    def n_edges(self) -> int:
        """E: number of directed pairs of cells that touch."""
        return len(self.neighbours[1])

    @cached_property
    def tails(self) -> np.ndarray:
        """int64 [E]: the cell that each directed edge leaves."""
        indptr, _ = self.neighbours
        return np.repeat(np.arange(self.n_cells), np.diff(indptr))

    @cached_property
    def hops(self) -> np.ndarray:
        """int32 [S, S]: fewest steps between touching cells from one cell to another."""
        indptr, indices = self.neighbours
        graph = csr_matrix((np.ones(len(indices)), indices, indptr), shape=(self.n_cells,) * 2)
        steps = shortest_path(graph, unweighted=True)
        return np.where(np.isfinite(steps), steps, UNREACHED).astype(np.int32)

    def points(self, cells: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """float64 [..., 2], metres: the place ``unit`` [..., 2] in [0, 1] of each of ``cells`` [...]."""
        corners = self.rectangles[cells]
        return corners[..., :2] + unit * (corners[..., 2:] - corners[..., :2])


def cells_along(n: float, *, per_cell: float, least: int = 2) -> int:
    """K = round(sqrt(n / per_cell)), the paper's formula, between ``least`` and `MOST_K`; ``n`` public or noisy."""
    return int(np.clip(round(math.sqrt(max(0.0, n) / per_cell)), least, MOST_K))


def resolution(n: float, epsilon: float, *, per_coarse_cell: float, per_cell: float) -> tuple[float, float]:
    """Trajectories per coarse and per final cell to aim at: the given ones, or more where epsilon is small or ``n`` large.

    ``n`` is public or noisy, so this is a public rule. Its constants were found on a simulated city that no study uses.
    """
    coarse = max(per_coarse_cell, COARSE_NOISE / epsilon, n / MOST_COARSE)
    return coarse, max(per_cell, CELL_NOISE / epsilon, n / MOST_CELLS)


def density_weights(trajs: Trajectories, grid: AdaptiveGrid) -> np.ndarray:
    """int64 [S] in units of 1/WEIGHT: for each trajectory and cell, the share of its points that lies there, rounded down.

    Every point of a trajectory of m points counts floor(WEIGHT / m), so that one trajectory adds at most WEIGHT in L1.
    """
    return _add(grid.cell_of(trajs.xy), (WEIGHT // trajs.lengths)[trajs.traj_of_point], grid.n_cells)


@njit(cache=True)
def _add(cells, weights, n_cells):  # pragma: no cover - compiled
    out = np.zeros(n_cells, dtype=np.int64)
    for i in range(len(cells)):
        out[cells[i]] += weights[i]
    return out


@njit(cache=True, inline="always")
def _along(v, low, high, k):  # pragma: no cover - compiled
    """(cell, place in it from 0 to 1) along one axis."""
    at = min(max((v - low) / (high - low), 0.0), 1.0) * k
    cell = min(int(at), k - 1)
    return cell, at - cell


@njit(cache=True)
def cell_at(x, y, x0, y0, x1, y1, k, splits, first):  # pragma: no cover - compiled
    """Final cell of one point."""
    column, u = _along(x, x0, x1, k)
    row, v = _along(y, y0, y1, k)
    coarse = row * k + column
    kappa = splits[coarse]
    i, j = min(int(u * kappa), kappa - 1), min(int(v * kappa), kappa - 1)
    return first[coarse] + j * kappa + i


@njit(cache=True)
def _cells(xy, x0, y0, x1, y1, k, splits, first):  # pragma: no cover - compiled
    out = np.empty(len(xy), dtype=np.int64)
    for i in range(len(xy)):
        out[i] = cell_at(xy[i, 0], xy[i, 1], x0, y0, x1, y1, k, splits, first)
    return out


@njit(cache=True, inline="always")
def _meet(big_a, a, kappa_a, big_b, b, kappa_b):  # pragma: no cover - compiled
    """Whether two closed intervals [big + i / kappa, big + (i + 1) / kappa] meet, in whole numbers."""
    low_a, high_a = (big_a * kappa_a + a) * kappa_b, (big_a * kappa_a + a + 1) * kappa_b
    low_b, high_b = (big_b * kappa_b + b) * kappa_a, (big_b * kappa_b + b + 1) * kappa_a
    return low_a <= high_b and low_b <= high_a


@njit(cache=True)
def _touching(place, k, first, indptr, indices):  # pragma: no cover - compiled
    """Number of neighbours of each cell; fills ``indices`` unless that is empty."""
    degree = np.zeros(len(place), dtype=np.int64)
    for a in range(len(place)):
        column, row = place[a, 0], place[a, 1]
        for r in range(max(0, row - 1), min(k, row + 2)):
            for c in range(max(0, column - 1), min(k, column + 2)):
                for b in range(first[r * k + c], first[r * k + c + 1]):
                    if (
                        a != b
                        and _meet(column, place[a, 2], place[a, 4], c, place[b, 2], place[b, 4])
                        and _meet(row, place[a, 3], place[a, 4], r, place[b, 3], place[b, 4])
                    ):
                        if len(indices):
                            indices[indptr[a] + degree[a]] = b
                        degree[a] += 1
    return degree
