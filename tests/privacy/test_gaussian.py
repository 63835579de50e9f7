"""Gaussian noise: the exact profile against independent values, refusals, the law of the draws, what is left of a direction."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln, hyp1f1

from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Gaussian, row_mechanism


@pytest.mark.shared
def test_sigma_agrees_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "analytic_gaussian_sigma.json").read_text())["cases"]:
        found = Gaussian.calibrate(**case["inputs"])
        assert found.sigma == pytest.approx(float(case["expected"]["sigma"]), rel=float(case["tolerance"]["sigma_rel"]))
        if case.get("info", {}).get("classical_valid"):
            classical = Gaussian.classical_sigma(**case["inputs"])
            assert classical == pytest.approx(float(case["info"]["classical_sigma"]), rel=1e-9)


@pytest.mark.shared
def test_delta_agrees_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "gaussian_delta.json").read_text())["cases"]:
        given_ = case["inputs"]
        found = Gaussian(given_["sigma"], given_["l2_sensitivity"]).delta(given_["epsilon"])
        assert found == pytest.approx(float(case["expected"]["delta"]), rel=float(case["tolerance"]["delta_rel"]))


def test_the_study_case_without_the_shared_files() -> None:
    found = row_mechanism("gaussian", epsilon=20.0, delta=1e-6, norm=1.0, dimension=8)
    assert isinstance(found, Gaussian) and found.sigma == pytest.approx(0.618169362437719, rel=1e-12)
    assert found.adjacency == "replace-one" and found.l2_sensitivity == 2.0
    assert "epsilon 20 at delta 1e-06" in found.in_words() and "replace-one" in found.in_words()
    assert Gaussian(1.0, 1.0).epsilon() == math.inf and Gaussian(1.0, 1.0).adjacency is None


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100), st.floats(1e-12, 0.5), st.floats(1.01, 10))
def test_calibration_profile_and_inverse_on_the_safe_side(epsilon: float, delta: float, more: float) -> None:
    found = Gaussian.calibrate(epsilon, delta, l2_sensitivity=2.0)
    assert found.delta(epsilon) <= delta < Gaussian(found.sigma * (1 - 1e-6), 2.0).delta(epsilon)
    spent = found.epsilon(delta)
    assert spent == pytest.approx(epsilon, rel=1e-7) and found.delta(spent) <= delta
    assert Gaussian(found.sigma * more, 2.0).epsilon(delta) < spent
    if epsilon <= 1:
        assert found.sigma < Gaussian.classical_sigma(epsilon, delta, 2.0)


def test_noise_has_the_law_it_claims() -> None:
    """Fixed seed; each test would fail one correct sampler in 1000 or fewer."""
    noise = Gaussian(0.7, 1.0).randomise(np.zeros((20_000, 3)), np.random.default_rng(3))
    assert noise.dtype == np.float64
    for column in noise.T:
        assert stats.kstest(column, stats.norm(scale=0.7).cdf).pvalue > 1e-3
    n = noise.size
    assert abs(noise.mean()) < 3.3 * 0.7 / math.sqrt(n)
    assert abs(noise.var() / 0.49 - 1) < 3.3 * math.sqrt(2 / n)
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 3.7 / math.sqrt(len(noise))


def test_expected_cosine_is_the_hypergeometric_formula_where_that_is_stable() -> None:
    for d in (1, 2, 3, 16, 256, 512):
        for r in (1e-3, 0.3, 2.0, 8.0):
            row = np.zeros((1, d))
            row[0, -1] = 3 * r
            factor = math.exp(float(gammaln((d + 1) / 2) - gammaln(d / 2 + 1))) / math.sqrt(2)
            expected = r * factor * hyp1f1(0.5, d / 2 + 1, -(r**2) / 2)
            assert Gaussian(3.0, 1.0).expected_cosine(row)[0] == pytest.approx(expected, rel=1e-11)


def test_expected_cosine_is_the_mean_over_many_draws_and_stable_at_the_extremes() -> None:
    """Monte Carlo, 4 standard errors: each comparison would fail a correct formula 6 times in 100,000."""
    rng = np.random.default_rng(4)
    for d, sigma in ((2, 0.5), (16, 0.3), (256, 0.618)):
        row = rng.normal(size=d)
        row /= np.linalg.norm(row)
        noisy = row + sigma * rng.normal(size=(20_000, d))
        cosine = noisy @ row / np.linalg.norm(noisy, axis=1)
        assert abs(cosine.mean() - Gaussian(sigma, 2.0).expected_cosine(row[None])[0]) < 4 * cosine.std() / math.sqrt(
            20_000
        )
    for d in (2, 512):
        row = np.ones((1, d))
        assert Gaussian(1e-12, 1.0).expected_cosine(row)[0] == pytest.approx(1.0, abs=1e-12)
        assert 0 < Gaussian(1e12, 1.0).expected_cosine(row)[0] < 1e-10
    with pytest.raises(ParameterError, match="zero"):
        Gaussian(1.0, 1.0).expected_cosine(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Gaussian(-1.0, 1.0), "sigma"),
        (lambda: Gaussian(1.0, 0.0), "l2_sensitivity"),
        (lambda: Gaussian(1.0, 1.9, row_norm=1.0), "use for_rows"),
        (lambda: Gaussian.calibrate(1.0, 0.0, l2_sensitivity=1.0), "delta"),
        (lambda: Gaussian.calibrate(math.nan, 1e-6, l2_sensitivity=1.0), "epsilon"),
        (lambda: Gaussian.classical_sigma(1.01, 1e-6, 1.0), "use calibrate"),
        (lambda: row_mechanism("gaussian", epsilon=1.0, delta=None, norm=1.0, dimension=2), "delta"),
        (lambda: row_mechanism("gaussian", epsilon=1.0, delta=1.0, norm=1.0, dimension=2), "delta"),
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_refuses_rows_whose_promise_would_be_void() -> None:
    rng, noise = np.random.default_rng(0), Gaussian.for_rows(1.0, 1e-6, norm=5.0)
    with pytest.raises(ParameterError, match=r"row 1 has L2 norm 5\.00001, above the bound 5 .* clip"):
        noise.randomise([[3.0, 4.0], [3.0, 4.00001], [9.0, 0.0]], rng)
    with pytest.raises(ParameterError, match="row 0 is not finite"):
        noise.randomise([[math.inf, 4.0]], rng)
    assert noise.randomise([[3.0, 4.0 + 1e-9]], rng).shape == (1, 2)
    assert Gaussian(1.0, 1.0).randomise([1.0, 2.0], rng).shape == (2,)
