"""Denoising diffusion: the noise schedule, the training loss of Ho et al. 2020 and the DDIM sampler of Song et al. 2021."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from trajkit.deep.condition_inputs import ConditionInputs, no_condition
from trajkit.errors import ParameterError, RunFailedError

SCHEDULES = ("linear", "cosine")
PREDICTIONS = ("noise", "velocity")


def alphas_bar(kind: str, steps: int) -> Tensor:
    """Return [steps] float32: the share of signal variance left after each diffusion step, falling from about 1 to about 0.

    "linear": betas from 1e-4 to 0.05 as in DiffTraj for 500 steps, scaled by 500/steps; "cosine": Nichol and Dhariwal 2021.
    """
    if kind == "linear":
        betas = torch.linspace(1e-4, 0.05, steps, dtype=torch.float64) * (500 / steps)
    elif kind == "cosine":
        x = torch.arange(steps + 1, dtype=torch.float64) / steps
        f = torch.cos((x + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = 1 - f[1:] / f[:-1]
    else:
        raise ParameterError(f"schedule {kind!r} is unknown: use one of {', '.join(SCHEDULES)}")
    return torch.cumprod(1 - betas.clamp(max=0.999), dim=0).float()


class Denoising:
    """The objective, mean squared error over coordinates and positions. From a noisy trajectory the network predicts the
    noise (Ho et al. 2020), or the velocity sqrt(signal) noise - sqrt(1 - signal) trajectory (Salimans and Ho 2022), which
    keeps asking for the trajectory where the noise is strong: places are learned in far fewer steps.

    A record's loss is the mean over ``draws`` pairs (t, noise), t stratified over the draws; more draws give a less noisy
    gradient of the same clipped size (Dockhorn et al. 2023, noise multiplicity).
    """

    second_order = False
    free_rows = 0

    def __init__(
        self,
        signal: Tensor,
        shape: tuple[int, int],
        *,
        draws: int,
        prediction: str = "noise",
        condition: ConditionInputs | None = None,
    ) -> None:
        if prediction not in PREDICTIONS:
            raise ParameterError(f"prediction {prediction!r} is unknown: use one of {', '.join(PREDICTIONS)}")
        self.signal, self.shape, self.draws, self.prediction = signal, shape, draws, prediction
        self.condition = condition or no_condition(shape[1])

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return t int64 [records, draws], noise float32 [records, draws, coordinates, L], and the condition's draws."""
        u = torch.rand(records, 1, generator=generator) + torch.arange(self.draws) / self.draws
        t = ((u % 1.0) * len(self.signal)).long().clamp(max=len(self.signal) - 1)
        noise = torch.randn(records, self.draws, *self.shape, generator=generator)
        return {"t": t, "noise": noise, **self.condition.draw(records, self.draws, generator)}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return [records] for ``batch`` [records, coordinates, L]."""
        batch, source = self.condition.split(batch)
        t, noise = drawn["t"].flatten(), drawn["noise"].flatten(0, 1)
        signal = self.signal.to(batch.device)[t][:, None, None]
        clean = batch.repeat_interleave(self.draws, dim=0)
        noisy = signal.sqrt() * clean + (1 - signal).sqrt() * noise
        target = noise if self.prediction == "noise" else signal.sqrt() * noise - (1 - signal).sqrt() * clean
        error = (
            (model(noisy, t, *self.condition.rows(source, drawn, self.draws)).float() - target)
            .square()
            .mean(dim=(1, 2))
        )
        return error.unflatten(0, (-1, self.draws)).mean(dim=1)

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Every row holds a record."""
        raise NotImplementedError

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """Every row holds a record."""
        raise NotImplementedError

    def begin_step(self, step: int) -> None:
        """The condition's schedule."""
        self.condition.begin_step(step)

    def end_step(self, model: nn.Module) -> None:
        """No projection."""


@torch.no_grad()
def ddim(
    model: Callable[..., Tensor],
    noise: Tensor,
    signal: Tensor,
    *,
    steps: int,
    prediction: str = "noise",
    bound: float = 1.0,
    embedding: Tensor | None = None,
    batch: int = 512,
) -> Tensor:
    """Return samples [n, coordinates, L] from ``noise`` of the same shape in ``steps`` deterministic steps (eta = 0).

    ``embedding`` [n, …] of a condition is the model's third input. The steps are spaced quadratically (Song et al. 2021, D.2): most of them where little noise is left, which is what makes
    paths smooth. The predicted trajectory is held in [-bound, bound] at every step. Raises RunFailedError for a sample that is not finite.
    """
    total = len(signal)
    at = torch.linspace(math.sqrt(total - 1), 0, steps).square().round().long()
    signal = signal.to(noise.device)
    out = []
    for start in range(0, len(noise), batch):
        x = noise[start : start + batch]
        extra = () if embedding is None else (embedding[start : start + batch],)
        for i, t in enumerate(at):
            now, after = signal[t], signal[at[i + 1]] if i + 1 < steps else torch.ones((), device=noise.device)
            predicted = model(x, t.to(noise.device).expand(len(x)), *extra).float()
            if prediction == "noise":
                clean = (x - (1 - now).sqrt() * predicted) / now.sqrt()
            else:
                clean = now.sqrt() * x - (1 - now).sqrt() * predicted
            clean = clean.clamp(-bound, bound)
            direction = (x - now.sqrt() * clean) / (1 - now).sqrt()
            x = after.sqrt() * clean + (1 - after).sqrt() * direction
        out.append(x)
    samples = torch.cat(out) if out else noise
    if not bool(torch.isfinite(samples).all()):
        raise RunFailedError(
            "the model returned samples that are not finite numbers: lower learning_rate and train again"
        )
    return samples
