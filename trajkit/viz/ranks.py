"""The rank plot: where each model stands on each metric, one panel a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.study.cells import label
from trajkit.viz.figures import finished, listed, subplots
from trajkit.viz.plots import FAINT

MARKERS = {"diffusion": "o", "vae": "s", "gan": "^"}


def _look(contestant: str) -> dict[str, Any]:
    """Marker of the model; hollow where it has a condition."""
    model, _, condition = contestant.partition("-")
    look = {"marker": MARKERS.get(model, "D"), "ls": ""}
    return {**look, "mfc": "white"} if condition else look


def rank_plot(table: pd.DataFrame, *, primary: Sequence[str], columns: int = 3) -> Figure:
    """Ranks (1 = lowest mean error) of each contestant, metrics as rows, settings as panels; primary metrics are bold.

    ``table`` as `trajkit.study.ranking.rank_table`.
    """
    tied = table.duplicated(["setting", "metric", "rank"], keep=False)
    names, metrics = list(dict.fromkeys(table["setting"])), list(dict.fromkeys(table["metric"]))
    models = list(dict.fromkeys(table["model"]))
    palette = dict(zip(models, sns.color_palette("colorblind", len(models)), strict=True))
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    fig, axes = subplots(
        rows, columns, figsize=(2.9 * columns + 0.8, (0.27 * len(metrics) + 0.8) * rows + 0.5), sharex=True, sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, names, strict=False):
        part = table[table["setting"] == name]
        for model in models:
            own = part[part["model"] == model]
            shift = (models.index(model) - (len(models) - 1) / 2) * 0.16  # models of one rank stand side by side
            y = [metrics.index(m) for m in own["metric"]]
            ax.plot(
                own["rank"] + shift * tied[own.index],
                y,
                color=palette[model],
                ms=7,
                **_look(model),
            )
        for line in range(len(metrics)):
            ax.axhline(line, color=FAINT, lw=0.4, zorder=0)
        ax.set_title(name.replace(", published", ",\npublished").replace(", a tenth", ",\na tenth"), fontsize=9)
        ax.set(xlim=(0.5, len(models) + 0.5), ylim=(len(metrics) - 0.5, -0.5), xticks=range(1, len(models) + 1))
        ax.set_yticks(range(len(metrics)), metrics)
        for text in ax.get_yticklabels():
            text.set_fontweight("bold" if text.get_text() in primary else "normal")
    fig.supxlabel("rank (1 = lowest error)", fontsize=10)
    handles = [plt.Line2D([], [], color=c, label=label(m), **_look(m)) for m, c in palette.items()]
    fig.legend(handles=handles, loc="outside upper center", ncols=min(3, len(handles)), frameon=False)
    return finished(
        fig,
        f"Rank of each contestant on each metric, a panel a setting: {listed(names)}; contestants: {listed(map(label, models))}.",
    )
