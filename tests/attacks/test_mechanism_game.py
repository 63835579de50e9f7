"""Each noise mechanism keeps its claim on the inputs that are worst for it, and is caught with the noise of twice the epsilon."""

from __future__ import annotations

from typing import Any

import pytest

from trajkit.attacks.mechanism_game import DELTA, MECHANISMS, METRIC, NORM, TWICE, mechanism_game, mechanism_table
from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Gaussian


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_sound_one_stands_and_half_the_noise_falls(mechanism: str) -> None:
    sound = mechanism_game(mechanism, seed=1)
    assert not sound.contradicted and sound.claimed_epsilon == 1.0
    assert sound.best_auc is not None and sound.best_auc > 0.55
    broken = mechanism_game(mechanism, seed=1, flaw=TWICE)
    assert broken.contradicted and broken.claimed_epsilon == 1.0


@pytest.mark.parametrize(("mechanism", "share"), [("laplace", 0.95), ("geometric", 0.95), ("vmf", 0.4)])
def test_the_bound_comes_near_the_claim_where_all_of_epsilon_is_lost_often(mechanism: str, share: float) -> None:
    for epsilon in (0.5, 1.0, 2.0):
        found = mechanism_game(mechanism, epsilon=epsilon, seed=2)
        assert found.epsilon_lower is not None and share * epsilon < found.epsilon_lower <= epsilon
        assert not found.contradicted


def test_gaussian_noise_shows_its_mu_and_falls_by_its_curve() -> None:
    sigma = Gaussian.for_rows(1.0, DELTA, norm=NORM).sigma
    sound = mechanism_game("gaussian", seed=3)
    assert sound.mu_lower is not None and 0.8 * 2 * NORM / sigma < sound.mu_lower <= 2 * NORM / sigma
    assert sound.claimed_delta == DELTA
    assert "curve" in mechanism_game("gaussian", seed=3, flaw=TWICE).by


def test_the_vmf_scale_of_the_metric_form_is_no_epsilon() -> None:
    for dimension in (2, 8):
        caught = mechanism_game("vmf", dimension=dimension, seed=4, flaw=METRIC)
        assert caught.contradicted and METRIC in caught.subject
        assert not mechanism_game("vmf", dimension=dimension, seed=4).contradicted
    missed = mechanism_game("vmf", dimension=64, seed=4, flaw=METRIC)
    assert not missed.contradicted  # as the module says


def test_the_table_has_every_mechanism_twice_and_is_the_same_again() -> None:
    found = mechanism_table(releases=2000, seed=5)
    assert len(found) == 2 * len(MECHANISMS)
    assert found == mechanism_table(releases=2000, seed=5)
    assert found != mechanism_table(releases=2000, seed=6)
    assert {v.trials for v in found} == {2000}


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"mechanism": "none"}, "mechanism"),
        ({"flaw": "none"}, "flaw"),
        ({"flaw": METRIC}, "flaw"),
        ({"releases": 3}, "releases"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"dimension": 1}, "dimension"),
        ({"level": 1.0}, "level"),
    ],
)
def test_refuses_what_it_does_not_know(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        mechanism_game(**{"mechanism": "laplace", "releases": 100, "seed": 1, **changed})
