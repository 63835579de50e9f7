"""One step of each deep method's own training: the sound ones keep the claim of one step, less noise and no clipping are caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from trajkit.attacks.audit_sets import CORNER, ZIGZAG, built, canary, neighbours, ordinary
from trajkit.attacks.step_game import LENGTH, METHODS, step_game
from trajkit.attacks.watched import HALVED, SHUFFLED, SOUND, UNCLIPPED, FlawedTrainer
from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.ledger import DpSgd

STEPS = {"diffusion": 300, "vae": 150, "gan": 120}  # what each method needs to be caught with half the noise
SLOWER = [pytest.param("gan", marks=pytest.mark.slow)]


@pytest.mark.parametrize("method", METHODS)
def test_the_sound_step_stands_and_is_seen(method: str) -> None:
    found = step_game(method, steps=40, seed=1)
    assert not found.contradicted and found.trials == 40
    assert found.best_auc is not None and found.best_auc > 0.75
    claim = epsilon_of(DpSgd(1.0, 0.5, 1), delta=found.claimed_delta, unit="trajectory").epsilon
    assert found.claimed_epsilon == claim


@pytest.mark.parametrize("method", ["vae", pytest.param("diffusion", marks=pytest.mark.slow), *SLOWER])
def test_half_the_noise_is_caught(method: str) -> None:
    caught = step_game(method, steps=STEPS[method], seed=1, flaw=HALVED)
    assert "curve" in caught.by and HALVED in caught.subject
    assert caught.claimed_epsilon == step_game(method, steps=4, seed=1).claimed_epsilon


@pytest.mark.parametrize("method", ["diffusion", "vae", *SLOWER])
def test_clipping_off_is_caught(method: str) -> None:
    assert "curve" in step_game(method, steps=90, seed=1, flaw=UNCLIPPED).by


def test_another_canary_is_seen_too_and_batches_may_be_drawn() -> None:
    found = step_game("vae", steps=80, seed=1, added=ZIGZAG, sample_rate=0.9)
    assert ZIGZAG in found.subject and not found.contradicted
    assert found.best_auc is not None and found.best_auc > 0.6


def test_it_is_the_same_again_and_other_with_another_seed() -> None:
    first = step_game("diffusion", steps=10, seed=4)
    assert first == step_game("diffusion", steps=10, seed=4)
    assert first.scores != step_game("diffusion", steps=10, seed=5).scores


def test_the_weights_stand_still_and_one_record_adds_at_most_the_clip_norm() -> None:
    method: Any = make_method("vae", **METHODS["vae"], regime="private", noise_multiplier=1e-6, batch_size=1, steps=8)
    sums = []
    for trajs in (built([canary(CORNER, LENGTH)] * 3), built([canary(CORNER, LENGTH)] * 2)):
        trainer, _, _ = method.trainer_for(trajs, seed=1, identity="test", kind=FlawedTrainer)
        before = [p.detach().clone() for p in trainer.parameters]
        trainer.take(replace(trainer.settings, sample_rate=1.0))
        assert all(torch.equal(p, q) for p, q in zip(before, trainer.parameters, strict=True))
        assert trainer.sums.shape == (8, sum(p.numel() for p in trainer.parameters)) and trainer.made == [True] * 8
        sums.append(torch.from_numpy(trainer.sums).norm(dim=1).mean())
    clip = METHODS["vae"]["max_grad_norm"]
    assert sums[0] <= 3 * clip * 1.001 and sums[1] <= 2 * clip * 1.001 < sums[0]


def test_neighbours_differ_by_the_canary_alone() -> None:
    whole, rest = neighbours(list(ordinary(3, LENGTH, seed=1)), canary(ZIGZAG, LENGTH))
    assert len(whole) == len(rest) + 1 == 4
    assert (whole.lonlat[: rest.n_points] == rest.lonlat).all()
    assert whole.check() is whole and whole.meta.box.contains(whole.lonlat).all()


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"method": "uniform"}, "method"),
        ({"flaw": SHUFFLED}, "flaw"),
        ({"steps": 3}, "steps"),
        ({"added": "none"}, "canary"),
        ({"sample_rate": 0.0}, "sample_rate"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
    ],
)
def test_refuses_what_it_does_not_know(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        step_game(**{"method": "vae", "steps": 4, "seed": 1, "flaw": SOUND, **changed})
