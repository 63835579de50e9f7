"""Thousands of tiny GAN trainings at once, to see what a released one tells of a single record.

All trainings of a block are stacked: every weight has a leading dimension [models], one batched product serves them all, and each
training has its own Poisson draws, latent vectors and noise. Two schemes:

- "generator", as published: the critic learns without noise, the generator's gradients, one a latent vector, are clipped and noised;
- "critic": the records' gradients are clipped and noised in the critic; generated rows, which hold no record, are clipped to
  the same norm without noise; the generator's own training is post-processing.

Gradients by hand for two perceptrons: the norm of a record's gradient is the sum over layers of (|input|^2 + 1) |error|^2, so
that clipping needs no gradient per record in memory (Goodfellow 2015; Li et al. 2021). It is exact; tests hold it against `torch.func`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.privacy.ledger import DpSgd

BETAS, TINY = (0.5, 0.9), 1e-8  # of Adam
LEAK = 0.2  # slope of the critic's activation below 0


class TinyGan(MethodConfig):
    """A record is a row of ``size`` numbers in [-1, 1]. ``noise_multiplier`` 0 is a training without noise or clipping (public data).

    ``batch`` / n is the rate of the Poisson draws; ``penalty``: weight of the one-sided gradient penalty (WGAN-LP) that replaces
    the clipping of the critic's weights to ``weight_clip``, for the scheme "generator" only.
    """

    scheme: Literal["generator", "critic"]
    noise_multiplier: float = Field(ge=0)
    size: int = Field(16, ge=1)
    latent: int = Field(4, ge=1)
    hidden: int = Field(32, ge=1)
    batch: int = Field(16, ge=1)
    steps: int = Field(200, ge=1)
    n_critic: int = Field(1, ge=1)
    clip: float = Field(0.1, gt=0)
    weight_clip: float = Field(0.1, gt=0)
    penalty: float = Field(0.0, ge=0)
    generator_rate: float = Field(2e-3, gt=0)
    critic_rate: float = Field(2e-3, gt=0)

    def model_post_init(self, context: Any) -> None:
        """Raise ParameterError for a penalty in the scheme "critic", whose clipping would have to cover it."""
        if self.penalty and self.scheme == "critic":
            raise ParameterError("penalty: the critic is clipped record by record without one here; set penalty to 0")

    def mechanism(self, n: int) -> DpSgd:
        """What is claimed on ``n`` records: Poisson at batch / n, one step for every noisy update."""
        updates = self.steps * (self.n_critic if self.scheme == "critic" else 1)
        return DpSgd(self.batch / n, self.noise_multiplier, updates)

    @property
    def generator(self) -> Layers:
        """Latent vector to record."""
        return Layers((self.latent, self.hidden, self.size), smooth=True)

    @property
    def critic(self) -> Layers:
        """Record to score."""
        return Layers((self.size, self.hidden, self.hidden, 1), smooth=False)


@dataclass(frozen=True)
class Layers:
    """A perceptron whose weights of M models lie in one array [M, n_weights]; ``smooth``: tanh within, else leaky rectifiers."""

    widths: tuple[int, ...]
    smooth: bool

    @property
    def n_weights(self) -> int:
        """Numbers in one model."""
        return sum((a + 1) * b for a, b in zip(self.widths, self.widths[1:], strict=False))

    def init(self, models: int, generator: torch.Generator) -> Tensor:
        """Weights uniform within 1 / sqrt(inputs), biases 0; [models, n_weights]."""
        flat = torch.zeros(models, self.n_weights)
        for weight, _ in self.parts(flat):
            weight.copy_((2 * torch.rand(weight.shape, generator=generator) - 1) / weight.shape[1] ** 0.5)
        return flat

    def parts(self, flat: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Views (weight [M, in, out], bias [M, 1, out]) of each layer."""
        at = 0
        for a, b in zip(self.widths, self.widths[1:], strict=False):
            yield flat[:, at : at + a * b].unflatten(1, (a, b)), flat[:, at + a * b : at + (a + 1) * b].unsqueeze(1)
            at += (a + 1) * b

    def forward(self, flat: Tensor, x: Tensor) -> list[Tensor]:
        """Input of each layer and the output, [M, rows, width] each."""
        found, last = [x], len(self.widths) - 2
        for i, (weight, bias) in enumerate(self.parts(flat)):
            h = torch.baddbmm(bias, found[-1], weight)
            if i < last:
                h = torch.tanh(h) if self.smooth else torch.nn.functional.leaky_relu(h, LEAK)
            found.append(h)
        return found

    def errors(self, flat: Tensor, found: list[Tensor], error: Tensor) -> tuple[list[Tensor], Tensor]:
        """Back-propagate ``error`` (loss by output): the error before each layer's activation, and that of the input."""
        out: list[Tensor] = []
        layers = list(self.parts(flat))
        for i in range(len(layers) - 1, -1, -1):
            out.insert(0, error)
            error = torch.bmm(error, layers[i][0].transpose(1, 2))
            if i > 0:
                h = found[i]
                error = error * (1 - h * h) if self.smooth else torch.where(h > 0, error, LEAK * error)
        return out, error

    def norms(self, found: list[Tensor], errors: list[Tensor]) -> Tensor:
        """L2 norm of each row's gradient, [M, rows]."""
        squares = [(x.square().sum(2) + 1) * e.square().sum(2) for x, e in zip(found, errors, strict=False)]
        return torch.stack(squares).sum(0).sqrt()

    def summed(self, found: list[Tensor], errors: list[Tensor], weight: Tensor) -> Tensor:
        """Sum over the rows of their gradients, each times ``weight`` [M, rows]; [M, n_weights]."""
        total = []
        for x, e in zip(found, errors, strict=False):
            scaled = e * weight[..., None]
            total += [torch.bmm(x.transpose(1, 2), scaled).flatten(1), scaled.sum(1)]
        return torch.cat(total, dim=1)


