"""Who is looked for by shadow models, and in which of them: settings, planted and natural targets, and their coins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from trajkit.attacks.member_scores import POINTS
from trajkit.attacks.member_split import people
from trajkit.deep.gan import GanConfig
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import MethodConfig
from trajkit.parameters import checked
from trajkit.ragged import concatenate_offsets
from trajkit.seeds import rng
from trajkit.trajectories import Meta, Trajectories

OWN = ("regime", "epsilon", "delta", "noise_multiplier", "dp_target", "condition", "unit", "trips_per_user")
# the smallest networks there are, trained for a second each: they show that the experiment runs, and nothing else
TINY: dict[str, Any] = {
    "length": 16, "channels": 8, "channel_multipliers": [1, 2], "groups": 2, "attention": False, "latent": 4, "batch_size": 16,
    "steps": 20, "n_critic": 1, "physical_batch": 16, "warmup_steps": 0, "ema_decay": 0.5, "device": "cpu",
}  # fmt: skip
BORDER = 0.98  # where canaries are, as a share of half the box


class ShadowAudit(MethodConfig):
    """``shadows`` (even) models teach what a model with and without a target looks like, ``attacked`` others are attacked.

    dp_target   "generator", the published scheme, or "critic"; ``epsilon`` and ``delta`` are what it claims
    planted, natural   numbers of targets; ``n_release`` trajectories are released by each model
    placebo     no target is in any model, whatever its coins say: nothing can be found then
    gan         further parameters of the method "gan": sizes, steps, batch_size, device and so on
    """

    dp_target: Literal["generator", "critic"]
    epsilon: float = Field(10.0, gt=0, allow_inf_nan=False)
    delta: float = Field(1e-5, gt=0, lt=1)
    shadows: int = Field(16, ge=8, multiple_of=2)
    attacked: int = Field(8, ge=4)
    planted: int = Field(8, ge=4, le=64)
    natural: int = Field(32, ge=4)
    n_release: int = Field(500, ge=1)
    placebo: bool = False
    gan: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _others(self) -> Self:
        own = [name for name in OWN if name in self.gan]
        if own:
            raise ValueError(f"gan.{own[0]} follows from the audit or is not audited here: leave it out")
        return self

    @property
    def models(self) -> int:
        """All of them; numbers 0 to models - 1, the shadow models first."""
        return self.shadows + self.attacked

    def parameters(self, noise_multiplier: float) -> GanConfig:
        """Those of the GAN. Raises ParameterError as `make_method` does."""
        stated = {"regime": "private", "noise_multiplier": noise_multiplier, "delta": self.delta}
        return checked(GanConfig, {**self.gan, **stated, "dp_target": self.dp_target}, where="method gan")


@dataclass(frozen=True)
class Targets:
    """``trajs``: the data and the canaries, without times. ``label`` int64 [n]: the target of a trajectory, -1 for who always trains.

    Targets 0 to planted - 1 are canaries. ``inside`` bool [models, targets]: the coins.
    """

    trajs: Trajectories
    label: np.ndarray
    inside: np.ndarray
    placebo: bool

    def training_set(self, model: int) -> Trajectories:
        """What one model is trained on."""
        return self.trajs.take((self.label < 0) | (self._in(model)[self.label] & (self.label >= 0)))

    @property
    def least(self) -> int:
        """Trajectories in the smallest training set of all models."""
        sizes = np.bincount(self.label[self.label >= 0], minlength=self.inside.shape[1])
        coins = np.stack([self._in(i) for i in range(len(self.inside))])
        return int((self.label < 0).sum() + (coins @ sizes).min())

    def _in(self, model: int) -> np.ndarray:
        return self.inside[model] & (not self.placebo)


def targets_of(config: ShadowAudit, trajs: Trajectories, *, seed: int) -> Targets:
    """Draw people of ``trajs``, add canaries and toss the coins. Raises ParameterError for too few people, DataContractError for taken names."""
    person, n = people(trajs, "user")
    if n <= config.natural:
        raise ParameterError(f"natural = {config.natural} of {n} people: some others must always be trained on")
    chosen = rng(seed, "attack", "natural targets").permutation(n)[: config.natural]
    number = np.full(n, -1, dtype=np.int64)
    number[chosen] = config.planted + np.arange(config.natural)
    odd = canaries(trajs.meta, config.planted)
    label = np.concatenate([number[person], np.arange(config.planted)])
    coins = rng(seed, "attack", "coins").random((config.models, config.planted + config.natural)) < 0.5
    return Targets(_joined(trajs, odd), label, coins, config.placebo)


def canaries(meta: Meta, n: int, *, points: int = POINTS) -> Trajectories:
    """``n`` routes nobody takes, at the border of the box: half of them stand there, half jump between opposite places on it."""
    standing = -(-n // 2)
    around = _border(n)
    places = np.concatenate([around[::2], around[1::2]])  # so that no jump ends where another one stands
    jumps = np.where(np.arange(points) % 2, -1.0, 1.0)
    signs = np.where(np.arange(n)[:, None] < standing, 1.0, jumps)
    unit = BORDER * places[:, None, :] * signs[:, :, None]
    lonlat = meta.box.from_unit(unit.reshape(-1, 2)).reshape(n, points, 2)
    return Trajectories.from_fixed(lonlat, meta=meta, prefix="planted-")


def _border(n: int) -> np.ndarray:
    """[n, 2]: places on the border of [-1, 1]^2, evenly spaced from the lower right corner, with no two opposite each other."""
    at = np.linspace(0, 2, n, endpoint=False)  # 0 to 1 up the right side, 1 to 2 along the upper side
    return np.column_stack([np.where(at <= 1, 1.0, 3 - 2 * at), np.where(at <= 1, 2 * at - 1, 1.0)])


def _joined(trajs: Trajectories, more: Trajectories) -> Trajectories:
    for what, a, b in (("trajectory", trajs.traj_ids, more.traj_ids), ("user", trajs.user_ids, more.user_ids)):
        both = np.intersect1d(a, b)
        if len(both):
            raise DataContractError(f"{what} {both[0]!r} has the name of a planted one: give the data other names")
    return replace(
        trajs,
        lonlat=np.concatenate([trajs.lonlat, more.lonlat]),
        offsets=concatenate_offsets(np.concatenate([trajs.lengths, more.lengths])),
        t=None,
        user=np.concatenate([trajs.user, more.user + len(trajs.user_ids)]),
        user_ids=np.concatenate([trajs.user_ids, more.user_ids]),
        traj_ids=np.concatenate([trajs.traj_ids, more.traj_ids]),
    )
