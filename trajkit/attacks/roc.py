"""How well scores tell members from others: the ROC curve, the area under it, and hits at small false-positive rates.

Members are the positives and a high score says "member", everywhere. What is worth reading is the left end of the curve (Carlini et al. 2022):
an attack that names a few members with certainty is a leak, whatever it says about all the others. Every rate stands beside what a guess
achieves and the interval that the number of targets allows; with few of them a rate of 0.1 % cannot be told from one of some percent,
which ``fpr_upper`` shows. No figure here is a "risk": what it means depends on who attacks whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit.attacks.intervals import auc, mean_interval, rate_interval
from trajkit.attacks.threshold_audit import clopper_pearson
from trajkit.errors import ParameterError

GUESS_AUC = 0.5
FALSE_RATES = (0.01, 0.001)


@dataclass(frozen=True)
class RateAt:
    """Hits where at most a share ``fpr`` of the others is taken for members, which is also the share of members that a guess finds.

    found   members above the threshold, ``tpr`` of all, with their Clopper-Pearson interval: the threshold was set by others alone
    false   others above it, fewer than ``fpr`` of them where the next one would be too many
    fpr_upper  upper end (Clopper-Pearson) for the false-positive rate of that threshold on others who were not there
    """

    fpr: float
    found: int
    tpr: float
    tpr_interval: tuple[float, float]
    false: int
    fpr_upper: float


@dataclass(frozen=True)
class Roc:
    """``fpr``, ``tpr`` float64 [k], rising from 0 to 1: the rule "score >= threshold" at every threshold. ``auc``: ties count half.

    The interval of the area is Hoeffding's, exact at any size and wide; all intervals are at ``level`` and take targets as independent.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    members: int
    others: int
    auc: float
    auc_interval: tuple[float, float]
    at: tuple[RateAt, ...]
    level: float

    def to_dict(self) -> dict[str, Any]:
        """One flat row, each figure with its interval and what a guess achieves."""
        row: dict[str, Any] = {
            "members": self.members,
            "others": self.others,
            "AUC": self.auc,
            "AUC low": self.auc_interval[0],
            "AUC high": self.auc_interval[1],
            "AUC, guess": GUESS_AUC,
        }
        for a in self.at:
            name = f"TPR at {100 * a.fpr:g} % FPR"
            low, high = a.tpr_interval
            row |= {name: a.tpr, f"{name} low": low, f"{name} high": high, f"{name}, guess": a.fpr}
            row[f"{name}, FPR at most"] = a.fpr_upper
        return row


def roc_of(member_scores: Any, other_scores: Any, *, fpr: tuple[float, ...] = FALSE_RATES, level: float = 0.95) -> Roc:
    """The curve of the scores of members [m] and of others [n], one a target; a high score says "member".

    Raises ParameterError for no scores on a side, scores that are no finite numbers (infinite ones may be certainties: map them to
    finite ones first), or rates outside 0 … 1.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (member_scores, other_scores))
    for name, scores in (("member_scores", a), ("other_scores", b)):
        if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
            raise ParameterError(f"{name}: shape {scores.shape}, must be [n] with at least one and only finite scores")
    if not all(0 <= f <= 1 for f in fpr):
        raise ParameterError(f"fpr = {fpr!r}: false-positive rates lie between 0 and 1")
    falling = np.unique(np.concatenate([a, b]))[::-1]
    curves = [np.append(0.0, share_at_least(x, falling)) for x in (b, a)]
    area = auc(a, b)
    return Roc(
        curves[0], curves[1], len(a), len(b), area, mean_interval(area, min(len(a), len(b)), level),
        tuple(_at(a, b, f, level) for f in fpr), level,
    )  # fmt: skip


def share_at_least(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """float64 [k]: share of ``scores`` that are at least each threshold."""
    return np.asarray(1 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores))


def _at(members: np.ndarray, others: np.ndarray, fpr: float, level: float) -> RateAt:
    """The k allowed false positives are the highest others; whoever is above the next one is called a member."""
    n = len(others)
    k = int(np.floor(fpr * n * (1 + 1e-12)))
    bar = np.sort(others)[n - 1 - k] if k < n else -np.inf
    found, false = int((members > bar).sum()), int((others > bar).sum())
    each = 1 - (1 - level) / 2
    upper = float(clopper_pearson(k, n, level=each, side="upper"))
    return RateAt(fpr, found, found / len(members), rate_interval(found, len(members), level), false, upper)
