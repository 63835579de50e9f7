"""What all anonymizers share: their parameters, who counts as a person, ids that say nothing, and their guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from trajkit import seeds
from trajkit.baselines import public_meta
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.trajectories import Meta, Trajectories

# a table without a column for users gives every trajectory one of its own
WHO = "user ids tell persons apart rightly: where a person has several, or each trajectory its own, k counts those and not people"


class AnonymizerConfig(MethodConfig):
    """``k``: how many stand together; ``count``: distinct users (default) or trajectories, of which one person may have many."""

    k: int = Field(5, ge=2)
    count: Literal["user", "trajectory"] = "user"


class Anonymizer:
    """What marks an anonymizer: it releases all that it may, so ``release`` takes None for the number of trajectories.

    ``origin_``, left by ``release``, is the private map, int64 [r]: from which trajectory of the input each released one was made. It is for
    those who audit the release (`trajkit.attacks`), and never leaves.
    """

    RELEASES_ALL = True
    origin_: np.ndarray


def all_of_them(n: int | None) -> None:
    """Raise ParameterError unless ``n`` is None: an anonymizer releases what it may of its input, not a number of one's choice."""
    if n is not None:
        raise ParameterError(f"n = {n!r}: an anonymizer releases all that it may of its input; call release(None)")


def persons(trajs: Trajectories, count: str) -> np.ndarray:
    """int64 [n]: label of who each trajectory counts for."""
    return trajs.user if count == "user" else np.arange(len(trajs), dtype=np.int64)


def published(
    lonlat: np.ndarray, offsets: np.ndarray, t: np.ndarray | None, group: np.ndarray, *, meta: Meta, seed: int
) -> tuple[Trajectories, np.ndarray]:
    """Trajectories to hand over, from points [N, 2] (degrees; moved into the public box) with their ``group`` [n] (class, cluster).

    Order and ids are drawn afresh for every release and come from nothing but ``seed``: ``c<class>-<number in it>``, class numbers being a
    random permutation, never a hash of the content. Every trajectory is its own user, so that no two of a person can be linked by name.
    Also returns the private map, int64 [n]: which of the given trajectories each of them is.
    """
    rng = seeds.rng(seed, "sampling", "ids")
    n = len(group)
    names = rng.permutation(int(group.max()) + 1 if n else 0)[group] if n else group
    order = np.lexsort([rng.random(n), names])
    names = names[order]
    first = np.append(True, names[1:] != names[:-1])[:n]
    number = np.arange(n) - np.maximum.accumulate(np.where(first, np.arange(n), 0)) if n else names
    ids = np.array([f"c{c}-{i}" for c, i in zip(names, number, strict=True)], dtype=str)
    given = Trajectories.generated(meta.box.clip(lonlat), offsets, t=t, meta=public_meta(meta))
    sorted_ = given.take(order)
    return replace(sorted_, user=np.arange(n, dtype=np.int64), user_ids=ids, traj_ids=ids), order
