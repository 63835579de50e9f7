"""`NotPossible`: what an attack returns where the release lacks what the attack needs, in place of a figure that would be made up."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class NotPossible:
    """``attack`` was not made on a release, for the ``reason`` given. That is no proof of safety: another attack may do."""

    attack: str
    reason: str

    def to_frame(self) -> pd.DataFrame:
        """One row: attack, reason."""
        return pd.DataFrame([{"attack": self.attack, "reason": self.reason}])
