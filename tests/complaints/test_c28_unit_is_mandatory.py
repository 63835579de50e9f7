"""One person gives many records: the unit must be said, and what it means for a person is computed, not implied."""

from __future__ import annotations

import inspect

import pytest

from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.accounting import DpSgd, calibrate, epsilon_of, user_level_epsilon

MECHANISM = DpSgd(sample_rate=0.01, noise_multiplier=2.0, steps=500)


def test_c28_unit_has_no_default() -> None:
    for function in (epsilon_of, calibrate):
        assert inspect.signature(function).parameters["unit"].default is inspect.Parameter.empty
    with pytest.raises(TypeError, match="unit"):
        epsilon_of(MECHANISM, delta=1e-6)


def test_c28_record_noise_is_not_quoted_as_protecting_a_user() -> None:
    with pytest.raises(PrivacyAccountingError, match=r"clips one trajectory at a time.*user_level_epsilon"):
        epsilon_of(MECHANISM, delta=1e-6, unit="user")
    with pytest.raises(PrivacyAccountingError, match="user_level_epsilon"):
        calibrate(target_epsilon=1.0, delta=1e-6, sample_rate=0.01, steps=10, unit="user")


def test_c28_one_user_with_ten_trips_is_converted_and_printed() -> None:
    per_trip = epsilon_of(MECHANISM, delta=1e-6, unit="trajectory")
    per_user = user_level_epsilon(MECHANISM, delta=1e-6, max_records_per_user=10)
    assert per_user.epsilon > 5 * per_trip.epsilon
    assert (per_user.unit, per_user.max_records_per_user) == ("user", 10)
    assert "per user (at most 10 records each)" in per_user.in_words()


def test_c28_one_contribution_per_user_is_accounted_as_user_level() -> None:
    per_user = DpSgd(sample_rate=0.01, noise_multiplier=2.0, steps=500, record="user")
    assert (
        epsilon_of(per_user, delta=1e-6, unit="user").epsilon
        == epsilon_of(MECHANISM, delta=1e-6, unit="trajectory").epsilon
    )
