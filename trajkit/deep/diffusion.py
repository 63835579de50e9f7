"""The diffusion generator: DDPM on the shared UNet, DDIM sampling."""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from trajkit.deep.ddpm import Denoising, alphas_bar, ddim
from trajkit.deep.generator import DeepConfig, DeepGenerator
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.training_guarantee import Budget
from trajkit.deep.unet import COORDINATES, UNet


class DiffusionConfig(DeepConfig):
    """Parameters; the defaults are the quick size.

    ``noise_draws_per_example``: diffusion draws (t, noise) that one record's loss averages before its gradient is clipped.
    """

    diffusion_steps: int = Field(300, ge=2)
    noise_schedule: Literal["linear", "cosine"] = "linear"
    prediction: Literal["noise", "velocity"] = "velocity"
    sampling_steps: int = Field(25, ge=1)
    noise_draws_per_example: int = Field(4, ge=1)

    @model_validator(mode="after")
    def _sampling(self) -> Self:
        if self.sampling_steps > self.diffusion_steps:
            raise ValueError(f"sampling_steps {self.sampling_steps} exceeds diffusion_steps {self.diffusion_steps}")
        return self


class Diffusion(DeepGenerator):
    """Unconditional diffusion over trajectories of fixed length."""

    name = "diffusion"
    version = 3
    Config = DiffusionConfig

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        c = self.config
        objective = Denoising(
            alphas_bar(c.noise_schedule, c.diffusion_steps),
            (COORDINATES, c.length),
            draws=c.noise_draws_per_example,
            prediction=c.prediction,
        )
        return UNet(c.sizes()), objective, None

    def _sample(self, n: int, generator: torch.Generator) -> Tensor:
        c = self.config
        return ddim(
            self.model_,
            torch.randn(n, COORDINATES, c.length, generator=generator).to(self.device_),
            alphas_bar(c.noise_schedule, c.diffusion_steps),
            steps=c.sampling_steps,
            bound=c.half_box,
            prediction=c.prediction,
        )
