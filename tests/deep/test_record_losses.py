"""Losses of given trajectories under a fitted generator: lower where it has learned them by heart, the same again with one seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from deep_toys import SMALL_CONFIG, TINY_CONFIG, toy_trajectories

from trajkit.attacks.intervals import auc
from trajkit.attacks.member_scores import of_losses
from trajkit.attacks.membership import infer_members
from trajkit.deep.record_losses import record_losses
from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories

BY_HEART = {
    "length": 8, "channels": 16, "channel_multipliers": (1, 2), "groups": 4, "attention": False, "latent": 16, "batch_size": 12,
    "steps": 250, "physical_batch": 16, "kl_weight": 1e-6, "learning_rate": 5e-3, "ema_decay": 0.9,
}  # fmt: skip


def test_a_model_that_learned_its_records_by_heart_has_lower_losses_on_them() -> None:
    trajs = toy_trajectories(40)
    inside, outside = trajs.take(np.arange(12)), trajs.take(np.arange(12, 40))
    method = make_method("vae", **BY_HEART).fit(inside, seed=0)
    members, others = (record_losses(method, t, seed=1) for t in (inside, outside))  # type: ignore[arg-type]
    assert auc(-members, -others) > 0.9


def test_losses_are_one_each_and_repeat_with_their_seed() -> None:
    trajs = toy_trajectories(40)
    method: Any = make_method("diffusion", **TINY_CONFIG).fit(trajs, seed=0)
    first, again, other = (record_losses(method, trajs, seed=s) for s in (1, 1, 2))
    assert first.shape == (40,) and np.isfinite(first).all() and np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(record_losses(method, trajs.take(np.zeros(0, dtype=np.int64)), seed=0)) == 0


def test_what_has_no_loss_of_a_record_is_refused() -> None:
    trajs = toy_trajectories(40)
    with pytest.raises(ParameterError, match="no loss of a record"):
        record_losses(make_method("gan", **SMALL_CONFIG).fit(trajs, seed=0), trajs, seed=0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="not been fitted"):
        record_losses(make_method("vae", **SMALL_CONFIG), trajs, seed=0)  # type: ignore[arg-type]
    conditional = make_method("diffusion", **TINY_CONFIG, condition={"type": "sample"}).fit(trajs, seed=0)
    with pytest.raises(ParameterError, match="leave condition out"):
        record_losses(conditional, trajs, seed=0)  # type: ignore[arg-type]


def test_losses_feed_a_membership_attack() -> None:
    def loss_of(train: Trajectories, seed: int) -> Any:
        method: Any = make_method("diffusion", **TINY_CONFIG).fit(train, seed=seed)
        return lambda targets: record_losses(method, targets, seed=7)

    found = infer_members(toy_trajectories(24), of_losses(loss_of), seed=0, shadows=4)
    assert [n for n, _ in found.attacks] == ["loss", "LiRA, loss"] and found["loss"].members == 12
