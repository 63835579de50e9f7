"""What the GPU checks share: rows of their table, small and paper-size networks, a training on made-up records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.unet import COORDINATES, Sizes, UNet

QUICK, PAPER = Sizes(16, (1, 2, 2, 2), 1, 8), Sizes(128, (1, 2, 2, 2), 2, 32)
RECORDS, DRAWS, LENGTH, STEPS = 16, 2, 64, 6
GRADIENT_TOLERANCE = 1e-3  # relative L2 error in single precision: the order of summation differs


@dataclass(frozen=True)
class Row:
    """One line of the table; ``passed`` is false where ``found`` exceeds ``limit``."""

    check: str
    found: str
    limit: str
    passed: bool


def made_model(sizes: Sizes) -> UNet:
    """A UNet of these sizes, always with the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return UNet(sizes)


def normal(*shape: int) -> Tensor:
    """Standard normal numbers, always the same."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def made_trainer(
    device: torch.device,
    sizes: Sizes = QUICK,
    length: int = LENGTH,
    path: Path | None = None,
    *,
    steps: int = STEPS,
    records: int = 64,
    physical_batch: int | None = 8,
    regime: str = "private",
    **settings: object,
) -> Trainer:
    """A training of the diffusion model on ``records`` made-up records, half of which enter a step."""
    values = TrainSettings(
        regime,
        steps,
        0.5,
        noise_multiplier=1.0 if regime == "private" else 0.0,
        physical_batch=physical_batch,
        checkpoint_every_s=0.0,
        **settings,  # type: ignore[arg-type]
    )
    objective = Denoising(alphas_bar("linear", 100), (COORDINATES, length), draws=DRAWS)
    data = normal(records, COORDINATES, length).clamp(-1, 1)
    return Trainer(
        made_model(sizes), objective, data, values, seed=0, identity="gpu-check", device=device, checkpoint=path
    )


def relative(found: Tensor, expected: Tensor) -> float:
    """L2 norm of the difference over that of ``expected``."""
    return float((found - expected).norm() / expected.norm())
