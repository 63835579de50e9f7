"""The VAE: what is released, what is reported, what the objective is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from deep_toys import BOX, SMALL_CONFIG, toy_trajectories

from trajkit.deep.halves import Decoder
from trajkit.deep.unet import n_params
from trajkit.deep.vae import Elbo, Vae
from trajkit.methods import Method, make_method

PRIVATE = {"regime": "private", "noise_multiplier": 2.0}


def make(**changes: Any) -> Vae:
    return make_method("vae", **{**SMALL_CONFIG, **changes})  # type: ignore[return-value]


@pytest.fixture(scope="module")
def fitted() -> Vae:
    return make(**PRIVATE).fit(toy_trajectories(), seed=1)


def test_the_decoder_is_released_and_the_encoder_counted_apart(fitted: Vae) -> None:
    assert isinstance(fitted, Method) and isinstance(fitted.model_, Decoder)
    assert fitted.n_params_ == n_params(fitted.model_) == fitted.report_["n_params"]
    assert fitted.report_["parameters apart (encoder)"] > 0


def test_release_is_deterministic_by_seed_and_inside_the_box(fitted: Vae) -> None:
    first, same, other = (fitted.release(9, seed=s).trajectories for s in (4, 4, 5))
    assert first.fingerprint() == same.fingerprint() != other.fingerprint()
    assert first.lengths.tolist() == [8] * 9 and bool(BOX.contains(first.lonlat).all())


def test_guarantee_is_that_of_dp_sgd_on_every_weight(fitted: Vae) -> None:
    g = fitted.guarantee_
    assert g.holds and g.parts[0].details["steps"] == 6 and g.parts[0].details["noise_multiplier"] == 2.0
    diffusion = {k: v for k, v in SMALL_CONFIG.items() if k != "latent"}
    other = make_method("diffusion", **diffusion, **PRIVATE, diffusion_steps=20, sampling_steps=5)
    assert g == other.fit(toy_trajectories(), seed=1).guarantee_  # type: ignore[attr-defined]


def test_the_weight_of_the_divergence_rises_and_stays() -> None:
    objective = Elbo(3, kl_weight=0.5, warmup_steps=4, draws=1)
    weights = []
    for step in range(6):
        objective.begin_step(step)
        weights.append(objective.weight)
    assert weights == [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]


def test_the_objective_is_squared_error_plus_divergence() -> None:
    """By hand: reconstruction 0 of a record of ones; posterior mean 2, log variance 0: divergence 2 a unit."""

    class Fixed(torch.nn.Module):
        def forward(self, x: torch.Tensor, normal: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.zeros_like(x), torch.full((len(x), 3), 2.0), torch.zeros(len(x), 3)

    objective = Elbo(3, kl_weight=0.5, warmup_steps=0, draws=2)
    drawn = objective.draw(4, torch.Generator())
    losses = objective.losses(Fixed(), torch.ones(4, 2, 8), drawn)
    assert drawn["normal"].shape == (4, 2, 3)
    torch.testing.assert_close(losses, torch.full((4,), 1.0 + 0.5 * 6.0))


def test_posterior_collapse_is_reported_apart_from_the_guarantee() -> None:
    crushed = make(kl_weight=1e4, kl_warmup_steps=0, steps=80, regime="plain", learning_rate=0.01)
    hidden = crushed.fit(toy_trajectories(), seed=0).report_["not covered by the guarantee"]
    assert hidden["active latent units"] == 0 and hidden["posterior collapse"] == "posterior collapse"
    free = make(kl_weight=1e-6, steps=80, regime="plain", learning_rate=0.01)
    hidden = free.fit(toy_trajectories(), seed=0).report_["not covered by the guarantee"]
    assert hidden["active latent units"] > 0 and hidden["posterior collapse"] == "none"


def test_a_model_that_learns_reconstructs() -> None:
    """200 plain steps bring the loss of straight walks far below where it started."""
    history = (
        make(regime="plain", steps=200, learning_rate=0.01, batch_size=20).fit(toy_trajectories(), seed=0).history_
    )
    assert history["loss"][-1] < 0.3 * history["loss"][0]
