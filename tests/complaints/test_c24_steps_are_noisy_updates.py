"""``steps`` means noisy updates, in one place: what a hundred updates cost is not what one entry of a history costs."""

from __future__ import annotations

from opacus.accountants import PRVAccountant

from trajkit.privacy.accounting import DpSgd, epsilon_of


def test_c24_steps_are_updates_not_history_entries() -> None:
    accountant = PRVAccountant()
    for _ in range(100):
        accountant.step(noise_multiplier=1.0, sample_rate=0.05)
    assert len(accountant) == 1
    spent = epsilon_of(DpSgd(sample_rate=0.05, noise_multiplier=1.0, steps=100), delta=1e-5, unit="trajectory")
    assert spent.prv_upper == accountant.get_epsilon(delta=1e-5)
    once = epsilon_of(DpSgd(sample_rate=0.05, noise_multiplier=1.0, steps=1), delta=1e-5, unit="trajectory")
    assert once.epsilon < 0.75 * spent.epsilon
