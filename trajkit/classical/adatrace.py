"""AdaTrace (Gursoy, Liu, Truex, Yu, Wei, CCS 2018): adaptive grid, first-order mobility, trips and their lengths, all noisy.

Own implementation of the published idea; the attack-resilience rules of the paper are left out, as they are no part of its DP claim.
What is looked at, each with noise by `Looks`, pure DP per trajectory; ``split`` cuts epsilon in this order:

1. number of trajectories (not looked at where ``trips`` states a public number: its share goes to the others);
2. density on K x K cells of the public box, a trajectory's points weighing 1 together (sensitivity 1);
3. mobility: steps between cells that touch, a trajectory's steps weighing 1 together (1);
4. trips: (block of start, block of end), one count a trajectory (1);
5. starts and ends in final cells, one count each (2): they place a trip within its blocks;
6. steps beyond the fewest possible, by classes of that fewest number, one count a trajectory (1).

The paper gives each of four looks a share of epsilon; (1) and (5) are ours. Its trip distribution is over all pairs of cells, of
which most counts would be noise at n = 16,000: here the pairs are over blocks whose number a public formula takes from n and epsilon,
and (5) restores the detail. Its length distribution stands per start cell; ours per distance, which length follows closely.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from trajkit import seeds
from trajkit.baselines import public_meta
from trajkit.classical.adaptive_grid import AdaptiveGrid, cells_along, density_weights, resolution
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub, parts
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.looks import WEIGHT, Looks
from trajkit.classical.paths import Paths, cell_paths, detour_counts, end_counts, pair_counts, step_weights
from trajkit.classical.trips import drawn_pairs
from trajkit.classical.walks import CHUNK, Chain, first_order, guided_walks, nearest_in_length, places
from trajkit.geo import box_xy
from trajkit.methods import FromList, count_asked, fitted_attribute
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.trajectories import Meta, Trajectories

CLASSES, MOST_EXTRA = 8, 24  # of fewest steps, and steps beyond them that are told apart
MOST_CELLS, HORIZON = 100, 64  # cells of a walk; steps that its potential looks ahead
HALTING = 0.3  # a walk in its end cell stops so many times as likely as it goes on
PER_PAIR = 8.0  # trips that a pair of blocks should hold, in units of the noise


class AdaTraceConfig(ClassicalConfig):
    """``split``: shares of epsilon of number, density, mobility, trips, ends, lengths. ``floor``: share of each cell's steps that is
    spread over all its neighbours, so that every end can be reached. ``candidates``: walks drawn for each trip, of which the one nearest
    to its drawn length is taken. ``per_coarse_cell``, ``per_cell``, ``trips``, ``damping``, ``turning``,
    ``smoothness``, ``rounding``: as for PrivTrace, and like there the defaults were found on a simulated city that no study uses.
    """

    split: Annotated[tuple[float, float, float, float, float, float], FromList] = (0.02, 0.08, 0.4, 0.2, 0.2, 0.1)
    trips: int | None = Field(None, ge=1)
    per_coarse_cell: float = Field(200.0, gt=0, allow_inf_nan=False)
    per_cell: float = Field(20.0, gt=0, allow_inf_nan=False)
    candidates: int = Field(4, ge=1)
    damping: float = Field(0.75, gt=0, le=1)
    floor: float = Field(0.005, gt=0, lt=1)
    turning: float = Field(1.5, ge=0, allow_inf_nan=False)
    smoothness: float = Field(0.9, ge=0, lt=1)
    rounding: int = Field(2, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if min(self.split) <= 0:
            raise ValueError(f"split {self.split}: every look needs a share above 0")
        return self


@dataclass(frozen=True)
class AdaTraceModel:
    """What a fit leaves, all of it noisy. ``trips`` [B, B] over ``block`` [S] of the cells; ``detours`` [CLASSES, MOST_EXTRA + 1]."""

    meta: Meta
    grid: AdaptiveGrid
    density: np.ndarray
    chain: Chain
    potential: np.ndarray
    block: np.ndarray
    trips: np.ndarray
    ends: np.ndarray
    detours: np.ndarray
    width: int
    guarantee: Guarantee
    report: dict[str, Any]


class AdaTrace:
    """See the module."""

    Config = AdaTraceConfig
    TEMPLATE = "method-adatrace"

    def __init__(self, config: AdaTraceConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> AdaTrace:
        """Look at ``train`` six times with noise and keep the model. Raises DataContractError for a bad or an empty set."""
        c = self.config
        checked_training_set(train)
        looks = Looks(c.epsilon, seed=seed, stream="adatrace", source=c.noise, records=c.trips_per_user)
        seen = c.seen(train, seed)
        number, shares = self._number(seen, looks)
        per_coarse, per_cell = resolution(
            number, c.epsilon_each, per_coarse_cell=c.per_coarse_cell, per_cell=c.per_cell
        )
        box = box_xy(train.meta.box, train.meta.crs)
        coarse = AdaptiveGrid.uniform(box, cells_along(number, per_cell=per_coarse))
        density = looks.weights("density", density_weights(seen, coarse), epsilon=shares[0])
        grid = coarse.refined(density, per_cell=per_cell, least=0.05 * max(number, 1.0) / coarse.k**2)
        block = blocks(grid, number, float(shares[2]) / (c.trips_per_user or 1))
        width = max(1, -(-int(grid.hops.max()) // CLASSES))
        noisy = _looked_at(cell_paths(seen, grid), looks, shares[1:], block=block, width=width)
        self.model_ = self._model(public_meta(train.meta), grid, density, noisy, block, width, looks)
        return self

    def _number(self, train: Trajectories, looks: Looks) -> tuple[float, list[Fraction]]:
        """The number of trajectories, and what the other looks may spend."""
        c = self.config
        if c.trips is not None:
            return float(c.trips), parts(looks.budget, c.split[1:])
        first, *rest = parts(looks.budget, c.split)
        counted = looks.counts("number of trajectories", np.array([len(train)]), epsilon=first)
        return float(counted[0]), rest

    def _model(
        self,
        meta: Meta,
        grid: AdaptiveGrid,
        density: np.ndarray,
        noisy: list[np.ndarray],
        block: np.ndarray,
        width: int,
        looks: Looks,
    ) -> AdaTraceModel:
        """Everything after the noise."""
        c = self.config
        steps, trips, ends, detours = noisy
        out = np.bincount(grid.tails, weights=norm_sub(steps), minlength=grid.n_cells)
        degree = np.bincount(grid.tails, minlength=grid.n_cells)
        least = c.floor * np.where(out > 0, out, 1.0) / np.maximum(degree, 1)
        cleaned = norm_sub(steps) + least[grid.tails]
        halts = HALTING * np.bincount(grid.tails, weights=cleaned, minlength=grid.n_cells)
        chain = first_order(grid, cleaned, np.maximum(halts, 1e-12), turning=c.turning)
        known = [] if c.trips is None else [f"the number of trajectories is public: {c.trips}"]
        return AdaTraceModel(
            meta=meta,
            grid=grid,
            density=density,
            chain=chain,
            potential=chain.potential(c.damping, HORIZON),
            block=block,
            trips=norm_sub(trips),
            ends=np.stack([norm_sub(x) for x in ends]),
            detours=np.stack([norm_sub(x) for x in detours]),
            width=width,
            guarantee=looks.guarantee("AdaTrace", public=[SOUND, *known]),
            report=_report(grid, len(trips), steps, trips, looks),
        )

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trajectories of ``length`` points in the public box; only the model is read."""
        model: AdaTraceModel = fitted_attribute(self, "model_")
        c, number = self.config, count_asked(n)
        rng = seeds.rng(seed, "sampling", "adatrace")
        trips = model.trips if model.trips.sum() > 0 else np.ones_like(model.trips)
        from_block, to_block = drawn_pairs(trips, number, rng)
        starts, ends = (
            _within(b, model.block, weights, rng) for b, weights in zip((from_block, to_block), model.ends, strict=True)
        )
        hops = model.grid.hops[starts, ends].astype(np.int64)
        wanted = hops + 1 + _extra(np.minimum(hops // model.width, CLASSES - 1), model.detours, rng)
        cells, lengths = self._walks(model, starts, ends, wanted, rng)
        walked = places(
            model.grid, cells, lengths, smoothness=c.smoothness, rounding=c.rounding, meta=model.meta, rng=rng
        )
        lonlat = model.meta.box.clip(to_fixed_length(walked, length=c.length))
        return Release(Trajectories.from_fixed(lonlat, meta=model.meta), model.guarantee, dict(model.report))

    def _walks(
        self, model: AdaTraceModel, starts: np.ndarray, ends: np.ndarray, wanted: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cells and lengths of a walk from each start to its end, about ``wanted`` cells long; pieces bound the memory."""
        pieces = []
        for a in range(0, len(starts), CHUNK):
            some = slice(a, a + CHUNK)
            trips = (np.repeat(x[some], self.config.candidates) for x in (starts, ends))
            found = guided_walks(
                model.chain, model.potential, *trips, damping=self.config.damping, most=MOST_CELLS, rng=rng
            )
            pieces.append(nearest_in_length(*found, wanted[some], self.config.candidates))
        return np.concatenate([x for x, _ in pieces]), np.concatenate([x for _, x in pieces])


def blocks(grid: AdaptiveGrid, number: float, epsilon: float) -> np.ndarray:
    """int64 [S]: block of each final cell; m x m blocks of whole coarse cells, m^4 = number epsilon / PER_PAIR, 1 <= m <= K."""
    m = int(np.clip(round((max(number, 1.0) * epsilon / PER_PAIR) ** 0.25), 1, grid.k))
    column, row = grid.place[:, 0] * m // grid.k, grid.place[:, 1] * m // grid.k
    return row * m + column


def _looked_at(
    paths: Paths, looks: Looks, shares: list[Fraction], *, block: np.ndarray, width: int
) -> list[np.ndarray]:
    """Noisy steps [E], trips [B, B], starts and ends [2, S], detours [CLASSES, MOST_EXTRA + 1]."""
    trips = pair_counts(paths, block, int(block.max()) + 1)
    detours = detour_counts(paths, width=width, classes=CLASSES, most=MOST_EXTRA)
    return [
        looks.weights("mobility", step_weights(paths), epsilon=shares[0]),
        looks.counts("trips", trips, epsilon=shares[1]),
        looks.counts("starts and ends", end_counts(paths), epsilon=shares[2], sensitivity=2),
        looks.counts("lengths", detours, epsilon=shares[3]),
    ]


def _within(chosen: np.ndarray, block: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64 [n]: for each of the ``chosen`` blocks one of its cells, in proportion to ``weights`` [S]; all alike where all are 0."""
    total = np.bincount(block, weights=weights)
    order = np.argsort(block, kind="stable")
    mass = np.where(total[block] > 0, weights, 1.0)[order]
    rising = np.concatenate([[0.0], np.cumsum(mass)])
    begin = np.searchsorted(block[order], np.arange(len(total) + 1))
    low, high = rising[begin[chosen]], rising[begin[chosen + 1]]
    at = np.searchsorted(rising, low + rng.random(len(chosen)) * (high - low), side="right") - 1
    return order[np.clip(at, begin[chosen], begin[chosen + 1] - 1)]


def _extra(classes: np.ndarray, detours: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64 [n]: steps beyond the fewest, drawn from the row of ``detours`` of each class; from all rows where that one is empty."""
    rows = np.where(detours.sum(axis=1, keepdims=True) > 0, detours, detours.sum(axis=0))
    rows = np.where(rows.sum(axis=1, keepdims=True) > 0, rows, 1.0)
    rising = np.cumsum(rows, axis=1) / rows.sum(axis=1, keepdims=True)
    return np.minimum((rng.random(len(classes))[:, None] >= rising[classes]).sum(axis=1), rows.shape[1] - 1)


def _report(grid: AdaptiveGrid, n_blocks: int, steps: np.ndarray, trips: np.ndarray, looks: Looks) -> dict[str, Any]:
    """What a reader wants to know, all of it from noisy or public numbers."""
    scales = {k.what: k.scale / (WEIGHT if k.sensitivity >= WEIGHT else 1) for k in looks.taken}

    def ratio(what: str, noisy: np.ndarray) -> float | None:
        total = float(noisy.sum())
        return noisy.size * scales[what] / total if total > 0 else None

    return {
        "K": grid.k,
        "cells": grid.n_cells,
        "edges between touching cells": grid.n_edges,
        "blocks of the trip table": n_blocks,
        "looks": looks.listed(),
        "noise over signal": {"mobility": ratio("mobility", steps), "trips": ratio("trips", trips)},
    }
