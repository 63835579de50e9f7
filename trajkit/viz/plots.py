"""Static figures. Each function takes data and returns a closed matplotlib Figure: a notebook shows it once, a script saves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from trajkit.geo import box_xy
from trajkit.grid import Grid
from trajkit.study.stats import corrected_interval
from trajkit.trajectories import Trajectories
from trajkit.viz.colours import DENSITY, FAINT, INK, LINES, ROAD
from trajkit.viz.figures import finished, listed, subplots

LINEAR = 0.2  # differences in rescaled error up to which an axis is linear
NOT_SHOWN = "not shown:\nprivate data"


def maps(panels: Mapping[str, Trajectories | None], *, n: int = 250, segments: np.ndarray | None = None) -> Figure:
    """Draw up to ``n`` whole trajectories of each set side by side over the public box, in kilometres.

    A panel whose set is None says that nothing may be shown. ``segments`` [s, 4] (metres) is a road network drawn beneath.
    """
    fig, axes = row_of_panels(len(panels))
    bounds = _bounds(panels)
    for ax, (title, trajs) in zip(axes, panels.items(), strict=True):
        frame(ax, title, bounds)
        if trajs is None:
            ax.text(0.5, 0.5, NOT_SHOWN, transform=ax.transAxes, ha="center", va="center", color=FAINT)
            continue
        if segments is not None:
            ax.add_collection(
                LineCollection(
                    list(segments.reshape(-1, 2, 2) / 1000), colors=ROAD, linewidths=0.4, zorder=0, rasterized=True
                )
            )
        shown = trajs.take(np.linspace(0, len(trajs) - 1, min(n, len(trajs))).astype(int))
        lines = np.split(shown.xy / 1000, shown.offsets[1:-1])
        colours = [LINES[i % len(LINES)] for i in range(len(lines))]
        ax.add_collection(LineCollection(lines, colors=colours, linewidths=0.6, alpha=0.6, rasterized=True))
    return finished(fig, f"Maps of up to {n} trajectories each, side by side: {listed(panels)}{_hidden(panels)}.")


def densities(panels: Mapping[str, Trajectories | None], *, cells: int = 64) -> Figure:
    """Share of points per cell of a ``cells`` x ``cells`` grid over the public box, on one logarithmic colour scale."""
    fig, axes = row_of_panels(len(panels))
    bounds = _bounds(panels)
    image = None
    for ax, (title, trajs) in zip(axes, panels.items(), strict=True):
        frame(ax, title, bounds)
        if trajs is None:
            ax.text(0.5, 0.5, NOT_SHOWN, transform=ax.transAxes, ha="center", va="center", color=FAINT)
            continue
        counts = Grid(bounds, cells, cells).counts(trajs.xy).reshape(cells, cells)
        share = np.where(counts > 0, counts / max(1, counts.sum()), np.nan)
        x0, y0, x1, y1 = (b / 1000 for b in bounds)
        image = ax.imshow(
            share,
            origin="lower",
            extent=(x0, x1, y0, y1),
            cmap=DENSITY,
            norm=LogNorm(1e-5, 1e-2),
            interpolation="nearest",
        )
    if image is not None:
        fig.colorbar(image, ax=list(axes), shrink=0.75, label="share of points per cell")
    return finished(
        fig,
        f"Maps of the share of points per cell of {cells} x {cells}, side by side: {listed(panels)}{_hidden(panels)}.",
    )


def rescaled_dots(
    results: pd.DataFrame,
    *,
    test_ratio: float,
    cells: Sequence[str],
    levels: Sequence[str] = ("point", "trajectory", "pattern", "road"),
) -> Figure:
    """Mean rescaled value with its corrected 95 % interval, a panel per level, metrics as rows and cells as colours.

    0 is real data against real data, 1 is no information. Values beyond 2 are drawn at the border as triangles.
    """
    levels = [lv for lv in levels if (results["level"] == lv).any()]
    names = {lv: list(dict.fromkeys(results.loc[results["level"] == lv, "metric"])) for lv in levels}
    heights = [len(names[lv]) for lv in levels]
    fig, axes = subplots(
        len(levels),
        1,
        figsize=(8.5, 0.62 * sum(heights) + 1.6),
        sharex=True,
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    palette = dict(zip(cells, sns.color_palette("colorblind", len(cells)), strict=True))
    for ax, level in zip(axes[:, 0], levels, strict=True):
        for row, metric in enumerate(names[level]):
            for i, cell in enumerate(cells):
                values = results.loc[(results["metric"] == metric) & (results["cell"] == cell), "rescaled"].dropna()
                if len(values):
                    _dot(
                        ax,
                        corrected_interval(values, test_ratio=test_ratio),
                        row + (i - (len(cells) - 1) / 2) * 0.7 / len(cells),
                        palette[cell],
                    )
        ax.set_yticks(range(len(names[level])), names[level])
        ax.set_ylim(len(names[level]) - 0.5, -0.5)
        ax.set_ylabel(f"{level} level")
        for x in (0, 1):
            ax.axvline(x, color=FAINT, lw=0.8, zorder=0)
    axes[-1, 0].set_xlim(-0.25, 2.1)
    axes[-1, 0].set_xlabel("rescaled error: 0 = real against real, 1 = no information (lower is better)")
    handles = [plt.Line2D([], [], color=c, marker="o", ls="", label=name) for name, c in palette.items()]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    return finished(
        fig, f"Rescaled error of each metric, 0 is real data and 1 is no information; cells: {listed(cells)}."
    )


def _dot(ax: Axes, interval, y: float, colour) -> None:  # type: ignore[no-untyped-def]
    beyond = interval.mean > 2
    ax.plot(min(interval.mean, 2.05), y, marker=">" if beyond else "o", color=colour, ms=5)
    if interval.low is not None and not beyond:
        ax.plot([interval.low, min(interval.high, 2.05)], [y, y], color=colour, lw=1.4)


def difference_forest(differences: pd.DataFrame) -> Figure:
    """Paired differences of rescaled error with 95 % intervals: one panel an effect, one row a metric; filled where zero is excluded."""
    effects = list(dict.fromkeys(differences["effect"]))
    metrics = list(dict.fromkeys(differences["metric"]))
    fig, axes = subplots(
        1,
        len(effects),
        figsize=(3.1 * len(effects) + 1, 0.33 * len(metrics) + 1.5),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for ax, effect in zip(axes[0], effects, strict=True):
        for row in differences[differences["effect"] == effect].itertuples():
            y = metrics.index(row.metric)
            if row.low is not None and not pd.isna(row.low):
                ax.plot([row.low, row.high], [y, y], color=INK, lw=1.2)
            ax.plot(row.mean, y, "o", color=INK, mfc=INK if row.seen else "white", ms=5)
        ax.axvline(0, color=FAINT, lw=0.8, zorder=0)
        ax.set_title(effect, fontsize=10)
        # linear near zero, logarithmic beyond: one metric may differ a hundred times more
        if max(map(abs, ax.get_xlim())) > LINEAR:
            ax.set_xscale("symlog", linthresh=LINEAR)
        ax.set_xlabel("difference in rescaled error")
        ax.set_yticks(range(len(metrics)), metrics)
    axes[0, 0].set_ylim(len(metrics) - 0.5, -0.5)
    return finished(
        fig,
        f"Differences in rescaled error with 95 % intervals, a panel an effect: {listed(effects)}; metrics: {listed(metrics)}.",
    )


def loss_curves(histories: Mapping[str, pd.DataFrame]) -> Figure:
    """Training loss over steps (running mean of 10 records), one line a repetition, one colour a cell; dotted where the run failed.

    The scale is logarithmic, and linear around zero where a loss (a critic's) goes below it.
    """
    fig, ax = subplots(figsize=(8.5, 3.2), layout="constrained")
    palette = sns.color_palette("colorblind", max(1, len(histories)))
    positive = True
    for (name, history), colour in zip(histories.items(), palette, strict=False):
        groups = history.groupby("replicate") if "replicate" in history else [(0, history)]
        for i, (_, part) in enumerate(groups):
            if "loss" in part:
                smooth = part["loss"].rolling(10, min_periods=1).mean()
                style = ":" if name.endswith("(failed)") else "-"
                ax.plot(part["step"], smooth, color=colour, lw=1, ls=style, label=name if i == 0 else None)
                positive &= bool((smooth.dropna() > 0).all())
    ax.set(xlabel="step that draws records", ylabel="loss")
    ax.set_yscale("log") if positive else ax.set_yscale("symlog", linthresh=0.1)
    if histories:
        ax.legend(frameon=False)
    return finished(fig, f"Training loss over steps, a line a repetition: {listed(histories)}.")


def row_of_panels(k: int) -> tuple[Figure, list[Axes]]:
    """A figure with ``k`` square panels, up to three in a row."""
    columns = min(k, 3)
    rows = -(-k // columns)
    fig, axes = subplots(rows, columns, figsize=(4.3 * columns, 4.1 * rows), layout="constrained", squeeze=False)
    for ax in axes.flat[k:]:
        ax.set_visible(False)
    return fig, list(axes.flat[:k])


def _bounds(panels: Mapping[str, Trajectories | None]) -> tuple[float, float, float, float]:
    known = [t.meta for t in panels.values() if t is not None]
    return box_xy(known[0].box, known[0].crs) if known else (0.0, 0.0, 1000.0, 1000.0)  # nothing may be shown


def frame(ax: Axes, title: str, bounds: tuple[float, float, float, float]) -> None:
    """Make a panel a map of ``bounds`` (metres) with axes in kilometres."""
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    ax.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal")
    ax.set_title(title, fontsize=10)
    ax.set_xticks([x0, x1], ["0", f"{x1 - x0:.0f} km"])
    ax.set_yticks([y0, y1], ["0", f"{y1 - y0:.0f} km"])


def _hidden(panels: Mapping[str, Trajectories | None]) -> str:
    hidden = [title for title, trajs in panels.items() if trajs is None]
    return f"; not shown, for they are private: {listed(hidden)}" if hidden else ""
