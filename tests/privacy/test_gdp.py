"""mu-GDP against independently computed values, and its own laws."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from scipy.stats import norm

from trajkit.errors import ParameterError
from trajkit.privacy.gdp import gdp_delta, gdp_epsilon, generator_only_mu


@pytest.fixture
def reference(shared):  # type: ignore[no-untyped-def]
    return lambda name: json.loads((shared / "reference" / name).read_text())["cases"]


def _close(found: float, case: dict[str, Any], key: str) -> None:
    assert found == pytest.approx(float(case["expected"][key]), rel=float(case["tolerance"]["rel"]))


def test_epsilon_agrees_with_the_reference(reference) -> None:  # type: ignore[no-untyped-def]
    for case in reference("gdp_to_eps.json"):
        _close(gdp_epsilon(**case["inputs"]), case, "epsilon")


def test_the_published_gan_scheme_agrees_with_the_reference(reference) -> None:  # type: ignore[no-untyped-def]
    for case in reference("generator_only_true_privacy.json"):
        given = case["inputs"]
        mu = generator_only_mu(batch=given["B"], steps=given["steps"], noise_multiplier=given["noise_multiplier"])
        _close(mu, case, "mu")
        _close(gdp_epsilon(mu, given["delta"]), case, "epsilon")


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_delta_is_the_formula_and_epsilon_inverts_it_on_the_safe_side(mu: float) -> None:
    for epsilon in (0.0, 0.5, 2.0):
        plain = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert gdp_delta(mu, epsilon) == pytest.approx(plain, rel=1e-9)
    found = gdp_epsilon(mu, 1e-6)
    assert gdp_delta(mu, found) <= 1e-6 < gdp_delta(mu, found * (1 - 1e-9))


def test_limits() -> None:
    assert gdp_epsilon(0.1, 0.5) == 0.0
    assert gdp_epsilon(1.0, 1e-5) < gdp_epsilon(2.0, 1e-5)
    for mu, delta in ((0.0, 0.1), (-1.0, 0.1), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(ParameterError, match="mu must be positive"):
            gdp_epsilon(mu, delta)
