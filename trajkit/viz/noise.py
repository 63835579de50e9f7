"""Noise of a mechanism and what it does to something that can be seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajkit.viz.colours import BLUE, FAINT, INK, ROAD, VERMILION
from trajkit.viz.records import Bounds
from trajkit.viz.streets import framed

SIZE = (10.2, 4.2)


def _two(title: str) -> tuple[Figure, Axes, Axes]:
    fig = Figure(figsize=SIZE)
    left, right = fig.add_axes((0.085, 0.14, 0.35, 0.76)), fig.add_axes((0.52, 0.14, 0.46, 0.76))
    left.set_title(title, fontsize=10)
    return fig, left, right


def density(
    ax: Axes, x: np.ndarray, y: np.ndarray, *, halves: tuple[float, float], tails: tuple[float, float], xlabel: str
) -> None:
    """The density ``y`` at ``x``; shaded between ``halves`` (half of all draws) and, lighter, ``tails`` (95 % of them)."""
    for (low, high), alpha in ((tails, 0.18), (halves, 0.35)):
        inside = (x >= low) & (x <= high)
        ax.fill_between(x[inside], 0, y[inside], color=BLUE, alpha=alpha, lw=0)
    ax.plot(x, y, color=BLUE, lw=1.8)
    ax.set(xlabel=xlabel, ylabel="density", ylim=(0, 1.25 * float(y.max())), xlim=(x[0], x[-1]))
    ax.locator_params(nbins=5)
    handles = [
        Line2D([], [], color=BLUE, alpha=a, lw=7, label=t)
        for a, t in ((0.45, "half of the draws"), (0.2, "95 % of the draws"))
    ]
    ax.legend(handles=handles, frameon=False, fontsize=9, loc="upper right")


def on_counts(
    draw_density: Callable[[Axes], None], true: np.ndarray, noisy: np.ndarray, *, title: str, xlabel: str
) -> Figure:
    """Left the noise; right the ``true`` counts [d] as bars and the ``noisy`` ones as marks."""
    fig, left, right = _two(title)
    draw_density(left)
    at = np.arange(len(true))
    right.bar(at, true, color=ROAD, edgecolor=FAINT, lw=0.5, width=0.9, label="true")
    right.plot(at, noisy, color=VERMILION, marker="D", ms=5, ls="", label="released")
    right.vlines(at, np.minimum(true, noisy), np.maximum(true, noisy), color=VERMILION, lw=1)
    right.axhline(0, color=INK, lw=0.8)
    right.set(xlabel=xlabel, ylabel="trips")
    right.set_title("one draw, on counts of trips by their start", fontsize=10)
    right.locator_params(nbins=6)
    right.legend(frameon=False, fontsize=9, loc="upper left")
    return fig


def on_direction(draw_density: Callable[[Axes], None], true: np.ndarray, noisy: np.ndarray, *, title: str) -> Figure:
    """Left the cosine between input and output; right one unit vector [d] and its noisy version, entry by entry."""
    fig, left, right = _two(title)
    draw_density(left)
    at = np.arange(len(true))
    right.bar(at, true, color=ROAD, edgecolor=FAINT, lw=0.5, width=0.9, label="true")
    right.plot(at, noisy, color=VERMILION, marker="D", ms=5, ls="", label="released")
    right.axhline(0, color=INK, lw=0.8)
    right.set(xlabel="entry of the vector", ylabel="value", ylim=(-1.05, 1.05))
    right.set_title(f"one draw: cosine {float(true @ noisy):.2f}", fontsize=10)
    right.locator_params(nbins=6)
    right.legend(frameon=False, fontsize=9, loc="lower right")
    return fig


def on_map(
    draw_density: Callable[[Axes], None], trip: np.ndarray, noisy: np.ndarray, *, bounds: Bounds, streets: np.ndarray | None, title: str
) -> Figure:  # fmt: skip
    """Left the distance; right the points [m, 2] (metres) of one trip and their ``noisy`` versions over ``streets`` (`street_picture`)."""
    fig, left, right = _two(title)
    right.set_position((0.50, 0.02, 0.48, 0.88))
    draw_density(left)
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    if streets is not None:
        right.imshow(streets, extent=(x0, x1, y0, y1), interpolation="nearest", zorder=0)
    right.plot(*(trip / 1000).T, color=BLUE, lw=2.2, label="true")
    right.plot(*(noisy / 1000).T, color=VERMILION, marker="D", ms=4, lw=0.6, label="released")
    framed(right, bounds)
    right.set_title("one draw, on one trip", fontsize=10)
    right.legend(frameon=False, fontsize=9, loc="upper right")
    return fig
