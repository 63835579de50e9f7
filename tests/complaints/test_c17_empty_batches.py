"""Poisson draws may be empty: such a step is a step of noise alone, and it is accounted."""

from __future__ import annotations

import math

import pytest
import torch
from deep_toys import TINY_CONFIG, toy_trainer, toy_trajectories, weights

from trajkit.errors import PrivacyAccountingError
from trajkit.methods import make_method


def test_c17_forty_rows_batch_1_two_hundred_steps_are_taken_and_accounted() -> None:
    trainer = toy_trainer(n=40, sample_rate=1 / 40, steps=200, draws=1)
    trainer.run()
    assert 40 < trainer.record.empty_batches < 110  # 200 * (1 - 1/40)^40 = 73
    assert trainer.step == trainer.ledger["steps"] == 200
    assert bool(torch.isfinite(weights(trainer)).all()) and all(math.isfinite(v) for v in trainer.record.loss)


def test_c17_an_empty_batch_moves_the_weights_by_noise() -> None:
    trainer = toy_trainer(sample_rate=1e-9, steps=1)
    before = weights(trainer)
    trainer.run()
    assert trainer.record.empty_batches == 1 and not torch.equal(weights(trainer), before)


def test_c17_an_empty_batch_without_noise_has_no_gradient() -> None:
    trainer = toy_trainer(regime="clipped", sample_rate=1e-9, steps=1)
    before = weights(trainer)
    trainer.run()
    assert torch.equal(weights(trainer), before)


def test_c17_every_planned_step_is_in_the_guarantee() -> None:
    config = {**TINY_CONFIG, "batch_size": 1, "steps": 50, "regime": "private", "noise_multiplier": 1.0}
    method = make_method("diffusion", **config).fit(toy_trajectories(40), seed=0)
    assert method.guarantee_.parts[0].details["steps"] == 50  # type: ignore[attr-defined]


def test_c17_steps_taken_but_not_accounted_stop_the_run() -> None:
    trainer = toy_trainer(steps=3)
    trainer.after_step = lambda step: trainer.ledger.update(steps=0)
    with pytest.raises(PrivacyAccountingError, match="nothing may be released"):
        trainer.run()
