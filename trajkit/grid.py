"""Uniform grids over a public rectangle in metres, with an explicit outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

OUTSIDE = -1


@dataclass(frozen=True)
class Grid:
    """``nx`` by ``ny`` equal cells over (x_min, y_min, x_max, y_max) metres; cell id = row * nx + column, outside = -1."""

    bounds: tuple[float, float, float, float]
    nx: int
    ny: int

    @property
    def n_cells(self) -> int:
        return self.nx * self.ny

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]: cell of each point [N, 2]; points outside the bounds get -1. The upper border belongs to the last cell."""
        return _cells(np.ascontiguousarray(xy, dtype=np.float64), *self.bounds, self.nx, self.ny)

    def counts(self, xy: np.ndarray) -> np.ndarray:
        """int64 [n_cells]: points in each cell, in one pass; points outside are not counted."""
        return _counts(np.ascontiguousarray(xy, dtype=np.float64), *self.bounds, self.nx, self.ny)

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2]: centre in metres of each cell id."""
        x0, y0, x1, y1 = self.bounds
        column, row = cells % self.nx, cells // self.nx
        return np.column_stack([x0 + (column + 0.5) * (x1 - x0) / self.nx, y0 + (row + 0.5) * (y1 - y0) / self.ny])


@njit(cache=True, inline="always")
def _cell(x, y, x0, y0, x1, y1, nx, ny):  # pragma: no cover - compiled
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        return -1
    column = min(int((x - x0) / (x1 - x0) * nx), nx - 1)
    row = min(int((y - y0) / (y1 - y0) * ny), ny - 1)
    return row * nx + column


@njit(cache=True)
def _cells(xy, x0, y0, x1, y1, nx, ny):  # pragma: no cover - compiled
    out = np.empty(len(xy), dtype=np.int64)
    for i in range(len(xy)):
        out[i] = _cell(xy[i, 0], xy[i, 1], x0, y0, x1, y1, nx, ny)
    return out


@njit(cache=True)
def _counts(xy, x0, y0, x1, y1, nx, ny):  # pragma: no cover - compiled
    out = np.zeros(nx * ny, dtype=np.int64)
    for i in range(len(xy)):
        cell = _cell(xy[i, 0], xy[i, 1], x0, y0, x1, y1, nx, ny)
        if cell >= 0:
            out[cell] += 1
    return out
