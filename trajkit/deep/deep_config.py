"""Parameters that every deep generator has."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.unet import Sizes
from trajkit.methods import FromList, MethodConfig

HOW_COMPUTED = frozenset({"device", "bf16", "physical_batch", "checkpoint_every_s", "compile", "records_on"})


class DeepConfig(MethodConfig):
    """Parameters of every deep generator. ``batch_size`` is the expected number of records in a Poisson step, ``steps`` counts
    updates of the released network.

    ``half_box``: what half the public box measures on the scale on which the network works (noise has variance 1 there);
    about 3 brings traffic, which fills the middle of a box, to variance 1, and no data is looked at for it.
    ``unit``: what one example is, is drawn and clipped as one and protected: a trajectory, or a user with at most ``trips_per_user`` of his
    (`trajkit.deep.per_user`); ``batch_size`` and ``physical_batch`` count examples, and so does n. ``delta`` null means n ** -1.1. A private run states ``epsilon`` (the noise is calibrated) or ``noise_multiplier``.
    ``condition``: see `trajkit.deep.condition_config`.

    How it is computed, which changes results in their last digits at most (``bf16``: in their third): ``device`` ("auto": a GPU where there is
    one); ``physical_batch``, records in memory at once (null: the fastest that fits); ``bf16``, forward and backward passes in bfloat16, while
    gradients are clipped, summed and noised in single precision; ``compile``, the network through `torch.compile`, where nothing is clipped;
    ``records_on``, where the records stay: on the "device" (moved once), on the "host" (each batch is sent), or "auto", on the device where they fit.
    """

    length: int = Field(64, ge=4, description="points per trajectory")
    channels: int = Field(16, ge=2)
    channel_multipliers: Annotated[tuple[int, ...], FromList] = (1, 2, 2, 2)
    blocks: int = Field(1, ge=1)
    groups: int = Field(8, ge=1)
    attention: bool = True
    half_box: float = Field(3.0, gt=0, allow_inf_nan=False)
    regime: Literal["plain", "clipped", "private"] = "plain"
    unit: Literal["trajectory", "user"] = "trajectory"
    trips_per_user: int | None = Field(None, ge=1)
    epsilon: float | None = Field(None, gt=0, allow_inf_nan=False)
    delta: float | None = Field(None, gt=0, lt=1)
    noise_multiplier: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_grad_norm: float = Field(0.1, gt=0, allow_inf_nan=False)
    noise: Literal["seeded", "os"] = "seeded"
    batch_size: int = Field(128, ge=1)
    steps: int = Field(240, ge=1)
    learning_rate: float = Field(3e-3, gt=0, allow_inf_nan=False)
    warmup_steps: int = Field(12, ge=0)
    decay: Literal["cosine", "constant"] = "cosine"
    weight_decay: float = Field(0.0, ge=0)
    ema_decay: float = Field(0.99, ge=0, lt=1)
    physical_batch: int | None = Field(64, ge=1, description="records in memory at once; null: the fastest here")
    checkpoint_every_s: float = Field(30.0, ge=0)
    device: str = "auto"
    bf16: bool = False
    compile: bool = False
    records_on: Literal["auto", "device", "host"] = "auto"
    condition: ConditionConfig = ConditionConfig()

    @field_validator("condition", mode="before")
    @classmethod
    def _mapping(cls, value: Any) -> Any:
        if not isinstance(value, (dict, ConditionConfig)):
            raise ValueError("a condition is a mapping such as {type: sample}; leave it out for none")
        return value

    @model_validator(mode="after")
    def _budget(self) -> Self:
        stated = sum(x is not None for x in (self.epsilon, self.noise_multiplier))
        if self.regime == "private" and stated != 1:
            raise ValueError("a private run needs epsilon or noise_multiplier, one of the two")
        if self.regime != "private" and stated:
            raise ValueError(
                f"epsilon and noise_multiplier belong to regime private, not {self.regime}: leave them out"
            )
        if (self.unit == "user") != (self.trips_per_user is not None):
            raise ValueError("unit user and trips_per_user, a public bound on what one user adds, belong together")
        if self.unit == "user" and self.condition.is_conditional:
            raise ValueError(
                "a condition's mechanism protects one trajectory, not a user: leave condition out for unit user"
            )
        if self.compile and self.regime != "plain":
            raise ValueError(
                f"compile: gradients a record come by hooks, which cannot be compiled; leave it out for regime {self.regime}"
            )
        if self.length < 2 ** (len(self.channel_multipliers) - 1):
            raise ValueError(f"length {self.length} is too short for {len(self.channel_multipliers)} levels")
        Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups)
        if not self.guides and self.condition.drop:
            raise ValueError("condition.drop and condition.guidance belong to the diffusion model: leave them out")
        if self.condition.is_private and self.mix_steps > self.record_steps:
            raise ValueError(
                f"condition.mix_steps {self.mix_steps} exceeds the {self.record_steps} steps that draw records: the network "
                "would never train on private conditions alone"
            )
        return self

    @property
    def mix_steps(self) -> int:
        """Steps over which the private version of a condition replaces it in training."""
        stated = self.condition.mix_steps
        return self.record_steps // 2 if stated is None else stated

    @property
    def guides(self) -> bool:
        """Whether sampling can be guided away from the unconditional prediction."""
        return False

    @property
    def redraws(self) -> bool:
        """Whether every generated trajectory has condition noise of its own."""
        return self.condition.redraw is not False

    def sizes(self) -> Sizes:
        """Sizes of the shared UNet."""
        return Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups, self.attention)

    @property
    def short(self) -> str:
        """A name for these parameters, but for those that say how they are computed."""
        return hashlib.sha256(self.model_dump_json(exclude=set(HOW_COMPUTED)).encode()).hexdigest()[:16]

    @property
    def record_steps(self) -> int:
        """Steps that draw records."""
        return self.steps

    @property
    def accounted_steps(self) -> int:
        """Steps that the accountant charges."""
        return self.record_steps
