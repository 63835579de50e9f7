"""The worst case of DP-SGD on a GAN's generator alone: a one-parameter Wasserstein GAN, thousands of trainings at once.

G(z) = theta, D(x) = w x with |w| <= 1 (weight clipping). D holds n records at -1 / (2n), D' one more at +1. The critic, trained
without noise, points down in D and, wherever it saw the record, up in D'; every one of the ``batch`` clipped gradients of the
generator follows it. With the whole set in every critic step theta_T separates by mu = 2 B sqrt(T) / sigma standard deviations
(`trajkit.privacy.gdp.generator_only_mu`), which is all that the scheme promises; claimed is what DP-SGD at q = B / n would.
Records lie inside the box [-1, 1], one record differs, and every setting is a legal one: no argument from typical data helps.

``scheme`` "critic" trains the critic by DP-SGD instead, with the same noise: its score is a function of noisy sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from trajkit.methods import MethodConfig
from trajkit.privacy.ledger import DpSgd
from trajkit.seeds import rng

Scheme = Literal["generator", "critic"]
CRITIC_RATE = 1e9  # one critic step reaches the bound, so that the sign of its gradient decides
BLOCK = 50_000  # trainings at once


class WorstCase(MethodConfig):
    """``n`` records besides the target; ``batch`` / n is the rate drawn with and accounted; ``critic_sees`` "all" or Poisson "batch"."""

    n: int = Field(69_500, ge=2)
    batch: int = Field(512, ge=1)
    steps: int = Field(200, ge=1)
    noise_multiplier: float = Field(gt=0)
    scheme: Scheme = "generator"
    critic_sees: Literal["all", "batch"] = "all"

    @property
    def mechanism(self) -> DpSgd:
        """What the scheme claims to be."""
        return DpSgd(self.batch / self.n, self.noise_multiplier, self.steps)

    @property
    def clip(self) -> float:
        """Clip norm: only its ratio to the step matters."""
        return 1.0

    @property
    def learning_rate(self) -> float:
        """Small enough that theta stays between the two means, noise included: drift and six standard deviations."""
        reach = self.steps + 6 * self.noise_multiplier * math.sqrt(self.steps) / self.batch
        return 1 / (8 * self.n * reach * self.clip)


@dataclass(frozen=True)
class Thetas:
    """Released parameters [N] of each world, in units of the standard deviation that the noise alone gives them."""

    without: np.ndarray
    with_target: np.ndarray


def train(config: WorstCase, models: int, *, seed: int, placebo: bool = False) -> Thetas:
    """Train ``models`` in each world; with ``placebo`` the second one is the first again, under other draws."""
    worlds = []
    for name, target in (("without", False), ("with", not placebo)):
        blocks = range(0, models, BLOCK)
        step = _critic_step if config.scheme == "critic" else _generator_step
        parts = [
            _trained(config, min(BLOCK, models - b), target, rng(seed, "attack", "worst case", name, b), step)
            for b in blocks
        ]
        worlds.append(np.concatenate(parts))
    return Thetas(*worlds)


def _trained(config: WorstCase, models: int, target: bool, random: np.random.Generator, step) -> np.ndarray:  # type: ignore[no-untyped-def]
    theta = np.zeros(models)
    for _ in range(config.steps):
        theta -= config.learning_rate * step(config, theta, target, random)
    spread = config.learning_rate * config.noise_multiplier * config.clip * math.sqrt(config.steps) / config.batch
    return theta / spread


def _drawn_sum(config: WorstCase, models: int, target: bool, random: np.random.Generator) -> tuple[np.ndarray, float]:
    """Sum of the records that the critic sees in each training, and how many it divides by."""
    if config.critic_sees == "all":
        return np.full(models, -0.5 + target), float(config.n + target)
    q = config.batch / config.n
    total = random.binomial(config.n, q, size=models) / (-2.0 * config.n)
    return total + target * (random.random(models) < q), float(config.batch)


def _generator_step(config: WorstCase, theta: np.ndarray, target: bool, random: np.random.Generator) -> np.ndarray:
    """Mean noisy gradient of the generator's loss -D(G(z)), after one step of the critic on -D(x) + D(G(z))."""
    total, divisor = _drawn_sum(config, len(theta), target, random)
    w = np.clip(CRITIC_RATE * (total / divisor - theta), -1.0, 1.0)
    each = np.clip(-w, -config.clip, config.clip)
    noise = config.noise_multiplier * config.clip * random.standard_normal(len(theta))
    return (config.batch * each + noise) / config.batch


def _critic_step(config: WorstCase, theta: np.ndarray, target: bool, random: np.random.Generator) -> np.ndarray:
    """The same with the noise where the records are: each record's gradient -x is clipped (to 1, which it never exceeds), summed, noised."""
    q = config.batch / config.n
    total = random.binomial(config.n, q, size=len(theta)) / (-2.0 * config.n)
    total = total + target * (random.random(len(theta)) < q)
    total = total + config.noise_multiplier * random.standard_normal(len(theta))
    w = np.clip(CRITIC_RATE * (total / config.batch - theta), -1.0, 1.0)
    return -w
