"""`Paths`: the cells that each trajectory passes, every step between cells that touch, and what is counted about them.

Each count is a pure function of trajectories (or their paths) and public things, returned before noise; its docstring says by how
much one trajectory, added or removed, can change it in L1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.classical.adaptive_grid import AdaptiveGrid, cell_at
from trajkit.classical.looks import WEIGHT
from trajkit.trajectories import Trajectories, concatenate_offsets

MOST_HALVINGS = 60


@dataclass(frozen=True)
class Paths:
    """n paths with M elements in all; element ``j`` of path ``i`` stands at ``offsets[i] + j``.

    cells   int64 [M], final cells; consecutive ones differ and touch
    edges   int64 [M], number of the directed edge by which the path entered the cell; -1 for its first
    offsets int64 [n + 1]
    """

    cells: np.ndarray
    edges: np.ndarray
    offsets: np.ndarray
    grid: AdaptiveGrid

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """int64 [n]: cells per path, at least 1."""
        return np.diff(self.offsets)

    @property
    def starts(self) -> np.ndarray:
        """int64 [n]: first cell of each path."""
        return self.cells[self.offsets[:-1]]

    @property
    def ends(self) -> np.ndarray:
        """int64 [n]: last cell of each path."""
        return self.cells[self.offsets[1:] - 1]

    @property
    def states(self) -> np.ndarray:
        """int64 [M]: the edge of each element, and n_edges + cell for the first one of a path."""
        return np.where(self.edges >= 0, self.edges, self.grid.n_edges + self.cells)


def cell_paths(trajs: Trajectories, grid: AdaptiveGrid) -> Paths:
    """The path of each trajectory: repeats merged, and where two points lie in cells that do not touch, joined by a straight line.

    The line is halved towards the point already reached until its other end lies in the same cell or a touching one: a rule that
    depends on the grid and the trajectory alone. It ends, since close points lie in cells that touch; should rounding ever
    prevent it, the rest of that trajectory is left out.
    """
    indptr, indices = grid.neighbours
    size = np.zeros(len(trajs), dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    _trace(trajs.xy, trajs.offsets, grid.shape, indptr, indices, size, nothing, nothing)
    offsets = concatenate_offsets(size)
    cells, edges = np.empty(offsets[-1], dtype=np.int64), np.empty(offsets[-1], dtype=np.int64)
    _trace(trajs.xy, trajs.offsets, grid.shape, indptr, indices, offsets[:-1].copy(), cells, edges)
    return Paths(cells, edges, offsets, grid)


def first_order_weights(paths: Paths) -> np.ndarray:
    """int64 [E + 2 S] in units of 1/WEIGHT: steps along each edge, starts and ends in each cell. L1 sensitivity WEIGHT.

    A path of m cells has m + 1 transitions (the virtual start and end are states); each counts floor(WEIGHT / (m + 1)).
    """
    grid, weight = paths.grid, WEIGHT // (paths.lengths + 1)
    out = np.zeros(grid.n_edges + 2 * grid.n_cells, dtype=np.int64)
    moved = paths.edges >= 0
    np.add.at(out, paths.edges[moved], np.repeat(weight, paths.lengths)[moved])
    np.add.at(out, grid.n_edges + paths.starts, weight)
    np.add.at(out, grid.n_edges + grid.n_cells + paths.ends, weight)
    return out


def step_weights(paths: Paths) -> np.ndarray:
    """int64 [E] in units of 1/WEIGHT: steps along each edge, each of a path's m - 1 steps floor(WEIGHT / (m - 1)). L1 sensitivity WEIGHT."""
    out = np.zeros(paths.grid.n_edges, dtype=np.int64)
    moved = paths.edges >= 0
    np.add.at(out, paths.edges[moved], np.repeat(WEIGHT // np.maximum(paths.lengths - 1, 1), paths.lengths)[moved])
    return out


def pair_starts(grid: AdaptiveGrid) -> np.ndarray:
    """int64 [E + S + 1]: where the successors of each state begin in a vector over (state, next edge).

    States are the E edges, then "started here" in each of the S cells; the successors are the edges that leave the state's cell.
    """
    indptr, indices = grid.neighbours
    degree = np.diff(indptr)
    return concatenate_offsets(np.concatenate([degree[indices], degree]))


def second_order_weights(paths: Paths, chosen: np.ndarray) -> np.ndarray:
    """int64 [P + E + S] in units of 1/WEIGHT: (state, next edge) pairs, then (state, end); L1 sensitivity WEIGHT.

    Only states whose cell is in ``chosen`` (bool [S], the guideposts, fixed before the data is looked at here) count; every other
    entry is 0. A path that stands m times in a chosen cell counts floor(WEIGHT / m) each time.
    """
    grid = paths.grid
    indptr, _ = grid.neighbours
    first = pair_starts(grid)
    out = np.zeros(int(first[-1]) + grid.n_edges + grid.n_cells, dtype=np.int64)
    here = chosen[paths.cells]
    times = np.add.reduceat(here.astype(np.int64), paths.offsets[:-1]) if len(paths) else np.zeros(0, np.int64)
    weight = np.repeat(WEIGHT // np.maximum(times, 1), paths.lengths)[here]
    following = np.append(paths.edges[1:], -1)[here]  # -1 also where the next element begins another path
    state, cell = paths.states[here], paths.cells[here]
    at = np.where(following >= 0, first[state] + following - indptr[cell], first[-1] + state)
    np.add.at(out, at, weight)
    return out


def end_counts(paths: Paths) -> np.ndarray:
    """int64 [2, S]: paths that start, and that end, in each cell. L1 sensitivity 2."""
    size = paths.grid.n_cells
    return np.stack([np.bincount(paths.starts, minlength=size), np.bincount(paths.ends, minlength=size)])


def pair_counts(paths: Paths, block: np.ndarray, n_blocks: int) -> np.ndarray:
    """int64 [n_blocks, n_blocks]: paths by the ``block`` [S] of their first and of their last cell. L1 sensitivity 1."""
    at = block[paths.starts] * n_blocks + block[paths.ends]
    return np.bincount(at, minlength=n_blocks**2).reshape(n_blocks, n_blocks)


def detour_counts(paths: Paths, *, width: int, classes: int, most: int) -> np.ndarray:
    """int64 [classes, most + 1]: paths by hops from first to last cell (in classes of ``width``) and by steps beyond those hops.

    Both are cut to the last class. L1 sensitivity 1.
    """
    hops = paths.grid.hops[paths.starts, paths.ends].astype(np.int64)
    extra = np.clip(paths.lengths - 1 - hops, 0, most)
    at = np.minimum(hops // width, classes - 1) * (most + 1) + extra
    return np.bincount(at, minlength=classes * (most + 1)).reshape(classes, most + 1)


@njit(cache=True)
def _edge(a, b, indptr, indices):  # pragma: no cover - compiled
    for e in range(indptr[a], indptr[a + 1]):
        if indices[e] == b:
            return e
    return -1


@njit(cache=True)
def _trace(xy, offsets, shape, indptr, indices, at, cells, edges):  # pragma: no cover - compiled
    """Advance ``at`` [n] by the length of each path; write the paths from there on unless ``cells`` is empty."""
    x0, y0, x1, y1, k, splits, first = shape
    write = len(cells) > 0
    for i in range(len(offsets) - 1):
        px, py = xy[offsets[i], 0], xy[offsets[i], 1]
        here = cell_at(px, py, x0, y0, x1, y1, k, splits, first)
        if write:
            cells[at[i]], edges[at[i]] = here, -1
        at[i] += 1
        p, lost = offsets[i] + 1, False
        while p < offsets[i + 1] and not lost:
            share, edge, there, halvings = 1.0, -1, here, 0
            while True:
                qx, qy = px + share * (xy[p, 0] - px), py + share * (xy[p, 1] - py)
                if share == 1.0:
                    qx, qy = xy[p, 0], xy[p, 1]
                there = cell_at(qx, qy, x0, y0, x1, y1, k, splits, first)
                edge = -1 if there == here else _edge(here, there, indptr, indices)
                if there == here or edge >= 0 or halvings == MOST_HALVINGS:
                    break
                share, halvings = share / 2, halvings + 1
            lost = (there != here and edge < 0) or (share < 1.0 and qx == px and qy == py)
            if edge >= 0:
                if write:
                    cells[at[i]], edges[at[i]] = there, edge
                at[i] += 1
                here = there
            px, py = qx, qy
            if share == 1.0:
                p += 1
