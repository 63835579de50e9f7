"""Stand-ins for modules of the privacy package, by formulas of their own: what a test of the study needs of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import log_ndtr

NAMES = ("alpha D / sqrt(2 epsilon)", "alpha D / (sqrt(2) epsilon)", "alpha D / epsilon")


def _delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    a = log_ndtr(sensitivity / (2 * sigma) - epsilon * sigma / sensitivity)
    b = epsilon + log_ndtr(-sensitivity / (2 * sigma) - epsilon * sigma / sensitivity)
    return math.exp(a) * -math.expm1(min(0.0, b - a))


def readings(epsilons: Iterable[float], delta: float, *, sensitivity: float = 2.0) -> pd.DataFrame:
    """As `trajkit.privacy.theorem_2.readings`, from the exact sigma: alpha is what the published reading makes of it."""
    rows = []
    for epsilon in epsilons:
        exact = brentq(lambda s, e=epsilon: _delta(e, s, sensitivity) - delta, 1e-3, 1e4, xtol=1e-13)
        divisors = (math.sqrt(2 * epsilon), math.sqrt(2) * epsilon, epsilon)
        for name, divisor in zip(NAMES, divisors, strict=True):
            sigma = exact * math.sqrt(2 * epsilon) / divisor
            real = brentq(lambda e, s=sigma: _delta(e, s, sensitivity) - delta, 1e-6, 1e3, xtol=1e-10)
            rows.append((epsilon, name, sigma, exact, sigma / exact, real))
    return pd.DataFrame(rows, columns=["epsilon", "reading", "sigma", "exact sigma", "ratio", "real epsilon"])


@dataclass
class Turned:
    """A mechanism that turns every row by a known angle in a random direction, so that the cosine is known."""

    cosine: float
    claimed: float

    def randomise(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        side = rng.standard_normal(rows.shape)
        side -= (side * unit).sum(axis=1, keepdims=True) * unit
        side /= np.linalg.norm(side, axis=1, keepdims=True)
        wobble = np.clip(self.cosine + 0.01 * rng.standard_normal((len(rows), 1)), -1, 1)
        return wobble * unit + np.sqrt(1 - wobble**2) * side

    def expected_cosine(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), self.claimed)
