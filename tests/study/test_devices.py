"""One GPU for one job on a machine without a scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.study import devices
from trajkit.study.devices import own_gpus, visible_gpus

HOLDER = """
import os, sys, time
from pathlib import Path
from trajkit.study.devices import own_gpus
with own_gpus(1, Path(sys.argv[1])):
    print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(devices.GIVEN, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    monkeypatch.setattr(devices, "LOOK_EVERY_S", 0.02)


def _holder(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_jobs_side_by_side_get_different_ones_and_a_third_waits(tmp_path: Path, two: None) -> None:
    holders = [_holder(tmp_path) for _ in range(2)]
    shown = [h.stdout.readline().strip() for h in holders if h.stdout]
    assert sorted(shown) == ["4", "5"]
    third = _holder(tmp_path)
    time.sleep(0.5)
    holders[0].kill()  # however a holder ends, its GPU is free again
    assert third.stdout and third.stdout.readline().strip() == shown[0]
    for h in (*holders, third):
        h.kill()
        h.communicate()


def test_afterwards_the_environment_is_as_before(tmp_path: Path, two: None) -> None:
    with own_gpus(2, tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"
    with own_gpus(1, tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "4"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"


def test_more_than_there_are_is_an_error(tmp_path: Path, two: None) -> None:
    with pytest.raises(ParameterError, match="asks for 3 GPUs, this machine shows 2"), own_gpus(3, tmp_path):
        pass


def test_a_scheduler_that_hands_out_devices_is_left_alone(
    tmp_path: Path, two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(devices.GIVEN, "given")
    with own_gpus(1, tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"
    assert not list(tmp_path.iterdir())


def test_runs_side_by_side_in_an_allocation_of_ones_own_share_it_out(
    tmp_path: Path, two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a workstation: only a job of one run has its devices from the scheduler."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with own_gpus(1, tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "4"


def test_devices_of_two_machines_with_one_outputs_folder_are_not_the_same(
    tmp_path: Path, two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_gpus(2, tmp_path):
        monkeypatch.setattr(devices.platform, "node", lambda: "another")
        holder = devices._hold(["4", "5"], 2, tmp_path)
    assert sorted(holder) == ["4", "5"]
    for handle in holder.values():
        os.close(handle)


def test_without_a_gpu_nothing_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []
    with own_gpus(1, tmp_path):
        assert not list(tmp_path.iterdir())
