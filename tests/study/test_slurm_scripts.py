"""The scripts between Snakemake and Slurm, against stand-ins for Slurm's commands: nothing is lost, nothing is submitted twice."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "slurm"


class Site:
    """An outputs folder and a PATH with stand-ins; ``calls`` of them are noted."""

    def __init__(self, folder: Path) -> None:
        self.outputs, self.bin = folder / "outputs with a space", folder / "bin"
        (self.outputs / "locks" / "slurm").mkdir(parents=True)
        self.bin.mkdir()
        for name in ("sbatch", "squeue", "scontrol", "scancel", "sacct", "sleep"):
            self.command(name, "exit 0")

    def command(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >> "{self.bin}/calls"\n{body}\n')
        path.chmod(0o755)

    def calls(self, name: str) -> list[str]:
        said = self.bin / "calls"
        return [line for line in said.read_text().splitlines() if line.startswith(name)] if said.is_file() else []

    def note(self, name: str, text: str = "") -> None:
        (self.outputs / "locks" / "slurm" / name).write_text(text)

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run(
            [SCRIPTS / script, *arguments], cwd=self.outputs, env=env, capture_output=True, text=True, timeout=60
        )

    def status(self) -> str:
        done = self.run("status", "7")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def submit(self, *, gpus: int = 1) -> subprocess.CompletedProcess[str]:
        asked = ["abc", "1", "2000", "30", str(gpus), "2", "logs/abc.log", "python", "-m", "trajkit", "job-script"]
        return self.run("submit", *asked)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        *((s, "running") for s in ("PENDING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED", "CONFIGURING")),
        ("COMPLETED", "success"),
        *((s, "failed") for s in ("TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "CANCELLED", "PREEMPTED", "FAILED")),
    ],
)
def test_what_the_queue_says_is_the_status(site: Site, state: str, answer: str) -> None:
    site.command("squeue", f"printf '6 RUNNING\\n7 {state}\\n77 RUNNING\\n'")
    assert site.status() == answer


def test_a_controller_that_does_not_answer_means_running(site: Site) -> None:
    site.command("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")
    for _ in range(8):  # however often it is asked
        assert site.status() == "running"
    site.note("7.rc", "1")  # an exit code may be of a start before the last
    assert site.status() == "running"
    site.note("7.rc", "0")
    assert site.status() == "success"


def test_a_job_that_was_put_back_into_the_queue_runs(site: Site) -> None:
    site.note("7.rc", "1")
    site.command("squeue", "echo '7 PENDING'")
    assert site.status() == "running"


def test_a_job_forgotten_by_the_controller_is_judged_by_the_exit_code_it_left(site: Site) -> None:
    site.note("7.submitted")
    os.utime(site.outputs / "locks" / "slurm" / "7.submitted", (time.time() - 900,) * 2)
    site.note("7.rc", "0")
    assert site.status() == "success"
    site.note("7.rc", "137")
    assert site.status() == "failed"
    assert not site.calls("sacct"), "what left an exit code needs no accounting"


@pytest.mark.parametrize(
    ("sacct", "answer", "said"),
    [
        ("echo '      COMPLETED '", "success", ""),  # its exit code is not to be seen yet on this machine
        ("echo ' OUT_OF_MEMORY '", "failed", "OUT_OF_MEMORY"),
        ("echo ' CANCELLED by 1000 '", "failed", "CANCELLED"),
        (
            "echo '        RUNNING '",
            "failed",
            "FORGOTTEN, exit code none",
        ),  # lost by the controller, never closed in the books
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", "failed", "FORGOTTEN, exit code none"),
        ("exec /bin/sleep 300", "failed", "FORGOTTEN, exit code none"),
    ],
)
def test_of_a_job_forgotten_without_an_exit_code_accounting_is_asked_where_it_answers(
    site: Site, sacct: str, answer: str, said: str
) -> None:
    log = site.outputs / "run.log"
    site.note("7.submitted", f"{log}\n")
    os.utime(site.outputs / "locks" / "slurm" / "7.submitted", (time.time() - 900,) * 2)
    site.command("sacct", sacct)
    site.command("timeout", '[ "$1" = 20 ] && shift && exec /usr/bin/timeout 1 "$@"')
    assert site.status() == answer
    assert (log.read_text() if log.is_file() else "") == (f"slurm: job 7 ended: {said}\n" if said else "")


def test_accounting_is_not_asked_while_the_controller_is_silent(site: Site) -> None:
    site.command("squeue", "exit 1")
    assert site.status() == "running"
    assert not site.calls("sacct"), "a job would be lost when both are down"


def test_a_job_newer_than_the_last_look_at_the_queue_runs(site: Site) -> None:
    site.command("squeue", "echo '6 RUNNING'")
    assert site.run("status", "6").stdout.strip() == "running"
    site.note("7.submitted")
    assert site.status() == "running"
    assert len(site.calls("squeue")) == 1, "one look serves all jobs for ten seconds"


def test_it_submits_once_with_everything_asked_for(site: Site) -> None:
    site.command("sbatch", "echo 'attempt '$TRAJKIT_ATTEMPT >> \"$0.env\"; echo '41;cluster'")
    done = site.submit()
    assert (done.returncode, done.stdout) == (0, "41\n"), done.stderr
    (call,) = site.calls("sbatch")
    for asked in ("--mem=2000M", "--time=30", "--gres=gpu:1", "--cpus-per-task=1", "--requeue", "--signal=B:USR1@"):
        assert asked in call, "without a memory request a job may take the whole node"
    assert call.endswith("slurm/job python -m trajkit"), "no second Snakemake, whose retries would multiply with ours"
    assert "--array" not in call
    assert (site.bin / "sbatch.env").read_text() == "attempt 2\n"
    site.submit(gpus=0)
    assert "gres" not in site.calls("sbatch")[1]


def test_the_account_is_sbatchs_own_affair_and_a_head_that_is_a_job_keeps_its_devices(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"SBATCH_ACCOUNT": "lab", "CUDA_VISIBLE_DEVICES": "3", "SLURM_RESTART_COUNT": "2"}.items():
        monkeypatch.setenv(name, value)
    site.command("sacctmgr", "exit 1")
    site.command("sbatch", 'echo "$SBATCH_ACCOUNT/${CUDA_VISIBLE_DEVICES-}/${SLURM_RESTART_COUNT-}" >"$0.env"; echo 41')
    assert site.submit().returncode == 0
    assert (site.bin / "sbatch.env").read_text() == "lab//\n"
    assert "--account" not in site.calls("sbatch")[0] and not site.calls("sacctmgr")


def test_a_job_in_the_queue_is_found_again_and_not_submitted_twice(site: Site) -> None:
    site.command("squeue", f"printf '40 /elsewhere\\n41 %s\\n' '{site.outputs}'")
    done = site.submit()
    assert (done.returncode, done.stdout) == (0, "41\n")
    assert not site.calls("sbatch")


def test_a_silent_controller_is_waited_for_and_a_lost_answer_is_no_second_job(site: Site) -> None:
    # the first sbatch is heard but not answered, and squeue then shows the job
    site.command("squeue", f'[ -e "$0.on" ] && echo "41 {site.outputs}"; exit 0')
    site.command(
        "sbatch", f'touch "{site.bin}/squeue.on"; echo "error: Unable to contact slurm controller" >&2; exit 1'
    )
    site.command("scontrol", "exit 1")
    done = site.submit()
    assert (done.returncode, done.stdout) == (0, "41\n")
    assert len(site.calls("sbatch")) == 1


def test_a_refusal_is_passed_on_at_once(site: Site) -> None:
    site.command("sbatch", "echo 'error: Invalid account or account/partition combination specified' >&2; exit 1")
    done = site.submit()
    assert done.returncode == 1 and "Invalid account" in done.stderr
    assert len(site.calls("sbatch")) == 1


def test_a_job_leaves_its_exit_code(site: Site) -> None:
    site.command("squeue", "echo RUNNING")
    env = {**os.environ, "PATH": f"{site.bin}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    command = [SCRIPTS / "job", "sh", "-c", "exit 3"]
    assert subprocess.run(command, cwd=site.outputs, env=env, capture_output=True).returncode == 3
    assert (site.outputs / "locks" / "slurm" / "7.rc").read_text().strip() == "3"
    assert not site.calls("scontrol")


@pytest.mark.parametrize(("state", "back"), [("RUNNING", 1), ("COMPLETING", 0)])
def test_stopped_with_a_checkpoint_it_goes_back_into_the_queue_unless_it_was_cancelled(
    site: Site, state: str, back: int
) -> None:
    site.command("squeue", f"echo {state}")
    env = {**os.environ, "PATH": f"{site.bin}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    subprocess.run([SCRIPTS / "job", "sh", "-c", "exit 75"], cwd=site.outputs, env=env, capture_output=True)
    assert site.calls("scontrol") == ["scontrol requeue 7"] * back
