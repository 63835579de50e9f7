"""`Verdict`: what an audit says of one subject's claim, with what was tried and at what budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trajkit.attacks.audit_bounds import Audit, ScoreAudit
from trajkit.errors import ParameterError

SOUND = "sound"  # how the subject of a verdict ends that is the kit's own, next to broken copies of it
CONTRADICTED, NOT_CONTRADICTED, NO_CLAIM = "contradicted", "not contradicted", "no epsilon is claimed"


@dataclass(frozen=True)
class Verdict:
    """One test of one claim. "not contradicted" proves nothing: a stronger adversary may see what this one did not.

    subject, test      what was audited, and by which game or check
    claimed_epsilon, claimed_delta   the claim, in the unit of the subject; claimed_epsilon None: no epsilon is claimed (k-anonymity, say),
                       and claimed_delta is the delta at which epsilon_lower is shown
    epsilon_lower      audited lower bound on epsilon at that delta, corrected for all scores tried; None where the test bounds none
    mu_lower           the same on mu; None likewise
    best_auc           largest AUC (or 1 - AUC) of the scores tried: how far the test sees anything at all; None likewise
    by                 what contradicted: any of "epsilon", "curve" (the accountant's whole curve), "count" (a plain check)
    tried              the scores, or what was checked; with how it was corrected
    trials             releases in each world
    level              confidence of a contradiction
    seconds            what it took; no part of comparisons
    scores             each score's own bounds, which hold together with all others: pick from them freely
    allowed            (false alarms, most hits) that the claimed curve allows; empty where none was tested
    """

    subject: str
    test: str
    claimed_epsilon: float | None
    claimed_delta: float
    epsilon_lower: float | None
    mu_lower: float | None
    best_auc: float | None
    by: tuple[str, ...]
    tried: str
    trials: int
    level: float
    seconds: float = field(compare=False)
    scores: tuple[ScoreAudit, ...] = ()
    allowed: tuple[tuple[float, float], ...] = ()

    def epsilon_by(self, names: Iterable[str]) -> float:
        """The largest lower bound on epsilon that the scores ``names`` alone show, e.g. `tiny_game.BLACK_BOX`; corrected for all."""
        return max(s.epsilon for s in self.scores if s.score in set(names))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Verdict:
        """The inverse of `dataclasses.asdict`, also after JSON, which has lists only."""
        scores = tuple(ScoreAudit.from_dict(s) for s in values["scores"])
        allowed = tuple((float(x), float(y)) for x, y in values["allowed"])
        return cls(**{**values, "by": tuple(values["by"]), "scores": scores, "allowed": allowed})

    @property
    def contradicted(self) -> bool:
        """Whether the claim fell."""
        return bool(self.by)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.claimed_epsilon is None:
            return NO_CLAIM
        return CONTRADICTED if self.contradicted else NOT_CONTRADICTED


def judged(found: Audit, *, subject: str, test: str, claimed_epsilon: float | None, seconds: float) -> Verdict:
    """The verdict of a game on the claim of ``claimed_epsilon`` at the delta of the audit, and on the curve that it was given.

    None claims nothing, so nothing can contradict it; a curve beside it is refused by ParameterError.
    """
    if claimed_epsilon is None and found.refutes_curve is not None:
        raise ParameterError("claimed_epsilon = None, but the audit was given a claimed curve: a curve is a claim")
    by = ["epsilon"] if claimed_epsilon is not None and found.epsilon > claimed_epsilon else []
    by += ["curve"] if found.refutes_curve else []
    names = ", ".join(s.score for s in found.by_score)
    return Verdict(
        subject,
        test,
        claimed_epsilon,
        found.delta,
        found.epsilon,
        found.mu,
        max(max(s.auc, 1 - s.auc) for s in found.by_score),
        tuple(by),
        f"{names}; {found.correction}",
        found.trials,
        found.level,
        seconds,
        found.by_score,
        found.allowed,
    )
