"""The critic's side of the Wasserstein GAN: its loss per record, with the Lipschitz penalty or the projection that replaces it.

One record's loss is -D(x) plus the penalty at one point on a random line from x to a generated trajectory (WGAN-LP, Petzka
et al. 2018): both depend on that record alone, so that clipping their joint gradient bounds what the record can do.
The loss on generated trajectories depends on no record, given the weights.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import grad

Lipschitz = Literal["penalty", "projection"]


class CriticLoss:
    """The objective of the critic against ``generator``, which it reads and never trains.

    ``projection``: largest singular value of every weight, restored after each step; it is a function of the weights alone.
    """

    draws = 1

    def __init__(
        self,
        generator: nn.Module,
        latent: int,
        *,
        free_rows: int,
        lipschitz: Lipschitz,
        penalty_weight: float,
        projection: float,
    ) -> None:
        self.generator, self.latent, self.free_rows = generator, latent, free_rows
        self.lipschitz, self.penalty_weight, self.projection = lipschitz, penalty_weight, projection

    @property
    def second_order(self) -> bool:
        """Whether the loss contains the critic's input gradient."""
        return self.lipschitz == "penalty"

    def begin_step(self, step: int) -> None:
        """No schedule."""

    def end_step(self, model: nn.Module) -> None:
        """Project the weights, where that keeps the critic Lipschitz."""
        if self.lipschitz == "projection":
            project(model, self.projection)

    @torch.no_grad()
    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return generated trajectories [records, 2, L] and places on the lines [records]."""
        z = torch.randn(records, self.latent, generator=generator)
        u = torch.rand(records, generator=generator)
        return {"fake": self.generator(z.to(next(self.generator.parameters()).device)), "u": u}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return [records] for ``batch`` [records, 2, L]."""
        score = -model(batch)[:, 0].float()
        if self.lipschitz != "penalty":
            return score
        u = drawn["u"][:, None, None]
        slope = grad(lambda x: model(x).float().sum())(u * batch + (1 - u) * drawn["fake"])
        norm = (slope.float().square().sum(dim=(1, 2)) + 1e-12).sqrt()
        return score + self.penalty_weight * (norm - 1).clamp(min=0).square()

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """Return D(G(z)) for each generated trajectory."""
        return model(drawn["fake"])[:, 0].float()


@torch.no_grad()
def project(model: nn.Module, bound: float) -> None:
    """Scale every weight matrix (a kernel as output channels x the rest) to a largest singular value of at most ``bound``."""
    for p in model.parameters():
        if p.dim() >= 2:
            p.div_((torch.linalg.matrix_norm(p.flatten(1), ord=2) / bound).clamp(min=1.0))
