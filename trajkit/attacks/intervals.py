"""Two-sided intervals for what an attack measured on drawn targets, and quantiles of how many people stand together."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import rel_entr

from trajkit.attacks.threshold_audit import clopper_pearson
from trajkit.errors import ParameterError

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def rate_interval(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Clopper-Pearson interval of a rate; each side at 1 - (1 - level) / 2. Raises ParameterError as `clopper_pearson` does."""
    each = 1 - (1 - level) / 2
    lower, upper = (clopper_pearson(successes, trials, level=each, side=side) for side in ("lower", "upper"))
    return lower, upper


def mean_interval(mean: float, trials: int, level: float) -> tuple[float, float]:
    """Interval of the mean of independent values in [0, 1] (Hoeffding 1963): exact at any size, wider than one of a rate."""
    if trials < 1 or not 0 < level < 1:
        raise ParameterError(
            f"trials = {trials!r}, level = {level!r}: need at least one trial and a level between 0 and 1"
        )
    half = math.sqrt(math.log(2 / (1 - level)) / (2 * trials))
    return max(0.0, mean - half), min(1.0, mean + half)


def share_interval(values: np.ndarray, people: int, level: float) -> tuple[float, float]:
    """`rate_interval` of the share of ``values`` (bool [n]) that are true, where they count as ``people`` independent trials."""
    return rate_interval(round(float(values.mean()) * people), people, level)


def auc(scores_a: np.ndarray, scores_b: np.ndarray) -> float:
    """P[a score of a > a score of b], ties counting half: area under the ROC curve where a is the positive world."""
    ordered = np.sort(scores_b)
    below = np.searchsorted(ordered, scores_a, side="left") + np.searchsorted(ordered, scores_a, side="right")
    return float(below.mean() / (2 * len(ordered)))


def auc_interval(value: float, pairs: int, level: float) -> tuple[float, float]:
    """Two-sided interval of an AUC from samples of which the smaller has ``pairs`` scores; valid at any size and any law.

    Hoeffding 1963, section 5: the mean over all pairs is an average of means of ``pairs`` independent ones, so the bound for
    those, P <= exp(-pairs KL(value, truth)), holds for it. Wider than DeLong's, which is right only in the limit.
    """
    if pairs < 1 or not 0 < level < 1 or not 0 <= value <= 1:
        raise ParameterError(
            f"value = {value!r}, pairs = {pairs!r}, level = {level!r}: need an AUC, a pair and a level"
        )
    allowed = math.log(2 / (1 - level)) / pairs

    def far(truth: float) -> float:
        return float(rel_entr(value, truth) + rel_entr(1 - value, 1 - truth)) - allowed

    # near the end of the scale, or with few pairs, no truth that a float can say is far enough
    least, most = 1e-300, math.nextafter(1.0, 0.0)
    low = 0.0 if value <= least or far(least) <= 0 else float(brentq(far, least, value))
    high = 1.0 if value >= most or far(most) <= 0 else float(brentq(far, value, most))
    return low, high


def set_quantiles(weights: np.ndarray) -> tuple[float, ...]:
    """The `QUANTILES` of set sizes, where ``weights[s]`` is how often a set of s came out (s from 1; size 0 is no set).

    The q-quantile is the smallest size with at least a share q at or below it. Raises ParameterError where no set came out.
    """
    below = np.cumsum(np.append(0.0, weights[1:]))
    if below[-1] <= 0:
        raise ParameterError("no set came out at all, so its size has no quantiles")
    # exact enumeration weighs by 1 / combinations: what rounding leaves must not move a quantile
    return tuple(float(np.searchsorted(below, q * below[-1] - 1e-9 * below[-1])) for q in QUANTILES)
