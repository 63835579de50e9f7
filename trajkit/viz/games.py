"""One audit: the scores of two worlds, what the attack achieves against what the claim allows, and the bound against its budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajkit.viz.colours import BLUE, FAINT, INK, VERMILION

LEAST = 1e-4


def game_figure(
    scores: tuple[np.ndarray, np.ndarray] | None, roc: Sequence[tuple[float, float]], allowed: Sequence[tuple[float, float]], *,
    budgets: Sequence[int], bounds: Sequence[float], most: Sequence[float], chosen: int, claimed: float | None,
) -> Figure:  # fmt: skip
    """``scores``: with and without the record, or None where they are not kept; ``roc``: (false alarms, hits); ``allowed``: the same by the claim.

    ``bounds``: on epsilon, after each of ``budgets`` trainings a world, of which ``chosen`` is marked; ``most``: what perfect scores would show.
    """
    fig = Figure(figsize=(11.0, 3.8))
    left, middle, right = (fig.add_axes((x, 0.14, 0.24, 0.72)) for x in (0.08, 0.405, 0.735))
    _histograms(left, scores)
    _roc(middle, roc, allowed, claimed)
    right.plot(budgets, most, color=FAINT, ls=":", lw=1.6, label="the most it could show")
    right.plot(budgets, bounds, color=BLUE, marker="o", ms=4, lw=1.8, label="epsilon is at least")
    at = list(budgets).index(chosen)
    right.plot(chosen, bounds[at], marker="D", color=VERMILION, ms=10)
    if claimed is not None:
        right.axhline(claimed, color=INK, ls="--", lw=1.4, label=f"claimed: {claimed:.3g}")
    top = max([*bounds, *most, claimed or 0.0, 0.1])
    right.set(xscale="log", xlabel="trainings counted, in each world", ylabel="epsilon", ylim=(-0.03 * top, 1.45 * top))
    ticks = [n for n in (10, 100, 1_000, 10_000, 100_000, 1_000_000) if budgets[0] <= n <= 1.2 * budgets[-1]] or [
        *budgets
    ]
    right.set_xticks(ticks, [f"{n:,}" for n in ticks])
    right.minorticks_off()
    right.set_title("the bound and its budget", fontsize=10)
    right.legend(frameon=False, fontsize=9, loc="upper left")
    return fig


def _histograms(ax: Axes, scores: tuple[np.ndarray, np.ndarray] | None) -> None:
    ax.set_title("scores of the two worlds", fontsize=10)
    ax.set(xlabel="score of a release", ylabel="releases")
    if scores is None:
        ax.text(
            0.5,
            0.5,
            "a finished audit of a study\nkeeps no scores",
            ha="center",
            va="center",
            color=INK,
            transform=ax.transAxes,
        )
        ax.set(xticks=[], yticks=[])
        return
    both = np.concatenate(scores)
    low, high = np.quantile(both, [0.001, 0.999])
    edges = np.linspace(low, high + (high == low), 41)
    for values, colour, style, label in (
        (scores[1], FAINT, "-", "without the record"),
        (scores[0], VERMILION, "--", "with it"),
    ):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        ax.stairs(counts, edges, fill=True, color=colour, alpha=0.4)
        ax.stairs(counts, edges, color=colour, ls=style, lw=1.6, label=label)
    ax.set_ylim(0, 1.35 * ax.get_ylim()[1])
    ax.locator_params(nbins=5)
    ax.legend(frameon=False, fontsize=9, loc="upper left")


def _roc(
    ax: Axes, roc: Sequence[tuple[float, float]], allowed: Sequence[tuple[float, float]], claimed: float | None
) -> None:
    x, y = np.array(roc).T
    if len(allowed):
        alarm, most = np.array(allowed).T
        ax.fill_between(alarm, 0, most, color=FAINT, alpha=0.35, lw=0, label=f"epsilon {claimed:.3g} allows")
    ax.step(np.maximum(x, LEAST), y, where="post", color=BLUE, lw=1.8, label="the attack")
    ax.set(xscale="log", xlim=(LEAST, 1), ylim=(-0.02, 1.25), xlabel="false alarms", ylabel="recognised")
    ax.set_xticks([1e-4, 1e-3, 1e-2, 1e-1, 1], ["0.01 %", "0.1 %", "1 %", "10 %", "all"], fontsize=9)
    ax.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    ax.minorticks_off()
    ax.set_title("what the attack achieves (ROC)", fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
