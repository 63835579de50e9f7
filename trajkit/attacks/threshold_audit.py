"""A lower bound on epsilon from the outside: how well does a threshold on some score tell two neighbouring inputs apart?

If a release is (epsilon, delta)-DP, every set S of outputs has P_a(S) <= e^epsilon P_b(S) + delta. Many releases on input a
and on input b, each reduced to one score, give counts of S; exact binomial bounds on its two probabilities then bound epsilon
from below (Jagielski, Ullman, Oprea 2020). A bound above the claim refutes it; a bound below proves nothing, as another score
may do better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from trajkit.errors import ParameterError
from trajkit.privacy.release_checks import check_spent_delta

MAX_THRESHOLDS = 2000
LEAST_SCORES = 4

# (lower bounds of a yes in the positive world, upper bounds in the other) -> what a test with these rates is worth
Worth = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ThresholdTest:
    """A test that was chosen on one half of the scores and counted on the other; fields as those of `AuditBound`."""

    threshold: float
    above: bool
    positive: str
    true_positive_lower: float
    false_positive_upper: float


@dataclass(frozen=True)
class AuditBound:
    """``epsilon`` is a lower bound with probability ``level``, by the test: score above (or at most) ``threshold``.

    positive: the input, "a" or "b", that the test says yes to; true_positive_lower: lower bound on the probability of a yes
    there; false_positive_upper: upper bound on it for the other input. Together the two hold at ``level``.
    """

    epsilon: float
    threshold: float
    above: bool
    positive: str
    true_positive_lower: float
    false_positive_upper: float
    delta: float
    level: float


def clopper_pearson(successes: Any, trials: Any, *, level: float, side: str) -> Any:
    """Return the one-sided exact bound at ``level`` on a probability, ``side`` "lower" or "upper"; counts may be arrays.

    Raises ParameterError for a level outside (0, 1), another side, no trials or successes outside 0 … trials.
    """
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    _check_level(level)
    if not (np.all(n >= 1) and np.all(k >= 0) and np.all(k <= n)):
        raise ParameterError(
            f"successes = {successes!r} of trials = {trials!r}: must be between 0 and at least 1 trials"
        )
    if side not in ("lower", "upper"):
        raise ParameterError(f"side = {side!r}: use lower or upper")
    if side == "lower":
        found = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, 1 - level), 0.0)
    else:
        found = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), level), 1.0)
    return found if found.ndim else float(found)


def epsilon_lower_bound(scores_a: Any, scores_b: Any, *, delta: float, level: float = 0.99) -> AuditBound:
    """Bound epsilon from below by the scores [N] of independent releases on two neighbouring inputs.

    The first half of each picks the threshold, its direction and which input is the positive one; the second half, untouched
    by that choice, is counted. Each of the two error rates is bounded at 1 - (1 - level) / 2. The order of the scores must
    not depend on their values. Raises ParameterError for fewer than 4 scores, another shape or scores that are not finite.
    """
    check_spent_delta(delta)
    test = threshold_test(scores_a, scores_b, level=level, worth=lambda hit, alarm: log_ratio(hit, alarm, delta))
    lower, upper = test.true_positive_lower, test.false_positive_upper
    epsilon = max(0.0, float(log_ratio(lower, upper, delta)))
    return AuditBound(epsilon, test.threshold, test.above, test.positive, lower, upper, delta, level)


def log_ratio(hit: Any, alarm: Any, delta: float) -> Any:
    """ln((hit - delta) / alarm): the epsilon below which no release lets a set have these two probabilities; may be negative."""
    return np.log(np.maximum(np.asarray(hit) - delta, 1e-300) / alarm)


def threshold_test(scores_a: Any, scores_b: Any, *, level: float, worth: Worth) -> ThresholdTest:
    """The test that is worth most on the first half of the scores, with its two rates bounded on the second, together at ``level``.

    Errors as those of `epsilon_lower_bound`.
    """
    _check_level(level)
    (pick_a, count_a), (pick_b, count_b) = _halves(scores_a, "scores_a"), _halves(scores_b, "scores_b")
    each = 1 - (1 - level) / 2
    candidates = _candidates(np.concatenate([pick_a, pick_b]))
    choices = [(above, positive) for above in (True, False) for positive in ("a", "b")]

    def rates(a: np.ndarray, b: np.ndarray, thresholds: np.ndarray, above: bool, positive: str) -> tuple[Any, Any]:
        yes, no = (a, b) if positive == "a" else (b, a)
        hits, alarms = _count(yes, thresholds, above), _count(no, thresholds, above)
        lower = clopper_pearson(hits, len(yes), level=each, side="lower")
        return lower, clopper_pearson(alarms, len(no), level=each, side="upper")

    scored = [worth(*rates(pick_a, pick_b, candidates, *choice)) for choice in choices]
    best, place = np.unravel_index(int(np.argmax(scored)), (len(choices), len(candidates)))
    above, positive = choices[best]
    threshold = candidates[place : place + 1]
    lower, upper = (float(x[0]) for x in rates(count_a, count_b, threshold, above, positive))
    return ThresholdTest(float(threshold[0]), above, positive, lower, upper)


def _halves(scores: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1 or len(array) < LEAST_SCORES or not np.isfinite(array).all():
        raise ParameterError(f"{name}: shape {array.shape}, must be [N] with at least {LEAST_SCORES} finite scores")
    middle = len(array) // 2
    return array[:middle], array[middle:]


def _candidates(pooled: np.ndarray) -> np.ndarray:
    """Thresholds to try: evenly spaced order statistics, and all that are close to either end, where ratios are largest."""
    ordered = np.sort(pooled)
    n = len(ordered)
    even = np.linspace(0, n - 1, MAX_THRESHOLDS // 2)
    tail = np.geomspace(1, n, MAX_THRESHOLDS // 4) - 1
    places = np.unique(np.concatenate([even, tail, n - 1 - tail]).astype(int))
    return np.unique(ordered[places])


def _count(scores: np.ndarray, thresholds: np.ndarray, above: bool) -> np.ndarray:
    at_most = np.searchsorted(np.sort(scores), thresholds, side="right")
    return len(scores) - at_most if above else at_most


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"level = {level!r}: must be in (0, 1)")
