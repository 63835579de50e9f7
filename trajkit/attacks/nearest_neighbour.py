"""Linkage by nearest neighbour, for releases of any kind: the adversary takes the released path nearest to the points he knows.

`nearest_linkage` needs the private map from released to raw trajectories. Synthetic releases have none: there `nearest_advantage`
compares people who were in the training set with people held out, by the same procedure. If members are no nearer to the release than the
others are, the release gives away nothing that this adversary can see; a stronger one may see more (membership attacks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.stats import rankdata

from trajkit import seeds
from trajkit.attacks.intervals import mean_interval, rate_interval, set_quantiles
from trajkit.attacks.known_points import KnownPoints, draw_targets
from trajkit.attacks.origin import Origin
from trajkit.attacks.path_distance import Rule, nearest_paths, paths_of
from trajkit.attacks.uniqueness import table
from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.trajectories import Trajectories


class NearestSettings(KnownPoints):
    """As `KnownPoints`, drawn only, and: ``distance`` of a path, the largest over the known points or their mean, in metres.

    space_only: times are dropped on both sides. speed_mps: what a second before the first or after the last released fix adds, in metres.
    radius_m: a hit is a nearest path at most so far (`nearest_advantage`).
    """

    targets: int | None = Field(1000, ge=1)
    exact: Literal[False] = False
    distance: Literal["max", "mean"] = "max"
    space_only: bool = False
    speed_mps: float = Field(10.0, gt=0)
    radius_m: float = Field(200.0, gt=0)


@dataclass(frozen=True)
class LinkedAt:
    """Linkage with ``p`` known points of ``targets`` targets, ``suppressed`` of whom are not in the release; ``too_few``: in no figure.

    success  mean probability to name the target: 1 / distinct persons behind the nearest paths if the target's own path is among them, 0 if
             not; with an interval at ``level``, for the draw of targets and points. ``equally_near``: quantiles 5 … 95 % of nearest paths
    median_m median distance to the nearest path
    """

    p: int
    targets: int
    too_few: int
    suppressed: int
    success: float
    success_interval: tuple[float, float]
    median_m: float
    equally_near: tuple[float, ...]


@dataclass(frozen=True)
class NearestLinkage:
    """``baseline``: 1 / persons in the release, a guess without knowledge; ``bound``: 1 / k where the release claims k, else None."""

    by_p: tuple[LinkedAt, ...]
    no_target: tuple[int, ...]
    target: str
    baseline: float
    bound: float | None
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each p."""
        return table(self.by_p, self.baseline, self.bound)


@dataclass(frozen=True)
class AdvantageAt:
    """Members against people held out, with ``p`` known points.

    auc        probability that a member's nearest released path is nearer than that of a person held out (ties count half), interval
               by Hoeffding's bound; ``advantage`` = auc - 1/2: 0 is what a guess achieves
    hits       share with a released path within ``radius_m``, Clopper-Pearson; members above others is what counts
    intervals are for the draw of people: targets of one person go together, see `effective`
    """

    p: int
    members: int
    others: int
    too_few: int
    auc: float
    auc_interval: tuple[float, float]
    advantage: float
    member_hits: float
    member_hits_interval: tuple[float, float]
    other_hits: float
    other_hits_interval: tuple[float, float]
    member_median_m: float
    other_median_m: float


@dataclass(frozen=True)
class NearestAdvantage:
    """``baseline`` of the AUC is 1/2."""

    by_p: tuple[AdvantageAt, ...]
    no_target: tuple[int, ...]
    target: str
    radius_m: float
    level: float
    baseline: float = 0.5

    def to_frame(self) -> pd.DataFrame:
        """One row for each p."""
        return table(self.by_p, self.baseline)


