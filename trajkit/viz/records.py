"""Figures of a set of trajectories, each fast enough to be drawn while a slider moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from trajkit.trajectories import Trajectories
from trajkit.viz.colours import BLUE, DENSITY, FAINT, INK, LINES, ROAD, VERMILION
from trajkit.viz.streets import framed, pieces

Bounds = tuple[float, float, float, float]


def trips_map(shown: Trajectories, *, bounds: Bounds, streets: np.ndarray | None, title: str) -> Figure:
    """The trajectories ``shown`` over the streets [s, 4] (metres)."""
    fig = Figure(figsize=(4.6, 4.6))
    ax = fig.add_axes((0.01, 0.01, 0.98, 0.92))
    trips(ax, shown, streets)
    framed(ax, bounds)
    ax.set_title(title, fontsize=10)
    return fig


def density_map(counts: np.ndarray, *, bounds: Bounds, title: str) -> Figure:
    """Points per cell ``counts`` [ny, nx] of a grid over ``bounds``, on a logarithmic scale; empty cells stay white."""
    fig = Figure(figsize=(5.3, 4.6))
    ax = fig.add_axes((0.01, 0.01, 0.80, 0.92))
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    image = ax.imshow(
        np.where(counts > 0, counts, np.nan), origin="lower", extent=(x0, x1, y0, y1), cmap=DENSITY,
        norm=LogNorm(1, max(int(counts.max(initial=0)), 10)), interpolation="nearest",
    )  # fmt: skip
    framed(ax, bounds)
    ax.set_title(title, fontsize=10)
    bar = fig.colorbar(image, cax=fig.add_axes((0.83, 0.06, 0.025, 0.8)), format="{x:,.0f}")  # powers take long to set
    bar.minorticks_off()
    bar.ax.tick_params(labelsize=9)
    return fig


def trips(ax: Axes, shown: Trajectories, streets: np.ndarray | None, *, width: float = 0.8) -> None:
    """Whole trajectories in the colours of `LINES`, the streets [s, 4] (metres) beneath."""
    if streets is not None:
        pieces(ax, streets, ROAD, 0.4)
    lines = np.split(shown.xy / 1000, shown.offsets[1:-1]) if len(shown) else []
    colours = [LINES[i % len(LINES)] for i in range(len(lines))]
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=width, alpha=0.7))


def lengths_and_hours(km: np.ndarray, inside: np.ndarray, hours: np.ndarray | None, window: tuple[int, int]) -> Figure:
    """Lengths of trajectories [km]: all, and those ``inside`` (bool) the window; starts by hour of the local day ``hours`` [24]."""
    fig = Figure(figsize=(10.0, 2.9))
    left, right = fig.add_axes((0.07, 0.18, 0.40, 0.70)), fig.add_axes((0.55, 0.18, 0.40, 0.70))
    edges = np.linspace(0, max(float(np.quantile(km, 0.99)) if len(km) else 1.0, 1e-3), 41)
    for values, colour, label in ((km, FAINT, "all"), (km[inside], BLUE, "in the window")):
        left.stairs(np.histogram(values, edges)[0], edges, fill=True, color=colour, label=label)
    left.set(xlabel="length (km), the longest hundredth left out", ylabel="trajectories")
    left.legend(frameon=False, fontsize=9)
    left.locator_params(nbins=5)  # each tick costs a millisecond
    if hours is None:
        right.text(0.5, 0.5, "the set has no times", ha="center", va="center", color=INK, transform=right.transAxes)
        return fig
    right.locator_params(axis="y", nbins=5)
    within = np.where((np.arange(24) >= window[0]) & (np.arange(24) < window[1]), hours, 0)
    for values, colour in ((hours, FAINT), (within, BLUE)):
        right.stairs(values, np.arange(25), fill=True, color=colour)
    right.set(xlabel="local hour of the start", ylabel="trajectories", xticks=range(0, 25, 6))
    return fig


def uniqueness_curve(table: pd.DataFrame, *, chosen: int, title: str) -> Figure:
    """Share of people who are alone with p known points (columns p, unicity, unicity_lower, unicity_upper); p = ``chosen`` is marked."""
    fig = Figure(figsize=(6.4, 3.4))
    ax = fig.add_axes((0.11, 0.15, 0.86, 0.74))
    ax.fill_between(table["p"], table["unicity_lower"], table["unicity_upper"], color=BLUE, alpha=0.25, lw=0)
    ax.plot(table["p"], table["unicity"], color=BLUE, marker="o", lw=1.6)
    at = table[table["p"] == chosen]
    ax.plot(at["p"], at["unicity"], color=VERMILION, marker="D", ms=11, ls="")
    for p, share in zip(at["p"], at["unicity"], strict=True):
        ax.annotate(f"{share:.0%}", (p, share), xytext=(0, -22 if share > 0.5 else 12), textcoords="offset points", ha="center", color=VERMILION)  # fmt: skip
    ax.set(
        ylim=(-0.03, 1.05), xlabel="points known of a person", ylabel="share who match nobody else", xticks=table["p"]
    )
    ax.set_title(title, fontsize=10)
    return fig


def metric_bars(errors: Mapping[str, float | None], *, title: str) -> Figure:
    """Rescaled error of each named metric between 0, real data against real data, and 1, no information; None has no scale."""
    height = 0.27 * len(errors) + 1.0
    fig = Figure(figsize=(7.4, height))
    ax = fig.add_axes((0.35, 0.5 / height, 0.63, 1 - 0.9 / height))
    for y, value in enumerate(errors.values()):
        drawn = min(max(value or 0.0, 0.0), 1.5)
        ax.barh(y, drawn, color=BLUE, height=0.7)
        ax.text(drawn + 0.02, y, "no scale" if value is None else f"{value:.2f}", va="center", fontsize=9, color=INK)
    for x in (0, 1):
        ax.axvline(x, color=INK, lw=1)
    ax.set(xlim=(0, 1.7), ylim=(len(errors) - 0.4, -0.6), xticks=[0, 0.5, 1], yticks=range(len(errors)))
    ax.set_xticklabels(["0 = real", "0.5", "1 = no information"])
    ax.set_yticklabels(list(errors), fontsize=9)
    ax.set_title(title, fontsize=10)
    return fig


def examples(rows: Sequence[tuple[str, Trajectories]], *, bounds: Bounds, streets: np.ndarray | None) -> Figure:
    """Single trajectories, a small map each: a row for each named set, as many columns as its trajectories."""
    columns = max((len(t) for _, t in rows), default=1)
    fig = Figure(figsize=(2.1 * max(columns, 1) + 0.4, 2.2 * len(rows)))
    for i, (name, trajs) in enumerate(rows):
        for j in range(len(trajs)):
            width, height = 1 / (columns + 0.2), 1 / len(rows)
            ax = fig.add_axes((0.2 * width + j * width, 1 - (i + 1) * height + 0.02, 0.94 * width, height - 0.09))
            trips(ax, trajs.take(np.array([j])), streets, width=2.0)
            x0, y0, x1, y1 = (b / 1000 for b in bounds)
            ax.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal", xticks=[], yticks=[])
            ax.set_title(f"{name} {j + 1}", fontsize=9)
    return fig
