"""Figures of audits: what a claim allows against what an attack achieves."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.attacks.verdict import Verdict
from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT, INK

CONTRADICTED_COLOUR, STANDS_COLOUR = "#c0392b", "#2471a3"
LEAST = 1e-4


def trade_off(found: Sequence[Verdict]) -> Figure:
    """Hits against false alarms, one curve a verdict (its best score), above the region that a claim allows.

    All must claim about the same epsilon; as their accountants' curves differ, what any of them allows is drawn. Logarithmic false alarms: what a promise forbids is being sure.
    """
    fig, ax = subplots(figsize=(7.2, 4.6), layout="constrained")
    first = found[0]
    alarm, most = np.max([v.allowed for v in found], axis=0).T  # the same false alarms in all
    ax.fill_between(alarm, 0, most, color=FAINT, alpha=0.35, lw=0, label=f"epsilon {first.claimed_epsilon:.3g} allows")
    ax.plot(alarm, most, color=INK, lw=1)
    fell = [v for v in found if v.contradicted]
    warm, cool = (
        sns.color_palette(name, max(1, n)) for name, n in (("flare_r", len(fell)), ("crest", len(found) - len(fell)))
    )
    stand = [v for v in found if not v.contradicted]
    for v, colour in [*zip(fell, warm, strict=False), *zip(stand, cool, strict=False)]:
        best = max(v.scores, key=lambda s: max(s.auc, 1 - s.auc))
        x, y = np.array(best.roc).T
        x, y = (x, y) if best.auc >= 0.5 else (1 - x[::-1], 1 - y[::-1])
        style = "-" if v.contradicted else "--"
        ax.step(
            np.maximum(x, LEAST), y, where="post", color=colour, lw=1.6, ls=style, label=f"{v.subject}: {v.verdict}"
        )
    ax.set(
        xscale="log", xlim=(LEAST, 1), ylim=(-0.02, 1.02),
        xlabel="releases without the person that are taken for ones with him", ylabel="releases with him that are recognised",
    )  # fmt: skip
    fig.legend(loc="outside lower center", ncols=1, frameon=False, fontsize=8)
    return finished(
        fig,
        f"Hits against false alarms above what epsilon {first.claimed_epsilon:.3g} allows. "
        + "; ".join(f"{v.subject}: {v.verdict}" for v in found)
        + ".",
    )


def bounds(table: pd.DataFrame) -> Figure:
    """One line a verdict: what is claimed (hollow) and what epsilon is at least (filled), on a logarithmic axis; red where the claim is contradicted, black where there is none.

    ``table``: subject, claimed epsilon, epsilon at least, contradicted by. Bounds below 0.1 stand at the left border.
    """
    rows = table[table["epsilon at least"].notna()].to_dict("records")
    fig, ax = subplots(figsize=(9.0, 0.27 * len(rows) + 1.4), layout="constrained")
    for y, row in enumerate(rows):
        colour = CONTRADICTED_COLOUR if row["contradicted by"] else STANDS_COLOUR
        colour = INK if pd.isna(row["claimed epsilon"]) else colour
        least, claimed = max(row["epsilon at least"], 0.1), row["claimed epsilon"]
        ax.plot(least, y, "<" if least == 0.1 else "o", color=colour, ms=6)
        if pd.notna(claimed):
            ax.plot([least, claimed], [y, y], color=colour, lw=1.2, zorder=0)
            ax.plot(claimed, y, "o", mfc="white", mec=INK, ms=7)
    ax.set(
        xscale="log",
        xlim=(0.09, 30),
        ylim=(len(rows) - 0.4, -0.6),
        xlabel="epsilon: claimed (hollow), at least (filled; arrow: below 0.1)",
    )
    ax.set_yticks(range(len(rows)), [r["subject"] for r in rows], fontsize=8)
    ax.set_xticks([0.1, 0.3, 1, 3, 10, 30], ["0.1", "0.3", "1", "3", "10", "30"])
    ax.minorticks_off()
    colours = {"contradicted": CONTRADICTED_COLOUR, "not contradicted": STANDS_COLOUR, "nothing is claimed": INK}
    handles = [plt.Line2D([], [], color=c, marker="o", ls="", label=word) for word, c in colours.items()]
    fig.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    return finished(
        fig,
        "Claimed epsilon and what epsilon is at least: "
        + "; ".join(f"{r['subject']} at least {r['epsilon at least']:.2g}" for r in rows)
        + ".",
    )


def average_case(curves: pd.DataFrame) -> Figure:
    """Hits against false positives on logarithmic axes, one panel a regime, one curve an attack. ``curves``: regime, attack, fpr, tpr (lists)."""
    regimes = list(dict.fromkeys(curves["regime"]))
    attacks = list(dict.fromkeys(curves["attack"]))
    colours = dict(zip(attacks, sns.color_palette("colorblind", len(attacks)), strict=False))
    fig, axes = subplots(
        1, len(regimes), figsize=(3.0 * len(regimes), 3.9), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, regime in zip(axes[0], regimes, strict=True):
        for row in curves[curves["regime"] == regime].to_dict("records"):
            x, y = (np.maximum(row[k], LEAST) for k in ("fpr", "tpr"))
            ax.step(x, y, where="post", color=colours[row["attack"]], lw=1.3, label=row["attack"])
        ax.plot([LEAST, 1], [LEAST, 1], color=INK, ls="--", lw=0.8, label="a guess")
        ax.set(xscale="log", yscale="log", xlim=(LEAST, 1), ylim=(LEAST, 1.1), xlabel="false-positive rate")
        ax.set_title(regime, fontsize=8)
    axes[0, 0].set_ylabel("members found")
    handles = {h.get_label(): h for ax in axes[0] for h in ax.get_lines()}
    fig.legend(handles=list(handles.values()), loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    return finished(
        fig, f"Members found against false positives, a panel a regime: {listed(regimes)}; attacks: {listed(attacks)}."
    )
