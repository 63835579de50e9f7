"""Figures of noisy prefix trees: what each level holds, and errors against epsilon and height."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT, INK

VARIANTS = {
    "basic": ("no inference", ":"),
    "full": ("published inference", "-"),
    "least-squares": ("least squares", "--"),
}


def level_masses(levels: pd.DataFrame) -> Figure:
    """Trajectories kept and cut (left) and nodes kept, by noise alone or not (right), a row of bars a level.

    ``levels`` has the columns level, kept, of noise, real, cut, noise (as `trajkit.classical.prefix_tree.LevelMass`).
    """
    fig, (left, right) = subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    x, width = levels["level"].to_numpy(), 0.4
    left.bar(x - width / 2, levels["real"], width, color=INK, label="trajectories in kept nodes")
    left.bar(
        x - width / 2, levels["cut"], width, bottom=levels["real"], color=FAINT, label="cut: their node was dropped"
    )
    left.bar(x + width / 2, levels["noise"], width, color="tab:orange", label="noise in kept nodes (sum of sizes)")
    left.set(xlabel="level", ylabel="trajectories")
    visited = levels["kept"] - levels["of noise"]
    right.bar(x, visited, color=INK, label="visited")
    right.bar(x, levels["of noise"], bottom=visited, color="tab:orange", label="there by noise alone")
    right.set(xlabel="level", ylabel="nodes kept")
    for ax in (left, right):
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(handles, labels, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
        ax.set_xticks(x if len(x) <= 20 else x[:: int(np.ceil(len(x) / 20))])
    return finished(fig, f"Trajectories and nodes kept, cut and added by noise at each of {len(x)} levels of the tree.")


def utility_figure(table: pd.DataFrame, *, errors: dict[str, str], patterns: str, height: int) -> Figure:
    """Errors of count queries against epsilon at ``height`` and against height at epsilon 1, and top patterns found.

    ``table`` as `trajkit.classical.prefix_experiments`; ``errors`` maps what to the name of a kind of query, one row of panels each.
    A line a variant and longest query; colours are lengths of queries, or k for patterns.
    """
    rows = table[table["experiment"] == "utility"]
    kinds = [*errors.items(), (patterns, "patterns")]
    fig, axes = subplots(
        len(kinds), 2, figsize=(9.5, 2.7 * len(kinds)), layout="constrained", sharey="row", squeeze=False
    )
    for (left, right), (what, name) in zip(axes, kinds, strict=True):
        own = rows[rows["what"] == what]
        _lines(left, own[own["height"] == height], "epsilon")
        shared = set.intersection(*(set(part["x"]) for _, part in own.groupby("height")))
        _lines(right, own[(own["epsilon"] == 1.0) & own["x"].isin(shared)], "height")
        left.set_ylabel("share of top k found" if what == patterns else f"error, {name} queries")
        left.set_xlabel(f"epsilon (height {height})")
        right.set_xlabel("height (epsilon 1)")
        left.set_ylim(0, 1.05 * own["value"].max())
        for ax in (left, right):
            ax.legend(
                frameon=False, fontsize=7, title="top k" if what == patterns else "longest query", title_fontsize=7
            )
    styles = [plt.Line2D([], [], color=INK, ls=style, label=words) for words, style in VARIANTS.values()]
    fig.legend(handles=styles, loc="outside upper center", ncols=len(styles), frameon=False)
    return finished(
        fig,
        f"Errors of queries and patterns found against epsilon at height {height} and against height at epsilon 1; rows: {listed(name for _, name in kinds)}.",
    )


def _lines(ax: Axes, rows: pd.DataFrame, along: str) -> None:
    xs = sorted(set(rows["x"]))
    for x, colour in zip(xs, sns.color_palette("colorblind", len(xs)), strict=True):
        for variant, (_, style) in VARIANTS.items():
            line = rows[(rows["x"] == x) & (rows["variant"] == variant)].groupby(along)["value"].mean()
            ax.plot(line.index, line, color=colour, ls=style, lw=1.3, label=str(x) if variant == "full" else None)


def time_figure(table: pd.DataFrame) -> Figure:
    """CPU seconds against the number of sequences (left) and of locations (right), with and without inference."""
    fig, axes = subplots(1, 2, figsize=(9.5, 2.8), layout="constrained", sharey=True)
    for ax, (experiment, column) in zip(axes, (("time by n", "n"), ("time by locations", "locations")), strict=True):
        own = table[table["experiment"] == experiment]
        for variant in ("basic", "full"):
            line = own[own["variant"] == variant].sort_values(column)
            ax.plot(
                line[column],
                line["value"],
                VARIANTS[variant][1],
                marker="o",
                ms=4,
                color=INK,
                label=VARIANTS[variant][0],
            )
        ax.set(xlabel={"n": "sequences", "locations": "locations"}[column], ylabel="CPU seconds")
        ax.legend(frameon=False, fontsize=8)
    axes[0].set_ylim(0, 1.1 * table.loc[table["what"] == "CPU s", "value"].max())
    return finished(fig, "CPU seconds against the number of sequences and of locations, with and without inference.")
