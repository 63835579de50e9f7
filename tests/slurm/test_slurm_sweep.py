"""Sweeps through a real Slurm of one node: head and jobs are killed, for memory too, controller and node go away, jobs are preempted; results equal the local run's."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(900)]
CLUSTER = Path(__file__).parent / "cluster.sh"
SITE = {"SBATCH_ACCOUNT": "lab", "SBATCH_PARTITION": "gpu", "TRAJKIT_ASK_S": "2"}
HEADS: list[subprocess.Popen[bytes]] = []
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """Folder of a running cluster; SLURM_CONF names its configuration, which is not at the default place."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0:
        pytest.skip("a Slurm of its own needs root")
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed: see tests/slurm/install.sh")
    folder = Path(
        tempfile.mkdtemp(prefix="trajkit-slurm-")
    )  # everybody must get at munge's socket, so not in pytest's folder
    subprocess.run([CLUSTER, "up", folder], check=True, timeout=120)
    os.environ["SLURM_CONF"] = str(folder / "etc" / "slurm.conf")
    try:
        yield folder
    finally:
        try:
            for head in HEADS:  # of a test that failed
                if head.poll() is None:
                    os.killpg(head.pid, signal.SIGKILL)
                    head.wait()
            subprocess.run(["scancel", "--me"], check=False)
            _until(lambda: not _jobs(), "the queue is empty", seconds=60)
        finally:
            del os.environ["SLURM_CONF"]
            subprocess.run([CLUSTER, "down", folder], check=True, timeout=90)
            shutil.rmtree(folder)


