"""The engine: Snakemake, told what is missing and where to run it. On a cluster it submits one job a run and asks how they are.

What it costs a run, its overhead, is the wall time of the job's process until the run is sealed, less that of the notebook's cells: ``engine_s``
in the manifest. A study prints the median; `trajkit.benchmarks.engine` measures it alone, side by side and through Slurm.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from trajkit.errors import ParameterError
from trajkit.study.devices import visible_gpus
from trajkit.study.folders import OUTPUTS, ROOT
from trajkit.study.runner import ONE_THREAD
from trajkit.yamlio import write_text

EXECUTORS = ("local", "slurm")
MOST_SUBMITTED = 500
ASK_EVERY_S = "TRAJKIT_ASK_S"  # seconds between two looks at the queue
WORKFLOW = ROOT / "workflow"


@dataclass(frozen=True)
class Work:
    """What is to be done: run ids and audit ids with what each asks of the scheduler, and the targets that start first."""

    name: str
    runs: dict[str, dict[str, Any]]
    audits: dict[str, dict[str, Any]]
    first: Sequence[str] = ()

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """What each job asks for."""
        return [*self.runs.values(), *self.audits.values()]


def check_executor(executor: str) -> None:
    """Raise ParameterError where ``executor`` is unknown or its commands are not here."""
    if executor not in EXECUTORS:
        raise ParameterError(f"EXECUTOR {executor!r} is unknown: there are {', '.join(EXECUTORS)}")
    if executor == "local":
        return
    absent = [c for c in ("sbatch", "squeue", "scontrol", "scancel") if shutil.which(c) is None]
    if absent:
        raise ParameterError(
            f"EXECUTOR=slurm needs {', '.join(absent)}, not found here: give the command on a login node of the cluster"
        )
    if importlib.util.find_spec("snakemake_executor_plugin_cluster_generic") is None:
        raise ParameterError(
            "EXECUTOR=slurm needs the package snakemake-executor-plugin-cluster-generic: install requirements.lock anew (make env)"
        )


def side_by_side(work: Work, jobs: int | None, executor: str) -> int:
    """How many jobs at once: ``jobs``, else as many as cores and memory of this machine allow, or as a cluster is asked for."""
    if jobs is not None:
        if jobs < 1:
            raise ParameterError(f"JOBS must be at least 1, got {jobs}")
        return jobs
    if executor != "local":
        return MOST_SUBMITTED
    need = max(job["mem_mb"] for job in work.jobs)
    fits = int(psutil.virtual_memory().available / 2**20 // need)
    return max(1, min(os.cpu_count() or 1, fits, len(work.jobs)))


def command_for(work: Work, *, executor: str, at_once: int, dry_run: bool = False) -> list[str]:
    """The Snakemake command that does ``work``; writes its configuration. ``dry_run`` only builds the graph of jobs."""
    config = OUTPUTS / "locks" / f"{work.name}.json"
    write_text(config, json.dumps({"runs": work.runs, "audits": work.audits, "python": sys.executable}))
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(WORKFLOW / "Snakefile"),
        "--profile", str(WORKFLOW / "profiles" / executor), "--configfile", str(config),
        "--directory", str(OUTPUTS), "--quiet", "all",
    ]  # fmt: skip
    command += ["--cores" if executor == "local" else "--jobs", str(at_once)]
    command += [] if executor == "local" else ["--seconds-between-status-checks", environment()[ASK_EVERY_S]]
    gpus = len(visible_gpus()) if executor == "local" else 0
    command += ["--resources", f"gpu={gpus}"] if gpus else []
    command += ["--dry-run"] if dry_run else []
    return command + (["--prioritize", *work.first] if work.first else [])


def environment() -> dict[str, str]:
    """Environment of the engine and, on a cluster, of its jobs."""
    return {
        ASK_EVERY_S: "10",
        **os.environ,
        **dict.fromkeys(ONE_THREAD, "1"),
        "XDG_CACHE_HOME": str(OUTPUTS / "locks" / "cache"),
        "TRAJKIT_OUTPUTS": str(OUTPUTS),
        "TRAJKIT_SLURM": str(WORKFLOW / "slurm"),
    }
