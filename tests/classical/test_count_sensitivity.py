"""One trajectory, added or removed, changes what is looked at by no more than the noise is made for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import META, from_metres, walks

from trajkit.classical import privtrace
from trajkit.classical.adaptive_grid import AdaptiveGrid, density_weights
from trajkit.classical.flat import trip_counts
from trajkit.classical.looks import WEIGHT, Looks
from trajkit.classical.paths import (
    cell_paths,
    detour_counts,
    end_counts,
    first_order_weights,
    pair_counts,
    second_order_weights,
    step_weights,
)
from trajkit.geo import box_xy
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories, concatenate_offsets

BOX = box_xy(META.box, META.crs)


@st.composite
def cases(draw: Any) -> tuple[Trajectories, int, AdaptiveGrid, np.ndarray]:
    """A small ragged set, which trajectory to remove, a grid, and some of its cells."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    lengths = draw(st.lists(st.integers(1, 9), min_size=2, max_size=6))
    k = draw(st.integers(1, 4))
    grid = AdaptiveGrid(BOX, k, rng.integers(1, 4, k * k))
    spread = draw(st.sampled_from([0.0, 300.0, 7000.0]))
    whole = from_metres([rng.normal(0, max(spread, 1e-9), (sum(lengths), 2)).clip(-7000, 7000).tolist()])
    parts = Trajectories(
        whole.lonlat,
        concatenate_offsets(np.array(lengths)),
        None,
        np.zeros(len(lengths), dtype=np.int64),
        np.array(["u"]),
        np.array([f"t{i}" for i in range(len(lengths))]),
        META,
    )
    return parts, draw(st.integers(0, len(lengths) - 1)), grid, rng.random(grid.n_cells) < 0.6


def _block(grid: AdaptiveGrid) -> np.ndarray:
    return np.arange(grid.n_cells) % 3


RAW: dict[str, tuple[int, Callable[[Trajectories, AdaptiveGrid, np.ndarray], np.ndarray]]] = {
    "density": (WEIGHT, lambda t, g, c: density_weights(t, g)),
    "first order": (WEIGHT, lambda t, g, c: first_order_weights(cell_paths(t, g))),
    "second order": (WEIGHT, lambda t, g, c: second_order_weights(cell_paths(t, g), c)),
    "steps": (WEIGHT, lambda t, g, c: step_weights(cell_paths(t, g))),
    "ends": (2, lambda t, g, c: end_counts(cell_paths(t, g))),
    "pairs": (1, lambda t, g, c: pair_counts(cell_paths(t, g), _block(g), 3)),
    "detours": (1, lambda t, g, c: detour_counts(cell_paths(t, g), width=2, classes=3, most=4)),
    "trips": (1, lambda t, g, c: trip_counts(t, g)),
}


@pytest.mark.parametrize("what", RAW)
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_removing_one_trajectory_moves_a_count_by_at_most_its_sensitivity(what: str, case: Any) -> None:
    trajs, gone, grid, chosen = case
    sensitivity, raw = RAW[what]
    fewer = trajs.take(np.arange(len(trajs)) != gone)
    moved = raw(trajs, grid, chosen) - raw(fewer, grid, chosen)
    assert (moved >= 0).all() and moved.sum() <= sensitivity
    assert raw(trajs, grid, chosen).dtype == np.int64


@pytest.mark.parametrize(
    ("what", "least"), [("density", 0.999), ("first order", 0.999), ("steps", 0.999), ("second order", 0.999)]
)
def test_hardly_any_weight_is_lost(what: str, least: float) -> None:
    trajs, grid = walks(20, 30, 0), AdaptiveGrid.uniform(BOX, 6)
    crossing = trajs.take(cell_paths(trajs, grid).lengths > 1)
    total = RAW[what][1](crossing, grid, np.ones(grid.n_cells, dtype=bool)).sum()
    assert least * len(crossing) * WEIGHT < total <= len(crossing) * WEIGHT


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("privtrace", {"per_cell": 1e9}), ("adatrace", {"per_cell": 1e9}), ("flat", {"cells": 3})],
)
def test_what_a_fit_looks_at_moves_by_at_most_what_it_declares(
    name: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a fixed grid and fixed guideposts, which without this hang on earlier noisy looks alone."""
    monkeypatch.setattr(privtrace, "guideposts", lambda grid, first, epsilon: np.ones(grid.n_cells, dtype=bool))
    seen: list[tuple[str, np.ndarray, int]] = []
    take = Looks.counts

    def spy(self: Looks, what: str, values: np.ndarray, *, epsilon: Any, sensitivity: int = 1) -> np.ndarray:
        seen.append((what, np.array(values), sensitivity))
        return take(self, what, values, epsilon=epsilon, sensitivity=sensitivity)

    monkeypatch.setattr(Looks, "counts", spy)
    trajs = walks(6, 15, 0)
    for gone in range(6):
        seen.clear()
        # so large an epsilon that the noisy number of trajectories, and with it the grid, is the true one
        make_method(name, epsilon=1e6, length=4, **parameters).fit(trajs, seed=0)
        full = list(seen)
        seen.clear()
        make_method(name, epsilon=1e6, length=4, **parameters).fit(trajs.take(np.arange(6) != gone), seed=0)
        assert [w for w, _, _ in full] == [w for w, _, _ in seen]
        for (what, a, sensitivity), (_, b, again) in zip(full, seen, strict=True):
            moved = np.abs(a - b).sum()
            assert moved <= sensitivity == again and (moved > 0 or what == "mobility"), what
