"""mu-Gaussian differential privacy (Dong, Roth, Su 2022) as epsilon at a given delta, and what the published GAN scheme amounts to."""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from trajkit.errors import ParameterError


def gdp_delta(mu: float, epsilon: float) -> float:
    """delta of mu-GDP at ``epsilon``: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), tails in logarithms."""
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(first) * -math.expm1(min(0.0, second - first))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Least epsilon of mu-GDP at ``delta``, rounded up in its tenth digit. Raises ParameterError for mu <= 0 or delta not in (0, 1)."""
    if not (mu > 0 and 0 < delta < 1):
        raise ParameterError(f"mu must be positive and delta in (0, 1), got mu = {mu}, delta = {delta}")
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gdp_delta(mu, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if gdp_delta(mu, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def central_limit_mu(*, sample_rate: float, noise_multiplier: float, steps: int) -> float:
    """mu that the central limit gives DP-SGD with Poisson sampling: q sqrt(T (e^(1/sigma^2) - 1)) (Bu, Dong, Long, Su 2020).

    An approximation from neither side, which can understate: for comparison, never for a claim.
    """
    return sample_rate * math.sqrt(steps * math.expm1(min(noise_multiplier**-2, 500.0)))


def generator_only_mu(*, batch: int, steps: int, noise_multiplier: float) -> float:
    """mu of DP-SGD on a GAN's generator alone: 2 B sqrt(T) / sigma.

    Between the data and the generator stands a critic trained without noise, so one record can move every one of the ``batch``
    clipped gradients of every step from +C to -C, and no sampling of records amplifies anything. A one-parameter WGAN attains it.
    """
    return 2 * batch * math.sqrt(steps) / noise_multiplier
