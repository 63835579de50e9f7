"""What k-anonymity keeps, loses and hides, each figure fast enough to be drawn while a slider moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajkit.trajectories import Trajectories
from trajkit.viz.colours import BLUE, FAINT, GREEN, INK, ROAD, VERMILION
from trajkit.viz.records import Bounds
from trajkit.viz.streets import framed, pieces

LOST = "cividis_r"  # light is little, dark is much; the same to any colour vision
DPI = 100  # of the street picture; that of `trajkit.viz.pictures`
STYLES = {"trajectories": (VERMILION, "-", "o"), "points": (BLUE, "--", "s"), "users": (GREEN, ":", "^")}


def suppression_and_risk(
    ks: Sequence[int], lost: Mapping[str, np.ndarray], before: pd.DataFrame, after: pd.DataFrame | None, *, k: int, titles: tuple[str, str]
) -> Figure:  # fmt: skip
    """Left: suppressed shares against k, ``lost`` is name (of `STYLES`) -> float64 [len(ks)]. Right: success of naming a person by p known points.

    ``before``, ``after``: columns p and guess_success or success, with their _lower and _upper; after None where nothing is released.
    """
    fig = Figure(figsize=(10.2, 3.9))
    left, right = fig.add_axes((0.085, 0.13, 0.395, 0.78)), fig.add_axes((0.585, 0.13, 0.4, 0.78))
    at = list(ks).index(k)
    left.axvline(k, color=FAINT, lw=1, zorder=0)
    for name, values in lost.items():
        colour, style, marker = STYLES[name]
        left.plot(ks, values, color=colour, ls=style, lw=2, label=f"{name}: {values[at]:.0%} at k = {k}")
        left.plot(k, values[at], color=colour, marker=marker, ms=9)
    left.set(
        xlabel="k: people who must be alike",
        ylabel="share that is suppressed",
        xlim=(ks[0] - 1, ks[-1] + 1),
        xticks=[ks[0], *range(10, ks[-1] + 1, 10)],
    )
    sets = [(before, "guess_success", "guess", VERMILION, "s", "same cells and bins, nothing suppressed")]
    if after is not None:
        sets.append((after, "success", "success", BLUE, "o", f"released at k = {k}"))
    for table, column, stem, colour, marker, label in sets:
        right.fill_between(table["p"], table[f"{stem}_lower"], table[f"{stem}_upper"], color=colour, alpha=0.15, lw=0)
        right.plot(table["p"], table[column], color=colour, marker=marker, lw=1.8, label=label)
    right.axhline(1 / k, color=INK, ls="--", lw=1.2, label=f"at most 1/k = {1 / k:.0%} once released")
    right.set(xlabel="points known of a person", ylabel="chance to name the person", xticks=before["p"])
    for ax, title in zip((left, right), titles, strict=True):
        ax.set(ylim=(-0.03, 1.4), yticks=[0, 0.25, 0.5, 0.75, 1])
        ax.set_yticklabels(["0 %", "25 %", "50 %", "75 %", "100 %"])
        ax.set_title(title, fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left")  # "best" takes long to find
    return fig


def street_picture(streets: np.ndarray | None, bounds: Bounds) -> np.ndarray | None:
    """RGBA [h, w, 4] of the ``streets`` [s, 4] (metres) over ``bounds``, drawn once to lie beneath many maps."""
    if streets is None:
        return None
    fig = Figure(figsize=(4.4, 4.4), dpi=DPI)
    canvas, ax = FigureCanvasAgg(fig), fig.add_axes((0, 0, 1, 1))
    pieces(ax, streets, ROAD, 0.4)
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_axis_off()
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy()


def lost_map(
    share: np.ndarray, shown: Trajectories, kept: np.ndarray, *, bounds: Bounds, streets: np.ndarray | None, title: str
) -> Figure:
    """Left: ``share`` [ny, nx] of the points of each cell that is suppressed (NaN: no points). Right: example trips, ``kept`` (bool) or not, over ``streets`` (`street_picture`)."""
    fig = Figure(figsize=(10.2, 4.7))
    left, right = fig.add_axes((0.01, 0.06, 0.43, 0.84)), fig.add_axes((0.56, 0.06, 0.43, 0.84))
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    left.imshow(share, origin="lower", extent=(x0, x1, y0, y1), cmap=LOST, vmin=0, vmax=1, interpolation="nearest")
    bar = fig.add_axes((0.45, 0.12, 0.015, 0.7))  # `Figure.colorbar` takes a tenth of the answer
    bar.imshow(np.linspace(0, 1, 64)[:, None], origin="lower", extent=(0, 1, 0, 1), aspect="auto", cmap=LOST)
    bar.set(xticks=[], yticks=[0, 0.5, 1])
    bar.yaxis.tick_right()
    bar.set_yticklabels(["none", "half", "all"], fontsize=9)
    framed(left, bounds)
    left.set_title(f"points lost, by place; {title}", fontsize=10)
    if streets is not None:
        right.imshow(streets, extent=(x0, x1, y0, y1), interpolation="nearest", zorder=0)
    lines = np.split(shown.xy / 1000, shown.offsets[1:-1]) if len(shown) else []
    for chosen, colour, width in ((~kept, VERMILION, 0.7), (kept, BLUE, 1.4)):
        part = [line for line, yes in zip(lines, chosen, strict=True) if yes]
        right.add_collection(LineCollection(part, colors=colour, linewidths=width))
    framed(right, bounds)
    right.set_title(f"{len(shown)} of the trips: {int(kept.sum())} kept, {int((~kept).sum())} lost", fontsize=10)
    handles = [Line2D([], [], color=c, lw=w, label=n) for n, c, w in (("kept", BLUE, 2.4), ("lost", VERMILION, 1.4))]
    fig.legend(handles=handles, loc="lower right", ncols=2, frameon=False, fontsize=9)
    return fig
