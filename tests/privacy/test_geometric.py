"""Two-sided geometric noise: profile by summation, refusals, and both samplers against the law."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trajkit.errors import ParameterError
from trajkit.privacy.exact_noise import Bits, one_sided_geometric, tail_binomial, tail_probability, two_sided_geometric
from trajkit.privacy.mechanisms import Geometric


def _law(k: np.ndarray, scale: float) -> np.ndarray:
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)


@pytest.mark.shared
def test_law_agrees_with_the_reference_and_so_do_the_draws(shared) -> None:  # type: ignore[no-untyped-def]
    """Counts of 0 and 1 and the variance within 4 standard errors: 1 in 16,000 for each of the 18 checks."""
    cases = json.loads((shared / "reference" / "discrete_noise.json").read_text())["cases"]
    n = 20_000
    for case in (c for c in cases if c["inputs"]["kind"] == "discrete_laplace"):
        scale, expected = float(case["inputs"]["scale"]), {k: float(v) for k, v in case["expected"].items()}
        assert _law(np.array([0, 1]), scale) == pytest.approx([expected["p0"], expected["p1"]], rel=1e-10)
        for exact in (True, False):
            drawn = Geometric(scale, 1, exact).noise(n, np.random.default_rng(5))
            for value, p in ((0, expected["p0"]), (1, expected["p1"])):
                assert abs((drawn == value).mean() - p) < 4 * math.sqrt(p * (1 - p) / n)
            spread = math.sqrt((drawn.astype(float) ** 4).mean() - expected["variance"] ** 2)
            assert abs((drawn.astype(float) ** 2).mean() - expected["variance"]) < 4 * spread / math.sqrt(n)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 10.0 / 3])
def test_draws_have_the_law(exact: bool, scale: float) -> None:
    """Chi-square at fixed seeds; each of the 8 would fail one correct sampler in 1000."""
    drawn = Geometric(scale, 1, exact).noise(20_000, np.random.default_rng(6))
    assert drawn.dtype == np.int64
    edge = next(k for k in range(1, 1000) if 20_000 * _law(np.array([k + 1]), scale)[0] < 10)
    values = np.arange(-edge, edge + 1)
    observed = [(drawn == k).sum() for k in values] + [(np.abs(drawn) > edge).sum()]
    expected = 20_000 * np.append(_law(values, scale), 1 - _law(values, scale).sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_exact_noise_takes_a_rational_scale_wide_or_narrow_and_the_systems_bits() -> None:
    """The 20,000-fold scale: mean size within 4 standard errors (1 in 16,000)."""
    rng = np.random.default_rng(7)
    wide = np.abs(two_sided_geometric(Fraction(20_000, 1), 4000, rng))
    assert abs(wide.mean() - 20_000) < 4 * 20_000 / math.sqrt(4000)
    assert set(two_sided_geometric(Fraction(1, 100), 200, rng)) == {0}  # P(not 0) is 2 e^-100
    assert len(set(two_sided_geometric(Fraction(50), 50))) > 10
    one, again = (two_sided_geometric(Fraction(7, 3), 50, np.random.default_rng(8)) for _ in range(2))
    assert one.tolist() == again.tolist()
    assert Geometric(3.0, 1, exact=True).randomise([5, 6], None).dtype == np.int64
    with pytest.raises(ParameterError, match="scale"):
        two_sided_geometric(Fraction(0), 1, rng)


@pytest.mark.parametrize(("scale", "sensitivity"), [(1.3, 1), (2.5, 3), (0.7, 4), (5.0, 1), (3.0, 6)])
def test_delta_is_the_sum_over_the_law(scale: float, sensitivity: int) -> None:
    x = np.arange(-300, 301)
    p, q = _law(x, scale), _law(x - sensitivity, scale)
    for epsilon in (0.0, 0.1, 0.3, 1.0, 1.9):
        expected = np.maximum(0, p - math.exp(epsilon) * q).sum()
        assert Geometric(scale, sensitivity).delta(epsilon) == pytest.approx(expected, abs=1e-14)
        if sensitivity > 1:  # a shift split over two counts is less
            a, b = (
                np.outer(p, p),
                np.outer(_law(x - 1, scale), _law(x - sensitivity + 1, scale)),
            )
            assert np.maximum(0, a - math.exp(epsilon) * b).sum() <= expected + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100), st.integers(1, 9), st.floats(1e-12, 0.5), st.floats(1.01, 10))
def test_profile_and_its_inverse_on_the_safe_side(epsilon: float, sensitivity: int, delta: float, more: float) -> None:
    found = Geometric.calibrate(epsilon, sensitivity=sensitivity)
    assert found.epsilon() <= epsilon < found.epsilon() * (1 + 1e-14)
    assert Fraction(sensitivity) <= Fraction(epsilon) * Fraction(found.scale)
    spent = found.epsilon(delta)
    assert found.delta(spent) <= delta and spent <= epsilon
    assert Geometric(found.scale * more, sensitivity).epsilon() < found.epsilon()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Geometric(0.0, 1), "scale"),
        (lambda: Geometric(1e16, 1), "int64"),
        (lambda: Geometric(1.0, 1.5), "sensitivity"),  # type: ignore[arg-type]
        (lambda: Geometric.calibrate(1.0, sensitivity=0), "sensitivity"),
        (lambda: Geometric(1.0, 1).randomise([1.5], np.random.default_rng(0)), "not whole"),
        (lambda: Geometric(1.0, 1).randomise([math.nan], np.random.default_rng(0)), "not finite"),
        (lambda: Geometric(1.0, 1).randomise([2**63 - 1], np.random.default_rng(0)), "2\\^62"),
        (lambda: Geometric(1.0, 1).randomise([1], None), "exact=True"),
        (lambda: Geometric(1.0, 1, exact=True).randomise([1], 3), "default_rng"),  # type: ignore[arg-type]
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_counts_of_any_shape_and_in_words() -> None:
    counts = np.array([[3.0, 0.0], [12.0, 7.0]])
    for exact in (True, False):
        noise = Geometric.calibrate(1.0, sensitivity=2, exact=exact)
        assert noise.randomise(counts, np.random.default_rng(0)).shape == (2, 2)
        assert (
            noise.numerics == ("exact" if exact else "idealised floating point") and noise.numerics in noise.in_words()
        )
        assert "epsilon 1," in noise.in_words()
    assert counts[0, 0] == 3.0


@pytest.mark.parametrize(
    ("m", "threshold", "scale"), [(50, 1, Fraction(1)), (1012, 9, Fraction(4)), (3, 2, Fraction(7, 2))]
)
def test_how_many_pass_is_binomial_without_drawing_them(m: int, threshold: int, scale: Fraction) -> None:
    """Chi-square at fixed seeds, 1 in 1000 each."""
    rng = np.random.default_rng(1)
    drawn = np.array([tail_binomial(m, threshold, scale, rng) for _ in range(4000)])
    law = stats.binom(m, tail_probability(threshold, float(scale)))
    assert tail_probability(threshold, float(scale)) == pytest.approx(
        _law(np.arange(threshold, 4000), float(scale)).sum()
    )
    few = [k for k in range(m + 1) if 4000 * law.pmf(k) >= 10]
    rest = [k for k in range(m + 1) if k not in few]
    observed = [(drawn == k).sum() for k in few] + ([np.isin(drawn, rest).sum()] if rest else [])
    expected = [4000 * law.pmf(k) for k in few] + ([4000 * law.pmf(rest).sum()] if rest else [])
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_what_passes_a_threshold_exceeds_it_by_one_sided_noise() -> None:
    """Chi-square at a fixed seed, 1 in 1000."""
    scale = Fraction(5, 2)
    both = two_sided_geometric(scale, 60_000, np.random.default_rng(2))
    over = one_sided_geometric(scale, 20_000, np.random.default_rng(3))
    tails = [both[both >= 3] - 3, over]
    table = [[(np.minimum(x, 15) == k).sum() for k in range(16)] for x in tails]
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_a_choice_without_replacement_is_uniform_and_rising() -> None:
    bits = Bits(np.random.default_rng(4))
    chosen = np.array([bits.distinct(7, k) for k in (3,) * 3000])
    assert (np.diff(chosen, axis=1) > 0).all() and chosen.min() == 0 and chosen.max() == 6
    codes = np.unique((7 ** np.arange(3)) @ chosen.T, return_counts=True)[1]
    assert len(codes) == 35 and stats.chisquare(codes).pvalue > 1e-3
    assert bits.distinct(5, 5).tolist() == [0, 1, 2, 3, 4] and len(bits.distinct(5, 0)) == 0


def test_extremes_of_the_tail() -> None:
    assert tail_binomial(0, 1, Fraction(1)) == 0
    assert tail_binomial(10**9, 2000, Fraction(1)) == 0  # P is 10^9 e^-2000
    with pytest.raises(ParameterError, match="threshold"):
        tail_binomial(5, 0, Fraction(1))
