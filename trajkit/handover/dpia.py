"""``make dpia``: the record of a planned release for an impact assessment. It states measurements; whether they suffice is for people to say.

``risk_report.json`` and ``risk_report.html`` lie with the assessment, PRIVATE: they are measured on true records and covered by no
guarantee. What may be published about a release is its own page (`trajkit.handover.page`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trajkit.errors import ParameterError
from trajkit.handover.assess import PRIVATE, folder_of
from trajkit.handover.choice import Choice
from trajkit.handover.document import Page, shown
from trajkit.handover.figure import AFTER, BEFORE, INFERENCE, LINKABILITY, Figure
from trajkit.handover.ledger import Account, BudgetLedger
from trajkit.handover.publishable import published_guarantee
from trajkit.handover.rehearsal import Rehearsed, rehearse
from trajkit.handover.release import Source, ledger_folder
from trajkit.privacy.guarantee import Guarantee
from trajkit.study.run import mark_figures_private
from trajkit.study.tables import about
from trajkit.yamlio import write_text

USABLE = 0.5  # a rescaled error below it is closer to real data than to no information
NOT_MEASURED = (
    "an adversary who knows more than is said beside each figure, who has other releases of the same people, or data from elsewhere",
    "what a place says about a person (home, worship, health), where all who share it share that too",
    "people who are not of the usual kind: averages over drawn targets say nothing of the most exposed person",
)


def record(choice: Choice, source: Source, *, purpose: str, n: int = 1000, ledger: Path | None = None) -> Path:
    """Rehearse, write the record and return its folder. Raises ParameterError without a ``purpose``."""
    if not purpose.strip():
        raise ParameterError("say what the release is for (PURPOSE='...'): a record without a purpose answers nothing")
    found = rehearse(choice, source, n=n)
    guarantee = published_guarantee(found.release.guarantee, choice.spend)
    where = ledger_folder(source, ledger)
    account = BudgetLedger(where).state(source.marks) if where.is_dir() else None
    report = _record(choice, source, found, guarantee, account, purpose)
    parameters = json.dumps(choice.method.config.model_dump(mode="json"), sort_keys=True)
    folder = folder_of(source) / f"dpia-{choice.name}-{hashlib.sha256(parameters.encode()).hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    mark_figures_private(folder)
    write_text(folder / "risk_report.json", json.dumps(report, indent=1))
    write_text(folder / "risk_report.html", _page(source, report, found.figures).html())
    return folder


def _record(
    choice: Choice, source: Source, found: Rehearsed, g: Guarantee, account: Account | None, purpose: str
) -> dict[str, Any]:
    trajs = source.trajs
    return {
        "private": PRIVATE,
        "purpose": purpose,
        "data": {
            "name": trajs.meta.dataset, "trajectories": about(len(trajs)), "users": about(len(trajs.user_ids)), "points": about(trajs.n_points),
            "times": trajs.t is not None, "declared": trajs.meta.visibility,
        },
        "method": choice.name,
        "parameters": choice.method.config.model_dump(mode="json"),
        "promise": {
            "in words": g.in_words(), "kind": g.kind, "unit": g.unit, "epsilon": g.epsilon, "delta": g.delta, "k": g.k,
            "adjacency": g.adjacency, "parts": [p.in_words() for p in g.parts], "assumptions": list(g.assumptions),
        },
        "stages": _stages(found.release.report),
        "budget": None if account is None else account.in_words(),
        "measured on": "a rehearsal with the same parameters on four fifths of the people, the others held out; nothing of it leaves",
        "risks": [asdict(f) for f in found.figures],
        "suppressed": None if found.suppressed is None else {k: round(v, 2) for k, v in found.suppressed.items()},
        "utility": {k: None if v is None else round(v, 3) for k, v in found.utility.items()},
        "residual risks": residual(found, g),
        "says": "measurements; no judgement of law",
    }  # fmt: skip


def _stages(report: dict[str, Any]) -> list[str]:
    """What a method of several stages did, in sentences; empty for others."""
    if "escalated" not in report:
        return []
    done = (
        f"more than the tolerance would have been lost, so {report['made']['trajectories']:,} trajectories were made and marked as such"
        if report["escalated"]
        else "no trajectories were made, as the loss stayed within the tolerance: no DP promise is needed, and the epsilon set aside counts all the same"
    )
    return [f"rule: {report['rule']}", done]


def residual(found: Rehearsed, g: Guarantee) -> list[str]:
    """What remains, in sentences: from the figures, the kind of promise, and what was not tried."""
    said = []
    for f in found.figures:
        if f.after is None or f.after_interval is None:
            continue
        low = f.after_interval[0]
        if f.kind == INFERENCE and f.guess is not None and low > f.guess:
            said.append(f"measured: {f.what}: {f.after:.3g} (surely above {f.guess:.3g}, what a guess achieves)")
        elif f.kind == LINKABILITY and f.guess is not None and low > f.guess:
            said.append(f"measured: {f.what}: {f.after:.3g} (a guess: {f.guess:.3g}, before: {shown(f.before)})")
        elif f.kind not in (INFERENCE, LINKABILITY) and f.after > 0:
            said.append(f"measured: {f.what}: {f.after:.3g} (before: {shown(f.before)})")
    if poor := [name for name, error in found.utility.items() if error is not None and error >= USABLE]:
        said.append(
            f"measured: closer to no information than to real data in {', '.join(poor)}: conclusions from these would be wrong"
        )
    if found.suppressed and found.suppressed.get("trajectories", 0.0) > 0:
        said.append("who is rare is missing from the release, and who knows his way sees that")
    if g.kind != "dp":
        said.append("the promise does not add up over releases and holds for the assumed knowledge only")
    elif (g.epsilon or 0.0) > 3:
        said.append(
            f"epsilon {g.epsilon:.3g} by itself is a weak bound: it allows odds to change by a factor of e^{g.epsilon:.3g}"
        )
    if g.unit == "trajectory":
        said.append(
            "the unit is one trajectory: a person with m of them is protected m times as weakly, or not at all by k-anonymity"
        )
    return [*said, *(f"not measured: {x}" for x in NOT_MEASURED)]


def _page(source: Source, report: dict[str, Any], figures: tuple[Figure, ...]) -> Page:
    page = Page(f"Record of risks: {source.trajs.meta.dataset} by {report['method']}", PRIVATE)
    page.heading("Purpose, as stated by the owner")
    page.say(report["purpose"])
    page.heading("Data (rounded)")
    page.table(("what", "value"), list(report["data"].items()))
    page.heading("Promise")
    page.say(report["promise"]["in words"])
    page.listed([f"assumed: {a}" for a in report["promise"]["assumptions"]])
    page.listed(report["stages"])
    page.say(f"Budget of this data in the owner's ledger: {report['budget'] or 'no ledger yet'}.")
    page.heading("Parameters")
    page.table(("parameter", "value"), [[k, str(v)] for k, v in report["parameters"].items()])
    page.heading("Measured risks")
    page.say(
        f"Measured on {report['measured on']}. Each figure is what one attack achieves, with a 95 % interval; it is no bound."
    )
    header = ("kind", "what", BEFORE, "", AFTER, "", "a guess", "note")
    page.table(
        header,
        [
            [f.kind, f.what, f.before, _span(f.before_interval), f.after, _span(f.after_interval), f.guess, f.note]
            for f in figures
        ],
    )
    page.heading("Suppressed")
    lost = report["suppressed"]
    page.say("Nothing: made trajectories stand for nobody." if lost is None else "Shares that the method left out.")
    page.table(("of", "share"), list((lost or {}).items()))
    page.heading("Utility kept")
    page.say(
        "Errors against people held out: 0 is what their own kind of data scores, 1 is no information. Empty: on this metric real data scores "
        f"no better than no information, or nothing was released. Below {USABLE} counts as usable here."
    )
    page.table(("metric", "rescaled error"), list(report["utility"].items()))
    page.heading("Residual risks")
    page.listed(report["residual risks"])
    page.say(
        "This record states measurements. Whether they suffice, and whether the purpose justifies them, is not said here."
    )
    return page


def _span(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"[{interval[0]:.3g}, {interval[1]:.3g}]"
