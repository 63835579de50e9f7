"""Trajectory-level metrics: distributions of whole-trajectory quantities, and distances between matched pairs."""

from __future__ import annotations

import numpy as np

from trajkit.metrics import kernels
from trajkit.metrics.comparison import Comparison
from trajkit.metrics.point import jensen_shannon, wasserstein_1d


def ttd(c: Comparison) -> float:
    """1-Wasserstein distance in metres between the distributions of travelled (haversine) length."""
    return wasserstein_1d(*(kernels.path_lengths(s.lonlat, s.offsets) for s in c.sides))


def td(c: Comparison) -> float:
    """1-Wasserstein distance in metres between the distributions of diameter."""
    return wasserstein_1d(*(kernels.diameters(s.xy, s.offsets) for s in c.sides))


def te(c: Comparison) -> float:
    """Jensen-Shannon divergence of the shares of (start cell, end cell); the outside counts as one more cell."""
    grid = c.grid(c.settings.te_cells)
    n = grid.n_cells + 1
    trips = (grid.cell_of(s.xy[s.starts]) % n * n + grid.cell_of(s.xy[s.ends]) % n for s in c.sides)
    return jensen_shannon(*(np.bincount(trip, minlength=n * n) for trip in trips))


def hd(c: Comparison) -> float:
    """Mean symmetric Hausdorff distance in metres of the matched pairs."""
    return float(kernels.hausdorff(c.pairs.real, c.pairs.released).mean())


def nhd(c: Comparison) -> float:
    """Mean haversine distance in metres between points of equal index of the matched pairs."""
    return float(c.pairs.nhd_m.mean())


def dtw(c: Comparison) -> float:
    """Mean over the matched pairs of the warping path's sum of ground distances, divided by the number of points; metres."""
    return float(kernels.dtw(c.pairs.real, c.pairs.released).mean() / c.pairs.real.shape[1])
