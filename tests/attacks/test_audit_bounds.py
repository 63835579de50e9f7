"""Bounds of the distinguishing game: reference values, error rates over all scores, and what they must not say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from trajkit.attacks.audit_bounds import (
    Curve,
    audit,
    mu_of_rates,
    one_run_epsilon,
    one_run_p_value,
    shuffled_delta,
)
from trajkit.attacks.intervals import auc, auc_interval
from trajkit.errors import ParameterError
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.gdp import gdp_delta, gdp_epsilon
from trajkit.privacy.ledger import DpSgd


def _cases(shared: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((shared / "reference" / name).read_text())["cases"]


@pytest.mark.shared
def test_mu_agrees_with_the_reference(shared: Path) -> None:
    for case in _cases(shared, "audit_clopper_pearson.json"):
        expected = {key: float(value) for key, value in case["expected"].items()}
        found = max(0.0, float(mu_of_rates(expected["tpr_lower"], expected["fpr_upper"])))
        assert found == pytest.approx(expected["mu_gdp_lower"], abs=case["tolerance"]["abs"])
        inputs = case["inputs"]
        a, b = (
            np.tile(np.repeat([1.0, 0.0], [ones, n - ones]), 2)
            for ones, n in ((inputs["tp"], inputs["n_members"]), (inputs["fp"], inputs["n_nonmembers"]))
        )
        level = 1 - 2 * 2 * inputs["one_sided_alpha_each"]  # two tests of two rates each
        whole = audit({"only": (a, b)}, delta=inputs["delta"], level=level)
        assert whole.epsilon >= expected["eps_lower"] - 1e-6  # the other direction may be better
        assert whole.mu >= expected["mu_gdp_lower"] - 1e-6


@pytest.mark.shared
def test_one_run_agrees_with_the_reference_and_the_published_figures(shared: Path) -> None:
    for case in _cases(shared, "audit_one_run.json"):
        i, expected, tolerance = case["inputs"], case["expected"], case["tolerance"]
        given = {"canaries": i["m"], "guesses": i["r"], "right": i["v"], "delta": i["delta"]}
        assert one_run_epsilon(**given, level=1 - i["p"]) == pytest.approx(
            float(expected["eps_lower"]), abs=tolerance["eps_abs"]
        )
        assert one_run_p_value(1.0, **given) == pytest.approx(
            float(expected["p_value_at_eps1"]), abs=tolerance["p_abs"]
        )


@pytest.mark.shared
def test_shuffled_batches_agree_with_the_reference(shared: Path) -> None:
    for case in _cases(shared, "shuffle_lower_bound.json"):
        i, expected = case["inputs"], case["expected"]
        found = shuffled_delta(
            i["epsilon"], noise_multiplier=i["noise_multiplier"], steps=i["batches_per_epoch"] * i["epochs"]
        )
        assert found == pytest.approx(
            float(expected["delta_shuffle_lower"]), rel=case["tolerance"]["delta_shuffle_rel"]
        )


@pytest.mark.shared
def test_the_claimed_curve_is_the_accountants(shared: Path) -> None:
    for case in _cases(shared, "shuffle_lower_bound.json")[1:3]:
        i, expected = case["inputs"], case["expected"]
        steps = i["batches_per_epoch"]
        curve = Curve.of_dp_sgd(DpSgd(1 / steps, i["noise_multiplier"], steps), largest=i["epsilon"])
        assert curve.epsilon[-1] == i["epsilon"]
        assert curve.delta[-1] == pytest.approx(
            expected["delta_poisson_pld_upper"], rel=case["tolerance"]["delta_poisson_rel"]
        )


def test_one_run_by_hand() -> None:
    assert one_run_epsilon(canaries=10, guesses=10, right=5, delta=0.0) == 0.0
    # all of r right: q^r = p, so e^epsilon = p^(1/r) / (1 - p^(1/r))
    q = 0.05 ** (1 / 30)
    found = one_run_epsilon(canaries=40, guesses=30, right=30, delta=0.0)
    assert found == pytest.approx(math.log(q / (1 - q)), rel=1e-6)
    assert one_run_epsilon(canaries=40, guesses=30, right=30, delta=1e-3) < found
    assert one_run_p_value(0.0, canaries=4, guesses=4, right=0, delta=0.5) == 1.0


def test_one_run_does_not_overstate() -> None:
    """Randomised response with epsilon 1 in each canary: 500 audits at level 0.9 exceed 1 in at most a tenth, and 3 sigma."""
    rng = np.random.default_rng(4)
    right = rng.binomial(60, math.e / (1 + math.e), size=500)
    bounds = {v: one_run_epsilon(canaries=60, guesses=60, right=int(v), delta=0.0, level=0.9) for v in np.unique(right)}
    assert sum(bounds[v] > 1 for v in right) <= 50 + 3 * math.sqrt(45)
    assert max(bounds.values()) > 1  # and it could


def _gaussian(mu: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1, n), rng.normal(0, 1, n)


def test_a_true_claim_stands_and_one_of_half_the_mu_falls() -> None:
    mu, delta = 1.0, 1e-3
    epsilon = gdp_epsilon(mu, delta)

    def curve(m: float) -> Curve:
        grid = tuple(np.linspace(0, 2 * epsilon, 40))
        return Curve(grid, tuple(gdp_delta(m, e) for e in grid))

    scores = {"right": _gaussian(mu, 40_000, 1), "noise": _gaussian(0, 40_000, 2), "flipped": _gaussian(-mu, 40_000, 3)}
    honest = audit(scores, delta=delta, curve=curve(mu))
    assert 0.9 < honest.mu <= mu
    assert 0.5 * epsilon < honest.epsilon <= epsilon
    assert honest.refutes_curve is False
    assert honest.epsilon < honest.epsilon_if_gaussian <= epsilon  # a normal score says more through mu
    assert [s.refutes_curve for s in audit(scores, delta=delta, curve=curve(mu / 2)).by_score] == [True, False, True]
    noise = honest.by_score[1]
    assert noise.epsilon == 0 and noise.mu < 0.05
    assert noise.auc_interval[0] < 0.5 < noise.auc_interval[1]
    assert honest.by_score[0].auc == pytest.approx(norm.cdf(mu / math.sqrt(2)), abs=0.01)
    assert audit({"x": scores["right"]}, delta=delta).refutes_curve is None
    assert audit({"x": scores["noise"]}, delta=delta).epsilon_if_gaussian < 0.5


def test_more_scores_cost_confidence_and_the_price_is_stated() -> None:
    scores = _gaussian(2.0, 2000, 5)
    one = audit({"a": scores}, delta=0.0)
    many = audit({str(i): scores for i in range(8)}, delta=0.0)
    assert many.epsilon < one.epsilon
    assert "8 scores x 2 tests x 2 rates" in many.correction
    assert f"{1 - 0.05 / 32:.5g}" in many.correction
    assert many.trials == 2000


def test_errors_over_all_scores_are_as_rare_as_the_level_says() -> None:
    """300 audits at 0.9 of 6 scores that are 0.5-GDP each: epsilon, mu or curve may be wrong in 30, and 3 sigma, of them."""
    mu, delta = 0.5, 0.01
    epsilon = gdp_epsilon(mu, delta)
    grid = tuple(np.linspace(0, 2, 20))
    curve = Curve(grid, tuple(gdp_delta(mu, e) for e in grid))
    wrong = 0
    for seed in range(300):
        scores = {str(i): _gaussian(mu, 300, 10 * seed + i) for i in range(6)}
        found = audit(scores, delta=delta, level=0.9, curve=curve)
        wrong += bool(found.epsilon > epsilon or found.mu > mu or found.refutes_curve)
    assert wrong <= 30 + 3 * math.sqrt(27)


def test_a_shuffled_epoch_spends_more_than_its_accountant_says() -> None:
    mechanism = DpSgd(0.01, 1.0, 100)
    spent = epsilon_of(mechanism, delta=0.01, unit="trajectory").epsilon
    assert shuffled_delta(spent, noise_multiplier=1.0, steps=100) > 0.01
    assert shuffled_delta(50.0, noise_multiplier=1.0, steps=100) == 0.0


def test_auc_and_its_interval() -> None:
    a, b = np.array([1.0, 2.0, 2.0]), np.array([0.0, 2.0])
    assert auc(a, b) == pytest.approx(np.mean([1, 0, 1, 0.5, 1, 0.5]))
    low, high = auc_interval(1.0, 100, 0.95)
    assert (low, high) == (pytest.approx((0.025) ** (1 / 100)), 1.0)
    low, high = auc_interval(0.0, 100, 0.95)
    assert low == 0.0 and high == pytest.approx(1 - 0.025**0.01)
    for pairs in (2, 60):  # almost an end: no float beyond it is far enough
        low, high = auc_interval(1 - 1e-5, pairs, 0.95)
        assert 0 < low < 1 - 1e-5 and high == 1.0
        assert auc_interval(1e-310, pairs, 0.95)[0] == 0.0
    misses = 0
    for seed in range(300):
        a, b = _gaussian(0.5, 80, seed)
        low, high = auc_interval(auc(a, b), 80, 0.8)
        misses += not low <= norm.cdf(0.5 / math.sqrt(2)) <= high
    assert misses <= 60


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: audit({}, delta=0.0), "scores"),
        (lambda: audit({"a": ([1.0] * 4, [1.0] * 4)}, delta=1.5), "delta"),
        (lambda: Curve((0.0, 1.0), (0.1,)), "curve"),
        (lambda: Curve((0.0,), (1.1,)), "delta"),
        (lambda: one_run_p_value(1.0, canaries=3, guesses=4, right=1, delta=0.0), "guesses"),
        (lambda: one_run_epsilon(canaries=5, guesses=4, right=5, delta=0.0), "right"),
        (lambda: shuffled_delta(1.0, noise_multiplier=0.0, steps=3), "noise_multiplier"),
        (lambda: auc_interval(0.5, 0, 0.9), "pairs"),
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_an_auc_close_to_its_end_has_an_interval_up_to_it() -> None:
    """With 10 scores no truth below 1 is ruled out by an AUC of 0.99: KL(0.99, 1 - 1e-16) is less than what is allowed."""
    low, high = auc_interval(0.99, 10, 0.95)
    assert 0.5 < low < 0.99 and high == 1.0
    mirrored = auc_interval(0.01, 10, 0.95)
    assert mirrored[1] == pytest.approx(1 - low) and 0 <= mirrored[0] < 1e-9
    assert auc_interval(1e-6, 10, 0.95)[0] == 0.0
