"""What every noise mechanism asks of its inputs, and the inverse of a privacy profile."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from trajkit.errors import ParameterError
from trajkit.privacy.gdp import gdp_delta
from trajkit.privacy.ledger import check_delta, check_epsilon

IDEALISED = "idealised floating point"
EXACT = "exact"
MAX_COUNT = 2**62  # leaves room for the noise in int64
NORM_SLACK = 1e-9  # relative, what rounding may add to the norm of a row that was clipped


def check_positive(value: Any, name: str, meaning: str) -> None:
    """Raise ParameterError unless ``value`` is a finite number above 0."""
    if not (_is_number(value) and 0 < value < math.inf):
        raise ParameterError(f"{name} = {value!r}: must be a finite number above 0, {meaning}")


def check_whole(value: Any, name: str, least: int, meaning: str) -> None:
    """Raise ParameterError unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} = {value!r}: must be a whole number of at least {least}, {meaning}")


def check_spent_delta(delta: Any) -> None:
    """Raise ParameterError unless ``delta`` is a number in [0, 1)."""
    if not (_is_number(delta) and 0 <= delta < 1):
        raise ParameterError(f"delta = {delta!r}: must be a number in [0, 1); 0 asks for pure differential privacy")


def check_profile_epsilon(epsilon: Any) -> None:
    """Raise ParameterError unless ``epsilon`` is a finite number of at least 0."""
    if not (_is_number(epsilon) and 0 <= epsilon < math.inf):
        raise ParameterError(f"epsilon = {epsilon!r}: must be a finite number of at least 0")


def check_generator(rng: Any) -> None:
    """Raise ParameterError unless ``rng`` is a numpy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(
            f"rng = {rng!r}: pass a numpy Generator, numpy.random.default_rng(seed) for a reproducible study"
        )


def finite(values: Any) -> np.ndarray:
    """Return a float64 copy of ``values`` (any shape). Raises ParameterError where an entry is not finite."""
    array = np.array(values, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = f"row {bad[0][0]}" if array.ndim else "the value"
        raise ParameterError(f"values: {place} is not finite; noise does not hide that, so fix or drop such rows first")
    return array


def whole_numbers(values: Any) -> np.ndarray:
    """Return ``values`` (any shape) as an int64 copy. Raises ParameterError where they are not whole or beyond 2^62."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        given = finite(values)
        if np.any(given != np.rint(given)):
            raise ParameterError("values: not whole numbers, on which geometric noise is private; use Laplace or count")
    if given.size and max(abs(int(given.min())), abs(int(given.max()))) > MAX_COUNT:
        raise ParameterError("values: beyond 2^62 in size, int64 could overflow")
    return given.astype(np.int64)


def rows_within(values: Any, norm: float | None, order: int) -> np.ndarray:
    """Return ``values`` as a float64 copy; with a ``norm`` they must be rows [n, d] whose L``order`` norm is within it.

    Raises ParameterError for entries that are not finite, for another shape and for the first row that is too long.
    """
    rows = finite(values)
    if norm is None:
        return rows
    if rows.ndim != 2:
        raise ParameterError(f"rows: shape {rows.shape}, must be [n, d], one row for each record")
    lengths = np.linalg.norm(rows, ord=order, axis=1)
    long = np.flatnonzero(lengths > norm * (1 + NORM_SLACK))
    if len(long):
        raise ParameterError(
            f"rows: row {long[0]} has L{order} norm {lengths[long[0]]:.6g}, above the bound {norm:g} that the noise is made "
            f"for; clip every row to L{order} norm {norm:g} first"
        )
    return rows


def check_row_norm(row_norm: float | None, sensitivity: float, order: int) -> None:
    """Raise ParameterError unless ``sensitivity`` covers the replacement of one row of that norm by another."""
    if row_norm is None:
        return
    check_positive(row_norm, "row_norm", f"the L{order} norm that every row is clipped to")
    if sensitivity < 2 * row_norm * (1 - 1e-12):
        raise ParameterError(
            f"l{order}_sensitivity = {sensitivity:g}: replacing one row of norm {row_norm:g} by another moves the rows by up "
            f"to {2 * row_norm:g}; use for_rows"
        )


def safe_scale(sensitivity: float, epsilon: float) -> float:
    """Least float scale with sensitivity / scale <= epsilon in exact arithmetic. Raises ParameterError out of range."""
    check_epsilon(epsilon, name="epsilon")
    scale = sensitivity / epsilon
    check_positive(scale, "sensitivity / epsilon", "the scale of the noise")
    while Fraction(scale) * Fraction(epsilon) < Fraction(sensitivity):
        scale = math.nextafter(scale, math.inf)
    return scale


def safe_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Least float sigma of Gaussian noise whose exact profile is at most ``delta`` at ``epsilon``."""
    check_epsilon(epsilon, name="epsilon")
    check_delta(delta)

    def enough(sigma: float) -> bool:
        return gdp_delta(sensitivity / sigma, epsilon) <= delta

    high = sensitivity
    while not enough(high):
        high *= 2
    low = high / 2
    while enough(low):
        low /= 2
    return least_that(enough, low, high)


def pure_delta(pure_epsilon: float, epsilon: float) -> float:
    """Largest delta at ``epsilon`` that any ``pure_epsilon``-DP mechanism can have: that of randomised response.

    (e^p - e^epsilon) / (e^p + 1) with p the pure epsilon, and 0 from p on (Kairouz, Oh, Viswanath 2015).
    """
    if epsilon >= pure_epsilon:
        return 0.0
    return -math.expm1(epsilon - pure_epsilon) / (1 + math.exp(-pure_epsilon))


def least_that(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Least float in (low, high] where ``holds``, false at ``low`` and true from some point on up to ``high``."""
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return high
        if holds(middle):
            high = middle
        else:
            low = middle


def least_epsilon(delta_of: Callable[[float], float], delta: float, high: float) -> float:
    """Least epsilon with ``delta_of(epsilon) <= delta``; ``high`` is doubled until it is one. Rounded up."""
    check_spent_delta(delta)
    if delta_of(0.0) <= delta:
        return 0.0
    low = 0.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
    return least_that(lambda epsilon: delta_of(epsilon) <= delta, low, high)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)
