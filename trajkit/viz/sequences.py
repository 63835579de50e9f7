"""Figures of noisy prefix trees: what each level holds, and errors against epsilon and height."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from trajkit.viz.plots import FAINT, INK, finished


def level_masses(levels: pd.DataFrame) -> Figure:
    """Trajectories kept and cut (left) and nodes kept, by noise alone or not (right), a row of bars a level.

    ``levels`` has the columns level, kept, of noise, real, cut, noise (as `trajkit.classical.prefix_tree.LevelMass`).
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    x, width = levels["level"].to_numpy(), 0.4
    left.bar(x - width / 2, levels["real"], width, color=INK, label="trajectories in kept nodes")
    left.bar(x - width / 2, levels["cut"], width, bottom=levels["real"], color=FAINT, label="cut: their node was dropped")
    left.bar(x + width / 2, levels["noise"], width, color="tab:orange", label="noise in kept nodes (sum of sizes)")
    left.set(xlabel="level", ylabel="trajectories")
    visited = levels["kept"] - levels["of noise"]
    right.bar(x, visited, color=INK, label="visited")
    right.bar(x, levels["of noise"], bottom=visited, color="tab:orange", label="there by noise alone")
    right.set(xlabel="level", ylabel="nodes kept")
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8)
        ax.set_xticks(x if len(x) <= 20 else x[:: int(np.ceil(len(x) / 20))])
    return finished(fig)
