"""Laplace noise: scale, profile, refusals, the law of the draws and what is left of a direction."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Laplace, row_mechanism

EPSILONS = (0.01, 0.1, 0.3, 1.0, 3.0, 7.0, 20.0, 100.0)


@pytest.mark.shared
def test_scale_agrees_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "laplace_scale.json").read_text())["cases"]:
        inputs, expected = case["inputs"], case["expected"]
        d, norm, epsilon = inputs["d"], inputs["C"], inputs["epsilon"]
        widen = {"l1": 1.0, "l2": math.sqrt(d), "linf": float(d)}[inputs["clip_norm"]]
        found = Laplace.calibrate(epsilon, l1_sensitivity=2 * norm * widen)
        if inputs["clip_norm"] == "l1":
            assert Laplace.for_rows(epsilon, norm=norm).scale == found.scale
        close = pytest.approx(found.scale, rel=float(case["tolerance"]["rel"]))
        assert float(expected["scale_b"]) == close
        assert float(expected["expected_l1_noise"]) / d == close
        assert float(expected["l1_sensitivity"]) == pytest.approx(found.l1_sensitivity, rel=1e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibrated_noise_spends_no_more_than_asked_even_in_the_last_digit(epsilon: float) -> None:
    found = Laplace.for_rows(epsilon, norm=0.3)
    assert found.epsilon() <= epsilon < found.epsilon() * (1 + 1e-14)
    assert found.adjacency == "replace-one" and found.l1_sensitivity == 0.6 and found.row_norm == 0.3


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100), st.floats(1e-12, 0.5), st.floats(1.01, 10))
def test_profile_and_its_inverse_on_the_safe_side(epsilon: float, delta: float, more: float) -> None:
    found = Laplace.calibrate(epsilon, l1_sensitivity=1.0)
    spent = found.epsilon(delta)
    assert found.delta(spent) <= delta and spent <= epsilon
    if spent > 0:
        assert found.delta(spent * (1 - 1e-9)) >= delta * (1 - 1e-6)
    assert Laplace(found.scale * more, 1.0).epsilon(delta) <= spent
    assert Laplace(found.scale * more, 1.0).epsilon() < found.epsilon()


def test_delta_is_the_integral_over_the_densities_and_dominates_every_split_of_the_shift() -> None:
    scale, shift = 0.7, 1.4
    x = np.linspace(-18, 20, 1501)
    step = x[1] - x[0]

    def density(at: np.ndarray, centre: float) -> np.ndarray:
        return np.exp(-np.abs(at - centre) / scale) / (2 * scale)

    for epsilon in (0.0, 0.5, 1.5):
        one = np.maximum(0, density(x, 0) - math.exp(epsilon) * density(x, shift)).sum() * step
        whole = Laplace(scale, shift).delta(epsilon)
        assert whole == pytest.approx(one, abs=1e-3)
        for part in (0.2, 0.7):
            p = density(x, 0)[:, None] * density(x, 0)[None]
            q = density(x, part)[:, None] * density(x, shift - part)[None]
            assert np.maximum(0, p - math.exp(epsilon) * q).sum() * step**2 < whole


def test_noise_has_the_law_it_claims() -> None:
    """Fixed seed; Kolmogorov-Smirnov and the three moments would each fail one correct sampler in 1000 or fewer."""
    rng = np.random.default_rng(1)
    values = np.zeros((20_000, 3))
    noise = Laplace(0.4, 1.0).randomise(values, rng)
    assert noise.dtype == np.float64 and not values.any()
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=0.4).cdf).pvalue > 1e-3
    n = noise.size
    assert abs(noise.mean()) < 3.3 * 0.4 * math.sqrt(2 / n)
    assert abs(np.abs(noise).mean() - 0.4) < 3.3 * 0.4 / math.sqrt(n)
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 3.7 / math.sqrt(len(noise))
    again = Laplace(0.4, 1.0).randomise(values, np.random.default_rng(1))
    assert np.array_equal(again, noise)


def test_expected_cosine_is_the_mean_over_many_draws() -> None:
    """Monte Carlo, 4 standard errors: each of the 8 comparisons would fail a correct formula 6 times in 100,000."""
    rng = np.random.default_rng(2)
    for d, scale in ((2, 0.3), (3, 2.0), (16, 0.1), (200, 0.02)):
        rows = rng.normal(size=(2, d))
        rows[1, 1:] = 0
        rows /= np.abs(rows).sum(axis=1, keepdims=True)
        found = Laplace(scale, 2.0).expected_cosine(rows)
        for row, expected in zip(rows, found, strict=True):
            noisy = row + rng.laplace(scale=scale, size=(20_000, d))
            cosine = noisy @ row / np.linalg.norm(noisy, axis=1) / np.linalg.norm(row)
            assert abs(cosine.mean() - expected) < 4 * cosine.std() / math.sqrt(len(cosine))


def test_expected_cosine_in_one_dimension_and_at_the_extremes() -> None:
    sizes = np.array([[1e-3], [0.1], [1.0], [30.0], [1e5]])
    found = Laplace(1.0, 1.0).expected_cosine(-sizes)
    assert found == pytest.approx(-np.expm1(-sizes[:, 0]), abs=1e-6)  # P(sign kept) - P(sign turned)
    wide = np.ones((200, 256)) / 256
    by_epsilon = [float(Laplace.for_rows(e, norm=1.0).expected_cosine(wide)[0]) for e in EPSILONS]
    assert by_epsilon == sorted(by_epsilon) and 0 < by_epsilon[0] < by_epsilon[-1] < 1
    assert Laplace(1.0, 1.0).expected_cosine(np.ones((3, 512))).shape == (3,)
    with pytest.raises(ParameterError, match="row 1 is zero"):
        Laplace(1.0, 1.0).expected_cosine([[1.0], [0.0]])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Laplace(0.0, 1.0), "scale"),
        (lambda: Laplace(1.0, math.inf), "l1_sensitivity"),
        (lambda: Laplace(1.0, 1.0, row_norm=1.0), "use for_rows"),
        (lambda: Laplace.calibrate(0.0, l1_sensitivity=1.0), "epsilon"),
        (lambda: Laplace.for_rows(1.0, norm=-1.0), "norm"),
        (lambda: Laplace(1.0, 1.0).epsilon(1.0), "delta"),
        (lambda: Laplace(1.0, 1.0).delta(-0.1), "epsilon"),
        (lambda: Laplace(1.0, 1.0).noise(3, None), "default_rng"),  # type: ignore[arg-type]
        (lambda: row_mechanism("laplace", epsilon=1.0, delta=1e-6, norm=1.0, dimension=2), "delta"),
        (lambda: row_mechanism("cauchy", epsilon=1.0, delta=None, norm=1.0, dimension=2), "kind"),
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_refuses_rows_whose_promise_would_be_void() -> None:
    rng, noise = np.random.default_rng(0), Laplace.for_rows(1.0, norm=1.0)
    with pytest.raises(ParameterError, match=r"row 1 has L1 norm 1\.2, above the bound 1 .* clip"):
        noise.randomise([[0.5, 0.5], [0.6, 0.6], [2.0, 2.0]], rng)
    with pytest.raises(ParameterError, match="row 2 is not finite"):
        noise.randomise([[0.5, 0.5], [0.0, 0.0], [math.nan, 0.0]], rng)
    with pytest.raises(ParameterError, match=r"\[n, d\]"):
        noise.randomise([0.5, 0.5], rng)
    assert noise.randomise(np.full((2, 10), 0.1 + 1e-12), rng).shape == (2, 10)
    assert noise.randomise(np.empty((0, 4)), rng).shape == (0, 4)


def test_by_name_and_in_words() -> None:
    found = row_mechanism("laplace", epsilon=20.0, delta=None, norm=1.0, dimension=8)
    assert found == Laplace(0.1, 2.0, 1.0)
    assert "epsilon 20" in found.in_words() and "idealised floating point" in found.in_words()
    assert "replace-one" in found.in_words() and "sensitivity 1" in Laplace(1.0, 1.0).in_words()
    assert Laplace(1.0, 1.0).adjacency is None


@pytest.mark.parametrize("dimension", [2, 8, 512])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "vmf"])
def test_every_row_mechanism_works_over_the_whole_range(kind: str, epsilon: float, dimension: int) -> None:
    delta = 1e-6 if kind == "gaussian" else None
    found = row_mechanism(kind, epsilon=epsilon, delta=delta, norm=1.0, dimension=dimension)
    rows = np.eye(dimension)[:2]
    noisy = found.randomise(rows, np.random.default_rng(0))
    assert noisy.shape == (2, dimension) and noisy.dtype == np.float64 and np.isfinite(noisy).all()
    assert found.epsilon(delta or 0.0) == pytest.approx(epsilon, rel=1e-9) and found.delta(epsilon) <= (delta or 0.0)
    assert (found.expected_cosine(rows) > 0).all() and (found.expected_cosine(rows) <= 1).all()
    assert found.adjacency == "replace-one" and "replace-one" in found.in_words()
