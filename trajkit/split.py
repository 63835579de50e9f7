"""Train and test sets: the study's folds over trajectories, and the same by user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.errors import DataContractError, ParameterError
from trajkit.trajectories import Trajectories

N_FOLDS = 5
FOLD_SEED = 42


@dataclass(frozen=True)
class Fold:
    """One split; ``unit`` says what cannot be on both sides."""

    index: int
    unit: str
    train: Trajectories
    test: Trajectories


def fold(trajs: Trajectories, index: int, *, unit: str = "trajectory") -> Fold:
    """Return fold ``index`` of ``KFold(5, shuffle=True, random_state=42)`` over ids in string order (study.md, decision 2).

    ``unit`` is "trajectory" (as published) or "user" (no user on both sides). Raises ParameterError or, where there
    are fewer than five units, DataContractError.
    """
    from sklearn.model_selection import KFold  # two seconds to import, and only needed here

    if not 0 <= index < N_FOLDS:
        raise ParameterError(
            f"fold {index} does not exist: there are {N_FOLDS}, counted from 0 (SEEDS is at most {N_FOLDS})"
        )
    if unit not in ("trajectory", "user"):
        raise ParameterError(f"split unit {unit!r} is unknown: use trajectory or user")
    ordered = trajs.sorted_by_id()
    names = ordered.user_ids[ordered.user] if unit == "user" else ordered.traj_ids
    units, member = np.unique(names, return_inverse=True) if unit == "user" else (names, np.arange(len(names)))
    if len(units) < N_FOLDS:
        raise DataContractError(
            f"{trajs.meta.dataset} has {len(units)} {unit}(s), too few for {N_FOLDS} folds: use more data"
        )
    _, test_units = list(KFold(N_FOLDS, shuffle=True, random_state=FOLD_SEED).split(units))[index]
    in_test = np.isin(member, test_units)
    return Fold(index, unit, ordered.take(~in_test), ordered.take(in_test))
