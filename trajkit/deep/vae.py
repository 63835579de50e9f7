"""The variational autoencoder (Kingma and Welling 2014) on the two halves of the shared UNet; the decoder is released."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from trajkit.deep.condition_inputs import ConditionInputs, no_condition
from trajkit.deep.conditioning import Conditioned, body_of, conditioned
from trajkit.deep.deep_config import DeepConfig
from trajkit.deep.generator import DecoderGenerator
from trajkit.deep.halves import Decoder, Encoder, decoder_sizes
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import Budget
from trajkit.deep.unet import n_params

LOG_VARIANCE = 8.0  # |log variance| of the posterior is held below this
ACTIVE = 0.01  # variance over records of a posterior mean from which a latent unit counts as active (Burda et al. 2016)


class VaeConfig(DeepConfig):
    """Parameters; the defaults are the quick size.

    ``kl_weight``: weight of the Kullback-Leibler term against the squared error per coordinate, that is twice the variance
    that the decoder is granted per coordinate, divided by the number of coordinates; it rises from 0 over
    ``kl_warmup_steps``. ``noise_draws_per_example``: latent draws that one record's loss averages.
    """

    latent: int = Field(16, ge=1)
    kl_weight: float = Field(1e-3, gt=0, allow_inf_nan=False)
    kl_warmup_steps: int = Field(100, ge=0)
    noise_draws_per_example: int = Field(1, ge=1)


class Autoencoder(nn.Module):
    """(trajectories [B, 2, L], standard normal [B, latent]) → (reconstruction, posterior mean, posterior log variance).

    The embedding of a condition enters the decoder alone: the encoder sees the trajectory anyway.
    """

    encoder: Encoder
    decoder: Decoder

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self, x: Tensor, normal: Tensor, extra_embedding: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean, raw = self.encoder(x).chunk(2, dim=1)
        log_variance = LOG_VARIANCE * torch.tanh(raw / LOG_VARIANCE)
        z = mean + (0.5 * log_variance).exp() * normal
        return self.decoder(z, extra_embedding), mean, log_variance


class Elbo:
    """The objective: squared error per coordinate plus the weighted Kullback-Leibler divergence from the standard normal."""

    second_order = False
    free_rows = 0

    def __init__(
        self, latent: int, *, kl_weight: float, warmup_steps: int, draws: int, condition: ConditionInputs | None = None
    ) -> None:
        self.latent, self.kl_weight, self.warmup_steps, self.draws = latent, kl_weight, warmup_steps, draws
        self.weight = kl_weight
        self.condition = condition or no_condition(0)

    def begin_step(self, step: int) -> None:
        """Raise the weight of the divergence linearly from 0; the condition's schedule."""
        self.condition.begin_step(step)
        self.weight = self.kl_weight * min(1.0, step / max(1, self.warmup_steps))

    def end_step(self, model: nn.Module) -> None:
        """No projection."""

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return standard normal draws [records, draws, latent] and the condition's draws."""
        normal = torch.randn(records, self.draws, self.latent, generator=generator)
        return {"normal": normal, **self.condition.draw(records, self.draws, generator)}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return [records] for ``batch`` [records, 2, L]."""
        batch, source = self.condition.split(batch)
        rows = batch.repeat_interleave(self.draws, dim=0)
        extra = self.condition.rows(source, drawn, self.draws)
        found, mean, log_variance = model(rows, drawn["normal"].flatten(0, 1), *extra)
        error = (found.float() - rows).square().mean(dim=(1, 2))
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).float().sum(dim=1)
        return (error + self.weight * divergence).unflatten(0, (-1, self.draws)).mean(dim=1)

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Every row holds a record."""
        raise NotImplementedError

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """Every row holds a record."""
        raise NotImplementedError


class Vae(DecoderGenerator):
    """A VAE whose decoder samples from standard normal latent vectors (and a condition); the mean of the decoder is released."""

    name = "vae"
    version = 2
    Config = VaeConfig

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        c = self.config
        encoder = Encoder(c.sizes(), c.length, 2 * c.latent)
        decoder = Decoder(decoder_sizes(c.sizes(), c.length, c.latent), c.length, c.latent)
        net = self._net(decoder.embedding)
        objective = Elbo(
            c.latent,
            kl_weight=c.kl_weight,
            warmup_steps=c.kl_warmup_steps,
            draws=c.noise_draws_per_example,
            condition=self._inputs(net),
        )
        return conditioned(Autoencoder(encoder, decoder), net), objective, None

    def _released(self, trainer: Trainer) -> nn.Module:
        model = trainer.load_ema()
        body = body_of(model)
        assert isinstance(body, Autoencoder)
        self._encoder = body.encoder
        return conditioned(body.decoder, model.condition if isinstance(model, Conditioned) else None).eval()

    @torch.no_grad()
    def _facts(self, trainer: Trainer, records: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
        encoder, (some, _) = self._encoder, trainer.objective.condition.split(records[:2000])  # type: ignore[attr-defined]
        means = torch.cat([encoder(part.to(self.device_)).chunk(2, dim=1)[0] for part in some.split(512)])
        active = int((means.var(dim=0) > ACTIVE).sum())
        known = {"parameters apart (encoder)": n_params(encoder), "latent units": self.config.latent}
        words = "posterior collapse" if active == 0 else "none"
        return known, {"active latent units": active, "posterior collapse": words}
