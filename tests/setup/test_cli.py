"""The command line: quick help, one message for errors meant for the reader, exit codes handed on."""

from __future__ import annotations

import errno
import subprocess
import sys
import types
from pathlib import Path

import pytest

from trajkit import cli
from trajkit.errors import ParameterError


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, function: str, body: object) -> None:
    fake = types.ModuleType(module)
    setattr(fake, function, body)
    monkeypatch.setitem(sys.modules, module, fake)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["trajkit", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_help_and_import_load_no_heavy_package() -> None:
    code = (
        "import sys, trajkit, trajkit.cli; "
        "print([m for m in ('torch', 'numpy', 'pandas', 'keplergl', 'matplotlib', 'snakemake') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_module_runs_and_lists_its_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "trajkit", "--help"], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in ("study", "run", "doctor", "bench", "gpu-check"))


def test_study_gets_every_setting_and_its_exit_code_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def run_study(question: str, **settings: object) -> int:
        seen.update(question=question, **settings)
        return 1

    stand_in(monkeypatch, "trajkit.study.workflow", "run_study", run_study)
    arguments = [
        "study",
        "rq1",
        "--profile",
        "full",
        "--dataset",
        "porto",
        "--data",
        "x.csv",
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--executor",
        "slurm",
    ]
    assert run(monkeypatch, *arguments) == 1
    given: dict[str, object] = {"question": "rq1", "profile": "full", "dataset": "porto", "data": "x.csv"}
    assert seen == {**given, "seeds": 2, "jobs": 1, "executor": "slurm"}
    seen.clear()
    assert run(monkeypatch, "study", "rq1") == 1
    usual: dict[str, object] = {"question": "rq1", "profile": "quick", "dataset": "city", "data": None}
    assert seen == {**usual, "seeds": None, "jobs": None, "executor": "local"}


def test_run_hands_over_the_path_and_what_the_scheduler_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Path, dict[str, int]]] = []

    def run_file(path: Path, **said: int) -> int:
        seen.append((path, said))
        return 0

    stand_in(monkeypatch, "trajkit.study.runner", "run_file", run_file)
    assert run(monkeypatch, "run", "outputs/runs/x/params.yaml") == 0
    assert run(monkeypatch, "run", "outputs/runs/x/params.yaml", "--gpus", "2", "--attempt", "3") == 0
    path = Path("outputs/runs/x/params.yaml")
    assert seen == [(path, {"gpus": 0, "attempt": 1}), (path, {"gpus": 2, "attempt": 3})]


def test_error_for_the_reader_is_one_message_without_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_study(question: str, **_: object) -> int:
        raise ParameterError(f"question {question!r} is unknown: use rq1")

    stand_in(monkeypatch, "trajkit.study.workflow", "run_study", run_study)
    assert run(monkeypatch, "study", "rq9") == 2
    assert capsys.readouterr().err == "trajkit: question 'rq9' is unknown: use rq1\n"


def test_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_study(question: str, **_: object) -> int:
        raise ZeroDivisionError(question)

    stand_in(monkeypatch, "trajkit.study.workflow", "run_study", run_study)
    monkeypatch.setattr(sys, "argv", ["trajkit", "study", "rq1"])
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_release_hands_its_settings_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def run_release(method: str, out: Path, **settings: object) -> int:
        seen.update(method=method, out=out, **settings)
        return 0

    stand_in(monkeypatch, "trajkit.handover.command", "run_release", run_release)
    monkeypatch.setenv("TRAJKIT_PURPOSE", "bus lanes; $(id)")
    assert (
        run(
            monkeypatch,
            "release",
            "flat",
            "--out",
            "o",
            "--data",
            "d.yaml",
            "--epsilon",
            "0.5",
            "--cap",
            "2",
            "--n",
            "7",
        )
        == 0
    )
    assert (seen["method"], seen["out"], seen["data"], seen["n"]) == ("flat", Path("o"), "d.yaml", 7)
    assert seen["given"] == {"epsilon": 0.5, "k": None} and seen["purpose"] == "bus lanes; $(id)"
    assert seen["budget"]["cap"] == 2.0 and seen["budget"]["raise_cap"] is False  # type: ignore[index]


def test_wrong_type_on_the_command_line_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "study", "rq1", "--seeds", "three") == 2
    assert "--seeds" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("trajkit.cli.app", full)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("trajkit: no space left") and said.count("\n") == 1
