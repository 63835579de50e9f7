"""What a `Trainer` is given: the objective, one loss a record, and for a GAN what is trained beside the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from trajkit.deep.trainer import Trainer


class Objective(Protocol):
    """What is learned: one loss a record, from random draws that belong to the record.

    ``second_order``: the loss contains the network's own input gradient. ``free_rows``: rows of a further term that depends
    on no record (a critic's loss on generated samples); it is clipped row by row like the records and never noised.
    """

    @property
    def draws(self) -> int: ...

    @property
    def second_order(self) -> bool: ...

    @property
    def free_rows(self) -> int: ...

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the random inputs of ``records`` records, [records, ...] on the CPU."""
        ...

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return the loss of each record, [records]; ``model`` sees ``draws`` consecutive rows a record."""
        ...

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the inputs of the ``free_rows`` rows that hold no record."""
        ...

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """Return the loss of each of these rows."""
        ...

    def begin_step(self, step: int) -> None:
        """Called before the step numbered ``step`` (from 0): schedules."""
        ...

    def end_step(self, model: nn.Module) -> None:
        """Called when the weights have moved: what may be done to them without a look at records (a projection)."""
        ...


class Companion(Protocol):
    """What is trained beside the model without ever seeing a record: the generator of a GAN, fed by its critic alone."""

    def after_step(self, step: int, trainer: Trainer) -> None:
        """Called after every step of the model; ``step`` counts from 1."""
        ...

    def state(self) -> dict[str, Any]:
        """All that a resumed training needs."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Put `state` back."""
        ...
