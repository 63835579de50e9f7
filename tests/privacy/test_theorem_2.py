"""Algorithm 1 of Balle and Wang, and what the three readings of the study's Theorem 2 really promise."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Gaussian
from trajkit.privacy.theorem_2 import PUBLISHED, RADICAL_OVER_2, REVIEW, balle_wang_alpha, readings


@pytest.mark.shared
def test_alpha_agrees_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "analytic_gaussian_sigma.json").read_text())["cases"]:
        inputs, expected = case["inputs"], case["expected"]
        alpha = balle_wang_alpha(inputs["epsilon"], inputs["delta"])
        assert alpha == pytest.approx(float(expected["alpha"]), rel=float(case["tolerance"]["sigma_rel"]))
        assert (alpha < 1) == (expected["branch"] == "delta>=delta0")
        sigma = alpha * inputs["l2_sensitivity"] / math.sqrt(2 * inputs["epsilon"])
        assert sigma == pytest.approx(float(expected["sigma"]), rel=float(case["tolerance"]["sigma_rel"]))


@settings(max_examples=150, deadline=None)
@given(st.floats(0.01, 100), st.floats(-12, -0.1))
def test_algorithm_1_and_bisection_on_the_exact_profile_agree(epsilon: float, exponent: float) -> None:
    delta = 10.0**exponent
    sigma = balle_wang_alpha(epsilon, delta) / math.sqrt(2 * epsilon)
    assert sigma == pytest.approx(Gaussian.calibrate(epsilon, delta, l2_sensitivity=1.0).sigma, rel=1e-9)


def test_the_published_reading_is_right_and_the_other_two_promise_something_else() -> None:
    """Values of an independent computation (delta 1e-5, D = 2): epsilon 20 becomes 183.8 and 105.1."""
    table = readings([0.1, 2.0, 20.0], 1e-5)
    assert (
        list(table.columns) == ["epsilon", "reading", "sigma", "exact sigma", "ratio", "real epsilon"]
        and len(table) == 9
    )
    at = table.set_index(["epsilon", "reading"])
    published = table[table["reading"] == PUBLISHED]
    assert published["ratio"].to_list() == pytest.approx([1.0] * 3, rel=1e-9)
    assert published["real epsilon"].to_list() == pytest.approx([0.1, 2.0, 20.0], rel=1e-6)
    real = at["real epsilon"]
    assert real[20.0, RADICAL_OVER_2] == pytest.approx(183.8, abs=0.05)
    assert real[20.0, REVIEW] == pytest.approx(105.1, abs=0.05)
    assert real[2.0, REVIEW] == pytest.approx(2.0, rel=1e-6) and real[2.0, RADICAL_OVER_2] == pytest.approx(
        2.954, abs=1e-3
    )
    assert real[0.1, REVIEW] == pytest.approx(0.019, abs=5e-4) and real[0.1, RADICAL_OVER_2] == pytest.approx(
        0.028, abs=5e-4
    )
    assert at.loc[(20.0, PUBLISHED), "exact sigma"] == pytest.approx(0.5801, abs=5e-5)


def test_another_sensitivity_scales_sigma_and_nothing_else() -> None:
    one, two = readings([5.0], 1e-6, sensitivity=1.0), readings([5.0], 1e-6)
    assert (2 * one["sigma"]).to_list() == pytest.approx(two["sigma"].to_list())
    assert one["real epsilon"].to_list() == pytest.approx(two["real epsilon"].to_list())


@pytest.mark.parametrize("delta", [1e-12, 1e-2])
def test_the_whole_range_of_epsilon_works(delta: float) -> None:
    table = readings([0.01, 0.1, 1.0, 10.0, 100.0], delta)
    assert table.drop(columns="reading").map(math.isfinite).all(axis=None)
    assert table.loc[table["reading"] == PUBLISHED, "ratio"].to_list() == pytest.approx([1.0] * 5, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0), (math.inf, 0.1)])
def test_refuses_what_is_out_of_range(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        balle_wang_alpha(epsilon, delta)
    with pytest.raises(ParameterError, match="sensitivity"):
        readings([1.0], 0.1, sensitivity=0.0)
