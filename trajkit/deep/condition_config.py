"""What a conditional generator is told about its condition (`ConditionConfig`): what it is, how it is made private, from whom."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from trajkit.methods import MethodConfig

EPSILON_RANGE = (0.01, 100.0)
NAMES = {"laplace": "Laplace", "gaussian": "Gaussian", "vmf": "VMF"}


class ConditionConfig(MethodConfig):
    """The condition of a generated trajectory; the defaults are no condition. Six types (study.md, decision 7): none;
    attributes; sample; sample with the mechanism laplace, gaussian or vmf. Attributes with a mechanism are an extra.

    ``sample`` is a whole real trajectory, compressed to ``d_out`` numbers; ``attributes`` are its eight statistics (see
    `trajkit.deep.attributes`). With a ``mechanism`` the compressed vector is bounded to ``norm`` (L1 for laplace, L2 else;
    ``bound``: longer vectors are clipped, or all are scaled to it, which vmf always does) and made (``epsilon``, ``delta``)-DP
    under replace-one; ``delta`` null means size ** -1.1 for gaussian, 0 for the others. In training the share of the private
    version in the vector rises linearly from 0 to 1 over ``mix_steps`` steps (null: half of those that draw records);
    generation uses the private one only.

    Conditions come from ``size`` trajectories (null: a tenth of the training set, at least 2, where they are held out; else all)
    ``drawn_from`` "held-out" (taken out of the training set, so that the two sets are disjoint), "training" or "test" (as
    published; metrics then compare the release with its own conditions). ``redraw``: noise anew for every generated trajectory,
    so that more of them than ``size`` cost several releases; else one private vector a record, used again at no cost (null:
    true, but false for the GAN, whose generator is trained on these vectors).
    ``drop``: share of training rows without their condition; ``guidance``: weight of classifier-free guidance (diffusion only).
    """

    type: Literal["none", "attributes", "sample"] = "none"
    mechanism: Literal["none", "laplace", "gaussian", "vmf"] = "none"
    epsilon: float | None = Field(None, ge=EPSILON_RANGE[0], le=EPSILON_RANGE[1])
    delta: float | None = Field(None, gt=0, lt=1)
    d_out: int = Field(8, ge=2, le=512)
    norm: float = Field(1.0, ge=1e-3, le=1e3)
    bound: Literal["clip", "scale"] = "clip"
    mix_steps: int | None = Field(None, ge=0)
    drawn_from: Literal["held-out", "training", "test"] = "held-out"
    size: int | None = Field(None, ge=2)
    redraw: bool | None = None
    drop: float = Field(0.0, ge=0, lt=1)
    guidance: float = Field(0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.type == "none" and self != ConditionConfig.model_construct():
            raise ValueError("a condition of type none has no other settings: choose type sample or attributes")
        if (self.mechanism == "none") != (self.epsilon is None):
            raise ValueError("mechanism and epsilon of a condition belong together: state both or neither")
        ignored = [] if self.is_private else ["mix_steps", "redraw"]
        ignored += [] if self.compresses else ["d_out", "norm", "bound"]
        given = [name for name in ignored if getattr(self, name) != type(self).model_fields[name].default]
        if given:
            raise ValueError(
                f"{', '.join(given)} of a condition would do nothing without a mechanism: leave it out or add one"
            )
        if self.delta is not None and self.mechanism != "gaussian":
            raise ValueError("delta belongs to the mechanism gaussian: the others have none")
        if self.guidance > 0 and self.drop == 0:
            raise ValueError("guidance needs drop above 0, so that the network also learns to do without its condition")
        return self

    @property
    def is_conditional(self) -> bool:
        """Whether there is a condition at all."""
        return self.type != "none"

    @property
    def is_private(self) -> bool:
        """Whether a mechanism stands between the conditioning set and what is generated."""
        return self.mechanism != "none"

    @property
    def compresses(self) -> bool:
        """Whether the source is compressed to ``d_out`` numbers; attributes without a mechanism are embedded as they are."""
        return self.type == "sample" or self.is_private

    @property
    def order(self) -> int:
        """Order of the norm that is bounded."""
        return 1 if self.mechanism == "laplace" else 2

    @property
    def name(self) -> str:
        """The type in words: none, attributes, sample, sample + Gaussian …"""
        return self.type + (f" + {NAMES[self.mechanism]}" if self.is_private else "")
