"""PrivTrace (Wang et al., USENIX Security 2023, arXiv:2210.00581): adaptive grid, first-order Markov model, second order at guideposts.

Own implementation from the published description. What is looked at, each with noise by `Looks`, pure DP per trajectory:

1. the number of trajectories (``count_share`` of epsilon; not looked at where ``trips`` states a public number);
2. density on K x K cells of the public box, a trajectory's points weighing 1 together; K = sqrt(n / ``per_coarse_cell``);
3. first-order transitions between cells that touch, with starts and ends, a trajectory's transitions weighing 1 together;
4. second-order transitions at guideposts, which are chosen from (3) alone, again weighing 1 together.

``split`` cuts what is left of epsilon after (1) into (2), (3), (4); 0.2 / 0.4 / 0.4 as published. Every edge between touching cells
has noise, visited or not. Differences from the paper, all after the noise or data-independent: trajectories that jump over cells
are joined by lines (`paths.cell_paths`); the trip table has largest entropy (`trips.gravity`); walks are drawn given that they
end where the trip ends (`Chain.potential`), so that none has to be rejected, and rarely turn back or make detours (``turning``,
``damping``); places in neighbouring cells
are correlated and corners rounded off (``smoothness``, ``rounding``). The public rules among them could be used by any method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from trajkit import seeds
from trajkit.baselines import public_meta
from trajkit.classical.adaptive_grid import AdaptiveGrid, cells_along, density_weights, resolution
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub, parts
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.looks import WEIGHT, Looks
from trajkit.classical.paths import Paths, cell_paths, first_order_weights, second_order_weights
from trajkit.classical.trips import drawn_pairs, gravity
from trajkit.classical.walks import Chain, first_order, free_walks, guided_walks, places, with_second_order
from trajkit.geo import Box, box_xy
from trajkit.methods import FromList, count_asked, fitted_attribute
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee, no_guarantee
from trajkit.release import Release
from trajkit.trajectories import Meta, Trajectories

AMBIGUOUS = 5.0  # a guidepost's likeliest step is less than this many times as likely as the next
LARGE_SHARE = 0.02  # of all transitions, starts or ends: such a cell is a guidepost whatever its steps
WINDING = 2.0  # cells of a trip over the fewest that lead from its start to its end
MOST_STEPS = 100
HORIZON = 64  # steps after which a damped walk has next to no weight
WIDENED = 1e-5  # degrees, published variant
LEAKS = (
    "as published, the box is the data's own and exact, so are the number of trajectories and which transitions occur at all: "
    "noise hides none of the three"
)


class PrivTraceConfig(ClassicalConfig):
    """``variant`` "published" is the released code's way, for the claim about it: see `PrivTrace`; all else is private in fact.

    ``per_coarse_cell``: c of K = sqrt(n / c), trajectories a coarse cell. ``per_cell``: a coarse cell of noisy density d has
    kappa = ceil(sqrt(d / per_cell)) rows, if d exceeds 0.05 n / K^2. Both are raised by `adaptive_grid.resolution` (private only).
    ``trips``: a public number of trajectories; null counts them. ``damping``: a walk that is longer by a step of median length is this
    many times as likely. ``turning``: see `walks.first_order`. ``smoothness``, ``rounding``: see `walks.places`. ``decimals``: degrees
    are rounded to so many (published only). The defaults did well on 16,000 trips of a simulated city (seed 1001, which no study
    uses) at epsilon 1 and 10.
    """

    variant: Literal["private", "published"] = "private"
    split: Annotated[tuple[float, float, float], FromList] = (0.2, 0.4, 0.4)
    count_share: float = Field(0.02, gt=0, lt=1)
    trips: int | None = Field(None, ge=1)
    per_coarse_cell: float = Field(300.0, gt=0, allow_inf_nan=False)
    per_cell: float = Field(20.0, gt=0, allow_inf_nan=False)
    damping: float = Field(0.75, gt=0, le=1)
    turning: float = Field(1.5, ge=0, allow_inf_nan=False)
    smoothness: float = Field(0.9, ge=0, lt=1)
    rounding: int = Field(2, ge=0)
    decimals: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if min(self.split) <= 0:
            raise ValueError(f"split {self.split}: every look needs a share above 0")
        if self.decimals is not None and self.variant != "published":
            raise ValueError("decimals round the places away: only variant published has them, leave them out")
        if self.trips_per_user is not None and self.variant == "published":
            raise ValueError(
                "trips_per_user bounds what a user adds, which variant published does not do: leave it out"
            )
        if self.trips is not None and self.variant == "published":
            raise ValueError("trips states a public number, but variant published takes the exact one: leave it out")
        return self


@dataclass(frozen=True)
class PrivTraceModel:
    """What a fit leaves: noisy, so it may be published (variant "private"). ``density`` [K * K], ``trips`` [S, S]."""

    meta: Meta
    grid: AdaptiveGrid
    density: np.ndarray
    chain: Chain
    guideposts: np.ndarray
    trips: np.ndarray
    potential: np.ndarray | None
    guarantee: Guarantee
    report: dict[str, Any]


class PrivTrace:
    """See the module. ``variant`` "published" keeps what the released code does, so its guarantee does not hold:

    the box is that of the data (widened by 1e-5 degrees) and n is exact, transitions that never occur are known not to, noise is
    Laplace in floating point, ends count 1.3 times (1.5 times in the second order), walks are free until they stop and are not
    guided to their end, each place is drawn anew, and ``decimals: 2`` rounds places to a lattice of about a kilometre as its writer
    did. (The paper has kappa = sqrt(d K pop / (2e7)); the code's ``2 * 10^7`` is 20 XOR 7 = 19 in Python, so states exploded and kappa
    = sqrt(d / 200) was used instead, which ``per_cell: 200.0`` states.)
    """

    Config = PrivTraceConfig
    TEMPLATE = "method-privtrace"

    def __init__(self, config: PrivTraceConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> PrivTrace:
        """Look at ``train`` four times with noise and keep the model. Raises DataContractError for a bad or an empty set."""
        c = self.config
        checked_training_set(train)
        published = c.variant == "published"
        looks = Looks(
            c.epsilon, seed=seed, stream="privtrace", source=c.noise,
            mechanism="laplace" if published else "geometric", records=c.trips_per_user,
        )  # fmt: skip
        seen = c.seen(train, seed)
        number = self._number(seen, looks)
        shares = parts(looks.left, c.split)
        box = _exact_box(train) if published else train.meta.box
        target = (c.per_coarse_cell, c.per_cell)
        if not published:
            target = resolution(number, c.epsilon_each, per_coarse_cell=c.per_coarse_cell, per_cell=c.per_cell)
        coarse = AdaptiveGrid.uniform(box_xy(box, train.meta.crs), cells_along(number, per_cell=target[0]))
        density = looks.weights("density", density_weights(seen, coarse), epsilon=shares[0])
        grid = coarse.refined(density, per_cell=target[1], least=0.05 * max(number, 1.0) / coarse.k**2)
        paths = cell_paths(seen, grid)
        first = _first_look(paths, looks, shares[1], support=published)
        posts = guideposts(grid, first, float(shares[1]) / (c.trips_per_user or 1))
        second = looks.weights("second-order transitions", second_order_weights(paths, posts), epsilon=shares[2])
        self.model_ = self._model(public_meta(train.meta), grid, density, first, posts, second, number, looks)
        return self

    def _number(self, train: Trajectories, looks: Looks) -> float:
        c = self.config
        if c.variant == "published":
            return float(len(train))
        if c.trips is not None:
            return float(c.trips)
        share = looks.budget * Fraction(c.count_share)
        return float(looks.counts("number of trajectories", np.array([len(train)]), epsilon=share)[0])

    def _model(
        self,
        meta: Meta,
        grid: AdaptiveGrid,
        density: np.ndarray,
        first: np.ndarray,
        posts: np.ndarray,
        second: np.ndarray,
        number: float,
        looks: Looks,
    ) -> PrivTraceModel:
        """Everything after the noise."""
        c = self.config
        free = c.variant == "published"
        steps, starts, ends = (norm_sub(x) for x in _cut(first, grid))
        scale = looks.taken[-1].scale / WEIGHT
        chain = _chain(
            grid, steps, ends * (1.3 if free else 1.0), floor=0.0 if free else 0.02, turning=0.0 if free else c.turning
        )
        weights = norm_sub(second)
        if free:
            weights[len(chain.move) :] *= 1.5
        chain = with_second_order(chain, weights, posts, prior=scale)
        trips = gravity(starts, ends, WINDING * grid.hops + 2.0, number)
        return PrivTraceModel(
            meta=meta,
            grid=grid,
            density=density,
            chain=chain,
            guideposts=posts,
            trips=trips,
            potential=None if free else chain.potential(c.damping, HORIZON),
            guarantee=self._guarantee(looks),
            report=_report(grid, first, posts, looks),
        )

    def _guarantee(self, looks: Looks) -> Guarantee:
        c = self.config
        known = [] if c.trips is None else [f"the number of trajectories is public: {c.trips}"]
        held = looks.guarantee("PrivTrace", public=[SOUND, *known])
        if c.variant == "published":
            return no_guarantee(LEAKS, mechanism=held.mechanism, rng=held.rng, assumptions=held.assumptions)
        return held

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trajectories of ``length`` points in the public box; only the model is read."""
        model: PrivTraceModel = fitted_attribute(self, "model_")
        c, number = self.config, count_asked(n)
        rng = seeds.rng(seed, "sampling", "privtrace")
        starts, ends = drawn_pairs(model.trips, number, rng)
        if model.potential is None:
            cells, lengths = free_walks(model.chain, starts, ends, most=MOST_STEPS, rng=rng)
        else:
            cells, lengths = guided_walks(
                model.chain, model.potential, starts, ends, damping=c.damping, most=MOST_STEPS, rng=rng
            )
        smoothness, rounding = (0.0, 0) if c.variant == "published" else (c.smoothness, c.rounding)
        walked = places(model.grid, cells, lengths, smoothness=smoothness, rounding=rounding, meta=model.meta, rng=rng)
        if c.decimals is not None:
            walked = replace(walked, lonlat=model.meta.box.clip(np.round(walked.lonlat, c.decimals)))
        lonlat = model.meta.box.clip(to_fixed_length(walked, length=c.length))
        return Release(Trajectories.from_fixed(lonlat, meta=model.meta), model.guarantee, dict(model.report))


