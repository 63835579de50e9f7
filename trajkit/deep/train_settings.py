"""What a training is told (`TrainSettings`) and what it notes about itself (`TrainRecord`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from trajkit.deep.batches import RECORDS_ON
from trajkit.errors import ParameterError, PrivacyAccountingError

REGIMES = ("plain", "clipped", "private")
DECAYS = ("cosine", "constant")


@dataclass(frozen=True)
class TrainSettings:
    """``sample_rate`` is q, the probability with which each record enters a step; ``steps`` are updates, empty ones included.

    ``physical_batch`` records are in memory at once (None: the fastest here is found first); it changes neither the draws nor
    the accounting, and the sums only in their last digits. ``bf16``: forward and backward passes in bfloat16; ``compile``: the network
    through `torch.compile`; ``records_on``: where the records stay, see `trajkit.deep.batches.placed`.
    """

    regime: str
    steps: int
    sample_rate: float
    max_grad_norm: float = 1.0
    noise_multiplier: float = 0.0
    physical_batch: int | None = 64
    learning_rate: float = 2e-3
    warmup_steps: int = 20
    decay: str = "cosine"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    ema_decay: float = 0.999
    noise_source: str = "seeded"
    checkpoint_every_s: float = 30.0
    bf16: bool = False
    compile: bool = False
    records_on: str = "auto"

    def __post_init__(self) -> None:
        if self.regime not in REGIMES:
            raise ParameterError(f"regime {self.regime!r} is unknown: use one of {', '.join(REGIMES)}")
        if (
            not 0 < self.sample_rate <= 1
            or self.steps < 1
            or (self.physical_batch is not None and self.physical_batch < 1)
        ):
            raise ParameterError(
                f"sample_rate {self.sample_rate} must lie in (0, 1], steps {self.steps} and physical_batch {self.physical_batch} be at least 1"
            )
        if self.records_on not in RECORDS_ON:
            raise ParameterError(f"records_on {self.records_on!r} is unknown: use one of {', '.join(RECORDS_ON)}")
        if self.decay not in DECAYS:
            raise ParameterError(f"decay {self.decay!r} is unknown: use one of {', '.join(DECAYS)}")
        if self.regime != "plain" and not self.max_grad_norm > 0:
            raise ParameterError(f"max_grad_norm must be positive, got {self.max_grad_norm}")
        if (self.regime == "private") != (self.noise_multiplier > 0):
            raise PrivacyAccountingError(
                f"regime {self.regime} with noise_multiplier {self.noise_multiplier}: private needs noise, the others have none"
            )


@dataclass
class TrainRecord:
    """What happened, for people who may see the data: none of it is covered by the guarantee."""

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    clipped_share: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    empty_batches: int = 0
    examples: int = 0


@dataclass
class Window:
    """Sums since the last logged point."""

    n: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    clipped: int = 0
    norm: float = 0.0
