"""Two k-anonymous releases of the same people: what an adversary gains by joining them, with names that persist and with fresh ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from trajkit.anonymize.k_anonymity import KAnonymity
from trajkit.anonymize.pseudonyms import fresh, persistent
from trajkit.anonymize.search import KAnonymityConfig
from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.linkage import Published, linkage
from trajkit.attacks.origin import Origin
from trajkit.study.results import StudyResults
from trajkit.trajectories import Trajectories

CELL_M, K = 2000.0, 5
TARGETS = 1000


def two_releases(study: StudyResults) -> pd.DataFrame:
    """One row a way of naming and number of points known in each period: success in each release alone and joined, and the bound 1 / k.

    The training set of the first fold is cut at the median start of its trajectories and each half released by itself (squares of `CELL_M`
    metres, no times). Empty where nothing raw may be shown, the set has no times to cut it by, or nobody is in both halves.
    """
    return joined(study.first.fold.train) if study.may_show_raw else pd.DataFrame()


def joined(train: Trajectories) -> pd.DataFrame:
    """`two_releases` of the halves of ``train``."""
    if train.t is None or not len(train):
        return pd.DataFrame()
    start = train.t[train.starts]
    halves = [train.take(start < np.median(start)), train.take(start >= np.median(start))]
    if not len(np.intersect1d(halves[0].user, halves[1].user)):
        return pd.DataFrame()
    released = [_released(half, seed=i) for i, half in enumerate(halves)]
    rows = []
    for naming in ("fresh names", "names that persist"):
        sides = [replace(side, pseudonym=_names(side, naming, seed=i)) for i, side in enumerate(released)]
        found = linkage(*sides, seed=0, k=K, p=(1, 2, 3, 4), targets=TARGETS)
        rows += [
            {
                "names": naming, "known in each": at.p, "targets": at.targets, "first alone": at.first, "second alone": at.second,
                "joined": at.joined, "bound for one release": found.bound,
            }
            for at in found.by_p
        ]  # fmt: skip
    return pd.DataFrame(rows)


def _released(half: Trajectories, *, seed: int) -> Published:
    """One k-anonymous release, with the true names of users as its pseudonyms."""
    method = KAnonymity(KAnonymityConfig(k=K, cells_m=(CELL_M,), minutes=(None,))).fit(half, seed=seed)
    out = method.release(None, seed=seed).trajectories
    cells, bins = SquareCells(CELL_M), TimeBins(None)
    users = half.user_ids[half.user]
    raw, released = (signatures(x, cells, bins) for x in (half, out))
    return Published(raw, users, released, users[method.origin_], Origin.one_each(method.origin_))


def _names(side: Published, naming: str, *, seed: int) -> np.ndarray:
    if naming == "fresh names":
        return np.array([f"{seed}-{name}" for name in fresh(side.pseudonym, seed)])
    return persistent(side.pseudonym, "a salt that is used again")
