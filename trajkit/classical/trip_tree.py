"""Trips as sequences for a noisy tree: (start, end) cells, coarse ones first, each level halving them, last the hour of departure.

Level 1 is a pair of cells of a coarse grid over the public box; each further level says in which quarter of its cell the start and the
end lie (16 children). A noisy tree over these sequences is a hierarchy of trip counts that is fine where many travel and coarse
elsewhere, and it never holds a table of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from trajkit.classical.looks import Looks
from trajkit.classical.prefix_tree import PrefixTree, build_tree
from trajkit.classical.tree_inference import least_squares_counts, terminating_counts
from trajkit.classical.tree_noise import LevelNoise, TreeNoise, subcritical_threshold
from trajkit.sequences import Sequences
from trajkit.trajectories import concatenate_offsets

QUARTERS = 16


@dataclass(frozen=True)
class TripGrid:
    """``coarse`` x ``coarse`` cells over ``bounds`` (x_min, y_min, x_max, y_max, metres), halved ``halvings`` times; ``bands``: equal parts of the day
    (1: times are not looked at)."""

    bounds: tuple[float, float, float, float]
    coarse: int
    halvings: int
    bands: int = 1

    @property
    def side(self) -> int:
        """Cells along each side at the finest level."""
        return self.coarse << self.halvings

    @property
    def fanouts(self) -> list[int]:
        """Children of a node at each level."""
        return [self.coarse**4, *[QUARTERS] * self.halvings, *([self.bands] if self.bands > 1 else [])]

    def places(self, xy: np.ndarray) -> np.ndarray:
        """int64 [n, 2]: column and row of each point at the finest level; points beyond the box belong to the nearest cell."""
        x0, y0, x1, y1 = self.bounds
        return np.clip((xy - [x0, y0]) / [x1 - x0, y1 - y0] * self.side, 0, self.side - 1).astype(np.int64)

    def sequences(self, starts: np.ndarray, ends: np.ndarray, hours: np.ndarray | None) -> Sequences:
        """One sequence a trip from its ends (metres [n, 2]) and hour of departure (0 … 24, None without times)."""
        four = np.hstack([self.places(starts), self.places(ends)])
        top = four >> self.halvings
        columns = [((top[:, 0] * self.coarse + top[:, 1]) * self.coarse + top[:, 2]) * self.coarse + top[:, 3]]
        for level in range(self.halvings - 1, -1, -1):
            columns.append(((four >> level) & 1) @ [8, 4, 2, 1])
        if self.bands > 1:
            assert hours is not None
            columns.append(np.minimum((hours / 24 * self.bands).astype(np.int64), self.bands - 1))
        symbols = np.column_stack(columns).astype(np.int32)
        n, height = symbols.shape
        return Sequences(
            np.ascontiguousarray(symbols).ravel(), concatenate_offsets(np.full(n, height)), max(self.fanouts)
        )

    def decoded(self, prefixes: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """(rectangles float64 [n, 2, 4] of start and end in metres, hour band int64 [n], -1 where the prefix ends before it)."""
        n, depth = len(prefixes), prefixes.lengths
        first = prefixes.symbols[prefixes.offsets[:-1]].astype(np.int64)
        c = self.coarse
        corner = np.column_stack([first // c**3, first // c**2 % c, first // c % c, first % c])
        cells = np.full(n, c, dtype=np.int64)
        for level in range(1, self.halvings + 1):
            deep = np.flatnonzero(depth > level)
            digit = prefixes.symbols[prefixes.offsets[deep] + level].astype(np.int64)
            corner[deep] = 2 * corner[deep] + ((digit[:, None] >> [3, 2, 1, 0]) & 1)
            cells[deep] *= 2
        band = np.full(n, -1, dtype=np.int64)
        timed = np.flatnonzero(depth == self.halvings + 2)
        band[timed] = prefixes.symbols[prefixes.offsets[timed] + self.halvings + 1]
        x0, y0, x1, y1 = self.bounds
        size = np.array([x1 - x0, y1 - y0])
        low = [x0, y0] + corner.reshape(n, 2, 2) / cells[:, None, None] * size
        return np.concatenate([low, low + size / cells[:, None, None]], axis=2), band


@dataclass(frozen=True)
class TripTree:
    """Noisy trips: ``tree`` and the number of trips that end at each node, after the exact non-negative fit."""

    grid: TripGrid
    tree: PrefixTree
    trips: np.ndarray

    @property
    def total(self) -> float:
        """Trips by the tree."""
        return float(self.trips.sum())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rectangles [n, 2, 4] and hour bands [n] of ``n`` trips drawn by their noisy counts; uniform over the box where there are none."""
        if not self.total > 0:
            x0, y0, x1, y1 = self.grid.bounds
            return np.broadcast_to(np.array([x0, y0, x1, y1]), (n, 2, 4)).copy(), np.full(n, -1)
        nodes = rng.choice(len(self.trips), size=n, p=self.trips / self.total)
        return self.grid.decoded(self.tree.prefixes(nodes))


def count_trips(
    grid: TripGrid, starts: np.ndarray, ends: np.ndarray, hours: np.ndarray | None, looks: Looks, *, epsilon: Fraction
) -> TripTree:
    """Look at the trips level by level, epsilon / levels each, and fit the exact consistent counts. Sensitivity 1 a level."""
    height = len(grid.fanouts)
    noise = looks.noise("trips between cells, level by level", epsilon=epsilon / height, times=height)
    levels: list[TreeNoise] = [LevelNoise(noise, subcritical_threshold(noise, k), looks.rng) for k in grid.fanouts]
    tree, _ = build_tree(grid.sequences(starts, ends, hours), height=height, noise=levels, fanouts=grid.fanouts)
    counts = least_squares_counts(tree)
    return TripTree(grid, tree, terminating_counts(tree, counts))
