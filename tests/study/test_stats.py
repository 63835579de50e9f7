"""Intervals: formulas against hand-worked values, coverage by simulation, injected effects seen and absent ones not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as sps

from trajkit.errors import ParameterError
from trajkit.study.stats import corrected_interval, holm, paired_difference, paired_ratio, variance_components


def test_corrected_interval_by_hand() -> None:
    # three values, n_test / n_train = 1/4: variance 1, spread sqrt(1 * (1/3 + 1/4)), t(0.975, 2) = 4.302653
    interval = corrected_interval([1.0, 2.0, 3.0], test_ratio=0.25)
    half = 4.302652729749464 * math.sqrt(1 / 3 + 1 / 4)
    assert interval.mean == 2.0
    assert interval.low == pytest.approx(2 - half, abs=1e-12)
    assert interval.high == pytest.approx(2 + half, abs=1e-12)


def test_without_the_correction_it_is_students_t() -> None:
    x = np.random.default_rng(0).normal(size=9)
    ours = corrected_interval(x, test_ratio=1e-12, null=0.3)
    t = sps.ttest_1samp(x, 0.3)
    assert ours.p == pytest.approx(t.pvalue, rel=1e-6)
    assert (ours.low, ours.high) == pytest.approx(tuple(t.confidence_interval()), rel=1e-6)


def test_one_value_has_no_interval_and_says_so() -> None:
    interval = corrected_interval([1.5], test_ratio=0.25)
    assert interval.low is None and not interval.excludes(0.0)
    assert "no interval" in str(interval)


@pytest.mark.parametrize(("values", "ratio"), [([], 0.25), ([1.0, math.nan], 0.25), ([1.0, 2.0], 0.0)])
def test_bad_input_is_refused(values: list[float], ratio: float) -> None:
    with pytest.raises(ParameterError):
        corrected_interval(values, test_ratio=ratio)


def test_ratio_interval_is_on_the_log_scale() -> None:
    r = paired_ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0], test_ratio=0.25)
    assert r.mean == pytest.approx(2.0) and r.low == pytest.approx(2.0) and r.high == pytest.approx(2.0)
    with pytest.raises(ParameterError, match="positive"):
        paired_ratio([0.0, 1.0], [1.0, 1.0], test_ratio=0.25)


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01]) == pytest.approx([0.04, 0.02])
    assert holm([0.03, 0.04]) == pytest.approx([0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_variance_components_tell_fold_from_initialisation() -> None:
    rng = np.random.default_rng(1)
    folds = rng.normal(0, 3, 4000) + rng.normal(0, 1, 4000)
    parts = variance_components(folds, rng.normal(0, 1, 4000))
    assert parts["initialisation"] == pytest.approx(1, rel=0.05)
    assert parts["fold"] == pytest.approx(3, rel=0.05)
    assert variance_components([1.0], [1.0, 2.0])["fold"] is None


def test_no_effect_is_rarely_seen_and_a_large_one_nearly_always() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 1, (2000, 2, 5))
    false = np.mean([paired_difference(a, b, test_ratio=0.25).excludes(0) for a, b in noise])
    true = np.mean([paired_difference(a + 20, b, test_ratio=0.25).excludes(0) for a, b in noise])
    assert false < 0.05
    assert true > 0.95
