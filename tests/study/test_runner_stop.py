"""A run that is told to stop, what a later try does not do again, how a kernel is talked to, and which device a run is shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from trajkit.errors import ResourceError, RunFailedError
from trajkit.study.folders import write_params
from trajkit.study.run_config import RunConfig
from trajkit.study.runner import failed_for_good, record_failure
from trajkit.study.stopping import STOPPED

pytestmark = pytest.mark.timeout(900)
DIFFUSION = {
    "regime": "private", "epsilon": 10.0, "channels": 8, "batch_size": 32, "sampling_steps": 5,
    "noise_draws_per_example": 1, "length": 32, "checkpoint_every_s": 0.2,
}  # fmt: skip


def _planned(outputs: Path, method: str, parameters: dict[str, Any], name: str = "abc-1") -> Path:
    folder = outputs / "runs" / name
    folder.mkdir(parents=True)
    config = RunConfig(
        dataset="city", dataset_settings={"people": 40, "days": 2, "seed": 5}, length=32, n_release=30, method=method, parameters=parameters
    )  # fmt: skip
    write_params(folder, config)
    return folder


def _begin(folder: Path, *options: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trajkit", "run", str(folder / "params.yaml"), *options]
    env = {**os.environ, "TRAJKIT_OUTPUTS": str(folder.parents[1]), **more}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_told_to_stop_in_training_it_ends_with_a_checkpoint_and_says_try_again(tmp_path: Path) -> None:
    folder = _planned(tmp_path, "diffusion", {**DIFFUSION, "steps": 100_000})
    process = _begin(folder)
    deadline = time.monotonic() + 300
    while not (folder / "checkpoint.pt").is_file():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGUSR1)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == STOPPED, said
    assert "a checkpoint is written" in said
    assert not (folder / "FAILED.json").exists() and not (folder / "manifest.json").exists()
    executed = (folder / "executed.ipynb").read_text()
    assert "StoppedError" in executed, "the trainer ended by itself; its kernel was not killed"


def test_told_to_stop_before_there_is_anything_to_keep_it_is_no_finding(tmp_path: Path) -> None:
    folder = _planned(tmp_path, "diffusion", {**DIFFUSION, "steps": 100_000})
    process = _begin(folder)
    time.sleep(2)
    process.terminate()
    said, _ = process.communicate(timeout=120)
    assert process.returncode not in (0, STOPPED)
    assert not (folder / "FAILED.json").exists(), said


def test_a_later_try_is_for_what_was_killed_not_for_what_failed(tmp_path: Path) -> None:
    folder = _planned(tmp_path, "diffusion", {**DIFFUSION, "steps": 10, "batch_size": 5000})
    first = _begin(folder)
    assert "fewer than batch_size" in first.communicate(timeout=300)[0] and first.returncode == 1
    assert failed_for_good(folder)
    before = (folder / "executed.ipynb").read_bytes()
    second = _begin(folder, "--attempt", "2")
    assert "not tried again" in second.communicate(timeout=300)[0] and second.returncode == 1
    assert (folder / "executed.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("error", "good"),
    [
        (RunFailedError("the loss is nan"), True),
        (ResourceError("killed"), False),
        (MemoryError(), False),
        (OSError(5, "disk"), False),
    ],
)
def test_which_failures_are_for_good(tmp_path: Path, error: Exception, good: bool) -> None:
    assert not failed_for_good(tmp_path)
    record_failure(tmp_path, error)
    assert failed_for_good(tmp_path) is good


def test_a_kernel_is_talked_to_by_socket_files_of_its_own(tmp_path: Path) -> None:
    """TCP ports are drawn before they are bound: of many kernels that start on one machine some draw the same and die."""
    process = _begin(_planned(tmp_path, "uniform", {}))
    connections: list[dict[str, Any]] = []
    while process.poll() is None:
        try:
            for child in psutil.Process(process.pid).children():
                words = child.cmdline()
                if "-f" in words:
                    connections.append(json.loads(Path(words[words.index("-f") + 1]).read_text()))
        except (psutil.Error, OSError, ValueError):
            pass
        time.sleep(0.05)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert connections and connections[-1]["transport"] == "ipc"
    assert not Path(connections[-1]["ip"]).parent.exists(), "the folder of the sockets is left behind"
    manifest = json.loads((tmp_path / "runs" / "abc-1" / "manifest.json").read_text())
    assert manifest["engine_s"] > 0 and manifest["attempt"] == 1


def test_runs_side_by_side_work_on_different_devices_and_a_scheduled_one_on_its_own(tmp_path: Path) -> None:
    given = {"b-1": {}, "b-2": {}, "b-3": {"TRAJKIT_GPUS": "given"}}
    runs = [
        _begin(_planned(tmp_path, "uniform", {}, name), "--gpus", "1", CUDA_VISIBLE_DEVICES="4,5", **more)
        for name, more in given.items()
    ]
    said = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], said
    manifests = [json.loads((tmp_path / "runs" / name / "manifest.json").read_text()) for name in given]
    shown = [manifest["scheduler"]["CUDA_VISIBLE_DEVICES"] for manifest in manifests]
    assert sorted(shown[:2]) == ["4", "5"] and shown[2] == "4,5"
