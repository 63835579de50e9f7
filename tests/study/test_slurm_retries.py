"""The profile for Slurm under the real Snakemake, against stand-ins for Slurm's commands: what a killed job asks for the next time, and how often."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trajkit.study import engine
from trajkit.study.engine import Work, command_for, environment

# a job is done, or killed, as it is submitted; the queue is the file that says so
SBATCH = """
n=$(cat "$0.n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n >"$0.n"
case "$*" in *--gres=gpu:1*) ;; *) exit 1 ;; esac
all="$*"; mem=${all#*--mem=}; time=${all#*--time=}
echo "${mem%% *} ${time%% *} attempt $TRAJKIT_ATTEMPT" >>"$0.asked"
if [ $n -ge "$DONE_AT" ]; then echo '{}' >runs/r1/manifest.json; echo "$n COMPLETED" >>"$0.queue"; else echo "$n $ENDS" >>"$0.queue"; fi
echo $n
"""
SQUEUE = """
case "$*" in *--name=*) exit 0 ;; esac
cat "${0%squeue}sbatch.queue" 2>/dev/null || true
"""
RUN: dict[str, Any] = {"mem_mb": 1000, "runtime_min": 7, "gpus": 1, "after": []}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the stand-ins; the outputs folder lies beside it."""
    for needed in ("outputs/locks", "outputs/runs/r1", "bin"):
        (tmp_path / needed).mkdir(parents=True)
    for name, body in {"sbatch": SBATCH, "squeue": SQUEUE, "scontrol": "exit 0", "scancel": "exit 0"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{body}")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setattr(engine, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv(engine.ASK_EVERY_S, "1")
    return tmp_path / "bin"


def _sweep(site: Path, ends: str, *, done_at: int) -> tuple[int, list[str]]:
    command = command_for(Work("q", {"r1": RUN}, {}), executor="slurm", at_once=2)
    env = {**environment(), "ENDS": ends, "DONE_AT": str(done_at)}
    done = subprocess.run(command, env=env, cwd=engine.OUTPUTS, capture_output=True, text=True, timeout=200)
    return done.returncode, (site / "sbatch.asked").read_text().splitlines()


@pytest.mark.parametrize("ends", ["OUT_OF_MEMORY", "NODE_FAIL"])
def test_a_killed_job_is_tried_again_and_asks_for_more(site: Path, ends: str) -> None:
    status, asked = _sweep(site, ends, done_at=2)
    assert (status, asked) == (0, ["1000M 7 attempt 1", "2000M 14 attempt 2"])
    log = (engine.OUTPUTS / "runs" / "r1" / "run.log").read_text()
    assert log == f"slurm: job 1 ended: {ends}\n"


def test_three_tries_and_no_more_however_retries_are_counted(site: Path) -> None:
    status, asked = _sweep(site, "TIMEOUT", done_at=99)
    assert status != 0
    assert asked == ["1000M 7 attempt 1", "2000M 14 attempt 2", "3000M 21 attempt 3"]
