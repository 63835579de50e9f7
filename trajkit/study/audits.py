"""Audits of a study: planned from its params, run one by one under the scheduler, each kept in a folder of its own.

``outputs/audits/<id>/`` holds ``params.yaml``, ``audit.json`` once the audit is complete, and ``FAILED.json`` where it failed. The id is a hash of
parameters, seed, shard, data (for audits that look at the study's) and code, so a stale result cannot be mistaken for a fresh one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajkit import datasets
from trajkit.attacks.audit_task import AUDITS, AuditReport, Part, audit_class
from trajkit.attacks.verdict import SOUND
from trajkit.errors import MissingDataError, ParameterError, TrajkitError
from trajkit.methods import METHODS
from trajkit.parameters import checked
from trajkit.study.devices import own_gpus
from trajkit.study.folders import OUTPUTS
from trajkit.study.identity import code_fingerprint
from trajkit.study.manifest import write_manifest
from trajkit.study.params import AuditCell, PlannedAudit, Profile
from trajkit.study.runner import FAILED, failed_for_good, in_one_line, lock, record_failure
from trajkit.yamlio import dump_yaml, load_yaml, write_text

RESULT = "audit.json"
UNJUDGED = "complete, but cannot be judged"


def audit_folder(aid: str) -> Path:
    """Folder of an audit."""
    return OUTPUTS / "audits" / aid


def plan_audits(profile: Profile, *, dataset: str, data: str | None) -> list[PlannedAudit]:
    """One entry for every shard of every audit; parameters are checked and completed with their defaults here.

    Raises ParameterError for anything unknown, mistyped or out of range.
    """
    settings = profile.datasets.get(dataset, {})
    return [p for cell in profile.audits for p in _planned(cell, profile, dataset, data, settings)]


def _planned(
    cell: AuditCell, profile: Profile, dataset: str, data: str | None, settings: dict[str, Any]
) -> list[PlannedAudit]:
    try:
        cls = audit_class(cell.audit)
    except ParameterError as error:
        raise ParameterError(f"audit {cell.name}: {error}") from None
    config = checked(cls, cell.parameters, where=f"audit {cell.name}")
    parameters = config.model_dump(mode="json")
    if cell.shards > 1 and cell.shards > config.most_shards:
        raise ParameterError(
            f"audit {cell.name}: {cell.audit} cannot be done in {cell.shards} shards, at most in {config.most_shards}"
        )
    if cell.expect and not cls.JUDGES:
        raise ParameterError(
            f"audit {cell.name}: {cell.audit} makes no verdict, so nothing can be expected of it: leave expect out"
        )
    own: dict[str, Any] = {"dataset": dataset, "data": data, "dataset_settings": settings} if cls.NEEDS_DATA else {}
    return [
        PlannedAudit(
            name=cell.name, audit=cell.audit, parameters=parameters, seed=cell.seed, expect=cell.expect, shard=i, shards=cell.shards,
            resources=cell.resources or profile.resources, **own,
        )
        for i in range(cell.shards)
    ]  # fmt: skip


def audit_id(planned: PlannedAudit, *, data_fingerprint: str) -> str:
    """12 hex digits of everything that decides the result; ``data_fingerprint`` counts where the audit looks at the study's data.

    An audit makes its ``methods`` by name, so that no import leads to their code.
    """
    keys = {"audit", "parameters", "seed", "shard", "shards", "dataset"}
    by_name = [METHODS[m] for m in planned.parameters.get("methods", []) if m in METHODS]
    parts: list[Any] = [
        planned.model_dump(mode="json", include=keys),
        data_fingerprint if planned.dataset else "",
        *(code_fingerprint(m.partition(":")[0]) for m in (AUDITS[planned.audit], *by_name)),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def write_audit(aid: str, planned: PlannedAudit) -> None:
    """Write the resolved parameters of an audit that is not complete."""
    folder = audit_folder(aid)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / RESULT).is_file():
        write_text(folder / "params.yaml", dump_yaml(planned.model_dump(mode="json")))


def run_audit(path: str | Path, *, gpus: int = 0, attempt: int = 1) -> int:
    """Do the audit whose resolved parameters are in ``path`` (``outputs/audits/<id>/params.yaml``); return an exit code as `runner.run_file` does."""
    path = Path(path).resolve()
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist: audits are planned by `python -m trajkit study`")
    folder = path.parent
    with lock(OUTPUTS / "locks" / f"audit-{folder.name}.lock"):
        if (folder / RESULT).is_file():
            return 0
        planned, started = checked(PlannedAudit, load_yaml(path), where=str(path)), time.monotonic()
        label = f"audit {planned.title} [{folder.name}]"
        if attempt > 1 and failed_for_good(folder):
            print(f"FAILED: {label}: not tried again, since it would fail again", flush=True)
            return 1
        try:
            (folder / FAILED).unlink(missing_ok=True)
            config = checked(audit_class(planned.audit), planned.parameters, where=str(path))
            with own_gpus(gpus, OUTPUTS / "locks"):
                text = config.run(_part(planned, folder)).to_json()
                files = {RESULT: hashlib.sha256(text.encode()).hexdigest()}
                seconds = round(time.monotonic() - started, 2)
                write_manifest(folder, files, seed=planned.seed, attempt=attempt, wall_s=seconds)
            write_text(folder / RESULT, text)  # last: it is the mark of completeness
        except KeyboardInterrupt:
            print(f"stopped: {label}; the same command does it again", flush=True)
            return 130
        except Exception as error:
            record_failure(folder, error)
            print(f"FAILED: {label}: {in_one_line(error)}", flush=True)
            return 1
    print(f"done: {label} in {time.monotonic() - started:.0f} s", flush=True)
    return 0


def _part(planned: PlannedAudit, folder: Path) -> Part:
    trajs = None
    if planned.dataset:
        trajs = datasets.load(planned.dataset, data=planned.data, settings=planned.dataset_settings)
    return Part(planned.seed, folder, planned.shard, planned.shards, trajs)


def read_audits(planned: list[dict[str, Any]]) -> dict[str, AuditReport | str]:
    """Name -> report over all shards, in the order of the plan, or a sentence that says why there is none."""
    found: dict[str, AuditReport | str] = {}
    by_name: dict[str, list[dict[str, Any]]] = {}
    for p in planned:
        by_name.setdefault(p["name"], []).append(p)
    for name, shards in by_name.items():
        missing = [p for p in shards if not (audit_folder(p["audit_id"]) / RESULT).is_file()]
        if missing:
            found[name] = _why(missing)
            continue
        cls = audit_class(shards[0]["audit"])
        config = checked(cls, shards[0]["parameters"], where=f"audit {name}")
        folders = [audit_folder(p["audit_id"]) for p in shards]
        reports = [AuditReport.from_json((folder / RESULT).read_text()) for folder in folders]
        try:
            found[name] = config.judged(reports, folders)
        except TrajkitError as error:  # the others are worth showing
            found[name] = f"{UNJUDGED}: {in_one_line(error)}"
    return found


def shown_audits(
    planned: list[dict[str, Any]], audits: Mapping[str, AuditReport | str], *, raw: bool
) -> dict[str, AuditReport]:
    """The complete ones; where nothing ``raw`` may be shown, none that looked at the study's records."""
    hidden = {p["name"] for p in planned if p["dataset"] and not raw}
    return {k: r for k, r in audits.items() if isinstance(r, AuditReport) and k not in hidden}


