"""A trainer that an audit can look into: weights that stand still, updates that are written down, and one thing broken on purpose."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trajkit.attacks.verdict import SOUND
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.errors import ParameterError
from trajkit.seeds import child_seed

HALVED, UNCLIPPED, SHUFFLED, SKIPPED = "noise halved", "clipping off", "shuffled", "empty batches skipped"
FLAWS = (HALVED, UNCLIPPED, SHUFFLED, SKIPPED)


def check_flaw(flaw: str, known: tuple[str, ...] = FLAWS) -> None:
    """Raise ParameterError unless ``flaw`` is `SOUND` or one of ``known``."""
    if flaw not in (SOUND, *known):
        raise ParameterError(f"flaw = {flaw!r}: use one of {', '.join((SOUND, *known))}")


class Watched(torch.optim.SGD):
    """An optimiser that moves nothing and writes down what it is given: ``see`` of the gradient of all ``parameters`` in one vector [k]."""

    def __init__(self, parameters: list[nn.Parameter], see: Callable[[np.ndarray], Any] = np.copy) -> None:
        super().__init__(parameters, lr=0.0)
        self.see, self.given = see, list[Any]()

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        parts = [p.grad.detach().flatten() for group in self.param_groups for p in group["params"]]
        self.given.append(self.see(torch.cat(parts).cpu().numpy()))


class FlawedTrainer(Trainer):
    """The kit's `Trainer` with one ``flaw`` or `SOUND`, whose weights stand still; other arguments are the trainer's.

    ``sums``: [updates, …] noisy sums as the optimiser was given them, as ``see`` keeps them, which must be linear;
    ``made``: bool [steps], whether a step made an update.
    """

    def __init__(
        self, *arguments: Any, flaw: str = SOUND, see: Callable[[np.ndarray], Any] = np.copy, **more: Any
    ) -> None:
        check_flaw(flaw)
        self.flaw = flaw
        super().__init__(*arguments, **more)
        self.optimizer = Watched(self.parameters, see)  # type: ignore[assignment]
        self.made: list[bool] = []
        if flaw == UNCLIPPED:
            self.engine.max_grad_norm = math.inf  # type: ignore[attr-defined]

    @property
    def sums(self) -> np.ndarray:
        """See the class."""
        return np.array(self.optimizer.given) * self.expected_batch  # type: ignore[attr-defined]

    def reseed(self, seed: int) -> None:
        """Other draws of batches, of the objective and of the noise; the weights stay."""
        for name, generator in self.generators.items():
            generator.manual_seed(child_seed(seed, "noise", "watched", name))

    def take(self, settings: TrainSettings) -> None:
        """Train by ``settings``, which take the place of those that it was made with."""
        self.settings = settings
        self.ledger["sample_rate"] = settings.sample_rate
        self.run()

    def _summed_gradient(self, index: Tensor, drawn: dict[str, Tensor]) -> tuple[list[Tensor], float, Tensor]:
        self.batch = self._next_of_epoch() if self.flaw == SHUFFLED else index
        return super()._summed_gradient(self.batch, drawn)

    def _next_of_epoch(self) -> Tensor:
        """The batch of this step where every record is in exactly one of the 1 / q batches of an epoch."""
        batches = round(1 / self.settings.sample_rate)
        if self.step % batches == 0:
            self.order = torch.randperm(len(self.records), generator=self.generators["sampler"])
        size = math.ceil(len(self.records) / batches)
        at = size * (self.step % batches)
        return self.order[at : at + size]

    def _apply(self, total: list[Tensor], free: list[Tensor] | None = None) -> None:
        skip = self.flaw == SKIPPED and len(self.batch) == 0
        if not skip:
            planned = self.settings
            if self.flaw == HALVED:
                self.settings = replace(planned, noise_multiplier=planned.noise_multiplier / 2)
            super()._apply(total, free)
            self.settings = planned
        self.made.append(not skip)  # the step is counted and accounted either way
