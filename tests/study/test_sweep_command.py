"""What a sweep will cost, printed before; and going on with one whose head died."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trajkit.errors import MissingDataError, RunFailedError
from trajkit.study import sweep
from trajkit.study.estimates import Estimate, estimate
from trajkit.study.params import PlannedRun
from trajkit.study.run_config import Resources, RunConfig
from trajkit.study.workflow import Study


def _planned(cell: str, i: int, **asked: int) -> tuple[str, PlannedRun]:
    config = RunConfig(dataset="city", method="uniform", seed=i)
    planned = PlannedRun(cell=cell, replicate=i, vary="fold", config=config, resources=Resources(**asked))
    return f"{cell}-{i}", planned


def test_the_plan_warns_of_what_would_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study(tmp_path, "q", "paper", None, [_planned("light", 0)])
    monkeypatch.setattr(Study, "missing", lambda self: ["light-0"])
    monkeypatch.setattr(Study, "counted_complete", lambda self, but=(): "0 runs")
    monkeypatch.setattr(sweep, "plan_study", lambda *a, **k: study)
    monkeypatch.setattr(sweep, "command_for", lambda *a, **k: ["true"])
    told = Estimate(9.0, 100, 0, "counted", 7, ("9 h counted, 1 asked for: raise runtime_min",))
    monkeypatch.setattr(sweep, "estimate", lambda planned, **k: told)
    monkeypatch.setattr(sweep, "OUTPUTS", tmp_path)
    assert sweep.print_plan("q", profile="paper", dataset="city", data=None, seeds=None) == 0
    printed = capsys.readouterr().out
    assert "WARNING: light: 9 h counted, 1 asked for: raise runtime_min" in printed and "9.0" in printed


def test_the_plan_counts_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [_planned("deep", i, mem_mb=24000, runtime_min=120, gpus=1) for i in range(3)]
    runs += [_planned("light", i, mem_mb=2000, runtime_min=30) for i in range(2)]
    study = Study(tmp_path, "q", "paper", None, runs)
    monkeypatch.setattr(Study, "missing", lambda self: ["deep-0", "deep-2", "light-1"])
    table = sweep.plan_table(study).groupby("what").sum(numeric_only=True)
    assert table.loc["deep", "jobs"] == 2 and table.loc["light", "jobs"] == 1
    assert table.loc["deep", "hours a job"] == pytest.approx(4.0)


def test_an_estimate_is_no_more_than_what_is_reserved() -> None:
    _, planned = _planned("deep", 0, mem_mb=24000, runtime_min=120, gpus=2)
    e = estimate(planned)
    assert e.hours <= 2.0 and e.mem_mb <= 24000 and e.gpus == 2
    assert e.gpu_hours == pytest.approx(2 * e.hours)


@pytest.fixture
def last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sweep, "LAST_SWEEP", tmp_path / "sweep.json")
    monkeypatch.setattr(sweep, "OUTPUTS", tmp_path)
    monkeypatch.setattr(sweep, "check_executor", lambda executor: None)
    return tmp_path / "sweep.json"


def test_without_a_sweep_there_is_nothing_to_go_on_with(last: Path) -> None:
    with pytest.raises(MissingDataError, match="no sweep was begun"):
        sweep.resume(cancel=False)


def _stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, squeue: str) -> Path:
    for name, body in {"squeue": squeue, "scancel": f"echo $* > {folder}/cancelled; : > {folder}/gone"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "cancelled"


@pytest.mark.parametrize("cancel", [False, True])
def test_jobs_of_this_folder_are_waited_for_or_cancelled(
    last: Path, monkeypatch: pytest.MonkeyPatch, cancel: bool
) -> None:
    folder = last.parent
    listed = f"1 trajkit-a {folder}\\n2 trajkit-b /another/folder\\n3 other {folder}\\n"
    cancelled = _stand_in(folder, monkeypatch, f"[ -e {folder}/gone ] || printf '{listed}'")
    last.write_text(json.dumps({"question": "rq1", "profile": "paper", "executor": "slurm"}))
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        sweep, "run_study", lambda question, **settings: given.update(question=question, **settings) or 0
    )
    assert sweep.resume(cancel=cancel) == 0
    assert given == {"question": "rq1", "profile": "paper", "executor": "slurm"}
    assert (cancelled.read_text().split() if cancelled.is_file() else []) == (["1"] if cancel else [])


def test_a_controller_that_does_not_answer_is_an_error(last: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(last.parent, monkeypatch, "echo 'Unable to contact slurm controller' >&2; exit 1")
    last.write_text(json.dumps({"question": "rq1", "executor": "slurm"}))
    with pytest.raises(RunFailedError, match="squeue does not answer: Unable to contact"):
        sweep.resume(cancel=False)


def test_make_names_the_commands() -> None:
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    for target in ("sweep", "sweep-plan", "sweep-resume", "test-slurm"):
        assert f"\n{target}: " in makefile


def test_make_sweep_without_a_question_says_what_to_say() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(["make", "sweep", "PY=python"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2 and "say RQ=rq1" in done.stdout
