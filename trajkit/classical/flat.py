"""The simplest honest baseline: noisy counts of (start cell, end cell) on a fixed public grid, and straight lines between them.

One look takes all of epsilon: a trajectory is one count among cells^4, empty ones included, sensitivity 1. Where a trip went in
between is not looked at. Nothing about the data decides the grid, so what a method gains by adapting to it shows against this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from trajkit import seeds
from trajkit.baselines import public_meta
from trajkit.classical.adaptive_grid import AdaptiveGrid
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.looks import Looks
from trajkit.classical.trips import drawn_pairs
from trajkit.geo import box_xy, unproject
from trajkit.methods import count_asked, fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.trajectories import Meta, Trajectories


class FlatConfig(ClassicalConfig):
    """``cells``: cells along each side of the public box (a public number)."""

    cells: int = Field(8, ge=1, le=24)


@dataclass(frozen=True)
class FlatModel:
    """What a fit leaves: noisy ``trips`` [cells^2, cells^2] from which what is mostly noise was taken off."""

    meta: Meta
    grid: AdaptiveGrid
    trips: np.ndarray
    guarantee: Guarantee
    report: dict[str, Any]


class Flat:
    """See the module."""

    Config = FlatConfig
    TEMPLATE = "method-flat"

    def __init__(self, config: FlatConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> Flat:
        """Look at ``train`` once with noise and keep the counts. Raises DataContractError for a bad or an empty set."""
        c = self.config
        checked_training_set(train)
        looks = Looks(c.epsilon, seed=seed, stream="flat", source=c.noise, records=c.trips_per_user)
        grid = AdaptiveGrid.uniform(box_xy(train.meta.box, train.meta.crs), c.cells)
        noisy = looks.counts("starts and ends", trip_counts(c.seen(train, seed), grid), epsilon=looks.left)
        trips = norm_sub(noisy)
        self.model_ = FlatModel(
            meta=public_meta(train.meta),
            grid=grid,
            trips=trips if trips.sum() > 0 else np.ones_like(trips),
            guarantee=looks.guarantee("Flat", public=[SOUND, f"the grid of {c.cells} x {c.cells} cells is public"]),
            report={
                "cells": grid.n_cells,
                "pairs": noisy.size,
                "pairs left of the noise": int((trips > 0).sum()),
                "looks": looks.listed(),
            },
        )
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` straight lines of ``length`` points between uniform places of drawn cells; only the model is read."""
        model: FlatModel = fitted_attribute(self, "model_")
        number = count_asked(n)
        rng = seeds.rng(seed, "sampling", "flat")
        places = [model.grid.points(cells, rng.random((number, 2))) for cells in drawn_pairs(model.trips, number, rng)]
        start, end = (unproject(xy, model.meta.crs)[:, None] for xy in places)
        along = np.linspace(0.0, 1.0, self.config.length)[None, :, None]
        lonlat = model.meta.box.clip(start + along * (end - start))
        return Release(Trajectories.from_fixed(lonlat, meta=model.meta), model.guarantee, dict(model.report))


def trip_counts(trajs: Trajectories, grid: AdaptiveGrid) -> np.ndarray:
    """int64 [S, S]: trajectories by the cell of their first and of their last point. L1 sensitivity 1."""
    first, last = grid.cell_of(trajs.xy[trajs.starts]), grid.cell_of(trajs.xy[trajs.ends])
    counts = np.bincount(first * grid.n_cells + last, minlength=grid.n_cells**2)
    return counts.reshape(grid.n_cells, grid.n_cells)
