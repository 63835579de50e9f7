"""The generator's side of the GAN: it is trained through the critic's weights and sees no record.

Where the critic is trained by DP-SGD, all of this is post-processing. The published scheme turns it round: the critic learns
without noise and the generator's gradients, one a latent vector, are clipped and noised; see `trajkit.deep.training_guarantee.generator_only_guarantee`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trajkit.deep.engines import adamw, bystander, make_engine, trainable
from trajkit.deep.trainer import Trainer
from trajkit.seeds import child_seed


@dataclass(frozen=True)
class GeneratorSettings:
    """``n_critic`` critic steps precede each of ``steps`` generator updates of ``batch`` latent vectors.

    ``max_grad_norm`` None: plain updates; else gradients are clipped a latent vector, with noise of ``noise_multiplier`` times that.
    """

    steps: int
    n_critic: int
    batch: int
    learning_rate: float
    betas: tuple[float, float]
    ema_decay: float
    warmup_steps: int
    max_grad_norm: float | None = None
    noise_multiplier: float = 0.0
    compiled: bool = False


class GeneratorTrainer:
    """The companion of the critic's `Trainer`; ``ema`` holds the averaged weights that are released.

    ``conditions`` [m, …]: packed condition vectors of the conditioning set, one of which accompanies each latent vector; no
    training record is behind them. ``keep``: they came from a mechanism, whose noise drawn again would be another release, so a
    checkpoint holds them; the others are computed again.
    """

    def __init__(
        self,
        generator: nn.Module,
        latent: int,
        settings: GeneratorSettings,
        *,
        seed: int,
        conditions: Tensor | None = None,
        keep: bool = False,
    ) -> None:
        self.generator, self.latent, self.settings = generator.train(), latent, settings
        self.conditions, self.keep = conditions, keep
        self.engine = make_engine(
            generator, draws=1, second_order=False, max_grad_norm=settings.max_grad_norm, compiled=settings.compiled
        )
        self.parameters = trainable(generator)
        self.optimizer = adamw(self.parameters, learning_rate=settings.learning_rate, betas=settings.betas)
        self.ema = [p.detach().clone() for p in self.parameters]
        self.updates = 0
        self.draws = torch.Generator().manual_seed(child_seed(seed, "noise", "latent"))
        self.noise = torch.Generator().manual_seed(child_seed(seed, "noise", "generator"))

    def after_step(self, step: int, trainer: Trainer) -> None:
        """After every ``n_critic`` critic steps: one update of the generator against the present critic."""
        if step % self.settings.n_critic:
            return
        s = self.settings
        inputs = {"z": torch.randn(s.batch, self.latent, generator=self.draws).to(trainer.device)}
        if self.conditions is not None:
            chosen = torch.randint(len(self.conditions), (s.batch,), generator=self.draws)
            inputs["condition"] = self.conditions[chosen].to(trainer.device)
        with bystander(trainer.engine.network) as critic:

            def losses(network: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
                extra = (inputs["condition"],) if "condition" in inputs else ()
                with trainer.precision():
                    return -critic(network(inputs["z"], *extra), *extra)[:, 0]

            for p in trainer.parameters:
                p.requires_grad_(False)
            _, total, _ = self.engine.summed(losses, inputs, torch.ones(s.batch, device=trainer.device))
            for p in trainer.parameters:
                p.requires_grad_(True)
        if s.noise_multiplier and s.max_grad_norm:
            std = s.noise_multiplier * s.max_grad_norm
            for gradient in total:
                gradient += std * torch.randn(gradient.shape, generator=self.noise).to(gradient.device)
        for p, gradient in zip(self.parameters, total, strict=True):
            p.grad = gradient / s.batch
        for group in self.optimizer.param_groups:
            group["lr"] = s.learning_rate * min(1.0, (self.updates + 1) / max(1, s.warmup_steps))
        self.optimizer.step()
        self.updates += 1
        decay = min(s.ema_decay, (1 + self.updates) / (10 + self.updates))
        torch._foreach_lerp_(self.ema, [p.detach() for p in self.parameters], 1 - decay)
        for p in self.parameters:
            p.grad = None

    def load_ema(self) -> nn.Module:
        """Copy the averaged weights into the generator and return it in evaluation mode."""
        self.engine.close()
        with torch.no_grad():
            for p, average in zip(self.parameters, self.ema, strict=True):
                p.copy_(average)
        return self.generator.eval()

    def state(self) -> dict[str, Any]:
        """All that a resumed training needs."""
        return {
            "generator": self.generator.state_dict(),
            "ema": self.ema,
            "optimizer": self.optimizer.state_dict(),
            "updates": self.updates,
            "draws": self.draws.get_state(),
            "noise": self.noise.get_state(),
            "conditions": self.conditions if self.keep else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put `state` back."""
        self.generator.load_state_dict(state["generator"])
        self.ema = [e.to(p.device) for e, p in zip(state["ema"], self.parameters, strict=True)]
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates = state["updates"]
        if self.conditions is not None and state["conditions"] is not None:
            self.conditions = state["conditions"]
        if state["draws"] is not None:
            self.draws.set_state(state["draws"])
            self.noise.set_state(state["noise"])
