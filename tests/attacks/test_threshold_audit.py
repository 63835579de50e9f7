"""The black-box audit: exact bounds, no contradiction of honest mechanisms, contradiction of those with half the noise.

All seeds are fixed. The audits run at level 0.999, so a correct mechanism would be refuted at most once in 1000 seeds.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from trajkit.attacks.threshold_audit import AuditBound, clopper_pearson, epsilon_lower_bound
from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Gaussian, Geometric, Laplace
from trajkit.privacy.vmf import VonMisesFisher

N = 200_000
LEVEL = 0.999
DELTA = 1e-3  # of the Gaussian claims: what happens once in 100,000 draws, no audit of 200,000 can see


@pytest.mark.shared
def test_bounds_agree_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    same_test = 0
    for case in json.loads((shared / "reference" / "audit_clopper_pearson.json").read_text())["cases"]:
        inputs, tolerance = case["inputs"], float(case["tolerance"]["abs"])
        expected = {key: float(value) for key, value in case["expected"].items()}
        level = 1 - inputs["one_sided_alpha_each"]
        lower = clopper_pearson(inputs["tp"], inputs["n_members"], level=level, side="lower")
        upper = clopper_pearson(inputs["fp"], inputs["n_nonmembers"], level=level, side="upper")
        assert (lower, upper) == pytest.approx((expected["tpr_lower"], expected["fpr_upper"]), abs=tolerance)
        yes, no = _scores(inputs["tp"], inputs["n_members"]), _scores(inputs["fp"], inputs["n_nonmembers"])
        found = epsilon_lower_bound(yes, no, delta=inputs["delta"], level=2 * level - 1)
        if found.positive == "a" and found.above:
            assert found.epsilon == pytest.approx(expected["eps_lower"], abs=tolerance)
            same_test += 1
        else:  # the complement is the better test
            assert found.epsilon >= expected["eps_lower"]
    assert same_test >= 4


def _scores(ones: int, n: int) -> np.ndarray:
    """Scores 0 and 1 of which both halves have ``ones`` ones among n."""
    return np.tile(np.repeat([1.0, 0.0], [ones, n - ones]), 2)


def test_clopper_pearson_has_its_coverage_and_its_ends() -> None:
    assert clopper_pearson(0, 10, level=0.95, side="lower") == 0.0
    assert clopper_pearson(10, 10, level=0.95, side="upper") == 1.0
    assert clopper_pearson(0, 10, level=0.95, side="upper") == pytest.approx(1 - 0.05**0.1)
    for k, n in ((3, 17), (500, 1000)):
        upper = clopper_pearson(k, n, level=0.99, side="upper")
        assert stats.binom.cdf(k, n, upper) == pytest.approx(0.01, rel=1e-9)
        lower = clopper_pearson(k, n, level=0.99, side="lower")
        assert stats.binom.sf(k - 1, n, lower) == pytest.approx(0.01, rel=1e-9)
    k = np.arange(51)
    for p in (0.02, 0.5):  # exact coverage, summed over all outcomes
        chance = stats.binom.pmf(k, 50, p)
        assert chance[clopper_pearson(k, np.full(51, 50), level=0.9, side="lower") <= p].sum() >= 0.9
        assert chance[clopper_pearson(k, np.full(51, 50), level=0.9, side="upper") >= p].sum() >= 0.9


def laplace(epsilon: float, weaken: float, sign: int, rng: np.random.Generator) -> np.ndarray:
    noise = Laplace.for_rows(epsilon, norm=1.0)
    rows = np.tile([float(sign), 0.0], (N, 1))
    return Laplace(noise.scale / weaken, 2.0, 1.0).randomise(rows, rng)[:, 0]


def gaussian(epsilon: float, weaken: float, sign: int, rng: np.random.Generator) -> np.ndarray:
    noise = Gaussian.for_rows(epsilon, DELTA, norm=1.0)
    rows = np.tile([0.6 * sign, 0.8 * sign], (N, 1))
    return Gaussian(noise.sigma / weaken, 2.0, 1.0).randomise(rows, rng) @ [0.6, 0.8]


def geometric(epsilon: float, weaken: float, sign: int, rng: np.random.Generator) -> np.ndarray:
    noise = Geometric.calibrate(epsilon, sensitivity=1)
    return Geometric(noise.scale / weaken, 1).randomise(np.full(N, sign > 0, dtype=int), rng)


def exact_geometric(epsilon: float, weaken: float, sign: int, rng: np.random.Generator) -> np.ndarray:
    noise = Geometric.calibrate(epsilon, sensitivity=1)
    return Geometric(noise.scale / weaken, 1, exact=True).randomise(np.full(N // 10, sign > 0, dtype=int), rng)


def vmf(epsilon: float, weaken: float, sign: int, rng: np.random.Generator) -> np.ndarray:
    noise = VonMisesFisher.calibrate(epsilon, dimension=3)
    units = np.tile([0.0, 0.6 * sign, 0.8 * sign], (N, 1))
    return VonMisesFisher(noise.kappa * weaken, 3).randomise(units, rng) @ [0.0, 0.6, 0.8]


MECHANISMS = [laplace, gaussian, geometric, exact_geometric, vmf]


def _audit(release: Any, epsilon: float, weaken: float) -> AuditBound:
    rng = np.random.default_rng(16)
    a, b = release(epsilon, weaken, 1, rng), release(epsilon, weaken, -1, rng)
    return epsilon_lower_bound(a, b, delta=DELTA if release is gaussian else 0.0, level=LEVEL)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("release", MECHANISMS)
def test_the_claim_stands_with_its_noise_and_falls_with_half_of_it(release: Any, epsilon: float) -> None:
    honest = _audit(release, epsilon, 1.0)
    assert 0.6 * epsilon < honest.epsilon <= epsilon  # not blind, and no contradiction
    weak = _audit(release, epsilon, 2.0)
    assert weak.epsilon > epsilon
    assert weak.epsilon == pytest.approx(math.log((weak.true_positive_lower - weak.delta) / weak.false_positive_upper))


def test_the_vmf_scale_of_the_metric_form_is_refuted() -> None:
    """kappa = epsilon instead of epsilon / 2, the mistake that the design warns of: twice the claimed epsilon."""
    assert _audit(vmf, 1.0, 2.0).epsilon > 1.5


def test_the_same_law_gives_nothing_and_the_direction_is_found() -> None:
    rng = np.random.default_rng(17)
    assert epsilon_lower_bound(rng.normal(size=2000), rng.normal(size=2000), delta=0.0).epsilon == 0.0
    far, near = rng.normal(size=2000) + 3, rng.normal(size=2000)
    for a, b in ((far, near), (near, far)):
        found = epsilon_lower_bound(a, b, delta=1e-5)
        assert found.epsilon > 2
        assert found.positive == ("a" if found.above == (a is far) else "b")


def test_false_alarms_are_as_rare_as_the_level_says() -> None:
    """400 audits at level 0.9 of randomised response with epsilon 1: at most 40 may exceed 1 on average, 60 with 3 sigma."""
    rng = np.random.default_rng(18)
    p = math.e / (1 + math.e)
    wrong = 0
    for _ in range(400):
        a, b = (rng.random(400) < p).astype(float), (rng.random(400) < 1 - p).astype(float)
        wrong += epsilon_lower_bound(a, b, delta=0.0, level=0.9).epsilon > 1
    assert wrong <= 60


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: epsilon_lower_bound([1.0], [1.0, 2.0, 3.0, 4.0], delta=0.0), "scores_a"),
        (lambda: epsilon_lower_bound([1.0] * 4, [1.0, 2.0, 3.0, math.nan], delta=0.0), "scores_b"),
        (lambda: epsilon_lower_bound([1.0] * 4, [1.0] * 4, delta=1.0), "delta"),
        (lambda: epsilon_lower_bound([1.0] * 4, [1.0] * 4, delta=0.0, level=1.0), "level"),
        (lambda: clopper_pearson(3, 2, level=0.9, side="lower"), "successes"),
        (lambda: clopper_pearson(1, 2, level=0.9, side="both"), "side"),
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()
