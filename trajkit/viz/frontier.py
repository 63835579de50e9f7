"""Utility against risk: one point a release, by what it promises."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT, INK

MARKERS = {"dp": "o", "k-anonymity": "s", "k-anonymity of points": "^", "(k,delta)-anonymity": "D", "none": "X"}
WORDS = {
    "dp": "differential privacy",
    "k-anonymity": "k-anonymity of trajectories",
    "k-anonymity of points": "k-anonymity of single or few points",
    "(k,delta)-anonymity": "(k, delta)-anonymity",
    "none": "no promise",
}


def frontier(table: pd.DataFrame) -> Figure:
    """One panel a set of fields. ``table``: release, kind, fields, error (rescaled), auc, auc_low, auc_high.

    Left and low is good. The dashed line is a guess: an attack that cannot tell members from people held out. Attack results are no
    guarantee: a marker says what a release promises, its height what one attack achieves. Numbers name the releases in the legend.
    """
    fields = list(dict.fromkeys(table["fields"]))
    releases = list(dict.fromkeys(table["release"]))
    colours = dict(
        zip(releases, sns.color_palette("colorblind", len(releases)), strict=True)
    )  # they repeat: numbers tell
    fig, axes = subplots(
        1,
        max(len(fields), 1),
        figsize=(5.2 * max(len(fields), 1) + 2.6, 4.8),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for ax, which in zip(axes[0], fields, strict=False):
        for row in table[table["fields"] == which].to_dict("records"):
            number = releases.index(row["release"]) + 1
            ax.plot([row["error"]] * 2, [row["auc_low"], row["auc_high"]], color=FAINT, lw=0.8, zorder=1)
            ax.plot(
                row["error"], row["auc"], MARKERS[row["kind"]], color=colours[row["release"]], mec=INK, mew=0.6, ms=8
            )
            ax.annotate(str(number), (row["error"], row["auc"]), xytext=(6, 4), textcoords="offset points", fontsize=8)
        ax.axhline(0.5, color=INK, lw=0.8, ls="--", zorder=0)
        ax.axvline(1, color=FAINT, lw=0.8, zorder=0)
        ax.set(title=which, xlabel="rescaled error, mean of SWD and JSD (1: no information)")
    axes[0, 0].set_ylabel("AUC of the attack (0.5: a guess)")
    kinds = [k for k in MARKERS if k in set(table["kind"])]
    handles = [
        plt.Line2D([], [], marker=MARKERS[k], color="w", mfc=FAINT, mec=INK, ms=8, label=WORDS[k]) for k in kinds
    ]
    kind_of = dict(zip(table["release"], table["kind"], strict=True))
    handles += [
        plt.Line2D([], [], marker=MARKERS[kind_of[r]], color="w", mfc=colours[r], mec=INK, ms=8, label=f"{i + 1}  {r}")
        for i, r in enumerate(releases)
    ]
    fig.legend(handles=handles, loc="outside right center", frameon=False, fontsize=8)
    return finished(
        fig,
        f"AUC of an attack against rescaled error, a panel a set of fields: {listed(fields)}; releases by number: "
        + listed((f"{i + 1} {r}" for i, r in enumerate(releases)), 40)
        + ".",
    )


def unicity(table: pd.DataFrame) -> Figure:
    """Share of people whose p known points match nobody else, against p, one line a resolution. ``table``: resolution, p, unicity, low, high."""
    fig, ax = subplots(figsize=(6.4, 3.8), layout="constrained")
    names = list(dict.fromkeys(table["resolution"]))
    for name, colour in zip(names, sns.color_palette("colorblind", len(names)), strict=True):
        part = table[table["resolution"] == name].sort_values("p")
        ax.plot(part["p"], part["unicity"], "o-", color=colour, label=name)
        ax.fill_between(part["p"], part["low"], part["high"], color=colour, alpha=0.15, lw=0)
    ax.axhline(0.95, color=FAINT, lw=0.8, ls="--")
    ax.set(
        xlabel="known points of a person",
        ylabel="share that match nobody else",
        ylim=(-0.02, 1.02),
        xticks=sorted(set(table["p"])),
    )
    fig.legend(loc="outside right center", frameon=False, title="cell, time bin")
    return finished(
        fig,
        f"Share of people whose known points match nobody else against the number of points, a line a resolution: {listed(names)}.",
    )
