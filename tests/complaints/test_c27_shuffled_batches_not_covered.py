"""Accounting assumes Poisson draws while the code shuffles: ours gives "not covered" instead of a number."""

from __future__ import annotations

import pytest

from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.accounting import DpSgd, epsilon_of, user_level_epsilon


@pytest.mark.parametrize("sampling", ["shuffle", "fixed-size", "sequential", "Poisson?"])
def test_c27_only_poisson_sampling_gets_a_number(sampling: str) -> None:
    mechanism = DpSgd(sample_rate=0.01, noise_multiplier=1.0, steps=100, sampling=sampling)
    with pytest.raises(PrivacyAccountingError, match=r"is not covered.*use Poisson sampling"):
        epsilon_of(mechanism, delta=1e-5, unit="trajectory")
    with pytest.raises(PrivacyAccountingError, match=r"is not covered.*use Poisson sampling"):
        user_level_epsilon(mechanism, delta=1e-5, max_records_per_user=2)


def test_c27_not_even_without_noise_or_steps() -> None:
    for noise, steps in ((0.0, 100), (1.0, 0)):
        with pytest.raises(PrivacyAccountingError, match="is not covered"):
            epsilon_of(DpSgd(0.01, noise, steps, sampling="shuffle"), delta=1e-5, unit="trajectory")
