"""Intervals for repeated folds: the corrected resampled variance, paired differences and ratios, Holm, variance components.

Folds overlap in their training sets, so the plain variance of the mean is too small; Nadeau and Bengio (2003) multiply
the sample variance by (1/k + n_test/n_train) and use Student's t with k - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from trajkit.errors import ParameterError


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval; both bounds are None where fewer than two repetitions exist (no interval can be given)."""

    mean: float
    low: float | None
    high: float | None
    k: int
    p: float | None = None

    def excludes(self, value: float) -> bool:
        """Whether the interval exists and lies wholly on one side of ``value``."""
        return self.low is not None and self.high is not None and (self.low > value or self.high < value)

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.mean:.3g} (n = {self.k}: no interval)"
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def corrected_interval(
    values: Sequence[float] | np.ndarray, *, test_ratio: float, level: float = 0.95, null: float = 0.0
) -> Interval:
    """Mean of ``values`` [k] with the corrected resampled t interval (Nadeau & Bengio 2003, eq. 9), and the p-value against ``null``.

    ``test_ratio`` is n_test / n_train of one fold. Raises ParameterError for no values, values that are not finite, or a ratio <= 0.
    """
    x = np.asarray(values, dtype=np.float64)
    k = len(x)
    if k == 0 or not np.isfinite(x).all():
        raise ParameterError(f"an interval needs at least one finite value, got {list(values)}")
    if not test_ratio > 0:
        raise ParameterError(f"test_ratio must be positive, got {test_ratio}")
    mean = float(x.mean())
    if k == 1:
        return Interval(mean, None, None, 1)
    spread = math.sqrt(x.var(ddof=1) * (1 / k + test_ratio))
    half = float(stats.t.ppf(0.5 + level / 2, k - 1)) * spread
    p = float(2 * stats.t.sf(abs(mean - null) / spread, k - 1)) if spread > 0 else float(mean == null)
    return Interval(mean, mean - half, mean + half, k, p)


def paired_difference(a: Sequence[float], b: Sequence[float], *, test_ratio: float) -> Interval:
    """Interval of the mean of ``a - b`` over the same folds."""
    return corrected_interval(np.subtract(a, b), test_ratio=test_ratio)


def paired_ratio(a: Sequence[float], b: Sequence[float], *, test_ratio: float, level: float = 0.95) -> Interval:
    """Interval of the geometric mean of ``a / b`` over the same folds (computed on logarithms); p is against a ratio of 1.

    Raises ParameterError where a value is not positive.
    """
    if min(*a, *b) <= 0:
        raise ParameterError("a ratio needs positive values: compare differences instead")
    log = corrected_interval(np.log(np.divide(a, b)), test_ratio=test_ratio, level=level)
    low, high = (None, None) if log.low is None else (math.exp(log.low), math.exp(log.high))  # type: ignore[arg-type]
    return Interval(math.exp(log.mean), low, high, log.k, log.p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    order = np.argsort(p_values)
    m = len(p_values)
    adjusted = np.empty(m)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted.tolist()


def variance_components(over_folds: Sequence[float], same_fold: Sequence[float]) -> dict[str, float | None]:
    """Standard deviations from initialisation alone (``same_fold``: one fold, several seeds) and from the fold (what is left).

    ``over_folds`` varies both. The fold's share is sqrt(max(0, total variance - initialisation variance)); None below two values.
    """
    total = float(np.var(over_folds, ddof=1)) if len(over_folds) > 1 else None
    init = float(np.var(same_fold, ddof=1)) if len(same_fold) > 1 else None
    between = None if total is None or init is None else math.sqrt(max(0.0, total - init))
    return {
        "total": None if total is None else math.sqrt(total),
        "initialisation": None if init is None else math.sqrt(init),
        "fold": between,
    }
