"""l-diversity and t-closeness of a sensitive value within classes of released trajectories. Checks; nothing is changed.

For trajectories the sensitive value is mostly a place of the trace itself (`sensitive_place`): it is then also part of what the attacker
may know, and a class of one signature shows it unless it is taken out of the signature. Say of each study which points are which.
Every trajectory counts once, so a person with many weighs more; whether a class holds enough persons is the business of k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from trajkit.anonymize.tessellation import Tessellation
from trajkit.errors import DataContractError, ParameterError
from trajkit.trajectories import Trajectories

WORST_IS_LOW = ("distinct_l", "entropy_l", "recursive_l")
WORST_IS_HIGH = ("max_fraction", "t_variational", "t_emd_ordered")


@dataclass(frozen=True)
class Diversity:
    """``table``: one row a class, indexed by its label; ``worst``: the worst of each column over the classes, empty without classes."""

    table: pd.DataFrame
    worst: dict[str, float]


def diversity(classes: np.ndarray, sensitive: np.ndarray, *, order: list | None = None, c: float = 3.0) -> Diversity:
    """Diversity of ``sensitive`` [n] (strings or ints) in each class; ``classes`` int64 [n], -1 for trajectories that are not released.

    trajectories   members of the class
    distinct_l     different values (distinct l-diversity)
    entropy_l      exp of the entropy of the values in nats: entropy l-diversity holds for every l up to it
    recursive_l    largest l with r_1 < c (r_l + ... + r_m), r falling counts: recursive (c, l)-diversity; 0 where there is none
    max_fraction   share of the most frequent value
    t_variational  half the L1 distance between the law in the class and that of all n, the unreleased included
    t_emd_ordered  earth mover's distance between the two, ground distance |i - j| / (m - 1) between values in ``order``

    ``order``: all values, as they follow one another (default: sorted). Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007;
    Li, Li, Venkatasubramanian 2007. Raises ParameterError.
    """
    classes, values = np.asarray(classes), np.asarray(sensitive)
    if len(classes) != len(values):
        raise ParameterError(
            f"{len(classes)} classes for {len(values)} sensitive values: give one of each for every trajectory"
        )
    if not c > 0:
        raise ParameterError(f"c = {c} of recursive diversity must be positive")
    names, code = _coded(values, order)
    labels, of = np.unique(classes[classes >= 0], return_inverse=True)
    counts = np.zeros((len(labels), len(names)), dtype=np.int64)
    np.add.at(counts, (of.ravel(), code[classes >= 0]), 1)
    table = _table(counts, np.bincount(code, minlength=len(names)), c)
    table.index = pd.Index(labels, name="class")
    if not len(table):
        return Diversity(table, {})
    worst = {w: float(table[w].min()) for w in WORST_IS_LOW} | {w: float(table[w].max()) for w in WORST_IS_HIGH}
    return Diversity(table, worst)


def _coded(values: np.ndarray, order: list | None) -> tuple[np.ndarray, np.ndarray]:
    """Values in their order, and int64 [n]: place of each value in it."""
    names, code = np.unique(values, return_inverse=True)
    if order is None:
        return names, code.ravel()
    place = {value: i for i, value in enumerate(order)}
    missing = [value for value in names.tolist() if value not in place]
    if missing or len(place) != len(order):
        raise ParameterError(f"order must hold every sensitive value once; missing: {missing[:5]}, given: {len(order)}")
    return np.array(order), np.array([place[value] for value in names.tolist()], dtype=np.int64)[code.ravel()]


def _table(counts: np.ndarray, overall: np.ndarray, c: float) -> pd.DataFrame:
    """See `diversity`; counts int64 [classes, values], overall int64 [values]."""
    size = counts.sum(axis=1)
    share = counts / size[:, None]
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
    falling = -np.sort(-counts, axis=1)
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
    off = share - overall / max(overall.sum(), 1)
    return pd.DataFrame(
        {
            "trajectories": size,
            "distinct_l": (counts > 0).sum(axis=1),
            "entropy_l": np.exp(entropy),
            "recursive_l": (falling[:, :1] < c * tails).sum(axis=1),
            "max_fraction": share.max(axis=1, initial=0.0),
            "t_variational": np.abs(off).sum(axis=1) / 2,
            "t_emd_ordered": np.abs(np.cumsum(off, axis=1)).sum(axis=1) / max(counts.shape[1] - 1, 1),
        }
    )


def sensitive_place(trajs: Trajectories, cells: Tessellation, *, at: Literal["end", "start"] = "end") -> np.ndarray:
    """int64 [n]: public cell of the last (or first) point of each trajectory, as its sensitive value.

    The place is in the trace: an attacker who knows it as a point of the trace learns nothing new, and one who finds the class learns it
    from the class. Raises ParameterError for an unknown end, DataContractError for a trajectory without points.
    """
    if at not in ("end", "start"):
        raise ParameterError(f"at = {at!r} is unknown: use end or start")
    if (trajs.lengths < 1).any():
        name = trajs.traj_ids[np.argmin(trajs.lengths)]
        raise DataContractError(f"trajectory {name} has no points, so it has no {at}: filter by length first")
    return cells.cell_of(trajs.xy[trajs.ends if at == "end" else trajs.starts])
