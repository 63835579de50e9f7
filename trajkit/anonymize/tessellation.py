"""Public tessellations: where a cell lies never depends on the data. Labels are int64 and carried as such, never as floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

HALF = np.int64(1) << np.int64(31)


class Tessellation(Protocol):
    """Divides the plane of the declared metric CRS into public cells."""

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]: label of the cell of each point [N, 2] (metres)."""
        ...

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2]: centre of each cell, metres."""
        ...


@dataclass(frozen=True)
class SquareCells:
    """Squares of ``size_m`` metres, anchored at (0, 0) of the declared metric CRS, a public constant: never at the data's own border."""

    size_m: float

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]; column and row, packed."""
        steps = np.floor(np.asarray(xy, dtype=np.float64) / self.size_m).astype(np.int64)
        return steps[:, 0] << np.int64(32) | (steps[:, 1] + HALF)

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2], metres."""
        column, row = cells >> np.int64(32), (cells & np.int64(0xFFFFFFFF)) - HALF
        return (np.column_stack([column, row]) + 0.5) * self.size_m
