"""Figures of the noisy prefix tree: CPU seconds of tree, inference and release at the size of the paper, and how they grow.

The paper (arXiv 1112.2020, section V) needs 24 s for 1,200,000 sequences over 1,012 locations at height 20, on a machine of 2011.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from trajkit.benchmarks import BenchRow
from trajkit.classical.prefix_release import publish_tree, released_sequences
from trajkit.datasets.transit import simulate_transit
from trajkit.sequences import Sequences

SIZES = (300_000, 600_000, 1_200_000)
HEIGHTS = (20, 12)
PAPER_S = 24.0


def rows() -> list[BenchRow]:
    """Return the figures; what has to be compiled is compiled before."""
    whole = simulate_transit(max(SIZES), seed=0)
    _publish(whole.take(np.arange(1000)), 3)
    found = []
    for height in HEIGHTS:
        seconds = [_seconds(whole.take(np.arange(n)), height) for n in SIZES]
        slope = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
        name = f"prefix tree, height {height}, {len(whole):,} sequences, {whole.n_symbols:,} locations"
        found += [
            BenchRow(f"{name}: tree, inference, release", seconds[-1], "CPU s"),
            BenchRow(f"{name}: published time over ours", PAPER_S / seconds[-1], "times", "24 s in 2011"),
            BenchRow(f"prefix tree, height {height}: slope of log time in log n, 0.3 to 1.2 M", float(slope), ""),
        ]
    return found


def _publish(sequences: Sequences, height: int) -> Sequences:
    return released_sequences(publish_tree(sequences, epsilon=1.0, height=height, seed=0).tree, "full")


def _seconds(sequences: Sequences, height: int, *, repeats: int = 3) -> float:
    """Best CPU time of ``repeats`` runs."""
    best = float("inf")
    for _ in range(repeats):
        start = process_time()
        _publish(sequences, height)
        best = min(best, process_time() - start)
    return best
