"""The Makefile lists its targets, hands its settings on, and env.sh neither repeats nor half-finishes its work."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PIP_")) and k != "TORCH_INDEX"}


def make(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=cwd, env=CLEAN, capture_output=True, text=True, check=False)


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_bare_make_lists_every_public_target_with_a_line() -> None:
    listed = make().stdout
    for target in (
        "env",
        "rq1",
        "rq2",
        "rq3",
        "rq4",
        "rq5",
        "rq6",
        "rq7",
        "release",
        "assess",
        "dpia",
        "smoke",
        "test",
        "test-browser",
        "lint",
        "nightly",
        "bench",
        "doctor",
        "gpu-check",
        "lab",
        "lock",
        "clean",
    ):
        (line,) = [line for line in listed.splitlines() if line.split()[:1] == [target]]
        assert len(line.split()) > 2, f"{target} has no explanation"


def test_settings_reach_the_study_and_empty_ones_do_not() -> None:
    plain = make("-n", "rq1", "PY=python").stdout.split()
    assert (
        plain
        == "python -m trajkit study rq1 --profile quick --dataset city".replace("quick", '"quick"')
        .replace("city", '"city"')
        .split()
    )
    full = make("-n", "rq1", "PY=python", "PROFILE=full", "DATASET=porto", "DATA=a b.csv", "SEEDS=2", "JOBS=1").stdout
    assert '--profile "full" --dataset "porto" --data "a b.csv" --seeds "2" --jobs "1"' in full
    assert "--executor" not in full
    swept = make("-n", "sweep", "PY=python", "RQ=rq3", "PROFILE=paper", "EXECUTOR=slurm").stdout
    assert 'study "rq3" --profile "paper" --dataset "city"  ' in swept and '--executor "slurm"' in swept


def test_smoke_is_every_question_at_its_smallest() -> None:
    said = make("-n", "smoke", "PY=python", "PROFILE=full").stdout
    assert [f'study {q} --profile "smoke"' in said for q in ("rq1", "rq2", "rq3", "rq4", "rq5", "rq6", "rq7")] == [
        True
    ] * 7, said


def test_settings_reach_the_handover_and_the_default_data_set_does_not() -> None:
    said = make(
        "-n",
        "release",
        "PY=python",
        "METHOD=flat",
        "DATA=a b.yaml",
        "OUT=o",
        "EPSILON=1",
        "CAP=4",
        "RAISE_CAP=0",
        "MOST_TRIPS=9",
    ).stdout
    for part in ('release "flat" --out "o"', '--data "a b.yaml"', '--epsilon "1"', '--cap "4"', '--most-trips "9"'):
        assert part in said
    assert "--dataset" not in said and "--raise-cap" not in said
    assert '--dataset "city"' in make("-n", "assess", "PY=python", "DATASET=city").stdout
    refused = make("release", "PY=python", "DATA=a.yaml")
    assert refused.returncode == 2 and "METHOD" in refused.stdout


def test_a_purpose_goes_by_the_environment_and_no_shell_reads_it() -> None:
    purpose = 'who"s; $(rm -rf x) `id`'
    said = make("-n", "dpia", "PY=python", "METHOD=flat", "DATA=a.yaml", f"PURPOSE={purpose}").stdout
    assert "rm -rf" not in said


def test_own_interpreter_creates_no_environment() -> None:
    assert "env.sh" not in make("-n", "doctor", "PY=python").stdout
    assert "env.sh" in make("-n", "doctor").stdout


def test_clean_keeps_data_and_the_environment(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (
        "data/porto/train.csv",
        ".venv/bin/python",
        "outputs/.gitkeep",
        "outputs/rq1/x/report.html",
        ".cache/a",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("kept?")
    for folder in ("trajkit/__pycache__", "tests", "workflow"):
        (tmp_path / folder).mkdir(parents=True)
    assert make("clean", cwd=tmp_path).returncode == 0
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert left == [".venv/bin/python", "Makefile", "data/porto/train.csv", "outputs/.gitkeep"]
    assert not (tmp_path / "trajkit/__pycache__").exists()


# A stand-in for python3: "venv" makes an environment whose own python notes each pip call and can fail on demand.
FAKE_PYTHON = """
case "$*" in
  "-m venv .venv")
    mkdir -p .venv/bin
    echo "VIRTUAL_ENV=$PWD/.venv" > .venv/bin/activate
    printf '%s\\n' '#!/bin/sh' 'echo "$*" >> calls' \\
      'case "$*" in *requirements.lock*) if [ -e broken ]; then exit 1; fi; if [ -e killed ]; then kill -9 $PPID; fi;; esac' \\
      > .venv/bin/python
    chmod +x .venv/bin/python;;
