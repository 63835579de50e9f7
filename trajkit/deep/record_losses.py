"""What a trained generator's own loss says about given trajectories: the score of a white-box membership attack."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.diffusion import Diffusion
from trajkit.deep.generator import DeepGenerator
from trajkit.deep.objective import Objective
from trajkit.deep.unet import COORDINATES
from trajkit.deep.vae import Autoencoder, Elbo, Vae
from trajkit.errors import ParameterError
from trajkit.methods import fitted_attribute
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

BATCH = 256


@torch.no_grad()
def record_losses(method: DeepGenerator, trajs: Trajectories, *, seed: int, draws: int = 16) -> np.ndarray:
    """float64 [n]: loss of each trajectory under the averaged weights of a fitted ``method``, mean over ``draws`` random draws.

    The draws depend on ``seed`` and the place of a trajectory in ``trajs`` alone: with one seed, models are compared at the same draws.
    Of a VAE the encoder is asked too, which is not released: that is more than its release gives away. Raises ParameterError for a
    GAN, which has no loss of a record, for a condition, and where the method was not fitted.
    """
    network = fitted_attribute(method, "model_")
    if method.config.condition.is_conditional:
        raise ParameterError(
            "the loss of a conditional model is that of a trajectory and its condition: leave condition out"
        )
    model, objective = _loss(method, network, draws)
    records, generator = (
        method._scaled(trajs),
        torch.Generator().manual_seed(child_seed(seed, "attack", "record losses")),
    )
    found = []
    for part in records.split(BATCH):
        drawn = {k: v.to(method.device_) for k, v in objective.draw(len(part), generator).items()}
        found.append(objective.losses(model, part.to(method.device_), drawn).double().cpu())
    return torch.cat(found).numpy() if found else np.zeros(0)


def _loss(method: DeepGenerator, network: nn.Module, draws: int) -> tuple[nn.Module, Objective]:
    c = method.config
    if isinstance(method, Diffusion):
        signal = alphas_bar(c.noise_schedule, c.diffusion_steps)  # type: ignore[attr-defined]
        return network, Denoising(signal, (COORDINATES, c.length), draws=draws, prediction=c.prediction)  # type: ignore[attr-defined]
    if isinstance(method, Vae):
        body = Autoencoder(method._encoder, network)  # type: ignore[arg-type]
        return body.eval(), Elbo(c.latent, kl_weight=c.kl_weight, warmup_steps=0, draws=draws)  # type: ignore[attr-defined]
    raise ParameterError(
        f"{method.name} has no loss of a record: attack what it releases (attacks.member_scores.of_release)"
    )
