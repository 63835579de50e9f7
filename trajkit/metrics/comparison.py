"""`Comparison`: two sets put side by side, with every pass that several metrics share done once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from trajkit import geo, seeds
from trajkit.errors import DataContractError, ParameterError
from trajkit.grid import Grid
from trajkit.metrics.first_visits import FirstVisits
from trajkit.metrics.kernels import haversine_matrix
from trajkit.metrics.settings import MetricSettings
from trajkit.sequences import Sequences, cell_sequences
from trajkit.trajectories import Trajectories

if TYPE_CHECKING:
    from trajkit.roads import RoadNetwork


@dataclass(frozen=True)
class Pairs:
    """Matched trajectories, metres [k, L, 2] each; ``nhd_m`` [k] is the cost of each match."""

    real: np.ndarray
    released: np.ndarray
    nhd_m: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """Real and released trajectories in the order of their ids, so that no metric depends on the order they came in.

    Raises ParameterError when the sets declare another box or CRS, DataContractError when one is empty, breaks the
    contract, or has no point in the box.
    """

    real: Trajectories
    released: Trajectories
    settings: MetricSettings
    seed: int
    roads: RoadNetwork | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        real: Trajectories,
        released: Trajectories,
        *,
        settings: MetricSettings,
        seed: int,
        roads: RoadNetwork | None = None,
    ) -> Comparison:
        """Check both sets and put them in order."""
        if (real.meta.box, real.meta.crs) != (released.meta.box, released.meta.crs):
            raise ParameterError(
                f"the sets do not share box and CRS: real has {real.meta.box}, {real.meta.crs}, released {released.meta.box}, "
                f"{released.meta.crs}; grids and distances would not be comparable: declare the same public box and CRS"
            )
        if roads is not None and roads.crs != real.meta.crs:
            raise ParameterError(
                f"the roads are in {roads.crs}, the trajectories in {real.meta.crs}: read the roads in the CRS of the set"
            )
        for role, trajs in (("real", real), ("released", released)):
            if not len(trajs):
                raise DataContractError(
                    f"the {role} set ({trajs.meta.dataset}) has no trajectories: nothing can be compared"
                )
            if not trajs.check(inside_box=False).meta.box.contains(trajs.lonlat).any():
                raise DataContractError(
                    f"none of the {trajs.n_points} points of the {role} set ({trajs.meta.dataset}) lies in the public box: "
                    "declare the right box or check the column order"
                )
        return cls(real.sorted_by_id(), released.sorted_by_id(), settings, seed, roads)

    @property
    def sides(self) -> tuple[Trajectories, Trajectories]:
        return self.real, self.released

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """The public box in metres: x_min, y_min, x_max, y_max."""
        return geo.box_xy(self.real.meta.box, self.real.meta.crs)

    def in_box_units(self, xy: np.ndarray) -> np.ndarray:
        """Metres [N, 2] scaled so that the box is the unit square."""
        x0, y0, x1, y1 = self.bounds
        return (xy - [x0, y0]) / [x1 - x0, y1 - y0]

    def grid(self, cells: int) -> Grid:
        """``cells`` by ``cells`` over the box."""
        return Grid(self.bounds, cells, cells)

    def draw(self, stream: str, n: int, k: int) -> np.ndarray:
        """Return ``k`` of ``n`` indices, rising (all where n <= k). Both sides use the same draw, so equal sets stay equal."""
        if n <= k:
            return np.arange(n)
        return np.sort(seeds.rng(self.seed, "metrics", stream).choice(n, size=k, replace=False, shuffle=False))

    @cached_property
    def cell_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 [jsd_cells²] for each side: points per cell."""
        grid = self.grid(self.settings.jsd_cells)
        return grid.counts(self.real.xy), grid.counts(self.released.xy)

    @cached_property
    def outside(self) -> tuple[int, int]:
        """Points of each side outside the grid."""
        a, b = self.cell_counts
        return self.real.n_points - int(a.sum()), self.released.n_points - int(b.sum())

    @cached_property
    def sequences(self) -> tuple[Sequences, Sequences]:
        """The cells that the trajectories of each side pass on ``pattern_cells`` x ``pattern_cells``, repeats merged."""
        grid = self.grid(self.settings.pattern_cells)
        return cell_sequences(self.real, grid), cell_sequences(self.released, grid)

    @cached_property
    def visits(self) -> tuple[FirstVisits, FirstVisits]:
        """Inverted lists of `sequences`."""
        real, released = self.sequences
        return FirstVisits.of(real), FirstVisits.of(released)

    @property
    def n_pairs(self) -> int:
        return min(self.settings.n_pairs, len(self.real), len(self.released))

    @cached_property
    def pairs(self) -> Pairs:
        """The one-to-one matching of smallest total NHD (Hungarian method) between ``n_pairs`` trajectories of each side."""
        real, released = (s.take(self.draw("pairs", len(s), self.n_pairs)) for s in self.sides)
        length = _common_length(real, released)
        cost = haversine_matrix(real.lonlat.reshape(-1, length, 2), released.lonlat.reshape(-1, length, 2))
        rows, columns = linear_sum_assignment(cost)
        return Pairs(
            real.xy.reshape(-1, length, 2)[rows], released.xy.reshape(-1, length, 2)[columns], cost[rows, columns]
        )

    def sizes(self) -> dict[str, Any]:
        """What every result records besides its settings."""
        return {
            "seed": self.seed,
            "n_real": len(self.real),
            "n_released": len(self.released),
            "points_outside_real": self.outside[0],
            "points_outside_released": self.outside[1],
        }


def _common_length(real: Trajectories, released: Trajectories) -> int:
    low = min(real.lengths.min(), released.lengths.min())
    high = max(real.lengths.max(), released.lengths.max())
    if low != high:
        raise DataContractError(
            f"trajectories have between {low} and {high} points, but pairs are compared point by point: "
            "call to_fixed_length with one length on both sets first"
        )
    return int(low)
