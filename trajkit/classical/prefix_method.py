"""Method "prefix_tree": trajectories through a public grid, published by a noisy prefix tree, mapped back to points.

A trajectory becomes a sequence of at most ``height`` cells. ``sampling`` "prefix" takes the first ones, repeats merged, as
published, and so loses all that comes later. "waypoints" takes ``height`` places equally spaced along the trajectory, both ends
first, then the middle, then the quarters …: where the tree is cut for want of trajectories, a rough course is left instead of a
beginning. Both are rules about one trajectory that look at nothing else, so they cost no privacy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from trajkit import geo, seeds
from trajkit.baselines import public_meta
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.prefix_release import publish_tree
from trajkit.classical.prefix_tree import MOST_HEIGHT
from trajkit.classical.tree_inference import Variant, counts_of, terminating_counts
from trajkit.classical.tree_noise import Threshold
from trajkit.errors import DataContractError
from trajkit.grid import Grid
from trajkit.methods import count_asked, fitted_attribute
from trajkit.preprocess import to_fixed_length
from trajkit.release import HIDDEN, Release
from trajkit.sequences import Sequences, cell_sequences
from trajkit.trajectories import Trajectories, concatenate_offsets

WHERE = {
    "prefix": "a trajectory counts by its first cells, repeats merged",
    "waypoints": "a trajectory counts by its cells at equally spaced places, ends first",
}


class PrefixTreeConfig(ClassicalConfig):
    """``cells``: along each side of the public box. ``height``: cells of a sequence, levels that share epsilon.

    ``threshold``: "subcritical" (half a child by noise alone), "published" (2 sqrt 2 scales) or a count. ``variant``: "basic" (no
    inference), "full" (published) or "least-squares". ``mechanism``: "laplace" is the published one.
    """

    cells: int = Field(8, ge=1, le=1024)
    height: int = Field(3, ge=1, le=MOST_HEIGHT)
    sampling: Literal["prefix", "waypoints"] = "waypoints"
    threshold: Threshold = "subcritical"
    variant: Variant = "least-squares"
    mechanism: Literal["geometric", "laplace"] = "geometric"


class PrefixTreeMethod:
    """Noisy prefix tree of cells (Chen, Fung, Desai 2011)."""

    Config = PrefixTreeConfig
    TEMPLATE = "method-prefix_tree"

    def __init__(self, config: PrefixTreeConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> PrefixTreeMethod:
        """Build the tree. Raises DataContractError for an empty training set, ParameterError for a tree beyond its bounds."""
        if not len(train.check()):
            raise DataContractError(
                f"{train.meta.dataset} has no training trajectories: a tree of nothing would be all noise"
            )
        c = self.config
        self.meta_ = public_meta(train.meta)
        self.grid_ = Grid(geo.box_xy(train.meta.box, train.meta.crs), c.cells, c.cells)
        noisy = publish_tree(
            self._sequences(c.seen(train, seed)), epsilon=c.epsilon, height=c.height, seed=seed, threshold=c.threshold,
            mechanism=c.mechanism, source=c.noise, records=c.trips_per_user,
        )  # fmt: skip
        self.tree_ = noisy.tree
        self.ends_ = terminating_counts(noisy.tree, counts_of(noisy.tree, c.variant))
        self.guarantee_ = noisy.guarantee(f"the grid of {c.cells} x {c.cells} cells is public: {WHERE[c.sampling]}")
        masses = [
            {
                "level": m.level,
                "kept": m.kept,
                "of noise": m.of_noise,
                "real": m.real,
                "cut": m.lost,
                "noise": round(m.noise, 1),
            }
            for m in noisy.masses
        ]
        self.report_ = {
            **noisy.report(),
            "trajectories by the tree": float(self.ends_.sum()),
            HIDDEN: {"levels": masses},
        }
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trajectories drawn from the prefixes by their counts, a uniform place in each cell, ``length`` points.

        Raises DataContractError where no count reached the threshold, so that there is nothing to draw from.
        """
        ends: np.ndarray = fitted_attribute(self, "ends_")
        n = count_asked(n)
        if not ends.sum() > 0:
            raise DataContractError(
                f"no noisy count of {self.meta_.dataset} reached the threshold {self.report_['threshold']:g}, so the tree is empty: "
                "raise epsilon, lower height or cells, or use more trajectories"
            )
        rng = seeds.rng(seed, "sampling", "prefix_tree")
        nodes = rng.choice(len(ends), size=n, p=ends / ends.sum())
        return Release(self._trajectories(self.tree_.prefixes(nodes), rng), self.guarantee_, self.report_)

    def _sequences(self, trajs: Trajectories) -> Sequences:
        if self.config.sampling == "prefix":
            return cell_sequences(trajs, self.grid_)
        places = to_fixed_length(trajs, length=max(2, self.config.height))
        fixed = Trajectories.from_fixed(trajs.meta.box.clip(places), meta=self.meta_)
        order = ends_first(self.config.height)
        cells = cell_sequences(fixed, self.grid_, merge=False).symbols.reshape(len(trajs), -1)[:, order]
        offsets = concatenate_offsets(np.full(len(trajs), self.config.height))
        return Sequences(np.ascontiguousarray(cells).ravel(), offsets, self.grid_.n_cells)

    def _trajectories(self, drawn: Sequences, rng: np.random.Generator) -> Trajectories:
        if self.config.sampling == "waypoints":
            drawn = _along(drawn, ends_first(self.config.height))
        x0, y0, x1, y1 = self.grid_.bounds
        side = np.array([x1 - x0, y1 - y0]) / self.config.cells
        xy = self.grid_.centres(drawn.symbols) + (rng.random((len(drawn.symbols), 2)) - 0.5) * side
        placed = self.meta_.box.clip(geo.unproject(xy, self.meta_.crs))
        ragged = Trajectories.generated(placed, drawn.offsets, meta=self.meta_)
        lonlat = self.meta_.box.clip(to_fixed_length(ragged, length=self.config.length))
        return Trajectories.from_fixed(lonlat, meta=self.meta_)


def ends_first(height: int) -> np.ndarray:
    """int64 [height]: places 0 … height - 1 in the order first, last, middle, quarters …, each next one in the widest gap."""
    order = [0, height - 1][:height]
    while len(order) < height:
        known = sorted(order)
        widest = int(np.argmax(np.diff(known)))
        order.append((known[widest] + known[widest + 1]) // 2)
    return np.array(order)


def _along(drawn: Sequences, order: np.ndarray) -> Sequences:
    """Elements of each sequence, given ends first, in the order of the way."""
    position = order[np.arange(len(drawn.symbols)) - drawn.offsets[drawn.sequence_of_element]]
    by = np.lexsort((position, drawn.sequence_of_element))
    return replace(drawn, symbols=drawn.symbols[by])
