"""Parameters that every classical synthesizer has."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trajkit.methods import MethodConfig


class ClassicalConfig(MethodConfig):
    """``epsilon``: budget of everything that is looked at, pure DP, one trajectory added or removed. ``length``: points of each
    released trajectory. ``noise``: "os" draws it from the operating system, as a real release must; "seeded" can be repeated.
    """

    epsilon: float = Field(1.0, gt=0, allow_inf_nan=False)
    length: int = Field(64, ge=2)
    noise: Literal["seeded", "os"] = "seeded"
