"""Two sets, two promises: what holds together, what holds for one set only, what several releases cost."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from deep_toys import SMALL_CONFIG, renamed, toy_trajectories

from trajkit.deep.conditional_guarantee import DISJOINT
from trajkit.deep.generator import DeepGenerator
from trajkit.errors import PrivacyAccountingError
from trajkit.methods import make_method
from trajkit.privacy.accounting import DpSgd, epsilon_of
from trajkit.privacy.guarantee import Guarantee

DP_SGD = {"regime": "private", "noise_multiplier": 2.0}
LAPLACE = {"type": "sample", "mechanism": "laplace", "epsilon": 3.0, "size": 6}
GAUSSIAN = {"type": "sample", "mechanism": "gaussian", "epsilon": 3.0, "delta": 1e-4, "size": 6}
OPEN = {"type": "sample", "size": 6}


def fitted(condition: dict[str, Any], *, private: bool = True, model: str = "vae", **other: Any) -> DeepGenerator:
    made = make_method(model, **{**SMALL_CONFIG, **(DP_SGD if private else {}), "condition": condition, **other})
    return made.fit(toy_trajectories(), seed=1)  # type: ignore[return-value]


def guarantee(condition: dict[str, Any], *, private: bool = True, n: int = 6, **other: Any) -> Guarantee:
    return fitted(condition, private=private, **other).release(n, seed=0).guarantee


@pytest.mark.parametrize(("private", "mechanism"), list(product([True, False], [True, False])))
def test_the_four_threat_models_of_disjoint_sets(private: bool, mechanism: bool) -> None:
    g = guarantee(LAPLACE if mechanism else OPEN, private=private)
    expected = {(True, True): "both", (True, False): "training set", (False, True): "conditioning set"}
    assert g.threat_model == expected.get((private, mechanism), "none")
    assert g.holds == (private and mechanism)
    assert {p.protects: p.adjacency for p in g.parts} == {
        k: v
        for k, v, there in (("training set", "add-remove", private), ("conditioning set", "replace-one", mechanism))
        if there
    }
    if not g.holds:
        assert (
            g.epsilon == math.inf
            and g.reason
            and ("training set" in g.reason or "conditioning set" in g.reason or "clipped" in g.reason)
        )
    assert Guarantee.from_json(g.to_json()) == g


def test_disjoint_sets_take_the_larger_epsilon_under_replace_one() -> None:
    g = guarantee(GAUSSIAN)
    training, conditioning = g.parts
    d = training.details
    replaced = epsilon_of(
        DpSgd(d["sample_rate"], d["noise_multiplier"], d["steps"]),
        delta=training.delta,
        unit="trajectory",
        adjacency="replace-one",
    )
    assert (conditioning.epsilon, conditioning.delta) == (3.0, 1e-4)
    assert g.adjacency == "replace-one" and g.epsilon == max(replaced.epsilon, 3.0)
    assert g.delta == max(training.delta, 1e-4)
    assert DISJOINT in g.assumptions and "disjoint" in str(g.accountant)
    assert d["n"] == 40 - 6  # held-out trajectories are no records
    assert "training set: (" in g.in_words() and "conditioning set: (3" in g.in_words()


def test_a_set_that_serves_as_both_pays_for_both() -> None:
    g = guarantee({**GAUSSIAN, "drawn_from": "training"})
    training, conditioning = g.parts
    assert g.holds and g.epsilon is not None and g.epsilon > training.epsilon + conditioning.epsilon - 1e-9
    assert g.delta == pytest.approx(training.delta + 1e-4)
    assert "the sum" in str(g.accountant) and DISJOINT not in g.assumptions


@pytest.mark.parametrize(("private", "condition"), [(True, OPEN), (False, LAPLACE)])
def test_a_set_that_serves_as_both_is_as_exposed_as_its_weaker_use(private: bool, condition: dict[str, Any]) -> None:
    g = guarantee({**condition, "drawn_from": "training"}, private=private)
    assert not g.holds and g.parts == () and g.threat_model == "none" and "weaker use" in str(g.reason)


def test_more_trajectories_than_conditions_cost_as_many_releases() -> None:
    g = guarantee(GAUSSIAN, n=13)
    conditioning = g.parts[1]
    assert (conditioning.epsilon, conditioning.delta) == (9.0, pytest.approx(3e-4))
    assert conditioning.details["releases"] == 3 and "3 releases" in conditioning.mechanism


def test_a_second_release_is_added_to_the_first_and_the_same_again_is_not() -> None:
    model = fitted(LAPLACE)
    spent = [model.release(n, seed=s).guarantee.parts[1].epsilon for n, s in ((6, 0), (6, 0), (6, 1), (12, 1))]
    assert spent == [3.0, 3.0, 6.0, 12.0]


def test_one_private_vector_a_record_is_used_again_for_free() -> None:
    model = fitted({**LAPLACE, "redraw": False})
    assert [model.release(n, seed=s).guarantee.parts[1].epsilon for n, s in ((6, 0), (30, 1))] == [3.0, 3.0]


def test_so_many_releases_that_delta_reaches_one_are_refused() -> None:
    model = fitted({**GAUSSIAN, "delta": 0.3})
    with pytest.raises(PrivacyAccountingError, match="promise nothing"):
        model.release(24, seed=0)
    assert model.release(12, seed=0).guarantee.parts[1].epsilon == 6.0  # what was refused has cost nothing


def test_conditions_from_the_test_set_are_named() -> None:
    made = make_method("vae", **{**SMALL_CONFIG, **DP_SGD, "condition": {**LAPLACE, "drawn_from": "test"}})
    model = made.fit(toy_trajectories(), seed=1, test=renamed(toy_trajectories(8, seed=5)))  # type: ignore[call-arg]
    g = model.release(6, seed=0).guarantee
    assert g.holds and g.parts[0].details["n"] == 40 and any("test set" in a for a in g.assumptions)


def test_the_gan_releases_its_private_vectors_once() -> None:
    model = fitted(LAPLACE, model="gan", n_critic=2)
    g = model.release(30, seed=0).guarantee
    assert g.holds and g.parts[1].epsilon == 3.0 and g.parts[1].details["releases"] == 1
    assert "on the critic" in str(g.mechanism)


def test_a_part_states_its_own_epsilon_and_no_other() -> None:
    words = guarantee(GAUSSIAN).parts[1].mechanism
    assert "Gaussian noise of standard deviation" in words and "epsilon" not in words


def test_where_no_accountant_covers_both_sets_the_parts_stand() -> None:
    """Noise so loose that only a bound is known: nothing is claimed for the whole, and the release is not lost."""
    g = guarantee(LAPLACE, private=True, noise_multiplier=0.3, steps=30, batch_size=20)
    assert not g.holds and "under replace-one" in str(g.reason)
    assert [p.protects for p in g.parts] == ["training set", "conditioning set"] and g.assumptions


def test_deltas_that_add_up_to_one_claim_nothing() -> None:
    g = guarantee({**GAUSSIAN, "delta": 0.99, "drawn_from": "training"})
    assert not g.holds and g.parts == () and "deltas of both uses add up" in str(g.reason)


def test_parts_that_stand_alone_keep_their_assumptions() -> None:
    g = guarantee(OPEN)
    assert not g.holds and DISJOINT in g.assumptions and any("box is public" in a for a in g.assumptions)