def test_a_sweep_survives_the_death_of_its_head_and_of_jobs(cluster: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "on the cluster"
    local = _start(here, "study", "rq1", "--profile", "smoke")
    assert local.wait(timeout=400) == 0, _said(here)
    runs = {p.parent.name for p in (here / "runs").glob("*/manifest.json")}
    assert len(runs) >= 5

    head = _start(there, "study", "rq1", "--profile", "smoke", "--executor", "slurm")
    _until(lambda: len(_complete(there)) >= 2 and bool(_at_work(there)), "the sweep is half way", alive=head)
    os.killpg(head.pid, signal.SIGKILL)  # as when the login node goes down
    head.wait()
    before, orphans = _complete(there), _jobs()
    shot, shot_run = _at_work(there)[0]
    assert _shown(shot, "%a") == "lab", "the site's account is taken from the environment"
    subprocess.run(["scancel", "--signal=KILL", "--full", shot], check=True)

    resumed = _start(there, "sweep-resume")
    assert len(orphans) >= 2, "nothing was left to find again"
    again = _new_job_of(shot_run, besides=[*orphans], alive=resumed)
    asked_first = _shown(again, "%m")
    subprocess.run(["scancel", again], check=True)
    last = _new_job_of(shot_run, besides=[*orphans, again], alive=resumed)
    assert _shown(last, "%m") == f"{2 * int(asked_first.removesuffix('M'))}M", "a retry asks for more"
    assert resumed.wait(timeout=400) == 0, _said(there)

    assert _complete(there) == runs and before < runs and not _jobs()
    for rid in runs:
        same = [(folder / "runs" / rid / "metrics.json").read_bytes() for folder in (here, there)]
        assert same[0] == same[1], f"{rid}: other metrics on the cluster"
        log = (there / "runs" / rid / "run.log").read_text()
        assert log.count("done:") == 1, f"{rid} was done more than once:\n{log}"
        starts = re.findall(r"slurm: job (\d+) on", log)
        assert len(starts) == (3 if rid == shot_run else 1), f"{rid} was begun more than once:\n{log}"
        scheduler = _manifest(there, rid)["scheduler"]
        assert scheduler["SLURM_JOB_ID"] == starts[-1]
        assert rid == shot_run or starts[0] in orphans or rid in before
    assert _manifest(there, shot_run)["attempt"] == 2
    assert (there / "rq1" / "smoke-city" / "report.html").is_file()
    assert "in the queue: they are waited for" in _said(there)
    done = _start(there, "sweep-resume")
    assert done.wait(timeout=100) == 0 and "nothing to do" in _said(there)


def test_preempted_or_its_node_lost_it_goes_on_from_its_checkpoint_and_a_silent_controller_loses_nothing(
    cluster: Path, tmp_path: Path
) -> None:
    parameters = {
        "regime": "private", "epsilon": 10.0, "channels": 8, "steps": 300, "batch_size": 32, "sampling_steps": 5,
        "noise_draws_per_example": 1, "checkpoint_every_s": 0.3,
    }  # fmt: skip
    question = _question(tmp_path, "diffusion", parameters, mem_mb=1500, gpus=1)
    here, there = tmp_path / "here", tmp_path / "there"
    local = _start(here, "study", str(question), "--profile", "smoke")
    assert local.wait(timeout=400) == 0, _said(here)
    (rid,) = _complete(here)

    head = _start(there, "study", str(question), "--profile", "smoke", "--executor", "slurm")
    checkpoint = there / "runs" / rid / "checkpoint.pt"
    _until(checkpoint.is_file, "it trains", alive=head)
    (job,) = _jobs()
    subprocess.run(["scancel", "--signal=USR1", "--batch", job], check=True)
    log = there / "runs" / rid / "run.log"
    _until(lambda: "goes back into the queue" in log.read_text(), "it is back in the queue", alive=head)
    _until(lambda: "start 2" in log.read_text(), "it starts again", alive=head)
    (node,) = subprocess.run(["sinfo", "-h", "-o", "%n"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["scontrol", "update", f"nodename={node}", "state=down", "reason=test"], check=True)
    _until(
        lambda: "DUE TO NODE FAILURE" in log.read_text() and "start 3" in log.read_text(),
        "its node is back",
        alive=head,
    )
    assert list(_jobs()) == [job], "under its own number"
    subprocess.run([CLUSTER, "controller-down", cluster], check=True, timeout=60)
    asked = there / "locks" / "slurm" / "queue.asked"
    silent = time.time()
    _until(lambda: asked.stat().st_mtime > silent, "the silent controller is asked", alive=head)
    subprocess.run([CLUSTER, "controller-up", cluster], check=True, timeout=60)
    assert head.wait(timeout=400) == 0, _said(there)
    assert re.findall(r"slurm: job (\d+) on", log.read_text()) == [job] * 3
    manifest = _manifest(there, rid)
    assert manifest["attempt"] == 1 and manifest["scheduler"]["SLURM_RESTART_COUNT"] == "2"
    assert manifest["scheduler"]["CUDA_VISIBLE_DEVICES"] in ("0", "1"), "the device is the one that Slurm gave"
    for name in ("metrics.json", "guarantee.json"):
        assert (here / "runs" / rid / name).read_bytes() == (there / "runs" / rid / name).read_bytes()


def test_a_job_that_slurm_kills_for_memory_is_done_again_with_more(cluster: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    head = _start(
        there, "study", str(_question(tmp_path, "uniform", {}, mem_mb=250)), "--executor", "slurm", "--profile", "smoke"
    )
    assert head.wait(timeout=400) == 0, _said(there)
    (rid,) = _complete(there)
    log = (there / "runs" / rid / "run.log").read_text()
    assert "exceeded memory limit" in log and "ended: FAILED" in log, log
    attempt = _manifest(there, rid)["attempt"]
    assert attempt in (2, 3) and f"attempt {attempt}\n" in log
    assert log.count("done:") == 1


def _question(folder: Path, method: str, parameters: dict[str, Any], *, mem_mb: int, gpus: int = 0) -> Path:
    smoke = {
        "about": "a test.", "seeds": 1, "length": 32, "n_release": 30, "datasets": {"city": {"people": 40, "days": 2, "seed": 5}},
        "resources": {"mem_mb": mem_mb, "runtime_min": 5, "gpus": gpus},
        "cells": [{"name": method, "method": method, "parameters": parameters}],
    }  # fmt: skip
    path = folder / "q.yaml"
    head = {"question": "q", "title": "A test", "report": None, "profiles": {"smoke": smoke}}
    path.write_text(yaml.safe_dump(head))
    return path


def _start(outputs: Path, *arguments: str) -> subprocess.Popen[bytes]:
    outputs.mkdir(exist_ok=True)
    with (outputs / "said.txt").open("ab") as out:
        head = subprocess.Popen(
            [sys.executable, "-m", "trajkit", *arguments], env={**os.environ, **SITE, "TRAJKIT_OUTPUTS": str(outputs)},
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    HEADS.append(head)
    return head


def _said(outputs: Path) -> str:
    return (outputs / "said.txt").read_text()


def _complete(outputs: Path) -> set[str]:
    return {p.parent.name for p in (outputs / "runs").glob("*/manifest.json")}


def _manifest(outputs: Path, rid: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((outputs / "runs" / rid / "manifest.json").read_text())
    return manifest


def _jobs(states: str = "PENDING,CONFIGURING,RUNNING,COMPLETING,REQUEUED") -> dict[str, str]:
    """Id -> name of the jobs in the queue."""
    command = ["squeue", "--me", "--noheader", f"--states={states}", "--format=%A %j"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


def _at_work(outputs: Path) -> list[tuple[str, str]]:
    """(job, run) of the jobs that run and whose run is not complete."""
    running = ((job, name.removeprefix("trajkit-")) for job, name in _jobs("RUNNING").items())
    return [(job, rid) for job, rid in running if rid not in _complete(outputs)]


def _new_job_of(rid: str, *, besides: list[str], alive: subprocess.Popen[bytes]) -> str:
    """Wait until a job does ``rid`` that is not one of ``besides``; return its id."""
    found: list[str] = []

    def look() -> bool:
        found[:] = [job for job, name in _jobs("RUNNING").items() if name.endswith(rid) and job not in besides]
        return bool(found)

    _until(look, f"{rid} is begun again", alive=alive)
    return found[0]


def _shown(job: str, field: str) -> str:
    """What the queue shows of a job: %m the memory asked for, %a the account."""
    done = subprocess.run(["squeue", "--noheader", f"--job={job}", f"--format={field}"], capture_output=True, text=True)
    return done.stdout.strip()


def _until(
    true: Callable[[], bool], what: str, *, alive: subprocess.Popen[bytes] | None = None, seconds: float = 200
) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert alive is None or alive.poll() is None, f"the head ended before: {what}"
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.3)
