"""A user as one example: his loss is the mean over his trajectories, his gradient is clipped as one, users are what is accounted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from deep_toys import LENGTH, SMALL_CONFIG, TINY, TINY_CONFIG, toy_model, toy_records, toy_trajectories
from torch import nn

from trajkit.contributions import at_most
from trajkit.deep.critic import CriticLoss
from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.engines import make_engine, of_records, trainable
from trajkit.deep.halves import Decoder, Encoder
from trajkit.deep.objective import Objective
from trajkit.deep.per_user import PerUser, by_user
from trajkit.deep.vae import Autoencoder, Elbo
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import make_method
from trajkit.privacy.accounting import DpSgd, epsilon_of
from trajkit.trajectories import Trajectories

CONFIGS: dict[str, dict[str, Any]] = {
    "diffusion": TINY_CONFIG,
    "vae": SMALL_CONFIG,
    "gan": {**SMALL_CONFIG, "n_critic": 2},
}
SIZES = [1, 3, 2, 1, 3]


def few_users() -> Trajectories:
    """40 trajectories of 31 users, the first of whom made ten."""
    train = toy_trajectories(40)
    return replace(train, user=np.maximum(np.arange(40) - 9, 0), user_ids=train.user_ids[:31])


def made(name: str, **changes: Any) -> Any:
    return make_method(name, **{**CONFIGS[name], "unit": "user", "trips_per_user": 3, **changes})


# ---- examples -------------------------------------------------------------------------------------------------------


def test_examples_hold_every_record_once_and_weights_that_add_up_to_one() -> None:
    records, user = toy_records(10), np.array([7, 2, 2, 7, 5, 2, 9, 9, 5, 7])
    examples = by_user(records, user, 4)
    assert examples.shape == (4, 4, 2 * LENGTH + 1)  # users 2, 5, 7, 9
    weight = examples[:, :, -1]
    assert weight.sum(dim=1) == pytest.approx(np.ones(4)) and (weight > 0).sum(dim=1).tolist() == [3, 2, 3, 2]
    assert torch.equal(examples[0, :3, :-1], records[[1, 2, 5]].flatten(1))
    assert torch.equal(examples[1, :2, :-1], records[[4, 8]].flatten(1)) and not examples[1, 2:, -1].any()
    with pytest.raises(ParameterError, match="a user has 3 trajectories, more than 2"):
        by_user(records, user, 2)


def _diffusion() -> tuple[nn.Module, Objective]:
    return toy_model(), Denoising(alphas_bar("linear", 20), (2, LENGTH), draws=2)


def _vae() -> tuple[nn.Module, Objective]:
    body = Autoencoder(Encoder(TINY, LENGTH, 6), Decoder(TINY, LENGTH, 3))
    return body, Elbo(3, kl_weight=0.1, warmup_steps=0, draws=1)


def _critic(lipschitz: Any) -> tuple[nn.Module, Objective]:
    critic = Encoder(TINY, LENGTH, 1)
    with torch.no_grad():
        critic.dense.weight *= 30  # steep enough for the penalty to bite
    objective = CriticLoss(
        Decoder(TINY, LENGTH, 3), 3, pool=7, seed=0, lipschitz=lipschitz, penalty_weight=10.0, fakes="paired"
    )
    objective.begin_step(0)
    return critic, objective


MODELS = {
    "diffusion": _diffusion,
    "vae": _vae,
    "critic with penalty": lambda: _critic("penalty"),
    "critic with slope": lambda: _critic("slope"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_clipped_sum_is_that_of_a_loop_over_users(name: str) -> None:
    torch.manual_seed(0)
    model, inner = MODELS[name]()
    most, clip = 3, 1e-3
    examples = by_user(toy_records(sum(SIZES)), np.repeat(np.arange(5), SIZES), most)
    objective = PerUser(inner, most, (2, LENGTH))
    drawn = objective.draw(5, torch.Generator().manual_seed(1))
    expected = [torch.zeros_like(p) for p in trainable(model)]
    norms, values = [], []
    for i, size in enumerate(SIZES):
        own = examples[i, :size, :-1].unflatten(1, (2, LENGTH))
        loss = inner.losses(model, own, {k: v[i, :size] for k, v in drawn.items()}).mean()
        gradients = torch.autograd.grad(loss, trainable(model), allow_unused=True)
        gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(trainable(model), gradients, strict=True)]
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        norms.append(float(norm))
        values.append(float(loss.detach()))
        for total, g in zip(expected, gradients, strict=True):
            total += g * min(1.0, clip / float(norm))
    engine = make_engine(model, draws=objective.draws, second_order=objective.second_order, max_grad_norm=clip)
    losses, found, seen = engine.summed(of_records(objective), {"record": examples, **drawn}, torch.ones(5))
    assert losses.tolist() == pytest.approx(values, rel=1e-4) and seen.tolist() == pytest.approx(norms, rel=1e-3)
    assert min(norms) > clip  # so that every user is clipped, and once
    for a, b in zip(found, expected, strict=True):
        assert torch.allclose(a, b, rtol=1e-3, atol=1e-7)


def test_an_empty_batch_of_users_draws_nothing() -> None:
    objective = PerUser(Denoising(alphas_bar("linear", 20), (2, LENGTH), draws=2), 3, (2, LENGTH))
    drawn = objective.draw(0, torch.Generator().manual_seed(0))
    assert {k: len(v) for k, v in drawn.items()} == {"t": 0, "noise": 0}


# ---- trainings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_c28_the_guarantee_counts_users_and_draws_users(name: str) -> None:
    method = made(name, regime="private", noise_multiplier=2.0).fit(few_users(), seed=0)
    g, details = method.guarantee_, method.guarantee_.parts[0].details
    steps = 12 if name == "gan" else 6
    assert g.holds and g.unit == "user" and "per user" in g.in_words()
    assert (details["n"], details["sample_rate"], details["trips_per_user"]) == (31, 8 / 31, 3)
    assert details["steps"] == steps
    assert g.epsilon == epsilon_of(DpSgd(8 / 31, 2.0, steps, record="user"), delta=31**-1.1, unit="user").epsilon
    words = " ".join(g.assumptions)
    assert "n, the number of users in training" in words and "at most 3 trajectories of a user" in words
    assert "which users each step drew" in words and "a person with several of them" not in words
    assert method.report_["n_train"] == 31 and method.report_["unit"] == "user"


def test_noise_is_calibrated_to_users() -> None:
    method = made("diffusion", regime="private", epsilon=3.0, delta=1e-3).fit(few_users(), seed=0)
    assert 2.9 < method.guarantee_.epsilon <= 3.0 and method.guarantee_.unit == "user"


@pytest.mark.parametrize("name", ["diffusion", "vae"])
def test_one_trip_a_user_trains_as_one_trajectory_does(name: str) -> None:
    train, private = toy_trajectories(40), {"regime": "private", "noise_multiplier": 2.0}
    users = made(name, **private, trips_per_user=1).fit(train, seed=3)
    trips = make_method(name, **CONFIGS[name], **private).fit(train, seed=3)  # type: ignore[attr-defined]
    for a, b in zip(users.model_.parameters(), trips.model_.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert users.guarantee_.epsilon == trips.guarantee_.epsilon


def test_what_is_beyond_the_bound_is_not_looked_at() -> None:
    train = few_users()
    method = made("diffusion", regime="private", noise_multiplier=2.0)
    kept = at_most(train, 3, 5)
    assert len(kept) == 33
    whole, some = (
        method.fit(train, seed=5).release(4, seed=0),
        made("diffusion", regime="private", noise_multiplier=2.0).fit(kept, seed=5).release(4, seed=0),
    )
    assert whole.trajectories.fingerprint() == some.trajectories.fingerprint()


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="belong together"):
        make_method("diffusion", **TINY_CONFIG, unit="user")
    with pytest.raises(ParameterError, match="belong together"):
        make_method("diffusion", **TINY_CONFIG, trips_per_user=3)
    with pytest.raises(ParameterError, match="leave condition out"):
        made("diffusion", condition={"type": "sample"})
    with pytest.raises(DataContractError, match="31 users, fewer than batch_size 35"):
        made("diffusion", batch_size=35).fit(few_users(), seed=0)


def test_without_privacy_the_unit_is_told_too() -> None:
    method = made("vae").fit(few_users(), seed=0)
    assert not method.guarantee_.holds and method.guarantee_.unit == "user"
