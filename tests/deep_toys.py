"""Tiny trajectories, settings and trainers for the tests of the deep part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.unet import Sizes, UNet
from trajkit.geo import Box
from trajkit.trajectories import Meta, Trajectories

BOX = Box(-8.72, 41.10, -8.50, 41.24)
META = Meta("toy", "EPSG:32629", BOX)
TINY = Sizes(channels=4, multipliers=(1, 2), blocks=1, groups=2)
LENGTH = 8
TINY_CONFIG = {
    "length": LENGTH,
    "channels": 4,
    "channel_multipliers": (1, 2),
    "groups": 2,
    "diffusion_steps": 20,
    "sampling_steps": 5,
    "batch_size": 8,
    "steps": 6,
    "noise_draws_per_example": 2,
    "physical_batch": 4,
}


def toy_trajectories(n: int = 40, length: int = 12, seed: int = 3) -> Trajectories:
    """n straight walks inside the box."""
    r = np.random.default_rng(seed)
    a, b = r.uniform(-0.8, 0.8, (2, n, 1, 2))
    unit = a + (b - a) * np.linspace(0, 1, length)[None, :, None]
    return Trajectories.from_fixed(BOX.from_unit(unit.reshape(-1, 2)).reshape(n, length, 2), meta=META, prefix="t")


def renamed(trajs: Trajectories) -> Trajectories:
    """The same trajectories under other ids."""
    return replace(trajs, traj_ids=np.array([f"test-{i}" for i in range(len(trajs))]))


def toy_records(n: int = 40, seed: int = 3) -> Tensor:
    """float32 [n, 2, LENGTH] in [-1, 1]."""
    return torch.randn(n, 2, LENGTH, generator=torch.Generator().manual_seed(seed)).clamp(-1, 1)


def toy_model(seed: int = 0) -> UNet:
    """A UNet of under 2,000 parameters."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return UNet(TINY)


def toy_trainer(
    *,
    seed: int = 5,
    checkpoint: Path | None = None,
    identity: str = "toy",
    draws: int = 2,
    n: int = 40,
    **settings: object,
) -> Trainer:
    """A trainer over 40 records with expected batch 8 and 6 steps, unless told otherwise."""
    values = {"regime": "private", "steps": 6, "sample_rate": 0.2, "max_grad_norm": 0.1, "physical_batch": 3}
    values |= settings
    if values["regime"] == "private":
        values.setdefault("noise_multiplier", 1.0)
    return Trainer(
        toy_model(),
        Denoising(alphas_bar("linear", 20), (2, LENGTH), draws=draws),
        toy_records(n),
        TrainSettings(**values),  # type: ignore[arg-type]
        seed=seed,
        identity=identity,
        checkpoint=checkpoint,
    )


def weights(trainer: Trainer) -> Tensor:
    """All weights and averaged weights in one vector."""
    return torch.cat([p.detach().flatten() for p in [*trainer.parameters, *trainer.ema]])


SMALL_CONFIG: dict[str, object] = {
    "length": LENGTH,
    "channels": 8,
    "channel_multipliers": (1, 2),
    "groups": 2,
    "attention": False,
    "latent": 4,
    "batch_size": 8,
    "steps": 6,
    "physical_batch": 4,
}  # the smallest networks whose decoder meets the UNet's size
