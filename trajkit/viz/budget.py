"""What a privacy budget means: per user, to each accountant, and to the best attacker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from trajkit.viz.colours import BLUE, FAINT, INK, VERMILION

MOST = 1000.0  # epsilons beyond it stand at the border: nothing is promised there


def per_user(
    trips: Sequence[int], epsilon: Sequence[float], *, loose: Sequence[bool], trajectory: float, chosen: int, title: str
) -> Figure:
    """Epsilon per user against the trips that a user may add, both logarithmic; ``loose`` values are hollow, those above `MOST` arrows."""
    fig = Figure(figsize=(5.6, 4.2))
    ax = fig.add_axes((0.14, 0.12, 0.83, 0.79))
    x, y = np.array(trips, dtype=float), np.minimum(np.array(epsilon), MOST)
    ax.plot(
        x,
        np.minimum(x * trajectory, MOST),
        color=FAINT,
        ls="--",
        lw=1.4,
        label="trips x epsilon: group privacy, void once its delta reaches 1",
    )
    ax.plot(x, y, color=BLUE, lw=2, label="per user (hollow: loose bound; arrow: more)")
    for m, value, bound in zip(x, y, loose, strict=True):
        beyond = value >= MOST
        ax.plot(m, value, marker="^" if beyond else "o", color=BLUE, mfc="white" if bound or beyond else BLUE, ms=7)
        if m == chosen:
            ax.plot(m, value, marker="D", color=VERMILION, ms=11)
            said = f"above {MOST:,.0f}" if beyond else f"{value:.3g}"
            ax.annotate(
                said, (m, value), xytext=(-12, 6), textcoords="offset points", ha="right", color=VERMILION, fontsize=12
            )
    ax.axhline(trajectory, color=INK, lw=1, ls=":", label=f"per trajectory: {trajectory:.3g}")
    ax.set(xscale="log", yscale="log", xlabel="trips that one user adds, at most", ylabel="epsilon")
    ax.set_ylim(0.5 * min(y.min(), trajectory), max(3 * y.max(), 20 * trajectory))  # room for the legend
    _plain_ticks(ax, x, float(min(y.min(), trajectory)), float(y.max()))
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return fig


def accountants_and_attacker(
    answers: Mapping[str, tuple[float, str]], alarms: np.ndarray, hits: Mapping[str, np.ndarray], *, title: str
) -> Figure:
    """Left: epsilon by each accountant, name -> (epsilon, "claim", "bound" or "no claim"). Right: most ``hits`` against false ``alarms``."""
    fig = Figure(figsize=(10.2, 3.6))
    left, right = fig.add_axes((0.22, 0.15, 0.26, 0.74)), fig.add_axes((0.575, 0.15, 0.41, 0.74))
    finite = [value for value, _ in answers.values() if np.isfinite(value)]
    most = max([*finite, 1e-3])
    for row, (value, kind) in enumerate(answers.values()):
        if not np.isfinite(value):
            left.text(0, row, " infinite", va="center", fontsize=9)
            continue
        left.barh(
            row, value, height=0.6, color={"claim": BLUE, "bound": FAINT, "no claim": "white"}[kind],
            edgecolor=INK, hatch="///" if kind == "no claim" else None, lw=0.8,
        )  # fmt: skip
        left.text(value + 0.02 * most, row, f"{value:.4g}", va="center", fontsize=9)
    left.set(xlim=(0, 1.25 * most), ylim=(len(answers) - 0.4, -0.6), xlabel="epsilon", yticks=range(len(answers)))
    left.set_yticklabels(list(answers), fontsize=9)
    left.set_title(title, fontsize=10)
    for (name, values), colour, style in zip(hits.items(), (BLUE, VERMILION), ("-", "--"), strict=False):
        right.plot(alarms, values, color=colour, ls=style, lw=2, label=name)
    right.plot(alarms, alarms, color=FAINT, ls=":", lw=1.4, label="a guess")
    right.axvline(0.01, color=INK, lw=0.8)
    right.set(xscale="log", xlim=(alarms[0], 1), ylim=(-0.02, 1.45), xlabel="false alarms", ylabel="recognised at most")
    right.set_xticks([1e-4, 1e-3, 1e-2, 1e-1, 1], ["0.01 %", "0.1 %", "1 %", "10 %", "all"])
    right.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    right.minorticks_off()
    right.set_title("what (epsilon, delta) alone rule out: at most this", fontsize=10)
    right.legend(frameon=False, fontsize=9, loc="upper left")
    return fig


def _plain_ticks(ax, x: np.ndarray, low: float, high: float) -> None:  # type: ignore[no-untyped-def]
    """Ticks at 1, 3, 10 … with plain numbers: powers take long to set."""
    ax.set_xticks(x, [f"{m:g}" for m in x])
    steps = [s * 10.0**p for p in range(-4, 4) for s in (1, 3) if 0.5 * low <= s * 10.0**p <= 2 * high]
    ax.set_yticks(steps, [f"{s:g}" for s in steps])
    ax.minorticks_off()
