"""The same work on many runs, in processes side by side: what a report measures takes minutes, and one core would do it alone."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from trajkit.study.run import Run

FEW = 6  # not worth the start of processes


def side_by_side(work: Callable[[Run], object], runs: Sequence[Run]) -> None:
    """Call ``work`` (a function of a module) on each of ``runs``; what it returns is dropped, so it leaves files. Its errors are raised."""
    processes = min(os.cpu_count() or 1, len(runs))
    if len(runs) <= FEW or processes < 2:
        for run in runs:
            work(run)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(
            work, [Run(run.folder, run.config) for run in runs]
        ):  # without the data that a run has loaded
            pass
