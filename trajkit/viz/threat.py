"""The figure of errors by threat model."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT
from trajkit.viz.ranks import MARKERS


def threat_figure(table: pd.DataFrame, *, metric: str = "SWD", limit: float = 2.0) -> Figure:
    """Rescaled error with its 95 % interval, one mark a cell, grouped by threat model; colour is the condition, shape the model.

    ``table`` as `trajkit.study.threat.by_threat_model`. Values beyond ``limit`` are drawn at the border as triangles.
    """
    groups = list(dict.fromkeys(table["threat model"]))
    conditions = sorted(set(table["condition"]), key=lambda c: (c != "none", c))
    palette = dict(zip(conditions, sns.color_palette("colorblind", max(1, len(conditions))), strict=False))
    gap = np.array([groups.index(g) for g in table["threat model"]])  # an empty line between groups
    heights = np.arange(len(table)) + gap
    fig, ax = subplots(figsize=(8.5, 0.27 * (len(table) + len(groups)) + 1.8), layout="constrained")
    for y, row in zip(heights, table.to_dict("records"), strict=True):
        colour, beyond = palette[row["condition"]], row["mean"] > limit
        ax.plot(
            min(row["mean"], limit), y, color=colour, ms=6, marker=">" if beyond else MARKERS.get(row["model"], "D")
        )
        if pd.notna(row["low"]) and not beyond:
            ax.plot([row["low"], min(row["high"], limit)], [y, y], color=colour, lw=1.4)
    ax.set_yticks(heights, table["cell"], fontsize=8)
    for i, group in enumerate(groups):
        own = heights[gap == i]
        if i:
            ax.axhline(own.min() - 1, color=FAINT, lw=0.8)
        ax.text(1.01, float(own.mean()), group, transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    for x in (0, 1):
        ax.axvline(x, color=FAINT, lw=0.8, zorder=0)
    ax.set(ylim=(heights.max() + 0.7, -0.7), xlabel=f"rescaled {metric}: 0 = real against real, 1 = no information")
    handles = [plt.Line2D([], [], color=c, marker="o", ls="", label=f"condition: {n}") for n, c in palette.items()]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    return finished(
        fig, f"Rescaled {metric} with its interval by threat model: {listed(groups)}; conditions: {listed(conditions)}."
    )
