"""Numerical accountants stall, refuse or answer infinity outside their range; ours answers or says what to change."""

from __future__ import annotations

import re

import pytest

from trajkit.errors import PrivacyAccountingError
from trajkit.privacy import accountants
from trajkit.privacy.accounting import DpSgd, epsilon_of


def test_c21_little_noise_is_answered_by_the_flagged_bound_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for fine in ("prv_epsilon", "pld_epsilon"):
        monkeypatch.setattr(accountants, fine, lambda *_: pytest.fail("a fine accountant was asked"))
    spent = epsilon_of(DpSgd(sample_rate=0.01, noise_multiplier=0.1, steps=1000), delta=1e-5, unit="trajectory")
    assert spent.is_bound_only
    assert spent.epsilon == pytest.approx(9405, rel=1e-3)
    assert spent.epsilon == spent.rdp
    assert (spent.prv_upper, spent.pld) == (None, None)
    assert "RDP" in spent.accountant and "loose upper bound" in spent.in_words()


@pytest.mark.parametrize("noise", [1.0, 5.0])
def test_c21_tiny_delta_is_refused_with_the_numbers_and_the_remedy(noise: float) -> None:
    mechanism = DpSgd(sample_rate=0.01, noise_multiplier=noise, steps=1000)
    with pytest.raises(PrivacyAccountingError) as raised:
        epsilon_of(mechanism, delta=1.13e-18, unit="trajectory")
    message = str(raised.value)
    for part in (
        f"noise_multiplier {noise:g}",
        "sample_rate 0.01",
        "1000 steps",
        "delta 1.13e-18",
        "use a larger delta",
    ):
        assert part in message


def test_c21_refusal_of_prv_is_reported_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountants, "pld_epsilon", lambda *_: 0.6)
    mechanism = DpSgd(sample_rate=0.01, noise_multiplier=5.0, steps=1000)
    with pytest.raises(
        PrivacyAccountingError, match=re.compile("delta 1.13e-18: the PRV accountant refuses.*larger delta")
    ):
        epsilon_of(mechanism, delta=1.13e-18, unit="trajectory")


def test_c21_replace_one_has_no_cheap_bound_and_says_so() -> None:
    mechanism = DpSgd(sample_rate=0.01, noise_multiplier=0.1, steps=1000)
    with pytest.raises(PrivacyAccountingError, match=r"noise_multiplier 0.1.*above 100; use more noise"):
        epsilon_of(mechanism, delta=1e-5, unit="trajectory", adjacency="replace-one")
