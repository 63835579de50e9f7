"""Parameters that every classical synthesizer has."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trajkit.contributions import at_most
from trajkit.methods import MethodConfig
from trajkit.trajectories import Trajectories


class ClassicalConfig(MethodConfig):
    """``epsilon``: budget of everything that is looked at, pure DP, one trajectory added or removed. ``length``: points of each
    released trajectory. ``noise``: "os" draws it from the operating system, as a real release must; "seeded" can be repeated.
    ``trips_per_user``: a public bound; at most so many trajectories of a user are looked at, all noise is made for so many, and epsilon
    is what one user, added or removed, with all of them can change. Null protects single trajectories.
    """

    epsilon: float = Field(1.0, gt=0, allow_inf_nan=False)
    length: int = Field(64, ge=2)
    noise: Literal["seeded", "os"] = "seeded"
    trips_per_user: int | None = Field(None, ge=1)

    @property
    def epsilon_each(self) -> float:
        """Budget for one trajectory: what decides how fine a look may be."""
        return self.epsilon / (self.trips_per_user or 1)

    def seen(self, train: Trajectories, seed: int) -> Trajectories:
        """What is looked at of ``train``: all of it, or at most ``trips_per_user`` trajectories of each user."""
        return train if self.trips_per_user is None else at_most(train, self.trips_per_user, seed)
