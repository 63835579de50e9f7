"""The figure of the adaptive grid draws every cell, also where noise left no density at all."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from toys import META, walks

from trajkit.classical.adaptive_grid import AdaptiveGrid
from trajkit.geo import box_xy
from trajkit.methods import make_method
from trajkit.viz.cells import adaptive_cells


@pytest.mark.parametrize("name", ["privtrace", "adatrace"])
def test_every_cell_is_drawn(name: str) -> None:
    model = make_method(name, epsilon=10.0, length=4, per_cell=5.0).fit(walks(200, 12, 0), seed=0).model_  # type: ignore[attr-defined]
    fig = adaptive_cells(model.grid, model.density, marked=getattr(model, "guideposts", None))
    (cells,) = (c for c in fig.axes[0].collections if isinstance(c, PolyCollection))
    assert len(cells.get_paths()) == model.grid.n_cells > model.grid.k**2
    assert str(model.grid.n_cells) in fig.axes[0].get_title()


@pytest.mark.parametrize("density", [np.full(4, -3.0), np.array([5.0, -1.0, 0.0, -2.0])])
def test_negative_density_is_no_density(density: np.ndarray) -> None:
    grid = AdaptiveGrid(box_xy(META.box, META.crs), 2, np.array([2, 1, 1, 1]))
    fig = adaptive_cells(grid, density)
    fig.canvas.draw()
