"""The figure of stability: errors of many seeds of the same small training, and which of them failed or spiked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from trajkit.viz.figures import finished, subplots
from trajkit.viz.plots import FAINT, INK

METRICS = ("SWD", "JSD")


def stability_figure(runs: pd.DataFrame) -> Figure:
    """One dot a run (hollow where its loss spiked), a line at the median, the number of failed runs beside; cells are rows.

    ``runs`` as `trajkit.study.stability.stability_runs`.
    """
    cells = list(dict.fromkeys(runs["cell"]))
    fig, axes = subplots(
        1, len(METRICS), figsize=(9.5, 0.36 * len(cells) + 1.3), sharey=True, layout="constrained", squeeze=False
    )
    for ax, metric in zip(axes[0], METRICS, strict=True):
        for y, cell in enumerate(cells):
            part = runs[(runs["cell"] == cell) & runs[metric].notna()]
            shift = np.linspace(-0.25, 0.25, len(part)) if len(part) > 1 else np.zeros(len(part))
            for calm, fill in ((part["spikes"].fillna(0) == 0, INK), (part["spikes"] > 0, "white")):
                ax.plot(part.loc[calm, metric], y + shift[calm.to_numpy()], "o", color=INK, mfc=fill, ms=4)
            if len(part):
                ax.vlines(part[metric].median(), y - 0.35, y + 0.35, color=FAINT, lw=1.5)
        ax.set(xlabel=f"{metric}, own unit", ylim=(len(cells) - 0.5, -0.5))
        ax.locator_params(axis="x", nbins=5)
    failed = [int((runs.loc[runs["cell"] == c, "state"] == "failed").sum()) for c in cells]
    axes[0, 0].set_yticks(
        range(len(cells)), [f"{c} ({n} failed)" for c, n in zip(cells, failed, strict=True)], fontsize=8
    )
    return finished(
        fig,
        "Errors of many seeds of the same training: "
        + "; ".join(f"{c}, {n} failed" for c, n in zip(cells, failed, strict=True))
        + ".",
    )