def guideposts(grid: AdaptiveGrid, first: np.ndarray, epsilon: float) -> np.ndarray:
    """bool [S]: cells worth a second look, from the noisy first-order vector alone (study.md 7.1, step 6).

    Steps out of the cell exceed the noise in all of its entries, sqrt(2) (neighbours + 1) / epsilon, and its two likeliest steps
    differ by less than a factor of `AMBIGUOUS`; or more than `LARGE_SHARE` of all steps, starts or ends are there.
    """
    steps, starts, ends = (np.maximum(x, 0.0) for x in _cut(first, grid))
    out = np.bincount(grid.tails, weights=steps, minlength=grid.n_cells)
    degree = np.bincount(grid.tails, minlength=grid.n_cells)
    order = np.lexsort((-steps, grid.tails))
    begin = grid.neighbours[0][:-1]
    top = np.append(steps[order], [0.0, 0.0])
    clear = (top[begin] >= AMBIGUOUS * top[begin + 1]) | (degree < 2)
    large = [x > LARGE_SHARE * max(x.sum(), 1e-12) for x in (out, starts, ends)]
    return ((out > np.sqrt(2) * (degree + 1) / epsilon) & ~clear) | np.any(large, axis=0)


def _first_look(paths: Paths, looks: Looks, epsilon: Fraction, *, support: bool) -> np.ndarray:
    exact = first_order_weights(paths)
    noisy = looks.weights("first-order transitions", exact, epsilon=epsilon)
    return np.where(exact > 0, noisy, 0.0) if support else noisy  # the published leak: zeros are exact


