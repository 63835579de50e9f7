"""Membership inference: is a person's data among what a model was trained on? Any release, any generator, one set of rules.

Half of the people, drawn at random for each model, train it; the other half are the others of that attack. So members and others come
from one population, and who is on which side is known by construction, never by what a model says. Shadow models are trained likewise, each
target in half of them, and teach LiRA what a model with and without a target looks like; the attacked models are none of them.

Splits are by person unless asked otherwise: whoever is outside has none of his trajectories inside, nor a copy of one under another
name, and that is asserted for every model that is trained. An average-case attack like these certifies nothing: a canary that is worse
off than typical people (`trajkit.attacks.audit`) may well be found where these find nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from trajkit import seeds
from trajkit.attacks.lira import LEAST_STD, Variance, halves, log_offline, log_ratio
from trajkit.attacks.member_scores import ModelOf, Statistics, of_release
from trajkit.attacks.member_split import Unit, check_apart, people
from trajkit.attacks.roc import FALSE_RATES, Roc, roc_of
from trajkit.errors import DataContractError, ParameterError, RunFailedError
from trajkit.methods import FromList, MethodConfig
from trajkit.parameters import checked
from trajkit.trajectories import Trajectories

LEAST_PEOPLE = 4


class MembershipSettings(MethodConfig):
    """``unit``: who is a target, and what cannot be on both sides. ``shadows``: models for LiRA, an even number; 0 leaves LiRA out.

    ``attacked``: models that are attacked; the targets of each count as trials of their own. ``variance``, ``least_std``: see `lira.gaussians`.
    ``offline``: LiRA also without the shadow models that hold the target. ``fpr``: false-positive rates at which hits are reported.
    """

    unit: Unit = "user"
    shadows: int = Field(16, ge=0)
    attacked: int = Field(1, ge=1)
    variance: Variance = "pooled"
    least_std: float = Field(LEAST_STD, gt=0, allow_inf_nan=False)
    offline: bool = False
    fpr: Annotated[tuple[float, ...], FromList] = FALSE_RATES
    level: float = Field(0.95, gt=0, lt=1)

    @field_validator("shadows")
    @classmethod
    def _even(cls, value: int) -> int:
        if value and (value < 4 or value % 2):
            raise ValueError(f"shadows {value}: need an even number of at least 4, or 0 for no LiRA")
        return value


@dataclass(frozen=True)
class Membership:
    """``attacks``: (name, curve) of every attack, members positive; ``targets``: people or trajectories, by ``unit``."""

    attacks: tuple[tuple[str, Roc], ...]
    unit: Unit
    targets: int
    shadows: int
    attacked: int

    def __getitem__(self, name: str) -> Roc:
        """The curve of one attack."""
        return dict(self.attacks)[name]

    def to_frame(self) -> pd.DataFrame:
        """One row for each attack."""
        about = {
            "unit": self.unit,
            "targets": self.targets,
            "shadow models": self.shadows,
            "attacked models": self.attacked,
        }
        return pd.DataFrame([{"attack": name, **about, **roc.to_dict()} for name, roc in self.attacks])


def infer_members(trajs: Trajectories, model_of: ModelOf, *, seed: int, **settings: Any) -> Membership:
    """Train shadow and attacked models on halves of ``trajs`` and try to tell who was in. Settings: `MembershipSettings`.

    ``model_of``: `member_scores.of_release`, `of_losses`, or any other function of its kind; it is called once for every model, with a
    training set and a seed of its own. Raises ParameterError for settings out of range, DataContractError for fewer than four targets
    or a split that is not disjoint, and whatever training raises.
    """
    chosen = checked(MembershipSettings, settings, where="infer_members")
    label, n = people(trajs, chosen.unit)
    inside = who_trains(n, chosen, seed)
    found: list[Statistics] = []
    for i, row in enumerate(inside):
        train, others = trajs.take(row[label]), trajs.take(~row[label])
        check_apart(train, others, chosen.unit)
        examine = model_of(train, seeds.child_seed(seed, "attack", "model", i))
        found.append({name: _of_people(values, label, n, name) for name, values in examine(trajs).items()})
    return judged({name: np.stack([f[name] for f in found]) for name in found[0]}, inside, **settings)


def judged(statistics: Mapping[str, np.ndarray], inside: np.ndarray, **settings: Any) -> Membership:
    """The attacks from ``statistics``, name -> float64 [models, targets], of models that the targets ``inside`` bool [models, targets] trained.

    The last ``attacked`` models are attacked, those before them are the shadow models. For who trains many small models at once.
    """
    c = checked(MembershipSettings, settings, where="judged")
    inside = np.asarray(inside, dtype=bool)
    if inside.ndim != 2 or len(inside) != c.shadows + c.attacked:
        raise ParameterError(
            f"inside {inside.shape}: must be [{c.shadows} shadow + {c.attacked} attacked models, targets]"
        )
    scores: list[tuple[str, np.ndarray]] = []
    for name, values in statistics.items():
        if values.shape != inside.shape or not np.isfinite(values).all():
            raise ParameterError(
                f"statistics {name!r}: shape {values.shape}, must be {inside.shape} and finite numbers only"
            )
        scores += _scores(name, values, inside, c)
    members = inside[c.shadows :]
    curves = tuple((name, roc_of(s[members], s[~members], fpr=c.fpr, level=c.level)) for name, s in scores)
    return Membership(curves, c.unit, inside.shape[1], c.shadows, c.attacked)


def _scores(name: str, values: np.ndarray, inside: np.ndarray, c: MembershipSettings) -> list[tuple[str, np.ndarray]]:
    """(name of the attack, scores [attacked, targets]): the statistic as it is, and LiRA on it."""
    own, taught = values[c.shadows :], (values[: c.shadows], inside[: c.shadows])
    found = [(name, own)]
    if c.shadows:
        ratio = [log_ratio(t, *taught, variance=c.variance, least_std=c.least_std) for t in own]
        found.append((f"LiRA, {name}", np.stack(ratio)))
    if c.shadows and c.offline:
        # no models with the target: their spread is not known either
        without: Variance = "fixed" if c.variance == "pooled" else c.variance
        below = [log_offline(t, *taught, variance=without, least_std=c.least_std) for t in own]
        found.append((f"LiRA offline, {name}", np.stack(below)))
    return found


def who_trains(targets: int, settings: MembershipSettings, seed: int) -> np.ndarray:
    """bool [shadow + attacked models, targets]: every target in half of the shadow models; half of the targets in each attacked one.

    Raises DataContractError for fewer than four targets.
    """
    if targets < LEAST_PEOPLE:
        raise DataContractError(
            f"{targets} target(s) to attack: need at least {LEAST_PEOPLE}, half of them to train on"
        )
    order = np.argsort(seeds.rng(seed, "attack", "attacked").random((settings.attacked, targets)), axis=1)
    attacked = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(attacked, order[:, : targets // 2], True, axis=1)
    if not settings.shadows:
        return attacked
    return np.concatenate([halves(settings.shadows, targets, seed), attacked])


def controls(trajs: Trajectories, *, seed: int, **settings: Any) -> tuple[Membership, Membership]:
    """(an attack that must succeed, one that must fail), by the same code: the training set itself as the release, and half of all people
    drawn without a look at who trains. Raises RunFailedError as `check_controls` does.
    """
    unit = checked(MembershipSettings, settings, where="controls").unit
    label, n = people(trajs, unit)

    def unrelated(train: Trajectories, own: int) -> Trajectories:
        return trajs.take((seeds.rng(own, "attack", "unrelated").random(n) < 0.5)[label])

    found = infer_members(trajs, of_release(lambda train, own: train), seed=seed, **settings)
    blank = infer_members(trajs, of_release(unrelated), seed=seed, **settings)
    check_controls(found, blank)
    return found, blank


def check_controls(found: Membership, blank: Membership) -> None:
    """Raise RunFailedError unless every attack of ``found`` is above a guess and every one of ``blank`` cannot be told from it.

    Labels or signs that are swapped make the first fail: its area is then below one half.
    """
    for name, roc in found.attacks:
        if not roc.auc_interval[0] > 0.5:
            low, high = roc.auc_interval
            swapped = "; labels or the sign of the score look swapped" if high < 0.5 else ""
            raise RunFailedError(
                f"{name} does not find who is released as he is: area {roc.auc:.3f}, {low:.3f} to {high:.3f}{swapped}"
            )
    for name, roc in blank.attacks:
        low, high = roc.auc_interval
        if not low <= 0.5 <= high:
            raise RunFailedError(
                f"{name} finds members where there is nothing to find: area {roc.auc:.3f}, {low:.3f} to {high:.3f}; "
                "members and others differ in something else than training"
            )


def _of_people(values: np.ndarray, label: np.ndarray, n: int, name: str) -> np.ndarray:
    """Mean of a statistic over the trajectories of each target."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != label.shape or not np.isfinite(values).all():
        raise ParameterError(
            f"statistics {name!r}: shape {values.shape}, must be one finite number for each of {len(label)} trajectories"
        )
    return np.bincount(label, values, minlength=n) / np.bincount(label, minlength=n)
