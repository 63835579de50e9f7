"""How large a cloak must be to hold k people, by density; the density says it on average, never of one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv

from trajkit.errors import ParameterError


def radius_expected(k: int, density: Any) -> Any:
    """Radius in metres, sqrt(k / (pi rho)), at which a disc holds k people in the mean, for ``density`` rho in people per square metre.

    No promise: under a Poisson field with k = 5 only 73 % of such discs hold the four others. Raises ParameterError.
    """
    rho = _density(k, density)
    return np.sqrt(k / (np.pi * rho))


def radius_sure(k: int, density: Any, confidence: float = 0.95) -> Any:
    """Radius in metres at which a disc around a person holds k - 1 others with probability ``confidence``, under a Poisson field.

    P[Poisson(m) >= k - 1] is the regularised lower incomplete gamma function at (k - 1, m), which has an inverse. Raises ParameterError.
    """
    rho = _density(k, density)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence = {confidence}: give a probability between 0 and 1")
    return np.sqrt(gammaincinv(k - 1, confidence) / (np.pi * rho))


def chance_of_at_least(people: int, radius: Any, density: Any) -> Any:
    """P[a disc of ``radius`` m holds at least ``people``] under a Poisson field of ``density`` per square metre (people = 0: 1)."""
    if people < 0:
        raise ParameterError(f"people = {people}: give a number of at least 0")
    mean = np.pi * np.square(radius) * np.asarray(density, dtype=np.float64)
    return np.ones_like(mean) if people == 0 else gammainc(people, mean)


def _density(k: int, density: Any) -> np.ndarray:
    rho = np.asarray(density, dtype=np.float64)
    if isinstance(k, bool) or k < 2:
        raise ParameterError(f"k = {k}: a cloak holds at least 2 people")
    if not (np.isfinite(rho) & (rho > 0)).all():
        raise ParameterError("density must be a positive number of people per square metre")
    return rho
