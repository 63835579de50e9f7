"""The cells of an adaptive grid with what was counted in them."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from trajkit.classical.adaptive_grid import AdaptiveGrid
from trajkit.viz.figures import finished, subplots
from trajkit.viz.plots import FAINT


def adaptive_cells(grid: AdaptiveGrid, density: np.ndarray, *, marked: np.ndarray | None = None) -> Figure:
    """Draw the final cells, coloured by the noisy ``density`` [K * K] of their coarse cell per km^2; dots in ``marked`` [S] ones.

    Coarse cells whose noisy density is not above 0 stay white. Everything drawn comes from noisy counts.
    """
    x0, y0, x1, y1 = grid.bounds
    km2 = (x1 - x0) * (y1 - y0) / grid.k**2 / 1e6
    per_km2 = np.maximum(density, 0.0)[grid.coarse] / km2
    r = grid.rectangles / 1000
    corners = np.stack([r[:, [0, 1]], r[:, [2, 1]], r[:, [2, 3]], r[:, [0, 3]]], axis=1)
    fig, ax = subplots(figsize=(6.2, 5.2), layout="constrained")
    low, high = _range(per_km2)
    cells = PolyCollection(list(corners), edgecolors=FAINT, linewidths=0.4, cmap="magma_r", norm=LogNorm(low, high))
    cells.set_array(np.where(per_km2 > 0, per_km2, np.nan))
    ax.add_collection(cells)
    fig.colorbar(cells, ax=ax, shrink=0.8, label="trajectories per km², noisy")
    if marked is not None:
        middle = corners[marked].mean(axis=1)
        ax.plot(middle[:, 0], middle[:, 1], ".", ms=2.5, color="#2a7fb8")
    ax.set(xlim=(x0 / 1000, x1 / 1000), ylim=(y0 / 1000, y1 / 1000), aspect="equal")
    ax.set_xticks([x0 / 1000, x1 / 1000], ["0", f"{(x1 - x0) / 1000:.0f} km"])
    ax.set_yticks([y0 / 1000, y1 / 1000], ["0", f"{(y1 - y0) / 1000:.0f} km"])
    dots = "" if marked is None else f", {int(marked.sum())} of them marked"
    ax.set_title(f"{grid.k} x {grid.k} cells, {grid.n_cells} after the split{dots}", fontsize=10)
    return finished(
        fig,
        f"Map of {grid.n_cells} cells of an adaptive grid, darker where more trajectories were counted, with noise{dots}.",
    )


def _range(values: np.ndarray) -> tuple[float, float]:
    """Ends of the colour scale: at most four decades below the largest value."""
    above = values[values > 0]
    if not len(above):
        return 1.0, 10.0
    high = float(above.max())
    return max(float(above.min()), high / 1e4) * 0.999, high * 1.001
