"""What every deep generator shares: parameters, records on the public scale, training, release, report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from trajkit.contributions import at_most
from trajkit.deep.checkpoint import copy_checkpoint, longest_prefix
from trajkit.deep.condition_inputs import ConditionInputs, condition_net, source_columns
from trajkit.deep.condition_set import ConditioningSet, Drawn, facts, public_vectors, split_conditions
from trajkit.deep.conditional_guarantee import conditional_guarantee
from trajkit.deep.conditioning import Compressor, Conditioned, ConditionNet, body_of, decoded
from trajkit.deep.deep_config import DeepConfig
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.per_user import PerUser, by_user
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import BFLOAT16, PLURALS, Budget, plan, training_guarantee
from trajkit.deep.unet import n_params
from trajkit.errors import DataContractError, ParameterError, RunFailedError
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import HIDDEN, Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

COLLAPSED = 0.01  # of half a box: less spread over samples than this at every position is one trajectory, not many


class DeepGenerator:
    """Base of the deep generators: trajectories of fixed length, scaled by the public box, never by data.

    A subclass says what is trained (`_build`), what is kept (`_released`) and how it is sampled (`_sample`). After `fit`:
    ``model_`` (the released network, averaged weights), ``guarantee_``, ``history_`` (step, loss, seconds, …), ``n_params_``,
    ``steps_``, ``report_``. ``history_`` is computed from the records and not covered by any guarantee.
    """

    name = ""
    version = 1
    Config: type[DeepConfig] = DeepConfig
    conditions_: ConditioningSet | None = None

    def __init__(self, config: Any) -> None:
        self.config = config

    # ---- what a subclass says -----------------------------------------------------------------------------------

    def _build(self, budget: Budget, seed: int) -> tuple[nn.Module, Objective, Companion | None]:
        """Return the network that is trained on records, its objective, and what is trained beside it."""
        raise NotImplementedError

    def _released(self, trainer: Trainer) -> nn.Module:
        """Return the network that samples, in evaluation mode."""
        return trainer.load_ema()

    def _sample(self, n: int, generator: torch.Generator, vectors: Tensor | None) -> Tensor:
        """Return [n, 2, L] on the scale of ``half_box``; ``vectors`` [n, …] condition them, where there is a condition."""
        raise NotImplementedError

    def _compressor(self) -> Compressor | None:
        """Return what compresses a condition; None where nothing does."""
        assert isinstance(self.model_, Conditioned)
        return self.model_.condition.compressor

    def _guarantee(self, trainer: Trainer, budget: Budget) -> Guarantee:
        c = self.config
        made = training_guarantee(c.regime, budget, trainer.ledger, target=c.epsilon, noise_source=c.noise)
        return replace(made, assumptions=(*made.assumptions, BFLOAT16)) if c.bf16 and made.holds else made

    def _facts(self, trainer: Trainer, records: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return further lines of the report: (computed without records, computed from records)."""
        return {}, {}

    # ---- the rest is shared -------------------------------------------------------------------------------------

    def fit(
        self,
        train: Trajectories,
        *,
        seed: int,
        test: Trajectories | None = None,
        checkpoint: Path | None = None,
        prefixes: Path | None = None,
        progress: bool = False,
    ) -> Self:
        """Train on ``train`` (n trajectories, one record each; with ``unit`` "user" n users); resume from ``checkpoint`` where the file exists.

        The trajectories of a conditioning set that is held out are no records. ``test`` is used only where conditions come from it.
        ``prefixes`` is a folder that trainings share: a plain one with a constant learning rate is the beginning of every
        longer one, so the longer one goes on from it and ends as if it had been trained alone, bit for bit.
        Raises DataContractError for data that does not fit, and what `Trainer.run` raises; ``history_`` is kept then.
        """
        c = self.config
        whole = train
        train, conditions = split_conditions(whole, test, c.condition, seed=seed)
        self.conditions_ = self._conditions(conditions, seed)
        trainer, budget, records = self.trainer_for(
            train, seed=seed, identity=self._identity(seed, whole, test), checkpoint=checkpoint
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
        self._of_training = self._guarantee(trainer, budget)
        self.model_ = self._released(trainer)
        self.meta_ = replace(train.meta, steps=())
        self.n_params_ = n_params(body_of(self.model_))
        self.steps_ = c.steps
        self.report_ = self._report(trainer, budget, records)
        self._check_collapse()
        return self

    def trainer_for(
        self,
        train: Trajectories,
        *,
        seed: int,
        identity: str,
        checkpoint: Path | None = None,
        kind: Callable[..., Trainer] = Trainer,
    ) -> tuple[Trainer, Budget, Tensor]:
        """Return the training on ``train`` before its first step, its budget, and the records [n, …]; ``kind``: an audit takes a trainer of its own."""
        c = self.config
        records, examples = self._examples(train, seed)
        budget = plan(c, len(examples))
        self.device_ = pick_device(c.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(seed, "init"))
            model, objective, companion = self._build(budget, seed)
        if c.trips_per_user is not None:
            objective = PerUser(objective, c.trips_per_user, tuple(records.shape[1:]))
        trainer = kind(
            model,
            objective,
            examples,
            self._settings(budget),
            seed=seed,
            identity=identity,
            device=self.device_,
            checkpoint=checkpoint,
            companion=companion,
        )
        return trainer, budget, records

    @property
    def guarantee_(self) -> Guarantee:
        """What everything released so far promises together."""
        if self.conditions_ is None:
            return self._of_training
        return conditional_guarantee(self._of_training, self.conditions_)

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` sampled trajectories without time; points outside the box are moved onto it and counted.

        Their guarantee covers all that this fitted model has released since `fit`, conditions used again included: a later
        guarantee takes the place of an earlier one, and a model fitted again counts from the start.
        """
        if not hasattr(self, "model_"):
            raise ParameterError("release was called before fit: fit the model first")
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ParameterError(f"n must be the number of trajectories to sample, at least 1, got {n!r}")
        c = self.config
        drawn = self._drawn(n, seed)
        samples = self._sample(
            n, torch.Generator().manual_seed(child_seed(seed, "sampling")), drawn.vectors if drawn else None
        )
        lonlat = self.meta_.box.from_unit(samples.cpu().numpy().transpose(0, 2, 1).reshape(-1, 2) / c.half_box)
        outside = int((~self.meta_.box.contains(lonlat)).sum())
        lonlat = self.meta_.box.clip(lonlat).reshape(n, c.length, 2)
        report = {**self.report_, "n": n, "points": n * c.length, "points_moved_into_box": outside}
        made = Trajectories.from_fixed(lonlat, meta=self.meta_)
        if self.conditions_ is not None and drawn is not None:
            hidden = {
                "mean cosine": drawn.cosine,
                "predicted cosine": drawn.predicted,
                "leak": self.conditions_.leak(made, drawn.index, seed=seed),
            }
            report |= {"condition": facts(self.conditions_), HIDDEN: {**report[HIDDEN], **hidden}}
        return Release(made, self.guarantee_, report)

    # ---- the condition ------------------------------------------------------------------------------------------

    def _conditions(self, trajs: Trajectories | None, seed: int) -> ConditioningSet | None:
        if trajs is None:
            return None
        c = self.config
        return ConditioningSet(
            c.condition,
            trajs,
            self._scaled(trajs),
            redraw=c.redraws,
            seed=seed,
            noise=c.noise,
            half_box=c.half_box,
            stream=c.short,
        )

    def _net(self, size: int, *, compress: bool = True) -> ConditionNet | None:
        """The network's own embedding of its condition, [B, size]; None where there is no condition."""
        c, conditions = self.config, self.conditions_
        if conditions is None:
            return None
        return condition_net(c.condition, conditions.private, length=c.length, size=size, compress=compress)

    def _inputs(self, net: ConditionNet | None, **options: Any) -> ConditionInputs:
        """What the objective does with the condition of a record."""
        c = self.config
        private = self.conditions_.private if self.conditions_ is not None else None
        return ConditionInputs(
            c.condition, private, length=c.length, half_box=c.half_box, mix_steps=c.mix_steps, net=net, **options
        )

    def _encode(self, source: Tensor) -> Tensor:
        """Return the condition vectors [m, …] of sources [m, inputs], before any noise."""
        compressor = self._compressor()
        return source if compressor is None else compressor(source.to(self.device_)).cpu()

    def _drawn(self, n: int, seed: int) -> Drawn | None:
        """Condition vectors for ``n`` trajectories; None where there is no condition."""
        conditions = self.conditions_
        return None if conditions is None else conditions.draw(n, seed=seed, encode=self._encode)

    def _check_collapse(self) -> None:
        """Raise RunFailedError when all samples are one and the same trajectory."""
        vectors = None if self.conditions_ is None else public_vectors(self.config.condition, 64)
        samples = self._sample(64, torch.Generator().manual_seed(0), vectors)
        if not bool(torch.isfinite(samples).all()):
            raise RunFailedError(f"{self.name} returns samples that are not finite numbers: lower learning_rate")
        spread = float(samples.std(dim=0).max()) / self.config.half_box
        if spread < COLLAPSED:
            raise RunFailedError(
                f"{self.name} has collapsed: over samples, no position spreads by more than {spread:.2g} of half the box "
                f"(limit {COLLAPSED}): lower learning_rate or train longer"
            )

    def _examples(self, train: Trajectories, seed: int) -> tuple[Tensor, Tensor]:
        """The records of ``train`` and what is drawn as one of them: the same, or users with at most ``trips_per_user`` records each."""
        most = self.config.trips_per_user
        if most is None:
            records = self._records(train, len(train))
            return records, records
        seen = at_most(train.check(), most, seed)
        records = self._records(seen, len(np.unique(seen.user)))
        return records, by_user(records, seen.user, most)

    def _records(self, train: Trajectories, n: int) -> Tensor:
        """float32 [n, 2, L] in [-half_box, half_box], or rows [n, 2 L + columns] with the attributes behind the points.

        ``n`` examples are in ``train``, trajectories or users.
        """
        if n < max(2, self.config.batch_size):
            raise DataContractError(
                f"{train.meta.dataset} has {n} {PLURALS[self.config.unit]}, fewer than batch_size {self.config.batch_size} "
                f"(and at least 2 are needed; first: {', '.join(train.traj_ids[:3]) or 'none'}{self._held_out()}): use more data or a smaller batch_size"
            )
        train.check()
        records, columns = self._scaled(train), source_columns(self.config.condition, train)
        return records if columns is None else torch.cat([records.flatten(1), columns], dim=1)

    def _held_out(self) -> str:
        held = self.conditions_ if self.config.condition.drawn_from == "held-out" else None
        return "" if held is None else f"; condition.size: {len(held)} are held out"

    def _scaled(self, train: Trajectories) -> Tensor:
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
            compile=c.compile,
            records_on=c.records_on,
        )

    def _report(self, trainer: Trainer, budget: Budget, records: Tensor) -> dict[str, Any]:
        record = trainer.record
        known, hidden = self._facts(trainer, records)
        return {
            "method": self.name,
            "regime": self.config.regime,
            "n_params": self.n_params_,
            "n_train": budget.n,
            "unit": budget.unit,
            "updates of the released network": self.config.steps,
            "steps": trainer.step,
            "sample_rate": budget.sample_rate,
            "noise_multiplier": budget.noise_multiplier,
            "max_grad_norm": None if self.config.regime == "plain" else self.config.max_grad_norm,
            "expected_examples": round(trainer.expected_batch * trainer.step * trainer.objective.draws),
            "device": str(self.device_),
            "physical_batch": trainer.physical_batch,
            "arithmetic": "bfloat16" if self.config.bf16 else "float32",
            **known,
            **self._apart(),
            HIDDEN: {
                "final_loss": record.loss[-1] if record.loss else None,
                "examples": record.examples,
                "empty_batches": record.empty_batches,
                "clipped_share": record.clipped_share[-1] if record.clipped_share else None,
                "mean_grad_norm": record.grad_norm[-1] if record.grad_norm else None,
                **hidden,
            },
        }

    def _apart(self) -> dict[str, int]:
        known = isinstance(self.model_, Conditioned)
        return {"parameters apart (condition)": n_params(self.model_.condition)} if known else {}  # type: ignore[union-attr, arg-type]

    @property
    def _begins_longer(self) -> bool:
        """Whether this training is the beginning of one with more steps."""
        c = self.config
        by_length = c.condition.is_private and c.condition.mix_steps is None  # the schedule follows the number of steps
        return c.regime == "plain" and c.decay == "constant" and not by_length

    def _shared(self, train: Trajectories, prefixes: Path | None, identity: str) -> Path | None:
        """Where trainings that begin alike meet; None where they may not: a private set's sampler state is kept nowhere."""
        sets = [train, *([self.conditions_.trajs] if self.conditions_ is not None else [])]
        if prefixes is None or not self._begins_longer or any(s.meta.visibility == "private" for s in sets):
            return None
        return prefixes / identity[:32]

    def _identity(self, seed: int, train: Trajectories, test: Trajectories | None) -> str:
        """SHA-256 (hex) of everything that decides a training: parameters, seed, data, version of the module."""
        payload = {
            "method": self.name,
            "config": self.config.model_dump(mode="json", exclude={"steps"} if self._begins_longer else set()),
            "seed": seed,
            "data": [
                train.fingerprint(),
                *([test.fingerprint()] if test is not None and self.config.condition.drawn_from == "test" else []),
            ],
            "version": self.version,
        }
        return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


class DecoderGenerator(DeepGenerator):
    """A generator that samples by decoding standard normal latent vectors, ``config.latent`` numbers each."""

    @torch.no_grad()
    def _sample(self, n: int, generator: torch.Generator, vectors: Tensor | None) -> Tensor:
        z = torch.randn(n, self.config.latent, generator=generator).to(self.device_)
        return decoded(self.model_, z, vectors)


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
