"""Sweeps on a cluster: what one will cost before it is submitted, and how to go on with one whose head died."""

from __future__ import annotations

import getpass
import json
import subprocess
import time
from typing import Any

import pandas as pd

from trajkit.errors import MissingDataError, RunFailedError
from trajkit.study.engine import check_executor, command_for, environment
from trajkit.study.estimates import estimate
from trajkit.study.folders import OUTPUTS
from trajkit.study.machines import EFFICIENCY
from trajkit.study.workflow import LAST_SWEEP, Study, plan_study, run_study, work_of


def print_plan(
    question: str,
    *,
    profile: str,
    dataset: str,
    data: str | None,
    seeds: int | None,
    device: str | None = None,
    efficiency: float = EFFICIENCY,
) -> int:
    """Print what ``question`` would submit and build its graph of jobs without running one; return an exit code (0: it is valid).

    ``device``, ``efficiency``: for what the estimates are made, see `trajkit.study.estimates`.
    """
    study = plan_study(question, profile=profile, dataset=dataset, data=data, seeds=seeds)
    table = plan_table(study, device=device, efficiency=efficiency)
    alike = [c for c in table.columns if c not in ("jobs", "concern")]
    shown = table.groupby(alike, sort=False, dropna=False)["jobs"].sum().reset_index()
    print(f"{study.question}, profile {study.profile}, {dataset}: what is missing")
    print(shown.round({"hours a job": 2}).to_string(index=False, na_rep="-") if len(shown) else "nothing")
    for what, concern in table[table["concern"] != ""].groupby("what", sort=False)["concern"].first().items():
        print(f"WARNING: {what}: {concern}")
    hours, n = table["hours a job"] * table["jobs"], int(table["jobs"].sum())
    print(
        f"{n} jobs, {float((hours * table['gpus']).sum()):,.0f} GPU hours, {float(hours[table['gpus'] == 0].sum()):,.0f} hours without GPU, "
        f"at most {int(table['mem MB'].max()) if n else 0:,} MB a job; complete: {study.counted_complete(but=[*study.missing(), *study.missing_audits()])}"
    )
    if not n:
        return 0
    command = command_for(work_of(study), executor="local", at_once=1, dry_run=True)
    done = subprocess.run(command, env=environment(), cwd=OUTPUTS, capture_output=True, text=True)
    if done.returncode:
        raise RunFailedError(f"the graph of jobs is not valid: {done.stderr.strip() or done.stdout.strip()}")
    print("the graph of jobs is valid (dry run); nothing was submitted")
    return 0


def plan_table(study: Study, *, device: str | None = None, efficiency: float = EFFICIENCY) -> pd.DataFrame:
    """One row a missing job: what it asks for, what it will take, and what speaks against its ending ("" for nothing)."""
    missing, rows = set(study.missing()) | set(study.missing_audits()), []
    jobs = {rid: (p.cell, p) for rid, p in study.runs} | {aid: (f"audit {p.name}", p) for aid, p in study.audits}
    for one in (one for one in jobs if one in missing):
        name, planned = jobs[one]
        e = estimate(planned, device=device, efficiency=efficiency)
        rows.append((name, 1, e.gpus, e.mem_mb, e.device_mb, e.hours, e.basis, "; ".join(e.concerns)))
    columns = ["what", "jobs", "gpus", "mem MB", "device MB", "hours a job", "by", "concern"]
    return pd.DataFrame(rows, columns=columns).astype({"device MB": "Int64"})


def resume(*, cancel: bool) -> int:
    """Go on with the last sweep of this outputs folder: `run_study` finds its jobs that are still in the queue and waits for them.

    ``cancel``: they are cancelled first; what they had done up to their last checkpoint is kept. Raises MissingDataError where there was no sweep.
    """
    if not LAST_SWEEP.is_file():
        raise MissingDataError(
            f"no sweep was begun in {OUTPUTS}: `make sweep RQ=rq1 PROFILE=paper EXECUTOR=slurm` begins one"
        )
    settings: dict[str, Any] = json.loads(LAST_SWEEP.read_text())
    check_executor(settings["executor"])
    orphans = jobs_in_queue()
    print(
        f"{len(orphans)} jobs of an earlier head are in the queue: they are {'cancelled' if cancel else 'waited for'}",
        flush=True,
    )
    if cancel and orphans:
        subprocess.run(["scancel", *orphans], check=True)
        while jobs_in_queue():
            time.sleep(1)
    return run_study(settings.pop("question"), **settings)


def jobs_in_queue() -> list[str]:
    """Ids of this user's jobs in the queue that belong to this outputs folder. Raises RunFailedError where the controller does not answer."""
    command = ["squeue", f"--user={getpass.getuser()}", "--noheader", "--format=%A %j %Z"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RunFailedError(
            f"squeue does not answer: {done.stderr.strip()}; wait for the controller, then give the command again"
        )
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    return [job for job, name, folder in lines if name.startswith("trajkit-") and folder == str(OUTPUTS)]
