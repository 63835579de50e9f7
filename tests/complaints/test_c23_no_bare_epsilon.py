"""Why do accountants differ? An epsilon is never bare, and Gaussian DP, which understates, is not offered."""

from __future__ import annotations

import dataclasses

import pytest

from trajkit.privacy import accountants, accounting
from trajkit.privacy.accounting import DpSgd, Spent, epsilon_of


def test_c23_every_figure_of_the_same_run_is_shown_and_the_largest_tight_one_reported() -> None:
    spent = epsilon_of(DpSgd(sample_rate=0.01, noise_multiplier=1.0, steps=1000), delta=1e-5, unit="trajectory")
    assert (round(spent.prv_upper, 2), round(spent.pld, 2), round(spent.rdp, 2)) == (1.84, 1.83, 2.10)
    assert spent.epsilon == max(spent.prv_upper, spent.pld) > 1.62  # the figure of Gaussian DP
    for name in (accountants.prv_name(), accountants.pld_name()):
        assert name in spent.accountant
    for part in ("1.838", "delta 1e-05", "per trajectory", "add-remove", "opacus PRV 1.", "dp-accounting PLD 0."):
        assert part in spent.in_words()


def test_c23_epsilon_cannot_be_recorded_without_its_meaning() -> None:
    needed = {f.name for f in dataclasses.fields(Spent) if f.default is dataclasses.MISSING}
    assert needed == {"epsilon", "delta", "unit", "adjacency", "accountant"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Spent(1.0, 1e-5, "user", "add-remove", "x").epsilon = 0.5


def test_c23_gaussian_dp_is_not_offered() -> None:
    assert not [name for name in (*accounting.__all__, *dir(accountants)) if "gdp" in name.lower()]
