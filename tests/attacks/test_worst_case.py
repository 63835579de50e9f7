"""The one-parameter worst case: it attains mu = 2 B sqrt(T) / sigma, breaks the claim, and the sound scheme does not."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from trajkit.attacks.gan_audit import audit_worst_case, noise_for
from trajkit.attacks.worst_case import WorstCase, train
from trajkit.privacy.gdp import generator_only_mu

N, BATCH, STEPS, DELTA = 69_500, 512, 200, 4.72e-6  # GeoLife-like


@pytest.fixture(scope="module")
def noise() -> float:
    return noise_for(1.0, DELTA, n=N, batch=BATCH, noisy_steps=STEPS)


def test_the_separation_is_what_theory_says() -> None:
    config = WorstCase(n=1000, batch=8, steps=20, noise_multiplier=5.0)
    found = train(config, 20_000, seed=1)
    mu = generator_only_mu(batch=8, steps=20, noise_multiplier=5.0)
    assert found.with_target.mean() - found.without.mean() == pytest.approx(mu, rel=0.01)
    assert np.std(found.without) == pytest.approx(1.0, rel=0.03)


@pytest.mark.shared
def test_the_reference_value_is_attained(shared: Path) -> None:
    for case in json.loads((shared / "reference" / "generator_only_true_privacy.json").read_text())["cases"][:2]:
        i = case["inputs"]
        config = WorstCase(n=4 * i["B"], batch=i["B"], steps=i["steps"], noise_multiplier=i["noise_multiplier"])
        found = train(config, 2000, seed=1)
        separation = found.with_target.mean() - found.without.mean()
        assert separation == pytest.approx(float(case["expected"]["mu"]), rel=0.01)


@pytest.mark.parametrize("sees", ["all", "batch"])
def test_noise_on_the_generator_breaks_the_claim_of_epsilon_1(noise: float, sees: str) -> None:
    config = WorstCase(noise_multiplier=noise, critic_sees=sees)
    found = audit_worst_case(config, delta=DELTA, models=20_000, seed=1)
    assert found.claimed_epsilon <= 1.0
    assert found.epsilon_lower is not None and found.epsilon_lower > 7
    assert found.contradicted and found.by == ("epsilon", "curve")


def test_a_placebo_and_noise_on_the_critic_keep_it(noise: float) -> None:
    placebo = audit_worst_case(WorstCase(noise_multiplier=noise), delta=DELTA, models=20_000, seed=1, placebo=True)
    assert not placebo.contradicted and placebo.verdict == "not contradicted"
    assert placebo.epsilon_lower == 0.0
    sound = audit_worst_case(WorstCase(noise_multiplier=noise, scheme="critic"), delta=DELTA, models=20_000, seed=1)
    assert not sound.contradicted
    assert sound.best_auc is not None and sound.best_auc > 0.51  # it sees the record, as it may


def test_the_same_seed_gives_the_same_verdict(noise: float) -> None:
    config = WorstCase(noise_multiplier=noise, critic_sees="batch", steps=20)
    one, again = (audit_worst_case(config, delta=DELTA, models=500, seed=3) for _ in range(2))
    assert one == again  # seconds are no part of it
    assert one != audit_worst_case(config, delta=DELTA, models=500, seed=4)


@pytest.mark.slow
def test_at_claimed_epsilon_10_it_breaks_as_well() -> None:
    noise = noise_for(10.0, DELTA, n=N, batch=BATCH, noisy_steps=STEPS)
    found = audit_worst_case(WorstCase(noise_multiplier=noise), delta=DELTA, models=400_000, seed=1)
    assert found.epsilon_lower is not None and found.epsilon_lower > 10
    assert math.isclose(found.claimed_epsilon, 10, rel_tol=0.02) and found.contradicted
