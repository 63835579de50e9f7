"""Figures of an error along one setting: epsilon, or the size of the training set."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT

MARKERS = ("o", "s", "^", "D")


def error_along(table: pd.DataFrame, *, label: str) -> Figure:
    """Mean rescaled error with its 95 % interval against ``x`` (logarithmic; infinity stands at the right end, apart).

    ``table`` as `trajkit.study.curves` makes it: one panel a metric, one colour a model, dashed for the small training set.
    """
    metrics = list(dict.fromkeys(table["metric"]))
    fig, axes = subplots(1, len(metrics), figsize=(4.6 * len(metrics), 3.6), layout="constrained", squeeze=False)
    models = list(dict.fromkeys(table["model"]))
    palette = dict(zip(models, sns.color_palette("colorblind", len(models)), strict=True))
    finite = sorted({x for x in table["x"] if x < math.inf})
    beyond = finite[-1] * (2 if len(finite) < 2 else max(1.5, finite[-1] / finite[-2]))
    for ax, metric in zip(axes[0], metrics, strict=True):
        for i, ((model, size), part) in enumerate(table[table["metric"] == metric].groupby(["model", "training set"])):
            shift = 1.02 ** (
                i - table.groupby(["model", "training set"]).ngroups / 2
            )  # so that intervals do not hide each other
            _line(
                ax,
                part,
                beyond,
                shift,
                palette[model],
                "--" if "tenth" in size else "-",
                MARKERS[models.index(model) % 4],
            )
        ax.axhline(0, color=FAINT, lw=0.8, zorder=0)
        ax.axhline(1, color=FAINT, lw=0.8, zorder=0)
        ax.set_xscale("log")
        ticks = [*finite, *([beyond] if (table["x"] == math.inf).any() else [])]
        ax.set_xticks(ticks, [f"{x:g}" for x in finite] + ["∞"] * (len(ticks) - len(finite)))
        ax.minorticks_off()
        ax.set(title=metric, xlabel=label)
    axes[0, 0].set_ylabel("rescaled error")
    handles = [plt.Line2D([], [], color=c, marker=MARKERS[models.index(m) % 4], label=m) for m, c in palette.items()]
    handles += [
        plt.Line2D([], [], color=FAINT, ls="--", label=f"{s} of the training set")
        for s in sorted(set(table["training set"]))
        if "tenth" in s
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    return finished(
        fig, f"Rescaled error against {label}, a panel a metric: {listed(metrics)}; models: {listed(models)}."
    )


def _line(ax: Axes, part: pd.DataFrame, beyond: float, shift: float, colour: object, style: str, marker: str) -> None:
    part = part.sort_values("x")
    x = np.where(np.isinf(part["x"]), beyond, part["x"]) * shift
    known = ~np.isinf(part["x"].to_numpy())
    ax.plot(x[known], part["mean"].to_numpy()[known], color=colour, ls=style, lw=1.2)
    ax.plot(x, part["mean"], color=colour, ls="", marker=marker, ms=5)
    ax.vlines(x, part["low"].astype(float), part["high"].astype(float), color=colour, lw=1)
