"""Figures of the mechanisms alone: signal kept against epsilon_c, and the three readings of Theorem 2."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT

STYLES = ("-", "--", ":")


def signal_kept(table: pd.DataFrame) -> Figure:
    """Mean cosine (above) and share of vectors found again (below) against epsilon_c, a panel a mechanism, a colour a dimension.

    Lines are predicted, dots measured with two standard errors; ``table`` as `trajkit.study.embedding_ablation` makes it.
    """
    names, dims = list(dict.fromkeys(table["mechanism"])), sorted(set(table["d_out"]))
    palette = dict(zip(dims, sns.color_palette("colorblind", len(dims)), strict=True))
    fig, axes = subplots(
        2,
        len(names),
        figsize=(3.1 * len(names) + 0.8, 5.2),
        sharex=True,
        sharey="row",
        layout="constrained",
        squeeze=False,
    )
    for column, name in zip(axes.T, names, strict=True):
        for d, colour in palette.items():
            part = table[(table["mechanism"] == name) & (table["d_out"] == d)].sort_values("epsilon_c")
            x, error = part["epsilon_c"], 2 * part["standard error"]
            column[0].plot(x, part["predicted"], color=colour, lw=1.2)
            column[0].errorbar(x, part["mean cosine"], yerr=error, color=colour, ls="", marker="o", ms=4)
            column[1].plot(x, part["found"], color=colour, marker="o", ms=4, lw=0.8)
        column[0].set(title=name, xscale="log", ylim=(-0.05, 1.05))
        column[1].set(xlabel="epsilon_c", ylim=(-0.05, 1.05))
        column[1].axhline(float(table["chance"].iloc[0]), color=FAINT, lw=0.8, zorder=0)
    axes[0, 0].set_ylabel("mean cosine")
    axes[1, 0].set_ylabel("share found again")
    handles = [plt.Line2D([], [], color=c, marker="o", label=f"{d} dimensions") for d, c in palette.items()]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    return finished(
        fig,
        f"Mean cosine and share of vectors found again against epsilon_c, a panel a mechanism: {listed(names)}; dimensions: {listed(dims)}.",
    )


def readings_figure(table: pd.DataFrame) -> Figure:
    """Sigma (left) and the epsilon that it really gives (right) against the epsilon asked for, a line a reading of Theorem 2.

    Dots are the exact sigma; ``table`` as `trajkit.privacy.theorem_2.readings` makes it.
    """
    fig, axes = subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
    names = list(dict.fromkeys(table["reading"]))
    for name, colour, style in zip(names, sns.color_palette("colorblind", len(names)), STYLES, strict=False):
        part = table[table["reading"] == name].sort_values("epsilon")
        for ax, column in zip(axes, ("sigma", "real epsilon"), strict=True):
            ax.plot(part["epsilon"], part[column], color=colour, ls=style, lw=1.8, label=name)
    exact = table.drop_duplicates("epsilon")
    axes[0].plot(exact["epsilon"], exact["exact sigma"], "o", color="black", ms=4, label="exact profile")
    axes[1].plot(exact["epsilon"], exact["epsilon"], "o", color="black", ms=4)
    for ax, what in zip(axes, ("sigma (sensitivity 2)", "epsilon really given"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="epsilon asked for", ylabel=what)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return finished(
        fig,
        f"Sigma, and the epsilon that it really gives, against the epsilon asked for, a line a reading of Theorem 2: {listed(names)}.",
    )
