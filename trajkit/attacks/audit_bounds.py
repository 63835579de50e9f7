"""What the scores of two worlds prove about a claim: on epsilon, on mu, and against the whole curve that was claimed.

The distinguishing game: many releases on a data set D, many on D and one more record, each reduced to one or several scores.
For each score two tests are chosen on the first half of the releases, the one that promises the largest epsilon and the one that
promises the largest mu; each is counted on the second half, which gives a pair (TPR at least, FPR at most) by
Clopper and Pearson. Everything below follows from these pairs alone:

- epsilon >= ln((TPR - delta) / FPR) (Jagielski, Ullman, Oprea 2020);
- mu >= Phi^-1(1 - FPR) - Phi^-1(1 - TPR) for whoever claims mu-GDP (Nasr et al. 2023);
- the claimed curve delta(epsilon) is refuted where TPR > min over epsilon of e^epsilon FPR + delta(epsilon).

Error rate. All pairs hold together with probability ``level``: each of the 2 x scores tests is made at 1 - (1 - level) / (2 x scores)
(Bonferroni), half of that for each of its two rates. So the largest bound over all scores is a bound at ``level``, and what is
refuted by any of them is refuted at ``level``; for one claim Holm's procedure decides the same, as its first step is this one.
Not corrected for: scores or settings that somebody tried and did not hand in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import binom, norm

from trajkit.attacks.intervals import auc, auc_interval
from trajkit.attacks.threshold_audit import ThresholdTest, log_ratio, threshold_test
from trajkit.errors import ParameterError
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.gdp import gdp_epsilon
from trajkit.privacy.ledger import DpSgd
from trajkit.privacy.release_checks import check_spent_delta

CURVE_POINTS = 60
ROC_POINTS = 60
LEAST_ALARM = 1e-6
AIMS = ("epsilon", "mu")


@dataclass(frozen=True)
class Curve:
    """A claim as a whole: (epsilon[i], delta[i]) for every i. Raises ParameterError unless both are of one length, at least 1."""

    epsilon: tuple[float, ...]
    delta: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (len(self.epsilon) == len(self.delta) >= 1):
            raise ParameterError(
                f"a curve of {len(self.epsilon)} epsilons and {len(self.delta)} deltas: give one to each"
            )
        for delta in self.delta:
            check_spent_delta(delta)

    @classmethod
    def of_dp_sgd(cls, mechanism: DpSgd, *, largest: float) -> Curve:
        """What the PLD accountant says of ``mechanism`` at epsilons from 0 to ``largest``: pessimistic, so never too small."""
        from trajkit.privacy.accountants import pld_curve

        epsilon = np.linspace(0.0, largest, CURVE_POINTS)
        return cls(tuple(map(float, epsilon)), tuple(map(float, pld_curve(mechanism)(epsilon))))

    def most_hits(self, alarm: float) -> float:
        """The largest TPR that the claim allows at FPR ``alarm``."""
        return float(min(1.0, np.min(np.exp(self.epsilon) * alarm + np.array(self.delta))))

    def allowed(self) -> tuple[tuple[float, float], ...]:
        """(false alarms, most hits) at `ROC_POINTS` rates, to draw."""
        return tuple((float(a), self.most_hits(a)) for a in np.geomspace(LEAST_ALARM, 1, ROC_POINTS))

    def refuted_by(self, test: ThresholdTest) -> bool:
        """Whether the rates of ``test`` cannot be under the claim."""
        return test.true_positive_lower > self.most_hits(test.false_positive_upper)


@dataclass(frozen=True)
class ScoreAudit:
    """One score. ``epsilon`` and ``mu``: its lower bounds (0 where nothing is shown), which hold together with all others.

    auc           P[score of a > score of b] over all releases; ``auc_interval``: two-sided, all scores together at the level
    refutes_curve whether the claimed curve fell; None where no curve was given
    tests         the test chosen for epsilon, and that for mu
    roc           (false alarms, hits) at thresholds from none to all, over all releases, world a the positive one: to draw
    """

    score: str
    epsilon: float
    mu: float
    auc: float
    auc_interval: tuple[float, float]
    refutes_curve: bool | None
    tests: tuple[ThresholdTest, ...]
    roc: tuple[tuple[float, float], ...] = ()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ScoreAudit:
        """The inverse of `dataclasses.asdict`, also after JSON, which has lists only."""
        tests = tuple(ThresholdTest(**t) for t in values["tests"])
        roc = tuple((float(x), float(y)) for x, y in values["roc"])
        return cls(**{**values, "auc_interval": tuple(values["auc_interval"]), "tests": tests, "roc": roc})


@dataclass(frozen=True)
class Audit:
    """All scores of a game with ``trials`` releases in the smaller world; every bound in it holds together at ``level``.

    ``allowed``: (false alarms, most hits) on the curve that was given, to draw.
    """

    by_score: tuple[ScoreAudit, ...]
    trials: int
    delta: float
    level: float
    allowed: tuple[tuple[float, float], ...] = ()

    @property
    def epsilon(self) -> float:
        """The largest lower bound on epsilon at ``delta``."""
        return max(s.epsilon for s in self.by_score)

    @property
    def mu(self) -> float:
        """The largest lower bound on mu, for a claim of mu-GDP."""
        return max(s.mu for s in self.by_score)

    @property
    def epsilon_if_gaussian(self) -> float:
        """The epsilon at ``delta`` (which must be above 0) of the proved mu.

        Justified only where the two laws of a score are normal with one variance, so that mu-GDP is all that the release can be
        (the worst case; one step of Gaussian noise on all data). Elsewhere the curve need not be that of a Gaussian, and the
        figure bounds nothing.
        """
        return gdp_epsilon(self.mu, self.delta) if self.mu > 0 else 0.0

    @property
    def refutes_curve(self) -> bool | None:
        """Whether any score refutes the claimed curve; None where no curve was given."""
        known = [s.refutes_curve for s in self.by_score if s.refutes_curve is not None]
        return any(known) if known else None

    @property
    def correction(self) -> str:
        """The correction in words."""
        n = len(self.by_score)
        return (
            f"Bonferroni over {n} score{'s' if n > 1 else ''} x {len(AIMS)} tests x 2 rates: each rate one-sided at "
            f"{1 - (1 - self.level) / (2 * n * len(AIMS)):.5g}, all together at {self.level:g}"
        )


def audit(
    scores: Mapping[str, tuple[Any, Any]], *, delta: float, level: float = 0.95, curve: Curve | None = None
) -> Audit:
    """Audit by ``scores``: name -> (scores [N] in world a, scores [M] in world b), the order as the releases were made.

    What a score learned from releases, it must have learned from the first half of each world. Raises ParameterError for no
    scores, and as `threshold_test` does.
    """
    check_spent_delta(delta)
    if not scores:
        raise ParameterError("scores: give at least one, name -> (scores in world a, scores in world b)")
    each = 1 - (1 - level) / (len(scores) * len(AIMS))
    together = 1 - (1 - level) / len(scores)
    found = []
    for name, (a, b) in scores.items():
        tests = (
            threshold_test(a, b, level=each, worth=lambda hit, alarm: log_ratio(hit, alarm, delta)),
            threshold_test(a, b, level=each, worth=mu_of_rates),
        )
        rates = [(t.true_positive_lower, t.false_positive_upper) for t in tests]
        area, pairs = auc(np.asarray(a), np.asarray(b)), min(len(a), len(b))
        found.append(
            ScoreAudit(
                name,
                epsilon=max(0.0, *(float(log_ratio(*r, delta)) for r in rates)),
                mu=max(0.0, *(float(mu_of_rates(*r)) for r in rates)),
                auc=area,
                auc_interval=auc_interval(area, pairs, together),
                refutes_curve=None if curve is None else any(curve.refuted_by(t) for t in tests),
                tests=tests,
                roc=roc_points(np.asarray(a), np.asarray(b)),
            )
        )
    allowed = () if curve is None else curve.allowed()
    return Audit(tuple(found), min(min(len(a), len(b)) for a, b in scores.values()), delta, level, allowed)


def roc_points(a: np.ndarray, b: np.ndarray) -> tuple[tuple[float, float], ...]:
    """(share of ``b`` above, share of ``a`` above) at up to `ROC_POINTS` thresholds, the tails of ``b`` finer than its middle."""
    ordered, positive = np.sort(b), np.sort(a)
    n = len(ordered)
    tail = np.geomspace(1, n, ROC_POINTS // 2)
    at = ordered[np.unique(np.concatenate([n - tail, tail - 1]).round().astype(int))[::-1]]
    alarms, hits = (1 - np.searchsorted(x, at, side="right") / len(x) for x in (ordered, positive))
    inner = [(float(x), float(y)) for x, y in zip(alarms, hits, strict=True)]
    return (*dict.fromkeys(((0.0, 0.0), *inner, (1.0, 1.0))),)


def claim_of(mechanism: DpSgd, *, delta: float) -> tuple[float, Curve]:
    """What the accountants say of ``mechanism`` on trajectories: its epsilon at ``delta``, and the whole curve up to twice that epsilon."""
    epsilon = epsilon_of(mechanism, delta=delta, unit="trajectory").epsilon
    return epsilon, Curve.of_dp_sgd(mechanism, largest=2 * epsilon)


def most_epsilon(scores: Mapping[str, tuple[Any, Any]], *, delta: float, level: float = 0.95) -> float:
    """The bound that `audit` gives where every one of as many releases and scores tells the worlds apart."""
    perfect = {name: (np.ones(len(a)), np.zeros(len(b))) for name, (a, b) in scores.items()}
    return audit(perfect, delta=delta, level=level).epsilon


def mu_of_rates(hit: Any, alarm: Any) -> Any:
    """Phi^-1(1 - alarm) - Phi^-1(1 - hit): the least mu under which a set can have these probabilities; may be negative."""
    return norm.isf(alarm) - norm.isf(hit)


def one_run_p_value(epsilon: float, *, canaries: int, guesses: int, right: int, delta: float) -> float:
    """Chance of ``right`` of ``guesses`` or better under (``epsilon``, ``delta``)-DP, at most (Steinke, Nasr, Jagielski 2023, corollary 5.4).

    One training in which each of ``canaries`` was included by a fair coin; ``guesses`` of the coins were guessed, the others
    left out. Runs that are independent of each other are pooled by adding up their numbers.
    """
    _check_one_run(canaries, guesses, right)
    check_spent_delta(delta)
    q = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, q))
    if right == 0 or delta == 0:
        return min(1.0, tail)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))  # entry i - 1: P[right - i <= Bin < right]
    return min(1.0, tail + 2 * canaries * delta * float(np.max(below / np.arange(1, right + 1))))


def one_run_epsilon(*, canaries: int, guesses: int, right: int, delta: float, level: float = 0.95) -> float:
    """Lower bound on epsilon at ``level`` from one run; 0 where the guesses show nothing. See `one_run_p_value`."""
    given = {"canaries": canaries, "guesses": guesses, "right": right, "delta": delta}
    p = 1 - level
    if one_run_p_value(0.0, **given) >= p:  # type: ignore[arg-type]
        return 0.0
    low, high = 0.0, 1.0
    while one_run_p_value(high, **given) < p:  # type: ignore[arg-type]
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if one_run_p_value(middle, **given) < p else (low, middle)  # type: ignore[arg-type]
    return low


def shuffled_delta(epsilon: float, *, noise_multiplier: float, steps: int) -> float:
    """Lower bound on delta at ``epsilon`` of one epoch of ``steps`` shuffled batches (Chua et al. 2024, arXiv:2403.17673).

    The target's gradient points against all others', so its batch stands out by 2 against 1 without it: the set is "some noisy sum
    lies above c", sup over c. Far above what Poisson sampling at 1 / ``steps`` spends, whose accountant must not be used for it.
    """
    if not (noise_multiplier > 0 and steps >= 1 and epsilon >= 0):
        raise ParameterError(
            f"noise_multiplier = {noise_multiplier!r}, steps = {steps!r}, epsilon = {epsilon!r}: must be positive"
        )
    c = np.linspace(-4 * noise_multiplier, 2 + 12 * noise_multiplier, 20_001)
    for _ in range(3):  # finer around the best
        quiet = (steps - 1) * log_ndtr(c / noise_multiplier)
        p, q = (-np.expm1(log_ndtr((c - shift) / noise_multiplier) + quiet) for shift in (2.0, 1.0))
        gain = p - math.exp(epsilon) * q
        best, width = c[np.argmax(gain)], c[1] - c[0]
        c = np.linspace(best - width, best + width, 1001)
    return max(0.0, float(gain.max()))


def _check_one_run(canaries: int, guesses: int, right: int) -> None:
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        raise ParameterError(
            f"canaries = {canaries!r}, guesses = {guesses!r}, right = {right!r}: need 0 <= right <= guesses <= canaries, guesses at least 1"
        )