esac
"""


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A folder with the real env.sh, a small lock, and a python3 that installs nothing."""
    (tmp_path / "workflow").mkdir()
    shutil.copy(ROOT / "workflow" / "env.sh", tmp_path / "workflow")
    (tmp_path / "requirements.lock").write_text("a==1\n")
    script(tmp_path / "fake-python", FAKE_PYTHON)
    return tmp_path


def env(kit: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{kit}/bin:/usr/bin:/bin", "PYTHON": str(kit / "fake-python"), **extra}
    command = ["sh", "workflow/env.sh", "torch==9.9"]
    return subprocess.run(command, cwd=kit, env=environment, capture_output=True, text=True, check=False)


def calls(kit: Path) -> list[str]:
    file = kit / "calls"
    return file.read_text().splitlines() if file.exists() else []


def test_env_installs_torch_then_the_lock_then_the_kit_and_checks() -> None:
    text = (ROOT / "workflow" / "env.sh").read_text()
    steps = [
        "install ${TORCH_INDEX",
        "--require-hashes --no-deps -r requirements.lock",
        "--no-build-isolation -e .",
        "pip check",
    ]
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)


def test_env_twice_does_nothing_the_second_time_and_again_when_the_lock_changes(kit: Path) -> None:
    assert env(kit).returncode == 0
    first = calls(kit)
    assert [c.split()[2] for c in first] == ["install", "install", "install", "check"]
    assert "torch==9.9" in first[0]
    second = env(kit)
    assert (second.returncode, second.stdout, calls(kit)) == (0, "", first)
    (kit / "requirements.lock").write_text("a==2\n")
    assert env(kit).returncode == 0
    assert len(calls(kit)) == 2 * len(first)


def test_torch_index_is_used_for_torch_alone_and_remembered(kit: Path) -> None:
    assert env(kit).returncode == 0
    assert env(kit, TORCH_INDEX="the-index").returncode == 0
    named = [c for c in calls(kit) if "the-index" in c]
    assert len(named) == 1 and "--force-reinstall" in named[0] and "torch==9.9" in named[0]
    before = calls(kit)
    assert env(kit).returncode == env(kit, TORCH_INDEX="the-index").returncode == 0
    assert calls(kit) == before
    assert env(kit, TORCH_INDEX="another").returncode == 0
    assert len(calls(kit)) > len(before)


def test_failed_installation_leaves_no_stamp_and_goes_on(kit: Path) -> None:
    (kit / "broken").touch()
    failed = env(kit)
    assert failed.returncode == 2
    assert "installation failed" in failed.stderr
    assert not (kit / ".venv/.stamp").exists()
    (kit / "broken").unlink()
    again = env(kit)
    assert again.returncode == 0
    assert "anew" not in again.stdout
    assert (kit / ".venv/.stamp").exists()


def test_killed_installation_is_not_trusted(kit: Path) -> None:
    (kit / "killed").touch()
    assert env(kit).returncode == -9
    assert not (kit / ".venv/.stamp").exists()
    (kit / "killed").unlink()
    (kit / ".venv/half-written").touch()
    again = env(kit)
    assert again.returncode == 0
    assert "cut short" in again.stdout
    assert not (kit / ".venv/half-written").exists()


def test_moved_folder_gets_a_new_environment(kit: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert env(kit, TORCH_INDEX="the-index").returncode == 0
    moved = tmp_path_factory.mktemp("moved") / "kit"
    shutil.copytree(kit, moved)
    result = env(moved)
    assert result.returncode == 0
    assert "another folder" in result.stdout
    assert len([c for c in calls(moved) if "the-index" in c]) == 2


def test_uv_that_does_not_work_is_no_obstacle(kit: Path) -> None:
    (kit / "bin").mkdir()
    script(kit / "bin" / "uv", '[ "$1" = --version ] && exit 0\necho "uv $*" >> calls\nexit 1\n')
    result = env(kit, PIP_FIND_LINKS="wheels")
    assert result.returncode == 0
    assert "going on with pip" in result.stdout
    assert calls(kit)[0].startswith("uv pip install") and "--find-links wheels" in calls(kit)[0]
    assert "-m pip install" in calls(kit)[1]


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ('case "$*" in *version_info*) exit 1;; --version) echo Python 3.10.1;; esac', "Python 3.10.1 is too old"),
        ('case "$*" in *ensurepip*) exit 1;; esac', "apt-get install python3-venv"),
    ],
)
def test_unusable_python_is_one_clear_message(kit: Path, python: str, message: str) -> None:
    script(kit / "fake-python", python)
    result = env(kit)
    assert result.returncode == 2
    assert message in result.stderr
    assert not (kit / ".venv").exists()


def test_absent_python_is_one_clear_message(kit: Path) -> None:
    result = env(kit, PYTHON="no-such-python")
    assert result.returncode == 2
    assert "'no-such-python' is not on the PATH" in result.stderr
