"""The diffusion generator (DDPM on the shared UNet, DDIM sampling) with three regimes: plain, clipped, private."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from trajkit.deep.ddpm import Denoising, alphas_bar, ddim
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import Budget, plan, training_guarantee
from trajkit.deep.unet import COORDINATES, Sizes, UNet, n_params
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import MethodConfig
from trajkit.preprocess import to_fixed_length
from trajkit.release import Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

RESULT_VERSION = 3


class DiffusionConfig(MethodConfig):
    """Parameters; the defaults are the quick size. ``batch_size`` is the expected number of records in a Poisson step.

    ``noise_draws_per_example``: diffusion draws (t, noise) that one record's loss averages before its gradient is clipped.
    ``half_box``: what half the public box measures on the scale where the noise has variance 1; about 3 brings traffic, which
    fills the middle of a box, to the variance of the noise, and no data is looked at for it.
    ``delta`` null means n ** -1.1. A private run states ``epsilon`` (the noise is calibrated) or ``noise_multiplier``.
    """

    length: int = Field(64, ge=4, description="points per trajectory")
    channels: int = Field(16, ge=2)
    channel_multipliers: tuple[int, ...] = (1, 2, 2, 2)
    blocks: int = Field(1, ge=1)
    groups: int = Field(8, ge=1)
    attention: bool = True
    diffusion_steps: int = Field(300, ge=2)
    noise_schedule: Literal["linear", "cosine"] = "linear"
    prediction: Literal["noise", "velocity"] = "velocity"
    half_box: float = Field(3.0, gt=0, allow_inf_nan=False)
    sampling_steps: int = Field(25, ge=1)
    regime: Literal["plain", "clipped", "private"] = "plain"
    epsilon: float | None = Field(None, gt=0, allow_inf_nan=False)
    delta: float | None = Field(None, gt=0, lt=1)
    noise_multiplier: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_grad_norm: float = Field(0.1, gt=0, allow_inf_nan=False)
    noise: Literal["seeded", "os"] = "seeded"
    batch_size: int = Field(128, ge=1)
    steps: int = Field(240, ge=1)
    noise_draws_per_example: int = Field(4, ge=1)
    learning_rate: float = Field(3e-3, gt=0, allow_inf_nan=False)
    warmup: float = Field(0.05, ge=0, le=1)
    weight_decay: float = Field(0.0, ge=0)
    ema_decay: float = Field(0.99, ge=0, lt=1)
    physical_batch: int = Field(64, ge=1)
    checkpoint_every_s: float = Field(30.0, ge=0)
    device: str = "auto"
    bf16: bool = False

    @field_validator("channel_multipliers", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _budget(self) -> DiffusionConfig:
        stated = sum(x is not None for x in (self.epsilon, self.noise_multiplier))
        if self.regime == "private" and stated != 1:
            raise ValueError("a private run needs epsilon or noise_multiplier, one of the two")
        if self.regime != "private" and stated:
            raise ValueError(
                f"epsilon and noise_multiplier belong to regime private, not {self.regime}: leave them out"
            )
        if self.sampling_steps > self.diffusion_steps:
            raise ValueError(f"sampling_steps {self.sampling_steps} exceeds diffusion_steps {self.diffusion_steps}")
        if self.length < 2 ** (len(self.channel_multipliers) - 1):
            raise ValueError(f"length {self.length} is too short for {len(self.channel_multipliers)} levels")
        Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups)
        return self

    def sizes(self) -> Sizes:
        """Sizes of the UNet."""
        return Sizes(self.channels, self.channel_multipliers, self.blocks, self.groups, self.attention)


Config = DiffusionConfig


class Diffusion:
    """Unconditional diffusion over trajectories of fixed length; coordinates are scaled by the public box, never by data.

    After `fit`: ``model_`` (averaged weights), ``guarantee_``, ``history_`` (step, loss, seconds, …), ``n_params_``,
    ``steps_``, ``report_``. ``history_`` is computed from the records and not covered by any guarantee.
    """

    Config = DiffusionConfig

    def __init__(self, config: DiffusionConfig) -> None:
        self.config = config

    def fit(
        self, train: Trajectories, *, seed: int, checkpoint: Path | None = None, progress: bool = False
    ) -> Diffusion:
        """Train on ``train`` (n trajectories, one record each); resume from ``checkpoint`` where the file exists.

        Raises DataContractError for data that does not fit, and what `Trainer.run` raises.
        """
        c = self.config
        records = self._records(train)
        budget = plan(c, len(train))
        self.device_ = pick_device(c.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(seed, "init"))
            model = UNet(c.sizes())
        trainer = Trainer(
            model,
            Denoising(
                alphas_bar(c.noise_schedule, c.diffusion_steps),
                (COORDINATES, c.length),
                draws=c.noise_draws_per_example,
                prediction=c.prediction,
            ),
            records,
            self._settings(budget),
            seed=seed,
            identity=identity(c, seed, train),
            device=self.device_,
            checkpoint=checkpoint,
        )
        trainer.run(progress=progress)
        self.guarantee_ = training_guarantee(c.regime, budget, trainer.ledger, target=c.epsilon, noise_source=c.noise)
        self.model_ = trainer.load_ema()
        self.meta_ = replace(train.meta, steps=())
        self.n_params_ = n_params(self.model_)
        self.steps_ = trainer.step
        self.history_ = _history(trainer)
        self.report_ = self._report(trainer, budget)
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` sampled trajectories without time; points outside the box are moved onto it and counted."""
        if not hasattr(self, "model_"):
            raise ParameterError("release was called before fit: fit the model first")
        if n is None or n < 1:
            raise ParameterError(f"n must be the number of trajectories to sample, at least 1, got {n!r}")
        c = self.config
        generator = torch.Generator().manual_seed(child_seed(seed, "sampling"))
        noise = torch.randn(n, COORDINATES, c.length, generator=generator).to(self.device_)
        samples = ddim(
            self.model_,
            noise,
            alphas_bar(c.noise_schedule, c.diffusion_steps),
            steps=c.sampling_steps,
            bound=c.half_box,
            prediction=c.prediction,
        )
        lonlat = self.meta_.box.from_unit(samples.cpu().numpy().transpose(0, 2, 1).reshape(-1, 2) / c.half_box)
        outside = int((~self.meta_.box.contains(lonlat)).sum())
        lonlat = self.meta_.box.clip(lonlat).reshape(n, c.length, 2)
        report = {**self.report_, "n": n, "points": n * c.length, "points_moved_into_box": outside}
        return Release(Trajectories.from_fixed(lonlat, meta=self.meta_), self.guarantee_, report)

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
            steps=c.steps,
            sample_rate=budget.sample_rate,
            max_grad_norm=c.max_grad_norm,
            noise_multiplier=budget.noise_multiplier,
            physical_batch=c.physical_batch,
            learning_rate=c.learning_rate,
            warmup=c.warmup,
            weight_decay=c.weight_decay,
            ema_decay=c.ema_decay,
            noise_source=c.noise,
            checkpoint_every_s=c.checkpoint_every_s,
            bf16=c.bf16,
        )

    def _report(self, trainer: Trainer, budget: Budget) -> dict[str, Any]:
        record = trainer.record
        return {
            "method": "diffusion",
            "regime": self.config.regime,
            "n_params": self.n_params_,
            "n_train": budget.n,
            "steps": trainer.step,
            "sample_rate": budget.sample_rate,
            "noise_multiplier": budget.noise_multiplier,
            "max_grad_norm": None if self.config.regime == "plain" else self.config.max_grad_norm,
            "expected_examples": round(trainer.expected_batch * trainer.step * trainer.objective.draws),
            "device": str(self.device_),
            "not covered by the guarantee": {
                "final_loss": record.loss[-1] if record.loss else None,
                "examples": record.examples,
                "empty_batches": record.empty_batches,
                "clipped_share": record.clipped_share[-1] if record.clipped_share else None,
                "mean_grad_norm": record.grad_norm[-1] if record.grad_norm else None,
            },
        }


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


def identity(config: MethodConfig, seed: int, train: Trajectories) -> str:
    """SHA-256 (hex) of everything that decides a training: parameters, seed, data, version of this module."""
    payload = {
        "config": config.model_dump(mode="json"),
        "seed": seed,
        "data": train.fingerprint(),
        "version": RESULT_VERSION,
    }
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def _history(trainer: Trainer) -> dict[str, list[float]]:
    columns = {k: v for k, v in asdict(trainer.record).items() if isinstance(v, list) and v}
    return columns
