"""The adaptive grid tiles the box, knows which cells touch, and paths step between such cells only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import META, from_metres, walks

from trajkit.classical.adaptive_grid import AdaptiveGrid, cells_along, density_weights, resolution
from trajkit.classical.looks import WEIGHT
from trajkit.classical.paths import cell_paths
from trajkit.geo import box_xy

BOX = box_xy(META.box, META.crs)


def some_grid(seed: int, k: int, most: int = 5) -> AdaptiveGrid:
    return AdaptiveGrid(BOX, k, np.random.default_rng(seed).integers(1, most + 1, k * k))


GRIDS = st.builds(some_grid, st.integers(0, 10**6), st.integers(1, 5))


@settings(max_examples=40, deadline=None)
@given(GRIDS, st.integers(0, 1000))
def test_cells_tile_the_box_and_a_place_in_a_cell_is_of_that_cell(grid: AdaptiveGrid, seed: int) -> None:
    x0, y0, x1, y1 = BOX
    r = grid.rectangles
    assert ((r[:, 2] - r[:, 0]) * (r[:, 3] - r[:, 1])).sum() == pytest.approx((x1 - x0) * (y1 - y0))
    rng = np.random.default_rng(seed)
    points = rng.uniform([x0, y0], [x1, y1], (300, 2))
    inside = (points[:, None] >= r[None, :, :2]).all(-1) & (points[:, None] < r[None, :, 2:]).all(-1)
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == grid.cell_of(points)).all()
    cells = rng.integers(0, grid.n_cells, 300)
    assert (grid.cell_of(grid.points(cells, rng.uniform(0.001, 0.999, (300, 2)))) == cells).all()


@settings(max_examples=40, deadline=None)
@given(GRIDS)
def test_neighbours_are_those_whose_rectangles_touch(grid: AdaptiveGrid) -> None:
    r, near = grid.rectangles, 1e-6
    meet = (r[:, None, :2] <= r[None, :, 2:] + near).all(-1) & (r[None, :, :2] <= r[:, None, 2:] + near).all(-1)
    np.fill_diagonal(meet, False)
    indptr, indices = grid.neighbours
    found = np.zeros_like(meet)
    found[grid.tails, indices] = True
    assert (found == meet).all() and (found == found.T).all() and indptr[-1] == grid.n_edges
    assert (grid.hops == grid.hops.T).all() and (np.diag(grid.hops) == 0).all()
    assert (grid.hops[grid.tails, indices] == 1).all()


def test_borders_and_what_lies_beyond_belong_to_the_nearest_cell() -> None:
    grid = some_grid(1, 3)
    x0, y0, x1, y1 = BOX
    corners = grid.cell_of(np.array([[x1, y1], [x1 + 9e3, y1 + 9e3], [x0, y0], [x0 - 9e3, y0 - 1.0]]))
    assert corners[0] == corners[1] == grid.n_cells - 1 and corners[2] == corners[3] == 0


@settings(max_examples=40, deadline=None)
@given(GRIDS, st.integers(0, 1000), st.integers(1, 12))
def test_paths_step_between_cells_that_touch_and_lose_no_point(grid: AdaptiveGrid, seed: int, length: int) -> None:
    """Wild jumps over the whole box."""
    rng = np.random.default_rng(seed)
    trajs = from_metres(rng.uniform(-7000, 7000, (5, length, 2)).tolist())
    paths = cell_paths(trajs, grid)
    _, indices = grid.neighbours
    inner = paths.edges >= 0
    assert inner.sum() == len(paths.cells) - 5 and not inner[paths.offsets[:-1]].any()
    at = np.flatnonzero(inner)
    assert (grid.tails[paths.edges[at]] == paths.cells[at - 1]).all()
    assert (indices[paths.edges[at]] == paths.cells[at]).all()
    of_points = grid.cell_of(trajs.xy).reshape(5, length)
    for i in range(5):
        path = paths.cells[paths.offsets[i] : paths.offsets[i + 1]]
        assert path[0] == of_points[i, 0] and path[-1] == of_points[i, -1] and np.isin(of_points[i], path).all()


def test_a_path_depends_on_its_own_trajectory_alone() -> None:
    grid, trajs = some_grid(3, 4), walks(9, 20, 0)
    alone = cell_paths(trajs.take(np.array([4])), grid).cells
    paths = cell_paths(trajs, grid)
    assert alone.tolist() == paths.cells[paths.offsets[4] : paths.offsets[5]].tolist()


def test_density_is_trajectories_and_only_dense_cells_are_cut() -> None:
    trajs = walks(50, 20, 0)
    coarse = AdaptiveGrid.uniform(BOX, 4)
    density = density_weights(trajs, coarse) / WEIGHT
    assert density.sum() == pytest.approx(50, abs=1e-3)
    fine = coarse.refined(density, per_cell=2.0, least=5.0)
    assert ((fine.splits > 1) <= (density > 5)).all()
    assert (fine.splits[density > 5] == np.minimum(8, np.ceil(np.sqrt(density[density > 5] / 2)))).all()
    assert (coarse.refined(-density, per_cell=2.0, least=-100.0).splits == 1).all()


@pytest.mark.parametrize(("n", "k"), [(-50.0, 2), (0.0, 2), (1600.0, 4), (1e9, 60)])
def test_k_follows_the_papers_formula_within_its_bounds(n: float, k: int) -> None:
    assert cells_along(n, per_cell=100.0) == k


def test_little_epsilon_and_many_trajectories_make_cells_larger() -> None:
    usual = resolution(16_000, 1.0, per_coarse_cell=400.0, per_cell=20.0)
    assert all(
        a >= b for a, b in zip(resolution(16_000, 0.1, per_coarse_cell=400.0, per_cell=20.0), usual, strict=True)
    )
    assert all(a > b for a, b in zip(resolution(1e6, 1.0, per_coarse_cell=400.0, per_cell=20.0), usual, strict=True))
