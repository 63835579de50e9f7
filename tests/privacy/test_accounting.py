"""Epsilon of DP-SGD against independent reference values and against the laws it must obey."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy import accountants
from trajkit.privacy.accounting import DpSgd, delta_for, epsilon_of, user_level_epsilon

QUICK_CASES = ("textbook-1", "textbook-2", "mnist-like", "one-step-full", "full-batch-100", "small-n", "tiny-noise")
PAPER_CASES = tuple(
    f"{data}-B{batch}-T100k-target-eps10" for data in ("porto", "geolife") for batch in (512, 1024, 2048)
)


def _case(shared: Path, label: str) -> tuple[DpSgd, float, dict[str, float], dict[str, float]]:
    cases = json.loads((shared / "reference" / "dpsgd_accounting.json").read_text())["cases"]
    case = next(c for c in cases if c["label"] == label)
    given_ = case["inputs"]
    mechanism = DpSgd(given_["sample_rate"], given_["noise_multiplier"], given_["steps"])
    return mechanism, given_["delta"], case["expected"], case["tolerance"]


def _check_reference(shared: Path, label: str) -> None:
    mechanism, delta, expected, tolerance = _case(shared, label)
    spent = epsilon_of(mechanism, delta=delta, unit="trajectory")
    assert abs(spent.epsilon - expected["epsilon"]) <= tolerance["epsilon_abs"]
    assert spent.prv_upper == pytest.approx(expected["opacus_prv_upper"], abs=1e-6)
    assert spent.rdp == pytest.approx(expected["rdp_dp_accounting"], rel=tolerance["rdp_rel"])
    assert spent.epsilon == max(spent.prv_upper, spent.pld)
    assert expected.get("prv_lower", 0.0) <= spent.epsilon <= spent.rdp


@pytest.mark.shared
@pytest.mark.parametrize("label", QUICK_CASES)
def test_epsilon_agrees_with_the_reference(shared: Path, label: str) -> None:
    _check_reference(shared, label)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("label", PAPER_CASES)
def test_epsilon_agrees_with_the_reference_at_paper_size(shared: Path, label: str) -> None:
    _check_reference(shared, label)


@pytest.mark.shared
@pytest.mark.parametrize("label", (*QUICK_CASES, *PAPER_CASES))
def test_replace_one_agrees_with_the_reference_and_names_its_only_accountant(shared: Path, label: str) -> None:
    mechanism, delta, expected, _ = _case(shared, label)
    spent = epsilon_of(mechanism, delta=delta, unit="trajectory", adjacency="replace-one")
    assert spent.epsilon == pytest.approx(expected["replace_one_pld"], rel=0.01)
    assert spent.accountant == accountants.pld_name()
    assert spent.prv_upper is None


@pytest.mark.shared
def test_user_level_epsilon_agrees_with_the_reference(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "user_level.json").read_text())["cases"]
    cases = [case for case in cases if case["inputs"]["kind"] == "els_mixture_of_gaussians"]
    assert len(cases) == 3
    for case in cases:
        c = case["inputs"]
        mechanism = DpSgd(c["record_sampling_probability"], c["noise_multiplier"], c["steps"])
        spent = user_level_epsilon(mechanism, delta=c["delta"], max_records_per_user=c["max_records_per_user"])
        assert spent.epsilon == pytest.approx(case["expected"]["user_level_epsilon_els"], rel=case["tolerance"]["rel"])


def test_one_record_per_user_is_record_level() -> None:
    for mechanism in (DpSgd(0.01, 2.0, 1000), DpSgd(0.0074, 5.0, 10_000)):
        record = epsilon_of(mechanism, delta=1e-6, unit="trajectory")
        user = user_level_epsilon(mechanism, delta=1e-6, max_records_per_user=1)
        assert user.epsilon == pytest.approx(record.pld, abs=0.002)


@settings(max_examples=3, deadline=None, derandomize=True)
@given(
    rate=st.floats(0.001, 0.5),
    noise=st.floats(1.0, 4.0),
    steps=st.integers(1, 100),
    factor=st.floats(1.2, 2.0),
)
def test_epsilon_falls_with_noise_and_rises_with_steps_and_rate(
    rate: float, noise: float, steps: int, factor: float
) -> None:
    def epsilon(r: float, s: float, t: int) -> float:
        return epsilon_of(DpSgd(r, s, t), delta=1e-5, unit="trajectory").epsilon

    here = epsilon(rate, noise, steps)
    assert 0 <= epsilon(rate, noise * factor, steps) <= here
    assert epsilon(rate, noise, 2 * steps) >= here
    assert epsilon(min(1.0, rate * factor), noise, steps) >= here


def test_user_level_epsilon_rises_with_the_cap_and_ends_in_a_flagged_bound() -> None:
    mechanism = DpSgd(sample_rate=0.016, noise_multiplier=0.8, steps=500)
    spent = [user_level_epsilon(mechanism, delta=1e-5, max_records_per_user=m) for m in (1, 2, 10, 100)]
    assert [s.is_bound_only for s in spent] == [False, False, False, True]
    assert all(a.epsilon < b.epsilon for a, b in pairwise(spent))


def test_loose_user_bound_lies_above_the_fine_figure() -> None:
    for cap, steps in ((1, 1), (4, 100), (20, 300)):
        mechanism = DpSgd(sample_rate=0.05, noise_multiplier=2.0, steps=steps)
        assert accountants.user_pld_epsilon(mechanism, 1e-5, cap) <= accountants.user_bound_epsilon(
            mechanism, 1e-5, cap
        )


def test_full_batch_for_one_step_matches_the_gaussian_mechanism() -> None:
    """At sample rate 1 the exact delta is Phi(1/2s - es) - e^e Phi(-1/2s - es), Balle and Wang 2018, theorem 5."""
    from scipy.stats import norm

    sigma, delta = 2.0, 1e-5
    spent = epsilon_of(DpSgd(1.0, sigma, 1), delta=delta, unit="trajectory")

    def exact_delta(epsilon: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return float(norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b))

    assert exact_delta(spent.epsilon) <= delta
    assert exact_delta(spent.epsilon - 0.015) > delta


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.0074, 8.0, 20_000), (0.13, 30.0, 5000), (0.001, 20.0, 5000)])
def test_accountants_agree_where_one_step_loses_less_than_the_usual_grid(rate: float, noise: float, steps: int) -> None:
    spent = epsilon_of(DpSgd(rate, noise, steps), delta=1e-6, unit="trajectory")
    assert spent.prv_upper - 0.015 <= spent.pld <= spent.prv_upper + 0.005


def test_disagreeing_accountants_give_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = accountants.prv_epsilon
    monkeypatch.setattr(accountants, "prv_epsilon", lambda m, delta: 1.1 * honest(m, delta))
    with pytest.raises(PrivacyAccountingError, match=r"disagree, PRV upper value 2\.0\d+, PLD 1\.8"):
        epsilon_of(DpSgd(0.01, 1.0, 1000), delta=1e-5, unit="trajectory")


def test_oversized_grid_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountants, "prv_epsilon", lambda *_: pytest.fail("the fine accountant was run"))
    with pytest.raises(PrivacyAccountingError, match=r"noise_multiplier 1, sample_rate 0\.01, 1000 steps.*grid of"):
        epsilon_of(DpSgd(0.01, 1.0, 1000), delta=1e-5, unit="trajectory", max_grid_points=1000)


def test_no_noise_is_infinite_and_no_steps_are_free() -> None:
    unit = {"delta": 1e-5, "unit": "trajectory"}
    assert epsilon_of(DpSgd(0.1, 0, 10), **unit).epsilon == math.inf
    assert epsilon_of(DpSgd(0.1, 1.0, 0), **unit).epsilon == 0
    assert user_level_epsilon(DpSgd(0.1, 0, 10), delta=1e-5, max_records_per_user=3).epsilon == math.inf
    assert user_level_epsilon(DpSgd(0.1, 1.0, 0), delta=1e-5, max_records_per_user=3).epsilon == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sample_rate", 0), ("sample_rate", 1.01), ("sample_rate", -0.1), ("sample_rate", "half"), ("sample_rate", math.nan),
        ("noise_multiplier", -1), ("noise_multiplier", math.inf), ("noise_multiplier", math.nan), ("noise_multiplier", None),
        ("steps", -1), ("steps", 1.5), ("steps", True), ("steps", "ten"), ("sampling", ""), ("record", "person"),
    ],
)  # fmt: skip
def test_mechanism_refuses_bad_values_by_name(field: str, value: object) -> None:
    good = {"sample_rate": 0.1, "noise_multiplier": 1.0, "steps": 10}
    with pytest.raises(ParameterError, match=f"^{field} = "):
        DpSgd(**{**good, field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("delta", 0), ("delta", 1), ("delta", -1e-5), ("delta", "small"), ("delta", math.nan), ("unit", "person"),
     ("unit", None), ("adjacency", "swap")],
)  # fmt: skip
def test_epsilon_of_refuses_bad_values_by_name(field: str, value: object) -> None:
    good = {"delta": 1e-5, "unit": "trajectory"}
    with pytest.raises(ParameterError, match=f"^{field} = "):
        epsilon_of(DpSgd(0.1, 1.0, 10), **{**good, field: value})


@pytest.mark.parametrize("cap", [0, -1, 2.5, "many", None])
def test_user_cap_must_be_a_positive_whole_number(cap: object) -> None:
    with pytest.raises(ParameterError, match=r"^max_records_per_user = "):
        user_level_epsilon(DpSgd(0.1, 1.0, 10), delta=1e-5, max_records_per_user=cap)


def test_delta_rule() -> None:
    assert delta_for(1_560_000) == pytest.approx(1.54015e-7, rel=1e-4)
    for n in (1, 0, -5, 2.5, "many", math.nan, True):
        with pytest.raises(ParameterError, match=r"^n = "):
            delta_for(n)


def test_importing_the_module_loads_no_torch() -> None:
    code = "import sys, trajkit.privacy.accounting; sys.exit('torch' in sys.modules or 'dp_accounting' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
