"""The diffusion generator: DDPM on the shared UNet, DDIM sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from trajkit.deep.conditioning import body_of, conditioned, embedded
from trajkit.deep.ddpm import Denoising, alphas_bar, ddim
from trajkit.deep.deep_config import DeepConfig
from trajkit.deep.generator import DeepGenerator
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

    @property
    def guides(self) -> bool:
        """Guidance mixes conditional and unconditional predictions of each sampling step."""
        return True


class Diffusion(DeepGenerator):
    """Diffusion over trajectories of fixed length, with or without a condition."""

    name = "diffusion"
    version = 4
    Config = DiffusionConfig

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        c = self.config
        body = UNet(c.sizes())
        net = self._net(c.sizes().embedding)
        objective = Denoising(
            alphas_bar(c.noise_schedule, c.diffusion_steps),
            (COORDINATES, c.length),
            draws=c.noise_draws_per_example,
            prediction=c.prediction,
            condition=self._inputs(net),
        )
        return conditioned(body, net), objective, None

    @torch.no_grad()
    def _sample(self, n: int, generator: torch.Generator, vectors: Tensor | None) -> Tensor:
        c = self.config
        return ddim(
            guided(body_of(self.model_), c.condition.guidance),
            torch.randn(n, COORDINATES, c.length, generator=generator).to(self.device_),
            alphas_bar(c.noise_schedule, c.diffusion_steps),
            steps=c.sampling_steps,
            bound=c.half_box,
            prediction=c.prediction,
            embedding=embedded(self.model_, vectors, self.device_),
        )


def guided(body: nn.Module, weight: float) -> Callable[..., Tensor]:
    """Classifier-free guidance (Ho and Salimans 2022): conditional + weight * (conditional - unconditional) prediction."""

    def predict(x: Tensor, t: Tensor, *embedding: Tensor) -> Tensor:
        found = body(x, t, *embedding)
        return found + weight * (found - body(x, t)) if weight else found

    return predict
