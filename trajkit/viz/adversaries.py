"""What each adversary finds in each release, at a glance."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.attacks.adversaries import HOME, MATCHED, NEAR, RIGHT, ROUTES, WORK
from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT, INK

SHOWN = {
    ROUTES: "whole routes\nrebuilt", MATCHED: "persons named\nwith a street map", RIGHT: "next trips linked\nthat are right",
    HOME: "homes found\n(200 m)", WORK: "works found\n(200 m)", NEAR: "points found\n(100 m)",
}  # fmt: skip


def adversaries(table: pd.DataFrame) -> Figure:
    """One panel a measure, one line a release (``table``: `study.adversaries.adversary_table`); right is worse for those in the data.

    A bar is the 95 % interval, a grey tick what a guess finds; a line without a mark: this adversary has nothing to start from there (no times,
    places that are nobody's).
    Releases that promise nothing are drawn as crosses, on top.
    """
    releases = list(dict.fromkeys(table["release"]))
    measures = [m for m in SHOWN if (table["measure"] == m).any()]
    good, bad = sns.color_palette("colorblind")[0], sns.color_palette("colorblind")[3]
    fig, axes = subplots(
        1, max(len(measures), 1), figsize=(1.75 * max(len(measures), 1) + 3.2, 0.27 * len(releases) + 1.7), sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, measure in zip(axes[0], measures, strict=False):
        for row in table[table["measure"] == measure].to_dict("records"):
            y, colour = releases.index(row["release"]), good if row["protects"] else bad
            ax.plot([row["low"], row["high"]], [y, y], color=colour, lw=1.6)
            ax.plot(row["value"], y, "o" if row["protects"] else "X", color=colour, ms=6)
            if pd.notna(row["guess"]):
                ax.plot(row["guess"], y, "|", color=INK, ms=9, mew=1.2)
        ax.set_title(SHOWN[measure], fontsize=9)
        ax.set(xlim=(-0.05, 1.05), xticks=[0, 0.5, 1], xlabel="share")
        ax.grid(axis="y", color=FAINT, lw=0.4)
    made = table.loc[
        table["reason"].str.contains("generated"), "release"
    ]  # not where nothing was released, or nothing could be tried
    for release in dict.fromkeys(made):
        axes[0, 0].text(0.0, releases.index(release), "made: nobody's", fontsize=7, va="bottom", color=INK)
    axes[0, 0].set_yticks(range(len(releases)), releases, fontsize=8)
    axes[0, 0].set_ylim(len(releases) - 0.4, -0.6)
    handles = [
        plt.Line2D([], [], color=bad, marker="X", label="promises nothing"),
        plt.Line2D([], [], color=good, marker="o", label="promises something"),
        plt.Line2D([], [], color=INK, marker="|", ls="", ms=9, label="a guess"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return finished(
        fig, f"What each adversary finds in each release: {listed(measures)}; releases: {listed(releases)}."
    )
