"""Rule "audits": does noise on the generator alone keep the promise that DP-SGD would make, whatever the critic does?

The claim is a theorem, so it is about every data set and every setting: one audit that contradicts it settles it, and no number of
audits that do not can. It counts only where the same tests let stand what must stand: two equal worlds, and noise on the critic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trajkit.attacks.audit_task import AuditReport
from trajkit.attacks.verdict import Verdict
from trajkit.study.claim import NOT_TESTABLE, UNDECIDABLE, Found, words


def scheme_of(parameters: Mapping[str, Any]) -> str | None:
    """Where the noise of an audited GAN is: "generator" or "critic"; None for audits of anything else."""
    found = parameters.get("scheme", parameters.get("dp_target"))
    return None if found is None else str(found)


def refuted(planned: Sequence[Mapping[str, Any]], audits: Mapping[str, AuditReport | str]) -> Found:
    """The verdict over the complete audits of ``planned`` of a GAN (`scheme_of`); controls are those of the critic, and placebos.

    Not testable without an audit of the generator's noise and a control; undecidable where a control fell, or nothing did.
    """
    claims: list[Verdict] = []
    controls: list[Verdict] = []
    for name, p in {p["name"]: p["parameters"] for p in planned if scheme_of(p["parameters"])}.items():
        report = audits.get(name)
        if isinstance(report, AuditReport):
            control = scheme_of(p) == "critic" or p.get("placebo", False)
            (controls if control else claims).extend(report.verdicts)
    if not claims or not controls:
        return NOT_TESTABLE, {}, "this study has no complete audit of noise on the generator together with a control"
    fell, wrong = [v for v in claims if v.contradicted], [v for v in controls if v.contradicted]
    figures = {f"{v.subject}, claimed {v.claimed_epsilon:.3g} ({v.test})": _bound(v) for v in fell}
    counted = f"{len(fell)} of {len(claims)} tests contradict it, each at its own confidence"
    if wrong:
        return (
            UNDECIDABLE,
            figures,
            f"{counted}, but so do {len(wrong)} of {len(controls)} tests of controls: {wrong[0].subject}",
        )
    if not fell:
        return UNDECIDABLE, figures, "no test contradicts it at this budget, which proves nothing"
    why = f"{counted}, and none of {len(controls)} tests of controls does"
    why += "; those that do not may have had too few trainings to see anything" if len(fell) < len(claims) else ""
    return words(True)[1], figures, why


def _bound(v: Verdict) -> str:
    least = "" if v.epsilon_lower is None else f"epsilon at least {v.epsilon_lower:.2f}"
    return f"{least} (by its {' and its '.join(v.by)}) at delta {v.claimed_delta:.3g}, {v.trials:,} trainings{'' if v.test.endswith('one run') else ' in each world'}"