def surprises(planned: list[dict[str, Any]], audits: Mapping[str, AuditReport | str]) -> list[str]:
    """A sentence for every complete audit that could not be judged, or did not come out as its params ``expect`` it to."""
    found = [f"audit {name}: {UNJUDGED}" for name, r in audits.items() if isinstance(r, str) and r.startswith(UNJUDGED)]
    for name, expected in {p["name"]: p["expect"] for p in planned if p.get("expect")}.items():
        report = audits.get(name)
        if isinstance(report, AuditReport):
            wrong = _unexpected(report, expected)
            found += [f"audit {name}: {what}, but params expect: {expected}" for what in wrong]
    return found


def _unexpected(report: AuditReport, expected: str) -> list[str]:
    if not report.verdicts:
        return ["there is no verdict"]
    if expected != "caught":
        return [
            f"{v.subject} is {v.verdict}" for v in report.verdicts if v.contradicted != (expected == "contradicted")
        ]
    caught: dict[str, bool] = {}
    for v in report.verdicts:
        caught[v.subject] = caught.get(v.subject, False) or v.contradicted
    said = {True: "is caught", False: "is caught by no test"}
    return [f"{s} {said[c]}" for s, c in caught.items() if c == s.endswith(SOUND)]


def _why(missing: list[dict[str, Any]]) -> str:
    for p in missing:
        failed = audit_folder(p["audit_id"]) / FAILED
        if failed.is_file():
            return str(json.loads(failed.read_text())["message"])
    return f"was stopped or never started ({len(missing)} shard{'s' if len(missing) > 1 else ''})"