def clipped(layers: Layers, found: list[Tensor], errors: list[Tensor], counts: Tensor, clip: float | None) -> Tensor:
    """`Layers.summed` with every row's gradient scaled to norm at most ``clip`` (None: as it is); counts [M, rows] are 0 or 1."""
    if clip is not None:
        counts = counts * (clip / layers.norms(found, errors).clamp(min=1e-12)).clamp(max=1.0)
    return layers.summed(found, errors, counts)


class Adam:
    """Adam on [M, n] numbers."""

    def __init__(self, like: Tensor, rate: float) -> None:
        self.rate, self.t, self.mean, self.square = rate, 0, torch.zeros_like(like), torch.zeros_like(like)

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        """Move ``weights`` in place."""
        self.t += 1
        self.mean.lerp_(gradient, 1 - BETAS[0])
        self.square.lerp_(gradient.square(), 1 - BETAS[1])
        root = (self.square / (1 - BETAS[1] ** self.t)).sqrt_().add_(TINY)
        weights.addcdiv_(self.mean, root, value=-self.rate / (1 - BETAS[0] ** self.t))


class Training:
    """``models`` trainings of ``config`` on ``records`` [n, size]; ``rate`` is the accounted probability of a draw.

    ``members`` [models, n]: 1 or 0, whether a record is in the data of a model (None: all are in all).
    ``start``: weights (generator, critic), each [n_weights], of public origin to start from; a None is drawn afresh for every model.
    After `run`, ``generator`` and ``critic`` hold the weights [models, n_weights].
    """

    def __init__(
        self,
        config: TinyGan,
        records: Tensor,
        *,
        rate: float,
        models: int,
        seed: int,
        start: tuple[Tensor | None, Tensor | None] = (None, None),
        members: Tensor | None = None,
    ) -> None:
        self.config, self.records, self.rate, self.models, self.members = config, records, rate, models, members
        self.random = torch.Generator().manual_seed(seed)
        self.g, self.d = config.generator, config.critic
        self.generator, self.critic = (
            layers.init(models, self.random) if weights is None else weights.repeat(models, 1)
            for layers, weights in zip((self.g, self.d), start, strict=True)
        )
        self.optimizers = Adam(self.generator, config.generator_rate), Adam(self.critic, config.critic_rate)

    def run(self) -> Training:
        """All steps; self."""
        for _ in range(self.config.steps):
            for _ in range(self.config.n_critic):
                self._critic_step()
            self._generator_step()
        return self

    def samples(self, n: int) -> Tensor:
        """``n`` released records of each model, [models, n, size]."""
        return self.g.forward(self.generator, self._latent(n))[-1]

    def judged(self, rows: Tensor) -> Tensor:
        """What each critic says of ``rows`` [n, size] or [models, n, size]; [models, n]."""
        return self.d.forward(self.critic, rows.expand(self.models, *rows.shape[-2:]))[-1][..., 0]

    def _latent(self, n: int) -> Tensor:
        return torch.randn(self.models, n, self.config.latent, generator=self.random)

    def drawn(self) -> tuple[Tensor, Tensor]:
        """Poisson draws of each model: records [M, most, size] and 1 or 0 [M, most], whether a row was drawn."""
        mask = torch.rand(self.models, len(self.records), generator=self.random) < self.rate
        if self.members is not None:
            mask &= self.members
        most = max(1, int(mask.sum(1).max()))
        counts, index = mask.float().topk(most, dim=1)
        return self.records[index], counts

    def _noise(self, like: Tensor) -> Tensor:
        return self.config.noise_multiplier * self.config.clip * torch.randn(like.shape, generator=self.random)

    def _critic_step(self) -> None:
        c, private = self.config, self.config.scheme == "critic" and self.config.noise_multiplier > 0
        clip = c.clip if private else None
        x, counts = self.drawn()
        fake = self.g.forward(self.generator, self._latent(c.batch))[-1]
        total = self._scores_gradient(x, counts, -1.0, clip)
        if private:
            total += self._noise(total)
        total += self._scores_gradient(fake, torch.ones(fake.shape[:2]), 1.0, clip)
        if c.penalty:
            total += self._penalty_gradient(x, counts, fake)
        self.optimizers[1].step(self.critic, total / c.batch)
        if not c.penalty:
            self.critic.clamp_(-c.weight_clip, c.weight_clip)

    def _scores_gradient(self, x: Tensor, counts: Tensor, sign: float, clip: float | None) -> Tensor:
        found = self.d.forward(self.critic, x)
        errors, _ = self.d.errors(self.critic, found, torch.full_like(found[-1], sign))
        return clipped(self.d, found, errors, counts, clip)

    def _penalty_gradient(self, x: Tensor, counts: Tensor, fake: Tensor) -> Tensor:
        """Gradient of penalty x (slope - 1)_+^2, summed over one point between each drawn record and a generated one."""
        fake = fake[:, torch.arange(x.shape[1]) % fake.shape[1]]
        u = torch.rand(*x.shape[:2], 1, generator=self.random)
        weights = self.critic.detach().requires_grad_()
        between = (u * x + (1 - u) * fake).detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.d.forward(weights, between)[-1].sum(), between, create_graph=True)
        norm = (slope.square().sum(2) + 1e-12).sqrt()
        (gradient,) = torch.autograd.grad((counts * (norm - 1).clamp(min=0).square()).sum(), weights)
        return self.config.penalty * gradient

    def _generator_step(self) -> None:
        c, private = self.config, self.config.scheme == "generator" and self.config.noise_multiplier > 0
        found = self.g.forward(self.generator, self._latent(c.batch))
        judged = self.d.forward(self.critic, found[-1])
        _, error = self.d.errors(self.critic, judged, torch.full_like(judged[-1], -1.0))
        errors, _ = self.g.errors(self.generator, found, error)
        total = clipped(self.g, found, errors, torch.ones(error.shape[:2]), c.clip if private else None)
        if private:
            total += self._noise(total)
        self.optimizers[0].step(self.generator, total / c.batch)
