"""The Wasserstein GAN (WGAN-LP, Petzka et al. 2018) on the two halves of the shared UNet, and its three ways to be "private".

``dp_target: critic``: the critic is trained by DP-SGD, every critic step is accounted, the generator is post-processing.
``generator``: the published scheme; its guarantee does not hold, and says so. ``both``: accounted by what touches records,
the critic; the generator's noise adds nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from trajkit.deep.adversary import GeneratorSettings, GeneratorTrainer
from trajkit.deep.condition_inputs import fixed_compressor
from trajkit.deep.conditioning import Compressor, body_of, conditioned
from trajkit.deep.critic import CriticLoss, Fakes, Lipschitz
from trajkit.deep.deep_config import DeepConfig
from trajkit.deep.generator import DecoderGenerator
from trajkit.deep.halves import Decoder, Encoder, decoder_sizes
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import Budget, generator_only_guarantee
from trajkit.deep.unet import n_params
from trajkit.privacy.guarantee import Guarantee


class GanConfig(DeepConfig):
    """Parameters; the defaults are the quick size. ``steps`` are updates of the generator, ``n_critic`` critic steps precede each.

    ``learning_rate`` is the generator's. ``penalty_weight`` weighs the Lipschitz penalty; ``lipschitz`` and ``fakes`` are
    explained in `trajkit.deep.critic`; ``projection`` bounds the largest singular value of each critic weight.
    """

    latent: int = Field(32, ge=1)
    n_critic: int = Field(3, ge=1)
    critic_learning_rate: float = Field(1e-3, gt=0, allow_inf_nan=False)
    critic_channels: int | None = Field(None, ge=2)
    beta_1: float = Field(0.0, ge=0, lt=1)
    beta_2: float = Field(0.9, ge=0, lt=1)
    lipschitz: Lipschitz = "penalty"
    fakes: Fakes = "paired"
    penalty_weight: float = Field(10.0, ge=0, allow_inf_nan=False)
    projection: float = Field(1.0, gt=0, allow_inf_nan=False)
    dp_target: Literal["critic", "generator", "both"] = "critic"
    decay: Literal["cosine", "constant"] = "constant"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.condition.redraw:
            raise ValueError(
                "condition.redraw must be left out: the generator is trained on the private vectors, so they are drawn once"
            )
        if self.condition.is_conditional and self.fakes != "paired":
            raise ValueError(
                "fakes must be paired where there is a condition: a generated trajectory shares its record's"
            )
        if self.compile and self.lipschitz == "penalty":
            raise ValueError(
                "compile: a penalty is differentiated twice, which cannot be compiled; choose lipschitz slope"
            )
        return self

    @property
    def redraws(self) -> bool:
        """The generator learns from the private vectors, so they are drawn once."""
        return False

    @property
    def record_steps(self) -> int:
        """Critic steps: each draws records."""
        return self.steps * self.n_critic

    @property
    def accounted_steps(self) -> int:
        """Critic steps; the published scheme counts the generator's."""
        return self.steps if self.dp_target == "generator" else self.record_steps


class Gan(DecoderGenerator):
    """A WGAN-LP over trajectories of fixed length, with or without a condition.

    What trains the generator may touch no training record, or it would be no post-processing of the private critic. So its
    conditions are the private vectors of the conditioning set, released once before the training, and the compressor that
    makes them is a random one that nobody trains: a public projection. A critic's record brings its own condition along,
    through the same compressor, and is compared with a trajectory generated from it: DP-SGD covers both as part of the record.
    """

    name = "gan"
    version = 2
    Config = GanConfig

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        c = self.config
        conditional, sizes = c.condition.is_conditional, replace(c.sizes(), channels=c.critic_channels or c.channels)
        made = fixed_compressor(c.condition, c.length)
        self._fixed = None if made is None else made.to(self.device_)
        conditions = self._pool()
        decoder = Decoder(decoder_sizes(c.sizes(), c.length, c.latent), c.length, c.latent)
        generator = conditioned(decoder, self._net(decoder.embedding, compress=False)).to(self.device_)
        body = Encoder(sizes, c.length, 1, conditional=conditional)
        critic = conditioned(body, self._net(sizes.embedding, compress=False))
        objective = CriticLoss(
            generator,
            c.latent,
            pool=c.batch_size,
            seed=seed,
            n_critic=c.n_critic,
            lipschitz=c.lipschitz,
            penalty_weight=c.penalty_weight,
            projection=c.projection,
            fakes=c.fakes,
            condition=self._inputs(None, fixed=self._fixed),
        )
        noised = c.regime == "private" and c.dp_target != "critic"
        self._player = GeneratorTrainer(
            generator,
            c.latent,
            GeneratorSettings(
                steps=c.steps,
                n_critic=c.n_critic,
                batch=c.batch_size,
                learning_rate=c.learning_rate,
                betas=(c.beta_1, c.beta_2),
                ema_decay=c.ema_decay,
                warmup_steps=c.warmup_steps,
                max_grad_norm=c.max_grad_norm if c.regime != "plain" and c.dp_target != "critic" else None,
                noise_multiplier=budget.noise_multiplier if noised else 0.0,
                compiled=c.compile,
            ),
            seed=seed,
            conditions=conditions,
            keep=c.condition.is_private,
        )
        return critic, objective, self._player

    def _settings(self, budget: Budget) -> TrainSettings:
        c = self.config
        made = replace(super()._settings(budget), learning_rate=c.critic_learning_rate, betas=(c.beta_1, c.beta_2))
        return replace(made, regime="plain", noise_multiplier=0.0) if c.dp_target == "generator" else made

    def _released(self, trainer: Trainer) -> nn.Module:
        trainer.load_ema()
        if self.conditions_ is not None and self._player.conditions is not None:
            self.conditions_.keep(self._player.conditions[:, :-1])
        return self._player.load_ema()

    def _guarantee(self, trainer: Trainer, budget: Budget) -> Guarantee:
        c = self.config
        if c.dp_target == "generator" and c.regime == "private":
            return generator_only_guarantee(budget, batch=c.batch_size, steps=self._player.updates)
        found = super()._guarantee(trainer, budget)
        if not found.holds:
            return found
        words = (
            f"{found.mechanism}; on the critic: the generator learns from its weights alone, which is post-processing"
        )
        if c.dp_target == "both":
            words += ", and the noise on the generator's own gradients adds nothing to the guarantee"
        return replace(found, mechanism=words)

    def _compressor(self) -> Compressor | None:
        return self._fixed

    def _pool(self) -> Tensor | None:
        """Packed condition vectors of the conditioning set, [m, … + 1]; None without a condition."""
        if self.conditions_ is None:
            return None
        vectors = self.conditions_.pool(self._encode).vectors
        return torch.cat([vectors, torch.ones(len(vectors), 1)], dim=1)

    def _facts(self, trainer: Trainer, records: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
        known = {
            "parameters apart (critic)": n_params(body_of(trainer.model)),
            "generator updates": self._player.updates,
            "critic updates": trainer.step,
            "dp_target": self.config.dp_target,
        }
        return known, {}
