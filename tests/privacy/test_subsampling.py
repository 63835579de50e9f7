"""Subsampling without replacement against independent values, brute force, and its conditions as refusals."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy.mechanisms import Gaussian, Laplace
from trajkit.privacy.subsampling import Subsampled, amplify, base_budget
from trajkit.privacy.vmf import VonMisesFisher


@pytest.mark.shared
def test_amplification_and_its_inverse_agree_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "subsampling_wor_amplification.json").read_text())["cases"]:
        given_, rel = case["inputs"], float(case["tolerance"]["rel"])
        expected = {k: float(v) for k, v in case["expected"].items()}
        sizes = {"m": given_["m"], "n": given_["n"]}
        if given_["direction"] == "forward":
            found = amplify(given_["base_epsilon"], given_["base_delta"], **sizes)
            assert found == pytest.approx((expected["epsilon"], expected["delta"]), rel=rel)
            continue
        epsilon, delta = base_budget(given_["target_epsilon"], given_["target_delta"], **sizes)
        assert (epsilon, delta) == pytest.approx((expected["base_epsilon"], expected["base_delta"]), rel=rel)
        laplace = Laplace.calibrate(epsilon, l1_sensitivity=given_["l1_sensitivity"])
        assert laplace.scale == pytest.approx(expected["laplace_scale_b"], rel=rel)
        assert VonMisesFisher.calibrate(epsilon, dimension=8).kappa == pytest.approx(expected["vmf_kappa"], rel=rel)
        sigma = Gaussian.calibrate(epsilon, delta, l2_sensitivity=given_["l2_sensitivity"]).sigma
        assert sigma == pytest.approx(expected["gaussian_sigma"], rel=case["tolerance"]["gaussian_sigma_rel"])


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 100), st.floats(0, 1e-3), st.integers(1, 1000), st.integers(0, 10**6))
def test_the_inverse_inverts_and_sampling_never_costs(epsilon: float, delta: float, m: int, more: int) -> None:
    n = m + more
    less_epsilon, less_delta = amplify(epsilon, delta, m=m, n=n)
    assert 0 < less_epsilon <= epsilon and less_delta <= delta
    assert base_budget(less_epsilon, less_delta, m=m, n=n) == pytest.approx((epsilon, delta), rel=1e-9)
    q = m / n
    assert less_epsilon >= q * epsilon * (1 - 1e-12)


def test_stable_where_exponentials_overflow() -> None:
    assert amplify(2000.0, 0.0, m=1, n=1000)[0] == pytest.approx(2000 - math.log(1000))
    assert base_budget(2000.0, 0.0, m=1, n=1000)[0] == pytest.approx(2000 + math.log(1000))
    assert amplify(100.0, 0.0, m=1, n=10)[0] == pytest.approx(100 - math.log(10), rel=1e-15)
    assert amplify(1.0, 0.0, m=3, n=7)[0] == pytest.approx(amplify(1.0 - 1e-12, 0.0, m=3, n=7)[0], rel=1e-11)
    assert amplify(3.3, 1e-7, m=9, n=9) == base_budget(3.3, 1e-7, m=9, n=9) == (3.3, 1e-7)


def test_randomised_response_on_all_subsets_attains_it() -> None:
    """ "Is the target drawn?", answered truly with odds e^epsilon to 1: the ratio over all subsets is the theorem's."""
    m, n, epsilon = 3, 8, 1.7
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    drawn = [0 in subset for subset in itertools.combinations(range(n), m)]
    with_target = sum(true if hit else 1 - true for hit in drawn) / len(drawn)
    assert math.log(with_target / (1 - true)) == pytest.approx(amplify(epsilon, 0.0, m=m, n=n)[0], rel=1e-12)


def test_releases_compose_inside_one_subset_and_outside_fresh_ones() -> None:
    one = Subsampled(10, 100, secret_indices=True).spend(2.0, 1e-6)
    assert one == amplify(2.0, 1e-6, m=10, n=100)
    inside = Subsampled(10, 100, secret_indices=True, releases=3, composition="inside").spend(2.0, 1e-6)
    outside = Subsampled(10, 100, secret_indices=True, releases=3, composition="outside").spend(2.0, 1e-6)
    assert inside == amplify(6.0, 3e-6, m=10, n=100)
    assert outside == pytest.approx((3 * one[0], 3 * one[1]))
    assert inside[0] > outside[0] > one[0] and inside[1] == pytest.approx(outside[1])


def test_no_amplification_when_the_indices_are_known() -> None:
    with pytest.raises(PrivacyAccountingError, match="keep the indices secret"):
        Subsampled(10, 100, secret_indices=False).spend(1.0, 0.0)
    assert Subsampled(100, 100, secret_indices=False, releases=2).spend(1.0, 1e-6) == (2.0, 2e-6)


def test_a_delta_that_leaves_no_constraint_is_refused() -> None:
    with pytest.raises(PrivacyAccountingError, match="no noise"):
        base_budget(1.0, 0.01, m=10, n=1000)
    assert base_budget(1.0, 0.00999, m=10, n=1000)[1] < 1
    with pytest.raises(PrivacyAccountingError, match="adds up"):
        Subsampled(10, 10, secret_indices=True, releases=3).spend(1.0, 0.4)
    with pytest.raises(PrivacyAccountingError, match="adds up"):
        Subsampled(9, 10, secret_indices=True, releases=3, composition="outside").spend(1.0, 0.4)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: amplify(-1.0, 0.0, m=1, n=2), "epsilon"),
        (lambda: amplify(1.0, 1.0, m=1, n=2), "delta"),
        (lambda: amplify(1.0, 0.0, m=3, n=2), "cannot draw"),
        (lambda: base_budget(1.0, 0.0, m=0, n=2), "m = 0"),
        (lambda: Subsampled(1, 2, secret_indices=True, releases=0), "releases"),
        (lambda: Subsampled(1, 2, secret_indices=True, composition="both"), "composition"),  # type: ignore[arg-type]
        (lambda: Subsampled(1, 2, secret_indices="yes"), "secret_indices"),  # type: ignore[arg-type]
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()