def nearest_linkage(
    raw: Trajectories, released: Trajectories, origin: Origin, *, seed: int, known: Trajectories | None = None,
    k: int | None = None, **settings: Any,
) -> NearestLinkage:  # fmt: skip
    """Link raw targets to released trajectories. ``known``: the points as believed (`knowledge.believed`); settings: `NearestSettings`.

    Raises ParameterError for settings out of range, an origin that does not fit, an empty release, or times on one side only.
    """
    chosen = checked(NearestSettings, settings, where="nearest_linkage")
    released, origin = origin.check(len(released), len(raw)).of_people(released)
    person = raw.user if chosen.target == "user" else np.arange(len(raw))
    names, label = np.unique(person, return_inverse=True)
    held = _Held.draw(raw, known or raw, label, len(names), chosen, seed, "nearest")
    pairs = np.unique(np.column_stack([label[origin.source], origin.released]), axis=0)
    who = np.unique(np.column_stack([origin.released, raw.user[origin.source]]), axis=0)
    behind = np.searchsorted(who[:, 0], np.arange(len(released) + 1)), who[:, 1].copy()
    found, missing = [], []
    for p in chosen.p:
        rows = np.flatnonzero(held.size >= p)
        if not len(rows):
            missing.append(p)
            continue
        mine = pairs[np.isin(pairs[:, 0], held.targets[rows])]
        starts = np.searchsorted(mine[:, 0], np.append(held.targets[rows], len(names)))
        best, ties, success = held.nearest(released, rows, p, chosen, (starts, mine[:, 1].copy(), *behind))
        mean = float(success.mean())
        found.append(
            LinkedAt(
                p, len(rows), len(held.size) - len(rows), int((np.diff(starts) == 0).sum()), mean,
                mean_interval(mean, len(rows), chosen.level), float(np.median(best)), set_quantiles(np.bincount(ties)),
            )
        )  # fmt: skip
    bound = None if k is None else 1 / k
    return NearestLinkage(
        tuple(found), tuple(missing), chosen.target, 1 / len(np.unique(who[:, 1])), bound, chosen.level
    )


def nearest_advantage(
    members: Trajectories, others: Trajectories, released: Trajectories, *, seed: int, **settings: Any
) -> NearestAdvantage:
    """Compare raw people whose data the release was made from with people held out. Settings: `NearestSettings`.

    Raises ParameterError for settings out of range, an empty set, a person on both sides, or times on one side only.
    """
    chosen = checked(NearestSettings, settings, where="nearest_advantage")
    both = np.intersect1d(members.user_ids[np.unique(members.user)], others.user_ids[np.unique(others.user)])
    if len(both):
        raise ParameterError(
            f"{len(both)} people are both members and held out (the first is {both[0]}): split by user (trajkit.split)"
        )
    sides = []
    for name, trajs in (("members", members), ("others", others)):
        person = trajs.user if chosen.target == "user" else np.arange(len(trajs))
        names, label = np.unique(person, return_inverse=True)
        sides.append(_Held.draw(trajs, trajs, label, len(names), chosen, seed, name))
    found, missing = [], []
    for p in chosen.p:
        rows = [np.flatnonzero(side.size >= p) for side in sides]
        if not all(map(len, rows)):
            missing.append(p)
            continue
        distances = [side.nearest(released, r, p, chosen, None)[0] for side, r in zip(sides, rows, strict=True)]
        found.append(
            _compared(
                p,
                *distances,
                independent=[effective(side.person[r]) for side, r in zip(sides, rows, strict=True)],
                too_few=sum(len(s.size) - len(r) for s, r in zip(sides, rows, strict=True)),
                settings=chosen,
            )
        )
    return NearestAdvantage(tuple(found), tuple(missing), chosen.target, chosen.radius_m, chosen.level)


