"""What a training and its sampling will take, counted before: the network is built on "meta", where nothing is computed, and one step of it is run.

The step is the real one (the same losses, engine, critic and generator), so that what is counted follows the code. Not counted: loading,
preprocessing, metrics, checkpoints.
"""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from trajkit.deep.adversary import GeneratorTrainer
from trajkit.deep.autotune import CANDIDATES, LARGE, MEMORY
from trajkit.deep.batches import SHARE
from trajkit.deep.condition_inputs import inputs_of
from trajkit.deep.conditioning import Privatised, body_of
from trajkit.deep.deep_config import HOW_COMPUTED, DeepConfig
from trajkit.deep.engines import Engine, make_engine, of_records, trainable
from trajkit.deep.generator import DeepGenerator
from trajkit.deep.meter import Call, Meter, Work
from trajkit.deep.objective import Objective
from trajkit.deep.per_user import PerUser
from trajkit.deep.training_guarantee import Budget
from trajkit.deep.unet import COORDINATES
from trajkit.methods import method_class

META = torch.device("meta")
STEP_PASSES = 22  # over the parameters, beside gradients: sum, noise, division, AdamW, average; each value read or written counts one
STATE = 6  # values a parameter: weight, average, two moments, gradient, sum of gradients
SAMPLED_AT_ONCE = 512
COUNTED = 32  # records of the physical batch that is counted
# parameters that change no operation: those of two configurations that differ in these alone are counted once
WITHOUT_EFFECT = HOW_COMPUTED | {
    "epsilon", "delta", "noise_multiplier", "max_grad_norm", "noise", "learning_rate", "critic_learning_rate", "warmup_steps", "decay", "weight_decay", "ema_decay", "beta_1", "beta_2", "steps", "half_box", "kl_weight", "kl_warmup_steps", "penalty_weight", "projection", "noise_schedule", "prediction",
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """``training`` and ``sampling``: all that is computed; ``peak``: bytes on the device at once; ``physical_batch``: records in memory at once."""

    training: Work
    sampling: Work
    peak: int
    physical_batch: int

    @property
    def work(self) -> Work:
        """Both together."""
        return self.training + self.sampling


@dataclass(frozen=True)
class Step:
    """Of one step: a physical batch of `COUNTED` records (its work and peak bytes), what it takes besides, a generator update, and one pass
    over 512 samples; ``gradient`` bytes are held whatever the batch, ``state`` bytes stay between steps."""

    batch: Work
    peak: int
    besides: Work
    generator: Work
    generator_peak: int
    sample: Work
    gradient: int
    state: int

    @classmethod
    def from_json(cls, text: str) -> Step:
        """Back from the JSON of its fields."""
        made: dict[str, Any] = {
            k: Work.of(v["calls"]) if isinstance(v, dict) else v for k, v in json.loads(text).items()
        }
        return cls(**made)

    def of(self, size: int) -> Work:
        """Work of a physical batch of ``size`` records: each call scaled."""
        share = size / COUNTED
        return Work(
            tuple((Call(int(c.flops * share), int(c.nbytes * share), c.convolution), n) for c, n in self.batch.calls)
        )

    def peak_of(self, size: int) -> float:
        """Bytes that a physical batch of ``size`` records holds at once."""
        return self.gradient + max(0, self.peak - self.gradient) * size / COUNTED


def cost_of(config: DeepConfig, step: Step, *, n_train: int, n_release: int, memory: int) -> Cost:
    """What training on ``n_train`` examples and ``n_release`` samples take on a device of ``memory`` bytes, from its counted ``step``.

    A physical batch that is to be found (null) is taken to be the largest that fits, up to ``batch_size``.
    """
    data = 4 * n_train * math.prod(_shape(config))
    fixed = step.state + (data if data <= SHARE * memory else 0)
    size = min(config.physical_batch or _largest(step, config.batch_size, MEMORY * memory - fixed), config.batch_size)
    per_step = step.of(size) * (config.batch_size / size) + step.besides
    training = per_step * config.record_steps + step.generator * config.steps
    sampling = step.sample * (n_release / SAMPLED_AT_ONCE)
    return Cost(training, sampling, int(fixed + max(step.peak_of(size), step.generator_peak)), size)


def _largest(step: Step, batch_size: int, room: float) -> int:
    """The largest candidate within ``room`` bytes and ``batch_size``; the smallest where none is."""
    sizes = [size for size in (*CANDIDATES, *LARGE) if size < batch_size] + [batch_size]
    return max([size for size in sizes if step.peak_of(size) <= room] or sizes[:1])


def key_of(method: str, config: DeepConfig) -> str:
    """``config`` as JSON without what changes no operation: the regimes that clip are one. The embedding of a condition (at most 6 % of a network of
    the published size) is left out; a GAN keeps its condition, since it generates anew for every record then."""
    values = {k: v for k, v in config.model_dump(mode="json").items() if k not in WITHOUT_EFFECT}
    values["regime"] = "plain" if config.regime == "plain" else "clipped"
    values["condition"] = {"type": "sample"} if method == "gan" and config.condition.is_conditional else {}
    return json.dumps(values, sort_keys=True)


def count_step(method: str, key: str) -> Step:
    """Count a step of ``method`` with the parameters of `key_of`."""
    config: DeepConfig = method_class(method).Config(**json.loads(key))
    r = _rehearsal(method, config)
    batch, peak = _batch(r, config)
    own = _numbers(r.engine)
    with Meter() as pool:  # a GAN's critic gets generated trajectories anew after every update
        r.objective.begin_step(getattr(config, "n_critic", 1))
    with Meter() as meter:
        if r.objective.free_rows:
            drawn = r.objective.draw_free(torch.Generator())
            r.engine.summed(r.objective.free_losses, drawn, torch.ones(r.objective.free_rows, device=META), draws=1)
    generator, generator_peak = (Work(), 0) if r.companion is None else _update(r.companion, r)
    numbers = own if r.companion is None else own + _numbers(r.companion.engine)
    sample = _sample(r, config)
    besides, update = meter.work + _passes(own), generator + pool.work
    return Step(batch, peak, besides, update, generator_peak, sample, 4 * own, 4 * STATE * numbers)


@dataclass(frozen=True)
class _Rehearsal:
    engine: Engine
    model: nn.Module
    objective: Objective
    companion: GeneratorTrainer | None


class _Conditions:
    """Stands for a conditioning set, of which only the sizes matter here."""

    def __init__(self, config: DeepConfig) -> None:
        self.private = Privatised.of(config.condition, delta=1e-5)
        c = config.condition
        self._size = c.d_out if c.compresses else inputs_of(c, config.length)

    def pool(self, encode: Any) -> Any:
        """Two vectors."""
        return SimpleNamespace(vectors=torch.zeros(2, self._size))


def _rehearsal(method: str, config: DeepConfig) -> _Rehearsal:
    made: DeepGenerator = method_class(method)(config)
    made.device_ = META
    made.conditions_ = _Conditions(config) if config.condition.is_conditional else None  # type: ignore[assignment]
    noise = 1.0 if config.regime == "private" else 0.0
    budget = Budget(config.batch_size, 1.0, 1e-5, noise, config.unit, config.trips_per_user)
    with META:
        model, objective, companion = made._build(budget, 0)
    if config.trips_per_user is not None:
        objective = PerUser(objective, config.trips_per_user, (COORDINATES, config.length))
    settings = made._settings(budget)
    engine = make_engine(
        model.train(),
        draws=objective.draws,
        second_order=objective.second_order,
        max_grad_norm=None if settings.regime == "plain" else settings.max_grad_norm,
    )
    assert companion is None or isinstance(companion, GeneratorTrainer)
    return _Rehearsal(engine, model, objective, companion)


def _batch(r: _Rehearsal, config: DeepConfig) -> tuple[Work, int]:
    r.objective.begin_step(0)
    drawn = {k: v.to(META) for k, v in r.objective.draw(COUNTED, torch.Generator()).items()}
    inputs = {"record": torch.zeros(COUNTED, *_shape(config), device=META), **drawn}
    with Meter() as meter:
        r.engine.summed(of_records(r.objective), inputs, torch.ones(COUNTED, device=META))
    return meter.work, meter.peak


def _update(companion: GeneratorTrainer, r: _Rehearsal) -> tuple[Work, int]:
    """One update of a GAN's generator; its optimiser is counted as passes over the parameters."""
    companion.optimizer = SimpleNamespace(param_groups=[], step=lambda: None)  # type: ignore[assignment]
    critic = SimpleNamespace(device=META, engine=r.engine, parameters=trainable(r.model), precision=nullcontext)
    with Meter() as meter:
        companion.after_step(companion.settings.n_critic, critic)  # type: ignore[arg-type]
    return meter.work + _passes(_numbers(companion.engine)), meter.peak


def _passes(numbers: int) -> Work:
    return Work(((Call(0, 4 * STEP_PASSES * numbers, False), 1.0),))


@torch.no_grad()
def _sample(r: _Rehearsal, config: DeepConfig) -> Work:
    """What 512 samples take of the released network; the embedding of their condition, made once, is left out."""
    body = body_of(r.companion.generator if r.companion is not None else r.model)
    body = getattr(body, "decoder", body)
    steps = getattr(config, "sampling_steps", 0)
    n, latent = SAMPLED_AT_ONCE, getattr(config, "latent", 0)
    with META:
        noise = torch.zeros(n, COORDINATES, config.length), torch.zeros(n)
        inputs: tuple[Tensor, ...] = noise if steps else (torch.zeros(n, latent),)
    with Meter() as meter:
        body(*inputs)
    return meter.work * (max(1, steps) * (2 if config.condition.guidance else 1))


def _shape(config: DeepConfig) -> tuple[int, ...]:
    points = COORDINATES * config.length
    if config.trips_per_user is not None:
        return (config.trips_per_user, points + 1)
    if config.condition.type == "attributes":
        return (points + inputs_of(config.condition, config.length),)
    return (COORDINATES, config.length)


def _numbers(engine: Engine) -> int:
    return sum(p.numel() for p in trainable(engine.network))
