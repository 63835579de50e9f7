"""Theorem 2 of the study: which reading of "sigma = alpha D / sqrt 2 epsilon" is the analytic Gaussian mechanism.

Algorithm 1 of Balle and Wang 2018 (arXiv:1805.06530) ends with alpha D / sqrt(2 epsilon), one radical over both. A radical
that is drawn over the 2 only, and the correction that a review asked for, are other amounts of noise; the table of
`readings` says what each of them really promises, by the exact profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pandas as pd
from scipy.special import log_ndtr

from trajkit.privacy.gdp import gdp_epsilon
from trajkit.privacy.ledger import check_delta, check_epsilon
from trajkit.privacy.mechanisms import Gaussian
from trajkit.privacy.release_checks import check_positive, least_that

PUBLISHED = "alpha D / sqrt(2 epsilon) (published, as Balle and Wang have it)"
RADICAL_OVER_2 = "alpha D / (sqrt(2) epsilon) (the radical over 2 only)"
REVIEW = "alpha D / epsilon (the review's correction)"
READINGS: dict[str, Callable[[float], float]] = {
    PUBLISHED: lambda epsilon: math.sqrt(2 * epsilon),
    RADICAL_OVER_2: lambda epsilon: math.sqrt(2) * epsilon,
    REVIEW: lambda epsilon: epsilon,
}


def balle_wang_alpha(epsilon: float, delta: float) -> float:
    """Return alpha of Algorithm 1, its safe (larger) end. Raises ParameterError for values out of range.

    With B(x, y) = Phi(x) - e^epsilon Phi(-sqrt(epsilon (y + 2))): where delta is at least B(0, 0) the largest v with
    B(sqrt(epsilon v), v) <= delta gives alpha = sqrt(1 + v/2) - sqrt(v/2), else the least u with B(-sqrt(epsilon u), u) <=
    delta gives the sum of the two roots. Tails are taken in logarithms.
    """
    check_epsilon(epsilon, name="epsilon")
    check_delta(delta)

    def excess(sign: int, y: float) -> float:
        first = float(log_ndtr(sign * math.sqrt(epsilon * y)))
        second = epsilon + float(log_ndtr(-math.sqrt(epsilon * (y + 2))))
        return math.exp(first) * -math.expm1(min(0.0, second - first)) - delta

    less_noise = excess(1, 0.0) <= 0
    sign = 1 if less_noise else -1

    def beyond(y: float) -> bool:
        return excess(sign, y) > 0 if less_noise else excess(sign, y) <= 0

    high = 1.0
    while not beyond(high):
        high *= 2
    y = least_that(beyond, 0.0, high)
    if less_noise:
        y = math.nextafter(y, 0.0)  # the last that still holds
        return 1 / (math.sqrt(1 + y / 2) + math.sqrt(y / 2))
    return math.sqrt(1 + y / 2) + math.sqrt(y / 2)


def readings(epsilons: Iterable[float], delta: float, *, sensitivity: float = 2.0) -> pd.DataFrame:
    """Return one row for each epsilon and reading of Theorem 2, with the epsilon that its noise really has at ``delta``.

    sensitivity: D in L2, 2 C for rows clipped to C. Columns: epsilon (asked for), reading, sigma, exact sigma (by bisection
    on the exact profile), ratio (sigma over exact sigma: below 1 is too little noise), real epsilon.
    Raises ParameterError for values out of range.
    """
    check_positive(sensitivity, "sensitivity", "the most that one record moves the values in L2")
    rows = []
    for epsilon in epsilons:
        alpha = balle_wang_alpha(epsilon, delta)
        exact = Gaussian.calibrate(epsilon, delta, l2_sensitivity=sensitivity).sigma
        for reading, divisor in READINGS.items():
            sigma = alpha * sensitivity / divisor(epsilon)
            real = gdp_epsilon(sensitivity / sigma, delta)
            rows.append((epsilon, reading, sigma, exact, sigma / exact, real))
    return pd.DataFrame(rows, columns=["epsilon", "reading", "sigma", "exact sigma", "ratio", "real epsilon"])
