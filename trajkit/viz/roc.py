"""The figure of membership attacks: hits against false positives on logarithmic axes, where the left end is what matters."""

from __future__ import annotations

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.attacks.membership import Membership
from trajkit.viz.figures import finished, subplots
from trajkit.viz.plots import FAINT


def roc_figure(found: Membership, *, title: str = "") -> Figure:
    """One stepped curve for each attack, the guess as a dashed diagonal, intervals of the hits at the reported false-positive rates.

    Shares below one target in all cannot be shown on these axes: they stand at the lower and left border.
    """
    fig, ax = subplots(figsize=(5.2, 4.6), layout="constrained")
    curves = [roc for _, roc in found.attacks]
    least_x, least_y = 0.5 / max(r.others for r in curves), 0.5 / max(r.members for r in curves)
    ax.plot([least_x, 1], [least_x, 1], color=FAINT, ls="--", lw=1, label="guess")
    colours = sns.color_palette("colorblind", len(curves))
    for shift, ((name, roc), colour) in enumerate(zip(found.attacks, colours, strict=True)):
        x, y = np.maximum(roc.fpr, least_x), np.maximum(roc.tpr, least_y)
        ax.step(x, y, where="post", color=colour, lw=1.4, label=f"{name} (AUC {roc.auc:.2f})")
        for a in roc.at:
            if a.fpr >= least_x:
                low, high = (max(v, least_y) for v in a.tpr_interval)
                ax.plot([a.fpr * 1.05**shift] * 2, [low, high], color=colour, lw=1, alpha=0.8)
    ax.set(
        xscale="log", yscale="log", xlim=(least_x, 1), ylim=(min(least_x, least_y), 1.05),
        xlabel="others taken for members (false-positive rate)", ylabel="members found (true-positive rate)",
        title=title or f"{curves[0].members} members, {curves[0].others} others, by {found.unit}",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return finished(
        fig,
        "Members found against false positives: "
        + "; ".join(f"{name}, AUC {roc.auc:.2f}" for name, roc in found.attacks)
        + ".",
    )
