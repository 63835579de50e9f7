"""From a question to its report: plan the runs, hand them to Snakemake, write the report over what is complete.

Snakemake is the only scheduler; which runs are stale is decided by their ids alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from trajkit import datasets
from trajkit.classical.prefix_experiments import ExperimentSettings
from trajkit.errors import ParameterError
from trajkit.study.audits import (
    FAILED,
    RESULT,
    audit_folder,
    audit_id,
    plan_audits,
    write_audit,
)
from trajkit.study.identity import run_id
from trajkit.study.order import beginnings, longest
from trajkit.study.params import ROOT, PlannedAudit, PlannedRun, RunConfig, plan_runs, read_question, select_profile
from trajkit.study.progress import PARTIAL, Watch
from trajkit.study.report import build_report, report_is_current, unexpected
from trajkit.study.run import OUTPUTS, mark_private, write_params
from trajkit.study.runner import ONE_THREAD, lock
from trajkit.study.sequence_study import ensure_experiments
from trajkit.trajectories import Trajectories
from trajkit.yamlio import write_text


@dataclass(frozen=True)
class Study:
    """A planned study: its folder, and its runs with their ids."""

    folder: Path
    question: str
    profile: str
    report: str | None
    runs: list[tuple[str, PlannedRun]]
    sequences: ExperimentSettings | None = None
    audits: tuple[tuple[str, PlannedAudit], ...] = ()

    @property
    def result(self) -> Path:
        """The file to open: the report, or the table of a study that has none."""
        return self.folder / ("report.html" if self.report else "results.csv")

    def missing(self) -> list[str]:
        """Ids of the distinct runs that are not complete."""
        ids = dict.fromkeys(rid for rid, _ in self.runs)
        return [rid for rid in ids if not (run_folder(rid) / "manifest.json").is_file()]

    def missing_audits(self) -> list[str]:
        """Ids of the audits that are not complete."""
        return [aid for aid, _ in self.audits if not (audit_folder(aid) / RESULT).is_file()]


def run_folder(rid: str) -> Path:
    """Folder of a run."""
    return OUTPUTS / "runs" / rid


def run_study(
    question: str,
    *,
    profile: str = "quick",
    dataset: str = "city",
    data: str | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
) -> int:
    """Answer ``question``: run what is missing, then write the report; return an exit code (0 complete, 1 with holes).

    ``data`` is a path (where a data set needs one), ``seeds`` the number of repetitions, ``jobs`` the runs side by side
    (default: one a core, as memory allows). Raises TrajkitError for bad parameters or data, before anything is run.
    """
    started = time.monotonic()
    study = plan_study(question, profile=profile, dataset=dataset, data=data, seeds=seeds)
    with lock(OUTPUTS / "locks" / f"{study.question}-{study.folder.name}.lock"):
        missing, audits = study.missing(), study.missing_audits()
        if not missing and not audits and report_is_current(study.folder):
            print(f"nothing to do: {_counted(study)} and the report are complete\n{study.result}")
            return 1 if _surprised(study.folder) else 0
        try:
            status = _run_missing(study, missing, audits, jobs) if missing or audits else 0
        except KeyboardInterrupt:
            print("stopped: finished runs and checkpoints are kept, the same command goes on from there", flush=True)
            return 130
        left = [*study.missing(), *study.missing_audits()]
        if study.sequences:
            ensure_experiments(study.sequences)
        build_report(study.folder)
        (study.folder / PARTIAL).unlink(missing_ok=True)
        _announce(study, left, time.monotonic() - started)
        surprised = _surprised(study.folder)  # said whatever else went wrong
        return 1 if left or status or surprised else 0


def plan_study(question: str, *, profile: str, dataset: str, data: str | None, seeds: int | None) -> Study:
    """Check everything, give each run its id and its folder with ``params.yaml``, and write ``plan.json``."""
    asked = read_question(question)
    chosen = select_profile(asked, profile)
    path = str(Path(data).expanduser().resolve()) if data else None
    planned = plan_runs(chosen, dataset=dataset, data=path, seeds=seeds)
    first = planned[0].config
    marks = Marks()
    fingerprint, _, visibility = marks.of(first)
    runs = []
    for p in planned:
        mark = marks.of(p.config)
        runs.append((run_id(p.config, data_fingerprint=mark.data, roads_fingerprint=mark.roads), p))
    audits = tuple(
        (audit_id(p, data_fingerprint=fingerprint), p) for p in plan_audits(chosen, dataset=dataset, data=path)
    )
    folder = OUTPUTS / asked.question / (f"{profile}-{dataset}" + (f"-{fingerprint[:8]}" if path else ""))
    folder.mkdir(parents=True, exist_ok=True)
    for rid, p in runs:
        run_folder(rid).mkdir(parents=True, exist_ok=True)
        if visibility == "private":
            mark_private(run_folder(rid))
        if not (run_folder(rid) / "manifest.json").is_file():
            write_params(run_folder(rid), p.config)
    for aid, planned_audit in audits:
        write_audit(aid, planned_audit)
        if visibility == "private" and planned_audit.dataset:
            mark_private(audit_folder(aid))
    plan = {
        "question": asked.question,
        "title": asked.title,
        "claims": asked.claims,
        "report": asked.report,
        "profile": profile,
        "about": chosen.about,
        "dataset": dataset,
        "data_fingerprint": fingerprint,
        "private": visibility == "private",
        "allow_raw": chosen.allow_raw,
        "sequences": None if chosen.sequences is None else chosen.sequences.model_dump(mode="json"),
        "audits": [{"audit_id": aid, **p.model_dump(mode="json")} for aid, p in audits],
        "runs": [{"run_id": rid, **p.model_dump(mode="json")} for rid, p in runs],
    }
    write_text(folder / "plan.json", json.dumps(plan, indent=1))
    return Study(folder, asked.question, profile, asked.report, runs, chosen.sequences, audits)


class Mark(NamedTuple):
    """Of what a run's data settings stand for: hashes of the records and of the road network (empty: none is known), and the visibility."""

    data: str
    roads: str
    visibility: str