def _cut(first: np.ndarray, grid: AdaptiveGrid) -> list[np.ndarray]:
    """Steps [E], starts [S] and ends [S]."""
    return np.split(first, [grid.n_edges, grid.n_edges + grid.n_cells])


def _chain(grid: AdaptiveGrid, steps: np.ndarray, ends: np.ndarray, *, floor: float, turning: float) -> Chain:
    """The first-order chain; a share ``floor`` of the weight of each cell is spread over all its neighbours, so that all is reachable."""
    degree = np.bincount(grid.tails, minlength=grid.n_cells)
    out = np.bincount(grid.tails, weights=steps, minlength=grid.n_cells)
    least = floor * np.where(out + ends > 0, out + ends, 1.0)
    spread = (least / np.maximum(degree, 1))[grid.tails]
    return first_order(grid, steps + spread, ends + least, turning=turning)


def _exact_box(train: Trajectories) -> Box:
    low, high = train.lonlat.min(axis=0) - WIDENED, train.lonlat.max(axis=0) + WIDENED
    return Box(*map(float, (*low, *high)))


def _report(grid: AdaptiveGrid, first: np.ndarray, posts: np.ndarray, looks: Looks) -> dict[str, Any]:
    """What a reader wants to know, all of it from noisy or public numbers."""
    entries, scale = len(first), next(k for k in looks.taken if k.what.startswith("first")).scale
    total = float(first.sum())
    return {
        "K": grid.k,
        "cells": grid.n_cells,
        "edges between touching cells": grid.n_edges,
        "guideposts": int(posts.sum()),
        "looks": looks.listed(),
        "first-order noise per trajectory counted": entries * scale / WEIGHT / total if total > 0 else None,
    }
