"""What every deep generator shares: parameters, records on the public scale, training, release, report."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor, nn

from trajkit.deep.checkpoint import copy_checkpoint, longest_prefix
from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import Budget, plan, training_guarantee
from trajkit.deep.unet import Sizes, n_params
from trajkit.errors import DataContractError, ParameterError, RunFailedError
from trajkit.methods import MethodConfig
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

COLLAPSED = 0.01  # of half a box: less spread over samples than this at every position is one trajectory, not many


class DeepConfig(MethodConfig):
    """Parameters of every deep generator. ``batch_size`` is the expected number of records in a Poisson step, ``steps`` counts
    updates of the released network.

    ``half_box``: what half the public box measures on the scale on which the network works (noise has variance 1 there);
    about 3 brings traffic, which fills the middle of a box, to variance 1, and no data is looked at for it.
    ``delta`` null means n ** -1.1. A private run states ``epsilon`` (the noise is calibrated) or ``noise_multiplier``.
    """

    length: int = Field(64, ge=4, description="points per trajectory")
    channels: int = Field(16, ge=2)
    channel_multipliers: tuple[int, ...] = (1, 2, 2, 2)
    blocks: int = Field(1, ge=1)
    groups: int = Field(8, ge=1)
    attention: bool = True
    half_box: float = Field(3.0, gt=0, allow_inf_nan=False)
    regime: Literal["plain", "clipped", "private"] = "plain"
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
    condition: ConditionConfig = ConditionConfig()

    @field_validator("channel_multipliers", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _budget(self) -> Self:
        stated = sum(x is not None for x in (self.epsilon, self.noise_multiplier))
        if self.regime == "private" and stated != 1:
            raise ValueError("a private run needs epsilon or noise_multiplier, one of the two")
        if self.regime != "private" and stated:
            raise ValueError(
                f"epsilon and noise_multiplier belong to regime private, not {self.regime}: leave them out"
            )
        if self.length < 2 ** (len(self.channel_multipliers) - 1):
            raise ValueError(f"length {self.length} is too short for {len(self.channel_multipliers)} levels")
        Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups)
        return self

    def sizes(self) -> Sizes:
        """Sizes of the shared UNet."""
        return Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups, self.attention)

    @property
    def record_steps(self) -> int:
        """Steps that draw records."""
        return self.steps

    @property
    def accounted_steps(self) -> int:
        """Steps that the accountant charges."""
        return self.record_steps


class DeepGenerator:
    """Base of the deep generators: trajectories of fixed length, scaled by the public box, never by data.

    A subclass says what is trained (`_build`), what is kept (`_released`) and how it is sampled (`_sample`). After `fit`:
    ``model_`` (the released network, averaged weights), ``guarantee_``, ``history_`` (step, loss, seconds, …), ``n_params_``,
    ``steps_``, ``report_``. ``history_`` is computed from the records and not covered by any guarantee.
    """

    name = ""
    version = 1
    Config: type[DeepConfig] = DeepConfig

    def __init__(self, config: Any) -> None:
        self.config = config

    # ---- what a subclass says -----------------------------------------------------------------------------------

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        """Return the network that is trained on records, its objective, and what is trained beside it."""
        raise NotImplementedError

    def _released(self, trainer: Trainer) -> nn.Module:
        """Return the network that samples, in evaluation mode."""
        return trainer.load_ema()

    def _sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Return [n, 2, L] on the scale of ``half_box``."""
        raise NotImplementedError

    def _guarantee(self, trainer: Trainer, budget: Budget) -> Guarantee:
        c = self.config
        return training_guarantee(c.regime, budget, trainer.ledger, target=c.epsilon, noise_source=c.noise)

    def _facts(self, trainer: Trainer, records: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return further lines of the report: (computed without records, computed from records)."""
        return {}, {}

    # ---- the rest is shared -------------------------------------------------------------------------------------

    def fit(
        self,
        train: Trajectories,
        *,
        seed: int,
        checkpoint: Path | None = None,
        prefixes: Path | None = None,
        progress: bool = False,
    ) -> Self:
        """Train on ``train`` (n trajectories, one record each); resume from ``checkpoint`` where the file exists.

        ``prefixes`` is a folder that trainings share: a plain one with a constant learning rate is the beginning of every
        longer one, so the longer one goes on from it and ends as if it had been trained alone, bit for bit.
        Raises DataContractError for data that does not fit, and what `Trainer.run` raises; ``history_`` is kept then.
        """
        c = self.config
        records = self._records(train)
        budget = plan(c, len(train))
        self.device_ = pick_device(c.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(seed, "init"))
            model, objective, companion = self._build(budget, seed)
        trainer = Trainer(
            model,
            objective,
            records,
            self._settings(budget),
            seed=seed,
            identity=self._identity(seed, train),
            device=self.device_,
            checkpoint=checkpoint,
            companion=companion,
        )
        shared = self._shared(train, prefixes, trainer.identity) if checkpoint is not None else None
        if shared is not None and checkpoint is not None and not checkpoint.exists():
            longest_prefix(shared, c.record_steps, checkpoint)
        try:
            trainer.run(progress=progress)
            if shared is not None and checkpoint is not None and not trainer.finalised:
                copy_checkpoint(checkpoint, shared.with_name(f"{shared.name}-{trainer.step}.pt"))
        finally:
            self.history_ = {k: v for k, v in asdict(trainer.record).items() if isinstance(v, list) and v}
        self.guarantee_ = self._guarantee(trainer, budget)
        self.model_ = self._released(trainer)
        self.meta_ = replace(train.meta, steps=())
        self.n_params_ = n_params(self.model_)
        self.steps_ = c.steps
        self.report_ = self._report(trainer, budget, records)
        self._check_collapse()
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` sampled trajectories without time; points outside the box are moved onto it and counted."""
        if not hasattr(self, "model_"):
            raise ParameterError("release was called before fit: fit the model first")
        if n is None or n < 1:
            raise ParameterError(f"n must be the number of trajectories to sample, at least 1, got {n!r}")
        c = self.config
        samples = self._sample(n, torch.Generator().manual_seed(child_seed(seed, "sampling")))
        lonlat = self.meta_.box.from_unit(samples.cpu().numpy().transpose(0, 2, 1).reshape(-1, 2) / c.half_box)
        outside = int((~self.meta_.box.contains(lonlat)).sum())
        lonlat = self.meta_.box.clip(lonlat).reshape(n, c.length, 2)
        report = {**self.report_, "n": n, "points": n * c.length, "points_moved_into_box": outside}
        return Release(Trajectories.from_fixed(lonlat, meta=self.meta_), self.guarantee_, report)

    def _check_collapse(self) -> None:
        """Raise RunFailedError when all samples are one and the same trajectory."""
        samples = self._sample(64, torch.Generator().manual_seed(0))
        if not bool(torch.isfinite(samples).all()):
            raise RunFailedError(f"{self.name} returns samples that are not finite numbers: lower learning_rate")
        spread = float(samples.std(dim=0).max()) / self.config.half_box
        if spread < COLLAPSED:
            raise RunFailedError(
                f"{self.name} has collapsed: over samples, no position spreads by more than {spread:.2g} of half the box "
                f"(limit {COLLAPSED}): lower learning_rate or train longer"
            )

    def _records(self, train: Trajectories) -> Tensor:
        """float32 [n, 2, L] in [-half_box, half_box]."""
        if len(train) < max(2, self.config.batch_size):
            raise DataContractError(
                f"{train.meta.dataset} has {len(train)} trajectories, fewer than batch_size {self.config.batch_size} "
                f"(and at least 2 are needed; first: {', '.join(train.traj_ids[:3]) or 'none'}): use more data or a smaller batch_size"
            )
        train.check()
        lonlat = to_fixed_length(train, length=self.config.length)
        unit = train.meta.box.to_unit(lonlat.reshape(-1, 2)).reshape(lonlat.shape)
        return torch.from_numpy(np.ascontiguousarray(unit.transpose(0, 2, 1) * self.config.half_box, dtype=np.float32))

    def _settings(self, budget: Budget) -> TrainSettings:
        c = self.config
        return TrainSettings(
            regime=c.regime,
            steps=c.record_steps,
            sample_rate=budget.sample_rate,
            max_grad_norm=c.max_grad_norm,
            noise_multiplier=budget.noise_multiplier,
            physical_batch=c.physical_batch,
            learning_rate=c.learning_rate,
            warmup_steps=c.warmup_steps,
            decay=c.decay,
            weight_decay=c.weight_decay,
            ema_decay=c.ema_decay,
            noise_source=c.noise,
            checkpoint_every_s=c.checkpoint_every_s,
            bf16=c.bf16,
        )

    def _report(self, trainer: Trainer, budget: Budget, records: Tensor) -> dict[str, Any]:
        record = trainer.record
        known, hidden = self._facts(trainer, records)
        return {
            "method": self.name,
            "regime": self.config.regime,
            "n_params": self.n_params_,
            "n_train": budget.n,
            "updates of the released network": self.config.steps,
            "steps": trainer.step,
            "sample_rate": budget.sample_rate,
            "noise_multiplier": budget.noise_multiplier,
            "max_grad_norm": None if self.config.regime == "plain" else self.config.max_grad_norm,
            "expected_examples": round(trainer.expected_batch * trainer.step * trainer.objective.draws),
            "device": str(self.device_),
            "physical_batch": trainer.physical_batch,
            **known,
            "not covered by the guarantee": {
                "final_loss": record.loss[-1] if record.loss else None,
                "examples": record.examples,
                "empty_batches": record.empty_batches,
                "clipped_share": record.clipped_share[-1] if record.clipped_share else None,
                "mean_grad_norm": record.grad_norm[-1] if record.grad_norm else None,
                **hidden,
            },
        }

    @property
    def _begins_longer(self) -> bool:
        """Whether this training is the beginning of one with more steps."""
        return self.config.regime == "plain" and self.config.decay == "constant"

    def _shared(self, train: Trajectories, prefixes: Path | None, identity: str) -> Path | None:
        """Where trainings that begin alike meet; None where they may not: a private set's sampler state is kept nowhere."""
        if prefixes is None or not self._begins_longer or train.meta.visibility == "private":
            return None
        return prefixes / identity[:32]

    def _identity(self, seed: int, train: Trajectories) -> str:
        """SHA-256 (hex) of everything that decides a training: parameters, seed, data, version of the module."""
        payload = {
            "method": self.name,
            "config": self.config.model_dump(mode="json", exclude={"steps"} if self._begins_longer else set()),
            "seed": seed,
            "data": train.fingerprint(),
            "version": self.version,
        }
        return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def pick_device(name: str) -> torch.device:
    """Return the device called ``name``; "auto" is CUDA where there is one. Raises ParameterError for one that is absent."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f"device {name!r} is not available here ({str(error).splitlines()[0]}): use auto or cpu"
        ) from error
