"""What a release by `escalation` says of itself: its guarantee of two parts, and what each stage kept, suppressed and added.

The promise is k-anonymity of what was made from true trajectories, and, where trajectories were made, differential privacy of those alone. It
is not a promise of either kind about the whole: true trajectories are a function of the data, and so is whether any were made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trajkit.anonymize.anonymizer import MADE
from trajkit.anonymize.suppression import rounded
from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import Guarantee, Part
from trajkit.release import HIDDEN, Release

BY_MADE = "everybody's records, as far as made trajectories tell of them"
SHARES = ("trajectories", "users", "points")
DECIDED = "whether trajectories were made at all was decided from the data, and no promise covers that"
NOT_DP = "the whole is not differentially private: trajectories made from true ones are k-anonymous and no more"
MARKED = (
    f"made trajectories are marked (their ids begin with {MADE}) and are nobody's; k counts persons with kept trajectories of their own, and "
    "a made one adds nobody to a class, also where it runs through the same cells"
)
ON_ALL = (
    "made trajectories come from noisy figures of all records, kept and suppressed; how many there are is a public number, not the number "
    "suppressed"
)


def guarantee_of(c: Any, kept: Guarantee, made: Release | None) -> Guarantee:
    """The guarantee of the whole, ``c`` being an `EscalationConfig`. Raises PrivacyAccountingError where that of the made ones does not hold."""
    if made is None:
        return replace(kept, assumptions=(*kept.assumptions, DECIDED))
    g = made.guarantee
    if not (g.holds and g.kind == "dp" and g.epsilon is not None and g.delta is not None):
        raise PrivacyAccountingError(
            f"made trajectories promise nothing, so nothing may be released: {g.reason or g.kind}"
        )
    part = Part(BY_MADE, f"{g.mechanism}", g.epsilon, g.delta, _details(g), adjacency=g.adjacency, unit=g.unit)
    own = [
        NOT_DP,
        f"made trajectories by themselves, were they drawn for every data set, are {part.promise()}",
        DECIDED,
        MARKED,
        ON_ALL,
        "who has kept trajectories is protected in these by k alone, whatever epsilon is",
    ]
    theirs = [f"of the made trajectories: {a}" for a in g.assumptions]
    return replace(
        kept,
        mechanism=f"{kept.mechanism}, and {c.n_made} made trajectories, marked as such, are added ({c.synthesizer})",
        accountant=f"{kept.accountant}; of the made ones: {g.accountant}",
        parts=(part,),
        rng=g.rng,
        numerics=g.numerics,
        assumptions=(*kept.assumptions, *own, *theirs),
    )


def _details(g: Guarantee) -> dict[str, Any]:
    return {name: value for part in g.parts for name, value in part.details.items()}


def report_of(c: Any, searched: dict[str, Any], kept: Release, made: Release | None) -> dict[str, Any]:
    """The report; shares are of true trajectories, rounded as in `suppression`. ``searched``: that of the first stage."""
    of = "points" if c.suppress == "segments" else "trajectories"
    what = "parts" if c.suppress == "segments" else "trajectories"
    own = kept.report
    stages = [_stage(f"generalise, suppress {what} that stay unique", searched)]
    out: dict[str, Any] = {
        "setting": own["setting"],
        "rule": f"finest useful setting that suppresses at most {c.tolerance:.0%} of the {of}; where there is none, {_coarsest(c, searched)} and made trajectories",
        "escalated": made is not None,
        "within tolerance": bool(searched["within budget"]),
        "stages": stages,
        "notes": [n for n in own["notes"] if made is None or not n.startswith("nothing can be released")],
        "classes": own["classes"],
        "kept": {name: rounded(1 - own["suppressed"][name]) for name in SHARES if name in own["suppressed"]},
        "suppressed": own["suppressed"],
        "lattice": searched["lattice"],
        "of true trajectories": len(kept.trajectories),
        HIDDEN: {**own[HIDDEN], "lattice": searched[HIDDEN]["lattice"]},
    }
    if made is not None:
        stages.append(_stage(f"keep what the coarsest useful setting keeps, suppress other {what}", own))
        stages.append({"stage": f"add trajectories made by {c.synthesizer}", "made": len(made.trajectories)})
        out["made"] = _made(c, made)
        out["notes"].append(
            "a made trajectory is nobody's: it gives back what many ways have in common, not the ways that are missing"
        )
        if not len(kept.trajectories):
            out["notes"].append("no true trajectory is kept: all of the release is made")
    return out | {"released": len(kept.trajectories) + (len(made.trajectories) if made else 0)}


def _stage(name: str, report: dict[str, Any]) -> dict[str, Any]:
    return {
        "stage": name,
        "setting": {k: report["setting"][k] for k in ("cells", "minutes")},
        "suppressed": {k: report["suppressed"][k] for k in SHARES if k in report["suppressed"]},
    }


def _coarsest(c: Any, searched: dict[str, Any]) -> str:
    """In words; of a set without times no setting with times was tried."""
    timed = any(row["minutes"] is not None for row in searched["lattice"])
    time = f"bins of {c.coarsest_useful_minutes} min" if timed and c.coarsest_useful_minutes is not None else "no times"
    return f"squares of {c.coarsest_useful_m:g} m, {time},"


def _made(c: Any, made: Release) -> dict[str, Any]:
    g = made.guarantee
    return {
        "trajectories": len(made.trajectories),
        "synthesizer": c.synthesizer,
        "epsilon": g.epsilon,
        "delta": g.delta,
        "unit": g.unit,
        "fitted on": "all trajectories as they were given, kept and suppressed",
        "report": {k: v for k, v in made.report.items() if k != HIDDEN},
    }
