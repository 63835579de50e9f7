"""One example is one user: his trajectories side by side, one loss, one clipped gradient.

DP-SGD protects what is drawn and clipped as one. For it to be a user (ULS of Charles et al. 2024, arXiv:2407.07737), users are drawn by
Poisson sampling, the loss of a user is the mean over at most m of his trajectories (`trajkit.contributions.at_most`), and the gradient
of that mean is clipped. The accounting is that of ordinary DP-SGD with the rate of users; m does not enter it. A user of fewer than m
trajectories is filled up with copies of weight 0, which cost time and change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trajkit.deep.objective import Objective
from trajkit.errors import ParameterError


def by_user(records: Tensor, user: np.ndarray, most: int) -> Tensor:
    """float32 [users, most, d + 1]: the flat records [n, …] of each user and their weights, 1 over how many he has, or 0.

    ``user`` int [n]: who made each; users come in the order of their numbers. Raises ParameterError for a user of more than ``most``.
    """
    _, who, counts = np.unique(user, return_inverse=True, return_counts=True)
    if counts.max(initial=0) > most:
        raise ParameterError(
            f"a user has {counts.max()} trajectories, more than {most}: bound them first (contributions.at_most)"
        )
    order = np.argsort(who, kind="stable")
    first = np.cumsum(counts) - counts
    place = np.arange(most)
    at = order[first[:, None] + np.minimum(place, counts[:, None] - 1)]
    weight = np.where(place < counts[:, None], 1 / counts[:, None], 0.0).astype(np.float32)
    return torch.cat([records.flatten(1)[torch.from_numpy(at)], torch.from_numpy(weight)[:, :, None]], dim=2)


class PerUser:
    """``objective`` over users: examples as `by_user` makes them, of at most ``most`` records of ``shape`` each."""

    def __init__(self, objective: Objective, most: int, shape: tuple[int, ...]) -> None:
        self.objective, self.most, self.shape = objective, most, shape

    @property
    def draws(self) -> int:
        """Rows of the network that belong to one user."""
        return self.most * self.objective.draws

    @property
    def second_order(self) -> bool:
        """As the objective's."""
        return self.objective.second_order

    @property
    def free_rows(self) -> int:
        """As the objective's."""
        return self.objective.free_rows

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the objective's draws, [records, most, …]."""
        drawn = self.objective.draw(records * self.most, generator)
        return {name: values.unflatten(0, (records, self.most)) for name, values in drawn.items()}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return the mean loss of each user's records, [records]."""
        rows, weight = batch[:, :, :-1].flatten(0, 1).unflatten(1, self.shape), batch[:, :, -1]
        flat = {name: values.flatten(0, 1) for name, values in drawn.items()}
        return (self.objective.losses(model, rows, flat).unflatten(0, weight.shape) * weight).sum(dim=1)

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        """As the objective's."""
        return self.objective.draw_free(generator)

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """As the objective's."""
        return self.objective.free_losses(model, drawn)

    def begin_step(self, step: int) -> None:
        """As the objective's."""
        self.objective.begin_step(step)

    def end_step(self, model: nn.Module) -> None:
        """As the objective's."""
        self.objective.end_step(model)

    @property
    def condition(self) -> Any:
        """As the objective's."""
        return self.objective.condition  # type: ignore[attr-defined]
