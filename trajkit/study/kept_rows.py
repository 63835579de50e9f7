"""Rows that a report measures on a run, computed once for this code and kept in the run's folder; of many runs, in processes side by side."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from trajkit.study.identity import code_fingerprint
from trajkit.study.run import Run
from trajkit.yamlio import write_text

Rows = list[dict[str, Any]]
FEW = 6  # not worth the start of processes


def kept_rows(run: Run, name: str, measure: Callable[[Run], Rows]) -> Rows:
    """What ``measure``, of the module ``trajkit.study.<name>``, finds in ``run``."""
    file = _file(run, name)
    if not file.is_file():
        write_text(file, json.dumps(measure(run), indent=1))
    return list(json.loads(file.read_text()))


def keep_rows(runs: Sequence[Run], name: str, keep: Callable[[Run], Rows]) -> None:
    """Call ``keep`` (a function of a module that ends in `kept_rows` under ``name``) on those of ``runs`` that have no such rows yet."""
    side_by_side(keep, [run for run in runs if not _file(run, name).is_file()])


def _file(run: Run, name: str) -> Path:
    return run.folder / f"{name}-{code_fingerprint(f'trajkit.study.{name}', presenting=True)}.json"


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
