"""Figures of the engine: what it takes of a run beside its notebook, and how long it plans 500 runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import yaml

from trajkit.benchmarks import BenchRow

CELLS, SEEDS = 100, 5
RUNS = 3
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
    """Return the figures; everything is done in processes of its own, as the engine does it."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs"
        environment = {**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}
        question = _question(Path(folder))
        start = perf_counter()
        subprocess.run([sys.executable, "-c", PLAN, str(question)], env=environment, check=True)
        planning = perf_counter() - start
        planned = sorted((outputs / "runs").iterdir())
        if len(planned) != CELLS * SEEDS:
            raise ValueError(f"{len(planned)} runs were planned, not {CELLS * SEEDS}")
        for run in planned[:RUNS]:
            command = [sys.executable, "-m", "trajkit", "run", str(run / "params.yaml")]
            subprocess.run(command, env=environment, check=True, capture_output=True)
        seconds = median(json.loads((run / "manifest.json").read_text())["engine_s"] for run in planned[:RUNS])
    return [
        BenchRow("engine, a run beside the cells of its notebook", seconds, "s"),
        BenchRow(f"engine, planning {CELLS * SEEDS} runs, graph of jobs included", planning, "s"),
    ]


def _question(folder: Path) -> Path:
    cells = [
        {"name": f"flat-private-{i}", "method": "flat", "parameters": {"epsilon": 1.0 + i / 10}} for i in range(CELLS)
    ]
    smoke = {
        "about": "a benchmark.",
        "seeds": SEEDS,
        "length": 32,
        "n_release": 30,
        "datasets": {"city": {"people": 40, "days": 2, "seed": 5}},
        "cells": cells,
    }
    path = folder / "q.yaml"
    path.write_text(yaml.safe_dump({"question": "q", "title": "-", "report": None, "profiles": {"smoke": smoke}}))
    return path
