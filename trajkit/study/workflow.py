"""From a question to its report: plan the runs, hand them to Snakemake, write the report over what is complete.

Snakemake is the only scheduler; which runs are stale is decided by their ids alone.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from trajkit import datasets
from trajkit.classical.prefix_experiments import ExperimentSettings
from trajkit.study.audits import (
    FAILED,
    RESULT,
    audit_folder,
    audit_id,
    plan_audits,
    write_audit,
)
from trajkit.study.engine import Work, check_executor, command_for, environment, side_by_side
from trajkit.study.folders import OUTPUTS, write_params
from trajkit.study.identity import run_id
from trajkit.study.manifest import MANIFEST
from trajkit.study.order import beginnings, longest
from trajkit.study.params import PlannedAudit, PlannedRun, plan_runs, read_question, select_profile
from trajkit.study.progress import PARTIAL, Watch
from trajkit.study.report import build_report, report_is_current, unexpected
from trajkit.study.run import mark_private
from trajkit.study.run_config import RunConfig
from trajkit.study.runner import lock
from trajkit.study.sequence_study import ensure_experiments
from trajkit.study.shared_runs import set_aside_unusable
from trajkit.trajectories import Trajectories
from trajkit.yamlio import write_text

LAST_SWEEP = OUTPUTS / "locks" / "sweep.json"


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

    def counted_complete(self, *, but: Collection[str] = ()) -> str:
        """How many runs and audits there are, without those named."""
        runs, audits = ({rid for rid, _ in planned} - set(but) for planned in (self.runs, self.audits))
        return f"{len(runs)} runs" + (f" and {len(audits)} audits" if self.audits else "")


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
    executor: str = "local",
) -> int:
    """Answer ``question``: run what is missing, then write the report; return an exit code (0 complete, 1 with holes).

    ``data`` is a path (where a data set needs one), ``seeds`` the number of repetitions, ``jobs`` the runs side by side
    (default: one a core, as memory allows), ``executor`` where they are done (`engine.EXECUTORS`). Raises TrajkitError for bad parameters or data, before anything is run.
    """
    check_executor(executor)
    started = time.monotonic()
    study = plan_study(question, profile=profile, dataset=dataset, data=data, seeds=seeds)
    if executor != "local":
        asked = {
            "profile": profile,
            "dataset": dataset,
            "data": data,
            "seeds": seeds,
            "jobs": jobs,
            "executor": executor,
        }
        write_text(LAST_SWEEP, json.dumps({"question": question, **asked}))
    with lock(OUTPUTS / "locks" / f"{study.question}-{study.folder.name}.lock"):
        missing, audits = study.missing(), study.missing_audits()
        if not missing and not audits and report_is_current(study.folder):
            print(f"nothing to do: {study.counted_complete()} and the report are complete\n{study.result}")
            return 1 if _surprised(study.folder) else 0
        try:
            status = _run_missing(study, jobs, executor) if missing or audits else 0
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
    """Check everything, set aside what may not be used here, give each run its id and its folder with ``params.yaml``, and write ``plan.json``."""
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
    for needed in (folder, OUTPUTS / "locks"):
        needed.mkdir(parents=True, exist_ok=True)
    for sentence in set_aside_unusable(
        [*(run_folder(rid) for rid, _ in runs), *(audit_folder(aid) for aid, _ in audits)]
    ):
        print(sentence, flush=True)
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


def work_of(study: Study) -> Work:
    """What is missing, as the engine takes it; the longest start first."""
    missing, audits = set(study.missing()), study.missing_audits()
    todo = [(rid, p) for rid, p in study.runs if rid in missing]
    after = beginnings(todo)
    runs = {rid: {**p.resources.model_dump(), "after": [after[rid]] if rid in after else []} for rid, p in todo}
    first = [f"audits/{aid}/{RESULT}" for aid in audits] or [f"runs/{rid}/{MANIFEST}" for rid in longest(todo)]
    to_audit = {aid: p.resources.model_dump() for aid, p in study.audits if aid in audits}
    return Work(f"{study.question}-{study.folder.name}", runs, to_audit, first)


def _run_missing(study: Study, jobs: int | None, executor: str) -> int:
    work, begun = work_of(study), time.time()
    at_once = side_by_side(work, jobs, executor)
    also = f" and {len(work.audits)} of {len(study.audits)} audits" if study.audits else ""
    how = f"{at_once} side by side" if executor == "local" else f"by {executor}"
    print(
        f"{study.question}, profile {study.profile}: {len(work.runs)} of {len(study.runs)} runs{also} to do, {how}",
        flush=True,
    )
    command = command_for(work, executor=executor, at_once=at_once)
    watch = Watch(study.folder, side_by_side=at_once)
    child = subprocess.Popen(command, env=environment(), cwd=OUTPUTS)
    try:
        status = watch.wait(child)
    except KeyboardInterrupt:
        child.wait()
        raise
    spent = overhead(work.runs, since=begun)
    if spent is not None:
        print(f"engine: {spent:.1f} s a run beside its notebook", flush=True)
    return status


def overhead(rids: Collection[str], *, since: float) -> float | None:
    """Median seconds that the engine took of a run beside the cells of its notebook, of those sealed ``since`` (seconds since 1970)."""
    sealed = [m for m in (run_folder(rid) / MANIFEST for rid in rids) if m.is_file() and m.stat().st_mtime >= since]
    return median([json.loads(m.read_text())["engine_s"] for m in sealed]) if sealed else None


def _announce(study: Study, left: list[str], seconds: float) -> None:
    audits = dict(study.audits)
    print(f"{study.counted_complete(but=left)} complete, {len(left)} failed, {seconds:.0f} s")
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
