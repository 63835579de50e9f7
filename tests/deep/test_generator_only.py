"""DP-SGD on a GAN's generator alone leaks: a one-parameter WGAN refutes its claim; a placebo and the sound scheme do not.

The construction is the worst case of the published scheme. G(z) = theta, D(x) = w x with |w| <= 1. Without the target
record the mean of the data lies just below 0, with it just above, so that the critic, trained without noise, points
the other way and every clipped gradient of the generator changes its sign, not one of them with probability q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from trajkit.deep.adversary import GeneratorSettings, GeneratorTrainer
from trajkit.deep.critic import CriticLoss
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.privacy.accounting import calibrate, delta_for

N, BATCH, STEPS, CLAIMED, CLIP, MODELS = 64, 8, 10, 1.0, 0.01, 120


class OneParameter(nn.Module):
    """G(z) = theta, in [rows, 1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(1, 1)
        nn.init.zeros_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.dense.weight.requires_grad_(False)

    def forward(self, z: Tensor) -> Tensor:
        return self.dense(z)[:, :, None]


class Slope(nn.Module):
    """D(x) = w x."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.dense.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(x.flatten(1))


@dataclass
class World:
    """The same data set without and with the target."""

    target: bool

    def records(self) -> Tensor:
        others = torch.full((N, 1, 1), -1 / (2 * N))
        return torch.cat([others, torch.ones(1, 1, 1)]) if self.target else others


def _theta(records: Tensor, *, seed: int, noise: float, on: str) -> float:
    """One training; the released parameter."""
    generator = OneParameter()
    objective = CriticLoss(
        generator, 1, pool=BATCH, seed=seed, lipschitz="projection", penalty_weight=0.0, projection=1.0
    )
    private = on == "critic"
    player = GeneratorTrainer(
        generator,
        1,
        GeneratorSettings(
            steps=STEPS,
            n_critic=1,
            batch=BATCH,
            learning_rate=1e-4,
            betas=(0.0, 0.9),
            ema_decay=0.0,
            warmup_steps=0,
            max_grad_norm=None if private else CLIP,
            noise_multiplier=0.0 if private else noise,
        ),
        seed=seed,
    )
    settings = TrainSettings(
        regime="private" if private else "plain",
        steps=STEPS,
        sample_rate=BATCH / N if private else 1.0,  # the critic of the published scheme may see everybody
        max_grad_norm=CLIP,
        noise_multiplier=noise if private else 0.0,
        physical_batch=N + 1,
        learning_rate=3.0,
        warmup_steps=0,
        decay="constant",
        betas=(0.0, 0.9),
    )
    trainer = Trainer(Slope(), objective, records, settings, seed=seed, identity="x", companion=player)
    trainer.run()
    return float(player.load_ema().dense.bias.detach())  # type: ignore[union-attr, operator]


def _lower_bound(without: list[float], with_target: list[float], delta: float) -> float:
    """epsilon that the threshold attack proves with 95 % confidence (Jagielski et al. 2020); threshold from the first half."""
    half = len(without) // 2
    cut = (torch.tensor(without[:half]).median() + torch.tensor(with_target[:half]).median()).item() / 2
    hits, alarms = (sum(v > cut for v in values[half:]) for values in (with_target, without))
    n = len(without) - half
    hit_low = stats.beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    alarm_high = stats.beta.ppf(0.975, alarms + 1, n - alarms) if alarms < n else 1.0
    return math.log((hit_low - delta) / alarm_high) if hit_low > delta + alarm_high else 0.0


@pytest.fixture(scope="module")
def noise() -> float:
    """The noise multiplier that the accountant asks for at the claimed epsilon."""
    return calibrate(
        target_epsilon=CLAIMED, delta=delta_for(N), sample_rate=BATCH / N, steps=STEPS, unit="trajectory"
    ).noise_multiplier


def _attack(noise: float, *, on: str, placebo: bool = False) -> float:
    a, b = World(False).records(), World(not placebo).records()
    without = [_theta(a, seed=2 * k, noise=noise, on=on) for k in range(MODELS)]
    with_target = [_theta(b, seed=2 * k + 1, noise=noise, on=on) for k in range(MODELS)]
    return _lower_bound(without, with_target, delta_for(N))


def test_the_published_scheme_breaks_its_claim(noise: float) -> None:
    assert _attack(noise, on="generator") > CLAIMED


def test_a_placebo_shows_nothing(noise: float) -> None:
    assert _attack(noise, on="generator", placebo=True) < 0.5


def test_noise_on_the_critic_keeps_its_claim(noise: float) -> None:
    assert _attack(noise, on="critic") < CLAIMED
