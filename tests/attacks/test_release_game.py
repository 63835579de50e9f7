"""Whole methods by what they release: sound ones stand, half the noise is caught where one look shows, k-anonymity shows one person."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trajkit.attacks.audit_bounds import Curve, audit
from trajkit.attacks.release_game import K_ANONYMITY, SUBJECTS, TWICE, release_game
from trajkit.attacks.verdict import NO_CLAIM, judged
from trajkit.errors import ParameterError

DP = [name for name in SUBJECTS if name != K_ANONYMITY]


@pytest.mark.parametrize("method", ["flat", "prefix_tree", "adatrace"])
def test_half_the_noise_is_caught_where_the_sound_method_passes(method: str) -> None:
    sound = release_game(method, releases=300, seed=1)
    assert not sound.contradicted and sound.claimed_epsilon == pytest.approx(1.0)
    assert sound.best_auc is not None and sound.best_auc > 0.58
    broken = release_game(method, releases=300, seed=1, flaw=TWICE)
    assert broken.by == ("epsilon",) and broken.claimed_epsilon == sound.claimed_epsilon


@pytest.mark.parametrize("method", DP)
def test_the_claim_is_that_of_the_release(method: str) -> None:
    found = release_game(method, releases=16, seed=2, epsilon=2.0)
    assert found.claimed_epsilon == pytest.approx(2.0) and not found.contradicted
    assert found.claimed_delta == (1e-5 if method == "private_evolution" else 0.0)
    assert "per trajectory" in found.test and found.trials == 16


def test_what_the_game_hardly_sees_at_epsilon_1_it_sees_at_10() -> None:
    for method in ("privtrace", "private_evolution"):
        found = release_game(method, releases=100, seed=3, epsilon=10.0)
        assert found.best_auc is not None and found.best_auc > 0.65 and not found.contradicted


def test_k_anonymity_claims_no_epsilon_and_shows_one_person_for_sure() -> None:
    found = release_game(K_ANONYMITY, releases=100, seed=1)
    assert found.claimed_epsilon is None and not found.contradicted and found.verdict == NO_CLAIM
    assert found.best_auc == 1.0 and "per user" in found.test
    rate = (0.05 / (2 * 2 * 2)) ** (1 / 50)  # each of 50 says it: 2 scores, 2 tests, 2 rates
    assert found.epsilon_lower == pytest.approx(math.log(rate / (1 - rate)))


def test_it_is_the_same_again_and_other_with_another_seed() -> None:
    first = release_game("prefix_tree", releases=30, seed=4)
    assert first == release_game("prefix_tree", releases=30, seed=4)
    assert first.scores != release_game("prefix_tree", releases=30, seed=5).scores
    assert first == replace(first, seconds=first.seconds + 1)


def test_who_claims_nothing_claims_no_curve() -> None:
    scores = np.arange(20.0)
    found = audit({"x": (scores, scores)}, delta=0.0, curve=Curve((1.0,), (0.0,)))
    with pytest.raises(ParameterError, match="claimed_epsilon"):
        judged(found, subject="s", test="t", claimed_epsilon=None, seconds=0.0)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"method": "none"}, "method"),
        ({"flaw": "none"}, "flaw"),
        ({"method": K_ANONYMITY, "flaw": TWICE}, "flaw"),
        ({"releases": 15}, "releases"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refuses_what_it_does_not_know(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        release_game(**{"method": "flat", "releases": 16, "seed": 1, **changed})