class Marks:
    """The mark of each different data settings, found once."""

    def __init__(self) -> None:
        self._known: dict[str, Mark] = {}

    def of(self, config: RunConfig) -> Mark:
        """The mark of one run."""
        key = json.dumps(config.dataset_settings, sort_keys=True)
        if key not in self._known:
            loaded = datasets.load(config.dataset, data=config.data, settings=config.dataset_settings)
            roads = datasets.roads_of(config.dataset, data=config.data, settings=config.dataset_settings)
            roads_mark = "" if roads is None else roads.fingerprint()
            self._known[key] = Mark(_fingerprint(loaded), roads_mark, loaded.meta.visibility)
        return self._known[key]


def _fingerprint(data: Trajectories) -> str:
    """Hash of the records and of what is declared about them: another box or visibility makes other runs."""
    declared = {k: v for k, v in json.loads(data.meta.to_json()).items() if k != "steps"}
    return hashlib.sha256((data.fingerprint() + json.dumps(declared, sort_keys=True)).encode()).hexdigest()


def _run_missing(study: Study, missing: list[str], audits: list[str], jobs: int | None) -> int:
    todo = [(rid, p) for rid, p in study.runs if rid in missing]
    after = beginnings(todo)
    resources: dict[str, Any] = {
        rid: {**p.resources.model_dump(), "after": [after[rid]] if rid in after else []} for rid, p in todo
    }
    to_audit = {aid: p.resources.model_dump() for aid, p in study.audits if aid in audits}
    cores = _side_by_side(resources | to_audit, jobs)
    config = OUTPUTS / "locks" / f"{study.question}-{study.folder.name}.json"
    write_text(config, json.dumps({"runs": resources, "audits": to_audit, "python": sys.executable}))
    also = f" and {len(audits)} of {len(study.audits)} audits" if study.audits else ""
    print(
        f"{study.question}, profile {study.profile}: {len(missing)} of {len(study.runs)} runs{also} to do, {cores} side by side",
        flush=True,
    )
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "workflow" / "Snakefile"),
        "--profile", str(ROOT / "workflow" / "profiles" / "local"), "--configfile", str(config),
        "--directory", str(OUTPUTS), "--cores", str(cores), "--quiet", "all",
    ]  # fmt: skip
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "XDG_CACHE_HOME": str(OUTPUTS / "locks" / "cache")}
    first = [f"audits/{aid}/{RESULT}" for aid in audits] or [f"runs/{rid}/manifest.json" for rid in longest(todo)]
    command += ["--prioritize", *first]
    watch = Watch(study.folder, side_by_side=cores)
    child = subprocess.Popen(command, env=environment, cwd=OUTPUTS)
    try:
        return watch.wait(child)
    except KeyboardInterrupt:
        child.wait()
        raise


def _side_by_side(resources: dict[str, Any], jobs: int | None) -> int:
    if jobs is not None:
        if jobs < 1:
            raise ParameterError(f"JOBS must be at least 1, got {jobs}")
        return jobs
    need = max(r["mem_mb"] for r in resources.values())
    fits = int(psutil.virtual_memory().available / 2**20 // need)
    return max(1, min(os.cpu_count() or 1, fits, len(resources)))


def _announce(study: Study, left: list[str], seconds: float) -> None:
    audits = dict(study.audits)
    print(f"{_counted(study, but=left)} complete, {len(left)} failed, {seconds:.0f} s")
    for one in left:
        audit = one in audits
        folder = audit_folder(one) if audit else run_folder(one)
        why = "it was stopped, or the shorter run that it goes on from failed; give the same command again"
        if (folder / FAILED).is_file():
            why = json.loads((folder / FAILED).read_text())["message"]
        print(f"  {one}: {why} ({folder / (FAILED if audit else 'executed.ipynb')})")
    print(study.result, flush=True)


def _surprised(folder: Path) -> bool:
    found = unexpected(folder)
    for sentence in found:
        print(sentence, flush=True)
    return bool(found)


def _counted(study: Study, *, but: Collection[str] = ()) -> str:
    runs, audits = ({rid for rid, _ in planned} - set(but) for planned in (study.runs, study.audits))
    return f"{len(runs)} runs" + (f" and {len(audits)} audits" if study.audits else "")
