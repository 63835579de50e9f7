"""People with walks, and releases that give all or nothing of them away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from toys import walks

from trajkit import seeds
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories

QUICK: dict[str, Any] = {"shadows": 8}


def walks_of_users(users: int, each: int, seed: int = 0) -> Trajectories:
    """Walks of ``users`` people with ``each`` of them."""
    trajs = walks(users * each, 8, seed)
    return replace(
        trajs, user=np.repeat(np.arange(users), each), user_ids=np.array([f"person-{i}" for i in range(users)])
    )


def jittered(train: Trajectories, seed: int) -> Trajectories:
    """An overfit release: the training set, every fix moved by half a kilometre or so."""
    noise = seeds.rng(seed, "noise", "jitter").normal(0, 0.006, train.lonlat.shape)
    return replace(train, lonlat=train.meta.box.clip(train.lonlat + noise))


def unrelated(train: Trajectories, seed: int) -> Trajectories:
    return make_method("uniform", length=8).fit(train, seed=seed).release(60, seed=seed).trajectories
