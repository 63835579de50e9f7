"""The engine's command and its profiles, without running a study."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from trajkit.errors import ParameterError
from trajkit.study import engine
from trajkit.study.engine import Work, check_executor, command_for, environment, side_by_side

RUN: dict[str, Any] = {"mem_mb": 1000, "runtime_min": 7, "gpus": 0, "after": []}
WORKFLOW = engine.WORKFLOW


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "outputs"
    (folder / "locks").mkdir(parents=True)
    monkeypatch.setattr(engine, "OUTPUTS", folder)
    return folder


def _profile(name: str) -> dict[str, Any]:
    profile: dict[str, Any] = yaml.safe_load((WORKFLOW / "profiles" / name / "config.yaml").read_text())
    return profile


def test_an_unknown_executor_and_one_that_is_not_here_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="EXECUTOR 'sge' is unknown: there are local, slurm"):
        check_executor("sge")
    monkeypatch.setattr(engine.shutil, "which", lambda name: None if name == "sbatch" else "/usr/bin/" + name)
    with pytest.raises(ParameterError, match="needs sbatch, not found here: give the command on a login node"):
        check_executor("slurm")
    check_executor("local")


def test_retries_stand_in_the_profile_and_nowhere_else() -> None:
    """In a rule they would multiply with the profile's; on a machine of one's own a failure is a finding."""
    assert "retries" not in (WORKFLOW / "Snakefile").read_text().split("rule all")[1]
    assert (_profile("local")["retries"], _profile("slurm")["retries"]) == (0, 2)


def test_profiles_never_delete_or_lock_what_is_complete() -> None:
    for name in engine.EXECUTORS:
        profile = _profile(name)
        assert all(profile[k] for k in ("nolock", "ignore-incomplete", "keep-incomplete", "keep-going"))
        assert profile["rerun-triggers"] == ["mtime"]


def test_neither_groups_nor_arrays_are_used() -> None:
    said = (WORKFLOW / "Snakefile").read_text() + json.dumps([_profile(n) for n in engine.EXECUTORS])
    assert "group:" not in said and "array" not in said


def test_a_later_try_asks_for_more_and_every_job_asks_for_memory_time_and_gpus(outputs: Path) -> None:
    work = Work(
        "q", {"r1": {**RUN, "gpus": 1}, "r2": {**RUN, "after": ["r1"]}}, {"a1": RUN}, ("runs/r1/manifest.json",)
    )
    command = command_for(work, executor="local", at_once=2, dry_run=True)
    command[command.index("--quiet") : command.index("--quiet") + 2] = ["--printshellcmds"]
    done = subprocess.run(command, env=environment(), cwd=outputs, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "-m trajkit run runs/r1/params.yaml --gpus 1 --attempt 1" in said
    assert "-m trajkit audit audits/a1/params.yaml --gpus 0 --attempt 1" in said
    assert said.count("mem_mb=1000") >= 3 and said.count("runtime=7") >= 3 and "gpu=1" in said
    source = (WORKFLOW / "Snakefile").read_text()
    assert source.count('["mem_mb"] * attempt') == 2 and source.count('["runtime_min"] * attempt') == 2


def test_local_jobs_never_want_more_gpus_than_there_are(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    command = command_for(Work("q", {"r": RUN}, {}), executor="local", at_once=4)
    assert command[command.index("--resources") + 1] == "gpu=2"
    assert "--resources" not in command_for(Work("q", {"r": RUN}, {}), executor="slurm", at_once=4)


def test_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work("q", {"r1": RUN, "r2": {**RUN, "mem_mb": 10**9}}, {})
    assert side_by_side(work, None, "local") == 1
    assert side_by_side(work, 3, "local") == 3
    assert side_by_side(work, None, "slurm") == engine.MOST_SUBMITTED
    with pytest.raises(ParameterError, match="JOBS must be at least 1, got 0"):
        side_by_side(work, 0, "local")


def test_a_job_that_only_starts_a_notebook_imports_nothing_heavy() -> None:
    """Every run pays for it, on the same core as its kernel."""
    code = "import sys, trajkit.cli, trajkit.study.runner; print(*sorted({name.partition('.')[0] for name, there in sys.modules.items() if there}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "torch",
        "pandas",
        "scipy",
        "sklearn",
        "numba",
        "pyproj",
        "shapely",
        "opacus",
        "matplotlib",
        "rfc3987_syntax",
    }
    assert not heavy & set(done.stdout.split())
