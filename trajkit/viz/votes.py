"""Noisy votes of Private Evolution, round by round."""

from __future__ import annotations

from typing import Any

import seaborn as sns
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, subplots
from trajkit.viz.plots import FAINT


def noisy_votes(report: dict[str, Any]) -> Figure:
    """Draw the noisy votes of the candidates of each round against their rank, largest first; grey is one standard deviation of the noise.

    ``report`` as `trajkit.classical.private_evolution` makes it: everything drawn comes from noisy votes. Were nobody there, all lines
    would look alike and end within a few standard deviations. Where there are data, the first round gives many votes to the few random
    candidates near them, and later rounds spread them more evenly over more candidates that came to lie there.
    """
    rounds, sigma = report["rounds"], report["sigma"]
    fig, ax = subplots(figsize=(6.4, 3.9), layout="constrained")
    ax.axhspan(-sigma, sigma, color=FAINT, alpha=0.25, lw=0)
    for row, colour in zip(rounds, sns.color_palette("flare", len(rounds)), strict=True):
        ax.plot(row["rank"], row["noisy votes"], color=colour, lw=1.4, label=f"round {row['round']}")
    ax.set(xscale="log", xlabel="rank of the candidate", ylabel="noisy votes")
    ax.set_yscale("symlog", linthresh=max(sigma, 1.0))
    if len(rounds) <= 12:
        ax.legend(frameon=False, fontsize=8)
    return finished(fig, f"Noisy votes of the candidates against their rank, a line each of {len(rounds)} rounds.")