def effective(person: np.ndarray) -> int:
    """How many independent targets those of ``person`` [n] are worth: n^2 / sum of squares of targets per person (Kish 1965), rounded down.

    Trips of one person are alike, and all of them are on one side of the split, so they say once what they say.
    """
    count = np.unique(person, return_counts=True)[1]
    return int(len(person) ** 2 // (count**2).sum())


def _compared(
    p: int, a: np.ndarray, b: np.ndarray, *, independent: list[int], too_few: int, settings: NearestSettings
) -> AdvantageAt:
    rank = rankdata(-np.concatenate([a, b]))[: len(a)].sum()
    auc = float((rank - len(a) * (len(a) + 1) / 2) / (len(a) * len(b)))
    hits = [int((d <= settings.radius_m).sum()) for d in (a, b)]
    intervals = [
        rate_interval(round(h * n / len(d)), n, settings.level)
        for h, n, d in zip(hits, independent, (a, b), strict=True)
    ]
    return AdvantageAt(
        p, len(a), len(b), too_few, auc, mean_interval(auc, min(independent), settings.level), auc - 0.5,
        hits[0] / len(a), intervals[0], hits[1] / len(b), intervals[1], float(np.median(a)), float(np.median(b)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Held:
    """Points known of the drawn ``targets`` [n], each of a ``person`` [n]: ``xy`` [n, most, 2], ``t`` [n, most] (zeros without time), of which
    ``size`` [n] exist."""

    targets: np.ndarray
    person: np.ndarray
    xy: np.ndarray
    t: np.ndarray
    size: np.ndarray
    timed: bool

    @classmethod
    def draw(
        cls, raw: Trajectories, known: Trajectories, label: np.ndarray, n: int, settings: NearestSettings, seed: int, stream: str
    ) -> _Held:  # fmt: skip
        """Draw targets, and of each the points in random order; a fix counts once, so points are distinct fixes of the record."""
        if not np.array_equal(raw.offsets, known.offsets):
            raise ParameterError("known must hold the same trajectories point by point as raw: make it with `believed`")
        targets, most = draw_targets(n, settings, seed, stream), settings.p[-1]
        owner = label[raw.traj_of_point]
        points = np.flatnonzero(np.isin(owner, targets))
        keys = seeds.rng(seed, "attack", stream, "points").random(len(points))
        points = points[np.lexsort([keys, owner[points]])]
        starts = np.searchsorted(owner[points], np.append(targets, n))
        size = np.diff(starts)
        at = points[np.minimum(starts[:-1, None] + np.arange(most), len(points) - 1)]
        t = np.zeros(at.shape, dtype=np.int64) if known.t is None else known.t[at]
        person = np.empty(n, dtype=np.int64)
        person[label] = raw.user
        return cls(targets, person[targets], known.xy[at], t, size, known.t is not None)

    def nearest(
        self, released: Trajectories, rows: np.ndarray, p: int, settings: NearestSettings, own: tuple[np.ndarray, ...] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """(distance, number of equally near paths, chance to name the target) of the targets ``rows``."""
        if not len(released):
            raise ParameterError("the release is empty, so nothing in it can be nearest: there is nothing to link")
        timed = not settings.space_only
        if timed and not (self.timed and released.t is not None):
            raise ParameterError("linkage at times needs times on both sides: set space_only to true")
        if timed and self.t.size and (self.t.max() < released.t.min() or self.t.min() > released.t.max()):  # type: ignore[union-attr]
            raise ParameterError(
                "the known points and the release share no moment, so times would decide everything: a release on a public day needs raw times "
                "on the same clock (anonymize.clock.compared_times of both), or set space_only to true"
            )
        rule = Rule(settings.distance == "max", timed, settings.speed_mps)
        none = np.zeros(0, dtype=np.int64)
        nobody = (np.zeros(len(rows) + 1, dtype=np.int64), none, np.zeros(len(released) + 1, dtype=np.int64), none)
        known, when = np.ascontiguousarray(self.xy[rows, :p]), np.ascontiguousarray(self.t[rows, :p])
        return nearest_paths(known, when, paths_of(released, timed=timed), rule, *(own or nobody))
