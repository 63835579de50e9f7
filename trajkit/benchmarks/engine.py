"""Figures of the engine: its overhead for a run, and how long it plans 500 runs.

The overhead of a run is the wall time of its job's process, from its start until the run is sealed, less what the cells of its notebook took
(``engine_s`` of the manifest): interpreter, imports, checks, start and end of the kernel, writing of the executed notebook, hashes.
Waiting in a queue is no part of it. Through Slurm it is measured where one answers, on as many cores as that has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import yaml

from trajkit.benchmarks import BenchRow

CELLS, SEEDS = 100, 5
RUNS = 6
PLAN = """
import subprocess, sys
from trajkit.study.engine import command_for, environment
from trajkit.study.folders import OUTPUTS
from trajkit.study.workflow import plan_study, work_of
study = plan_study(sys.argv[1], profile="smoke", dataset="city", data=None, seeds=None)
command = command_for(work_of(study), executor="local", at_once=1, dry_run=True)
subprocess.run(command, env=environment(), cwd=OUTPUTS, check=True, capture_output=True)
"""


def rows() -> list[BenchRow]:
    """Return the figures; everything is done in processes of its own, as a study does it."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        ways = {"one at a time": ["--jobs", "1"], "two side by side": ["--jobs", "2"]}
        if _slurm_answers():
            ways["through Slurm"] = ["--executor", "slurm"]
        spent = {way: _overhead(here / f"outputs-{i}", options) for i, (way, options) in enumerate(ways.items())}
        planning = _planning(here)
    return [
        *(BenchRow(f"engine, overhead of a run, {way}", seconds, "s") for way, seconds in spent.items()),
        BenchRow(f"engine, planning {CELLS * SEEDS} runs, graph of jobs included", planning, "s"),
    ]


def _slurm_answers() -> bool:
    return (
        shutil.which("sinfo") is not None and not subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode
    )


def _overhead(outputs: Path, options: list[str]) -> float:
    """Median overhead [s] of a study's runs."""
    outputs.mkdir()
    question = _question(outputs, cells=RUNS, seeds=1)
    command = [sys.executable, "-m", "trajkit", "study", str(question), "--profile", "smoke", *options]
    subprocess.run(command, env={**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}, check=True, capture_output=True)
    sealed = list((outputs / "runs").glob("*/manifest.json"))
    if len(sealed) != RUNS:
        raise ValueError(f"{len(sealed)} runs are complete, not {RUNS}")
    return median(json.loads(manifest.read_text())["engine_s"] for manifest in sealed)


def _planning(here: Path) -> float:
    """Seconds that the plan of `CELLS` x `SEEDS` runs and its graph of jobs took."""
    outputs = here / "planned"
    question = _question(here, cells=CELLS, seeds=SEEDS)
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-c", PLAN, str(question)], env={**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}, check=True
    )
    seconds = perf_counter() - start
    planned = len(list((outputs / "runs").iterdir()))
    if planned != CELLS * SEEDS:
        raise ValueError(f"{planned} runs were planned, not {CELLS * SEEDS}")
    return seconds


def _question(folder: Path, *, cells: int, seeds: int) -> Path:
    named = [
        {"name": f"flat-private-{i}", "method": "flat", "parameters": {"epsilon": 1.0 + i / 10}} for i in range(cells)
    ]
    smoke = {
        "about": "a benchmark.",
        "seeds": seeds,
        "length": 32,
        "n_release": 30,
        "datasets": {"city": {"people": 40, "days": 2, "seed": 5}},
        "cells": named,
    }
    path = folder / "q.yaml"
    path.write_text(yaml.safe_dump({"question": "q", "title": "-", "report": None, "profiles": {"smoke": smoke}}))
    return path
