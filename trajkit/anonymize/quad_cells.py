"""Adaptive cells: a quadtree over public squares, fine where many people are. Which squares are split depends on the data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.tessellation import SquareCells, pack, unpack
from trajkit.errors import ParameterError

BITS = 29  # of column and of row in a label; what is above them is the level
ASSUMPTION = (
    "which squares of the public quadtree were split is computed from the data: a split square says that each of its children "
    "with anyone in it holds at least k, one that was not split that a child holds fewer (or that the smallest size was reached)"
)


@dataclass(frozen=True)
class QuadCells:
    """Squares of ``size_m`` x 2^depth metres anchored at (0, 0) of the metric CRS, split in four down to ``size_m``.

    ``split[l]``: sorted labels of the squares of level l (0: the largest) that are split. A label holds level, column and row, so it
    names the same square in every tree of the same ``size_m`` and ``depth``.
    """

    size_m: float
    depth: int
    split: tuple[np.ndarray, ...] = field(repr=False)

    @classmethod
    def built(cls, xy: np.ndarray, person_of_point: np.ndarray, *, size_m: float, depth: int, k: int) -> QuadCells:
        """Split every square as long as each of its non-empty children holds points of at least ``k`` distinct persons.

        Points [N, 2] (metres), int64 [N] label of whose each is. Raises ParameterError for a depth outside 0 to 12.
        """
        if not 0 <= depth <= 12:
            raise ParameterError(f"depth {depth} of adaptive cells is not between 0 and 12")
        square = SquareCells(size_m).cell_of(xy)
        moved = np.append(True, (np.diff(square) != 0) | (np.diff(person_of_point) != 0))[: len(square)]
        column, row, person = _distinct(*unpack(square[moved]), person_of_point[moved])
        may: list[np.ndarray] = []  # labels whose children all hold enough, smallest squares first
        for _ in range(depth):
            count = _persons_per_square(column, row)
            poor = count[:, 2] < k
            parents = pack(count[:, 0] >> 1, count[:, 1] >> 1)
            may.append(np.setdiff1d(parents, parents[poor]))
            column, row, person = _distinct(column >> 1, row >> 1, person)
        split: list[np.ndarray] = []
        for level, wanted in enumerate(reversed(may)):
            column, row = unpack(wanted)
            if level:  # only children of split squares exist
                there = np.isin(_label(level - 1, column >> 1, row >> 1), split[-1])
                column, row = column[there], row[there]
            split.append(np.sort(_label(level, column, row)))
        return cls(size_m, depth, tuple(split))

    def cell_of(self, xy: np.ndarray) -> np.ndarray:
        """int64 [N]: label of the leaf."""
        sizes = np.array([len(s) for s in self.split], dtype=np.int64)
        keys = np.concatenate([np.zeros(0, dtype=np.int64), *self.split])
        return _leaves(
            np.ascontiguousarray(xy, dtype=np.float64), self.size_m, self.depth, keys, np.append(0, np.cumsum(sizes))
        )

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """float64 [m, 2], metres."""
        level, column, row = _parts(cells)
        return (np.column_stack([column, row]) + 0.5) * (self.size_m * 2.0 ** (self.depth - level))[:, None]

    @property
    def area_m2(self) -> float:
        """Of the smallest cells."""
        return self.size_m**2

    def __str__(self) -> str:
        return f"adaptive {self.size_m:g} to {self.size_m * 2**self.depth:g} m"


def _distinct(column: np.ndarray, row: np.ndarray, person: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each (square, person) once."""
    square = pack(column, row)
    of, n = kernels.group_exact(square)
    known = np.empty(n, dtype=np.int64)
    known[of] = square
    people = np.int64(person.max()) + 1 if len(person) else 1
    code = np.sort(of * people + person)
    code = code[np.append(True, np.diff(code) != 0)[: len(code)]]
    return *unpack(known[code // people]), code % people


def _persons_per_square(column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """int64 [s, 3]: column, row and number of entries."""
    square, count = np.unique(pack(column, row), return_counts=True)
    return np.column_stack([*unpack(square), count])


def _label(level: int, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    half = np.int64(1) << np.int64(BITS - 1)
    return np.int64(level) << np.int64(2 * BITS) | (column + half) << np.int64(BITS) | (row + half)


def _parts(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    half, mask = np.int64(1) << np.int64(BITS - 1), (np.int64(1) << np.int64(BITS)) - 1
    return cells >> np.int64(2 * BITS), ((cells >> np.int64(BITS)) & mask) - half, (cells & mask) - half


@njit(cache=True)
def _leaves(xy, size, depth, keys, offsets):  # pragma: no cover - compiled
    """int64 [N]: label of the leaf of each point; ``keys`` sorted within each level, ``offsets`` of the levels."""
    half = np.int64(1) << np.int64(BITS - 1)
    out = np.empty(len(xy), dtype=np.int64)
    was_column, was_row, label = np.int64(0), np.int64(0), np.int64(-1)
    for i in range(len(xy)):
        column, row = np.int64(np.floor(xy[i, 0] / size)), np.int64(np.floor(xy[i, 1] / size))
        if label < 0 or column != was_column or row != was_row:
            was_column, was_row = column, row
            for level in range(depth + 1):
                up = np.int64(depth - level)
                label = (
                    (np.int64(level) << np.int64(2 * BITS))
                    | (((column >> up) + half) << np.int64(BITS))
                    | ((row >> up) + half)
                )
                if level == depth:
                    break
                low, high = offsets[level], offsets[level + 1]
                at = low + np.searchsorted(keys[low:high], label)
                if at == high or keys[at] != label:
                    break
        out[i] = label
    return out
