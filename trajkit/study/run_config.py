"""What decides the result of one run, and what it asks of the scheduler."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# of what stands in params files: frozen, unknown names refused, no silent conversion
STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


class Resources(BaseModel):
    """What one run asks of the scheduler."""

    model_config = STRICT

    mem_mb: int = Field(default=2500, gt=0)
    runtime_min: int = Field(default=30, gt=0)
    gpus: int = Field(default=0, ge=0)


class RunConfig(BaseModel):
    """Everything that decides the result of one run. ``seed`` is the root seed, ``fold`` the split (seed i uses fold i)."""

    model_config = STRICT

    dataset: str
    data: str | None = None
    dataset_settings: dict[str, Any] = {}
    unit: Literal["trajectory", "user"] = "trajectory"
    fold: int = Field(default=0, ge=0)
    train_size: int | None = Field(default=None, gt=0)
    seed: int = Field(default=0, ge=0)
    length: int = Field(default=64, ge=2)
    n_release: int = Field(default=1000, gt=0)
    method: str
    parameters: dict[str, Any] = {}
    evaluation: dict[str, Any] = {}
