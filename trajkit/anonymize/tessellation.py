"""Public tessellations: where a cell lies never depends on the data. Labels are int64 and carried as such, never as floats.

`trajkit.anonymize.quad_cells` has the one kind whose sizes depend on the data; where its squares may lie is as public as here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from trajkit.errors import ParameterError
from trajkit.geo import project, unproject

HALF = np.int64(1) << np.int64(31)
CHUNK = 1_000_000
EARTH_M2 = 510_065_621_724_000.0  # area of the sphere that H3 divides


class Tessellation(Protocol):
    """Divides the plane of the declared metric CRS into public cells."""

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]: label of the cell of each point [N, 2] (metres)."""
        ...

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2]: centre of each cell, metres."""
        ...

    @property
    def area_m2(self) -> float:
        """Area of the smallest cells, square metres (the mean one where they differ by projection)."""
        ...


@dataclass(frozen=True)
class SquareCells:
    """Squares of ``size_m`` metres, anchored at (0, 0) of the declared metric CRS, a public constant: never at the data's own border."""

    size_m: float

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]; column and row, packed."""
        steps = np.floor(np.asarray(xy, dtype=np.float64) / self.size_m).astype(np.int64)
        return pack(steps[:, 0], steps[:, 1])

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2], metres."""
        return (np.column_stack(unpack(cells)) + 0.5) * self.size_m

    @property
    def area_m2(self) -> float:
        """Square metres."""
        return self.size_m**2

    def __str__(self) -> str:
        return f"square {self.size_m:g} m"


@dataclass(frozen=True)
class HexCells:
    """Hexagons of the global H3 grid at ``resolution`` 0 to 15 (7: 5.2 km², 8: 0.74 km², 9: 0.11 km²), for metres of ``crs``.

    The library has no call for arrays: about a microsecond a point. Raises ParameterError for another resolution, or where the optional
    library h3 is not installed.
    """

    resolution: int
    crs: str

    def __post_init__(self) -> None:
        if not 0 <= self.resolution <= 15:
            raise ParameterError(
                f"H3 resolution {self.resolution} is not between 0 (continents) and 15 (square metres)"
            )
        _h3()

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]; H3's own 64-bit indexes, of which the highest bit is never set."""
        call, out = _h3().latlng_to_cell, np.empty(len(xy), dtype=np.int64)
        for at in range(0, len(xy), CHUNK):
            lon, lat = unproject(np.asarray(xy[at : at + CHUNK], dtype=np.float64), self.crs).T.tolist()
            out[at : at + CHUNK] = np.fromiter(map(call, lat, lon, repeat(self.resolution)), np.int64, len(lat))
        return out

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2], metres."""
        known, which = np.unique(cells, return_inverse=True)
        latlon = np.array([_h3().cell_to_latlng(cell) for cell in known.tolist()], dtype=np.float64).reshape(-1, 2)
        return project(latlon[:, ::-1], self.crs)[which]

    @property
    def area_m2(self) -> float:
        """Mean over the globe, square metres: H3 has 2 + 120 x 7^resolution cells."""
        return EARTH_M2 / (2 + 120 * 7**self.resolution)

    def __str__(self) -> str:
        return f"H3 resolution {self.resolution}"


def _h3() -> Any:
    """H3 with integer cells. Raises ParameterError where it is not installed."""
    try:
        import h3.api.basic_int as h3
    except ImportError:
        raise ParameterError(
            "hexagons need the optional package h3: run pip install trajkit[h3], or use square cells"
        ) from None
    return h3


def pack(column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """int64: column (high half) and row (low half) of a square in one label; both must lie within ±2^31."""
    return (column << np.int64(32)) | (row + HALF)


def unpack(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of `pack`."""
    return cells >> np.int64(32), (cells & np.int64(0xFFFFFFFF)) - HALF
