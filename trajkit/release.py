"""`Release`: what a method hands over, namely trajectories, the guarantee they come with, and a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trajkit.privacy.guarantee import Guarantee
from trajkit.trajectories import Trajectories

HIDDEN = "not covered by the guarantee"  # key of a report under which stands what was computed from true values


@dataclass(frozen=True)
class Release:
    """Published trajectories with their guarantee. They pass the contract and lie in the public box, or this raises DataContractError."""

    trajectories: Trajectories
    guarantee: Guarantee
    report: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trajectories.check()
