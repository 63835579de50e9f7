"""Where people live and work, inferred from released trajectories that stand together: by a persistent pseudonym, or because they were linked.

Home is where most of the night is spent, work where most of the working hours of weekdays are, elsewhere than at home, by the local clock
(as in Krumm 2007, doi 10.1007/978-3-540-72037-9_8). "stays": time between neighbouring fixes of one person, also from the end of a trip to the
begin of the next, that lie close together. "ends": where mornings begin and evenings end, and where weekday mornings end and afternoons
begin; no two trips need follow each other. "clock": as "ends", where the day that is printed is a public one and any day may be meant.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.spatial import cKDTree

from trajkit.attacks.anchors import Anchors, Evidence, Places, best_places
from trajkit.attacks.intervals import rate_interval
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.uniqueness import flat
from trajkit.errors import ParameterError
from trajkit.local_time import DAY_MS, local_ms
from trajkit.methods import MethodConfig
from trajkit.parameters import checked
from trajkit.trajectories import Trajectories

NAME = "home and work"
HOUR_MS = 3_600_000
NIGHT = (20 * HOUR_MS, 6 * HOUR_MS)
WORKING = (9 * HOUR_MS, 17 * HOUR_MS)


class HomeWorkSettings(MethodConfig):
    """radius_m: an inference within it is right. evidence: see the module.

    Of "stays": neighbouring fixes at most ``stay_m`` apart, at ``stay_mps`` or slower, and at most ``longest_h`` hours apart.
    join_m: side of the public squares by which places are joined, each with its neighbours.
    """

    radius_m: float = Field(200.0, gt=0, allow_inf_nan=False)
    evidence: Literal["stays", "ends", "clock"] = "stays"
    stay_m: float = Field(300.0, gt=0, allow_inf_nan=False)
    stay_mps: float = Field(0.3, gt=0, allow_inf_nan=False)
    longest_h: float = Field(20.0, gt=0, allow_inf_nan=False)
    join_m: float = Field(100.0, gt=0, allow_inf_nan=False)
    level: float = Field(0.95, gt=0, lt=1)


@dataclass(frozen=True)
class InferredAt:
    """The ``place`` "home" or "work" of ``targets`` people of the data whose place is known, of whom ``suppressed`` are not in the release and
    ``no_answer`` are but show no place: both count as failures.

    success   share inferred within the radius, with its Clopper-Pearson interval
    guess     share of the targets that the best single place names: what is achieved without the release
    median_m  median error where there is an answer; None where there is none
    """

    place: str
    targets: int
    suppressed: int
    no_answer: int
    success: float
    success_interval: tuple[float, float]
    guess: float
    median_m: float | None


@dataclass(frozen=True)
class HomeWork:
    """``groups``: how many sets of trajectories the adversary took for one person each; ``radius_m``: what counts as found."""

    by_place: tuple[InferredAt, ...]
    groups: int
    evidence: str
    radius_m: float
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each place."""
        about = {"groups": self.groups, "evidence": self.evidence, "radius_m": self.radius_m}
        return pd.DataFrame([{**flat(asdict(a)), **about} for a in self.by_place])


def home_work(
    raw: Trajectories, truth: Anchors, released: Trajectories, origin: Origin | None, *,
    group: np.ndarray | None = None, **settings: Any,
) -> HomeWork | NotPossible:  # fmt: skip
    """Infer home and work from ``released`` and compare with ``truth``; settings: `HomeWorkSettings`.

    truth   homes and works of people by the names of ``raw`` (`anchors.from_table`, or `infer` of raw data where nobody knows them); people
            without a trajectory in ``raw`` are no targets
    origin  the private map; a person is looked for in the group that holds most of his released trajectories
    group   [r] which released trajectories the adversary takes for one person's (`segment_linking.groups_of`); None: by the printed user
    `NotPossible` without origin, without times, without any home or work in ``truth``, and without names, namely where every trajectory has a user of its own and no group is given.
    Raises ParameterError for settings out of range, and an origin, groups or names that do not fit.
    """
    chosen = checked(HomeWorkSettings, settings, where="home_work")
    if origin is None:
        return NotPossible(NAME, "released trajectories were generated: they are nobody's")
    origin.check(len(released), len(raw))
    if group is not None:
        group = np.delete(_labels(np.asarray(group), len(released)), origin.made)
    released, origin = origin.of_people(released)
    if not len(released):
        return NotPossible(NAME, "nothing was released")
    if released.t is None:
        return NotPossible(NAME, "the release has no times, so night and working hours cannot be told apart")
    if group is None and len(np.unique(released.user)) == len(released):
        return NotPossible(
            NAME,
            "the release has no names: every trajectory has one of its own; give groups (segment_linking.groups_of)",
        )
    label = _labels(released.user if group is None else group, len(released))
    places = infer(released, group=label, **settings)
    truth = truth.of(raw.user_ids[np.unique(raw.user)])
    mine = _groups_of_people(raw, origin, label, truth)
    found = tuple(
        _at(place, getattr(truth, place), getattr(places, place), mine, chosen)
        for place in ("home", "work")
        if getattr(truth, place)[1].any()
    )
    if not found:
        return NotPossible(NAME, "nobody's home or work is known, so there is nothing to compare with")
    return HomeWork(found, int(label.max()) + 1, chosen.evidence, chosen.radius_m, chosen.level)


def infer(trajs: Trajectories, *, group: np.ndarray | None = None, **settings: Any) -> Anchors:
    """Homes and works by the rule of the attack, one a ``group`` [n] (None: a user, by name). Settings: `HomeWorkSettings`.

    Of raw data that is no truth, but what the same rule finds without protection. Raises ParameterError for settings and a set without times.
    """
    chosen = checked(HomeWorkSettings, settings, where="home_work")
    if trajs.t is None:
        raise ParameterError("home and work need times: the set has none")
    label = _labels(trajs.user if group is None else np.asarray(group), len(trajs))
    n = int(label.max()) + 1 if len(label) else 0
    night, working = (_stays if chosen.evidence == "stays" else _ends)(trajs, label, chosen)
    home = best_places(night, n, chosen.join_m, None, 0.0)
    work = best_places(working, n, chosen.join_m, home, chosen.radius_m)
    names = trajs.user_ids[np.unique(trajs.user)] if group is None else np.array([f"g{i}" for i in range(n)], dtype=str)
    return Anchors(names, home, work)


def _labels(names: np.ndarray, n: int) -> np.ndarray:
    if names.shape != (n,):
        raise ParameterError(f"group has shape {names.shape}, but there are {n} trajectories: give one for each")
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _groups_of_people(raw: Trajectories, origin: Origin, label: np.ndarray, truth: Anchors) -> np.ndarray:
    """int64 [p]: the group that holds most trajectories of each person of ``truth``; -1 where none was released."""
    order = np.argsort(truth.names, kind="stable")
    at = np.minimum(np.searchsorted(truth.names[order], raw.user_ids), max(len(order) - 1, 0))
    if not len(order) or not (truth.names[order[at]] == raw.user_ids)[np.unique(raw.user)].all():
        raise ParameterError("home_work: truth lacks people of raw: give homes and works under the names of raw")
    person = order[at][raw.user[origin.source]]
    pairs, count = np.unique(np.column_stack([person, label[origin.released]]), axis=0, return_counts=True)
    out = np.full(len(truth.names), -1, dtype=np.int64)
    rising = np.lexsort((-pairs[:, 1], count))
    out[pairs[rising, 0]] = pairs[rising, 1]  # the last that is written is the largest
    return out


def _at(place: str, true: Places, inferred: Places, mine: np.ndarray, chosen: HomeWorkSettings) -> InferredAt:
    (true_xy, known), (found_xy, found) = true, inferred
    who = np.flatnonzero(known)
    group = mine[who]
    answer = (group >= 0) & found[group]
    error = np.hypot(*(found_xy[group[answer]] - true_xy[who[answer]]).T)
    right = int((error <= chosen.radius_m).sum())
    near = cKDTree(true_xy[who]).query_ball_point(true_xy[who], chosen.radius_m, return_length=True)
    return InferredAt(
        place, len(who), int((group < 0).sum()), int(((group >= 0) & ~answer).sum()), right / len(who),
        rate_interval(right, len(who), chosen.level), float(near.max() / len(who)),
        float(np.median(error)) if len(error) else None,
    )  # fmt: skip


# ---- evidence ---------------------------------------------------------------------------------------------------


def _stays(trajs: Trajectories, label: np.ndarray, chosen: HomeWorkSettings) -> tuple[Evidence, Evidence]:
    """Time spent at night and in working hours between neighbouring fixes of one group, at their middle."""
    assert trajs.t is not None
    group = label[trajs.traj_of_point]
    order = np.lexsort((trajs.t, group))
    group, t, xy = group[order], trajs.t[order], trajs.xy[order]
    step = np.diff(t)
    metres = np.hypot(*np.diff(xy, axis=0).T)
    stay = (np.diff(group) == 0) & (step > 0) & (step <= chosen.longest_h * HOUR_MS) & (metres <= chosen.stay_m)
    stay &= metres * 1000 <= chosen.stay_mps * step
    at = np.flatnonzero(stay)
    since, until = (local_ms(t[i], trajs.meta.tz) for i in (at, at + 1))
    middle = (xy[at] + xy[at + 1]) / 2
    night, working = (f(until) - f(since) for f in (_night_until, _working_until))
    return Evidence(group[at], middle, night), Evidence(group[at], middle, working)


def _night_until(local: np.ndarray) -> np.ndarray:
    """ms of night on the local clock from 1970 to each time."""
    day, clock = np.divmod(local, DAY_MS)
    length = NIGHT[1] + DAY_MS - NIGHT[0]
    return day * length + np.minimum(clock, NIGHT[1]) + np.maximum(clock - NIGHT[0], 0)


def _working_until(local: np.ndarray) -> np.ndarray:
    """ms of working hours from Monday to Friday from 1970 (a Thursday) to each time."""
    day, clock = np.divmod(local, DAY_MS)
    week, weekday = np.divmod(day + 3, 7)
    length = WORKING[1] - WORKING[0]
    today = np.where(weekday < 5, np.clip(clock - WORKING[0], 0, length), 0)
    return (5 * week + np.minimum(weekday, 5)) * length + today


def _ends(trajs: Trajectories, label: np.ndarray, chosen: HomeWorkSettings) -> tuple[Evidence, Evidence]:
    """One count for each begin and end of a trajectory at the hours that speak for home or work."""
    assert trajs.t is not None
    begin, end = (local_ms(trajs.t[i], trajs.meta.tz) for i in (trajs.starts, trajs.ends))
    hour = [(x % DAY_MS) / HOUR_MS for x in (begin, end)]
    weekday = [((x // DAY_MS + 3) % 7 < 5) | (chosen.evidence == "clock") for x in (begin, end)]
    group = np.concatenate([label, label])
    xy = np.concatenate([trajs.xy[trajs.starts], trajs.xy[trajs.ends]])
    home = np.concatenate([(hour[0] >= 4) & (hour[0] < 11), (hour[1] >= 20) | (hour[1] < 4)])
    work = np.concatenate([weekday[0] & (hour[0] >= 15) & (hour[0] < 20), weekday[1] & (hour[1] >= 6) & (hour[1] < 12)])
    return Evidence(group, xy, home.astype(np.int64)), Evidence(group, xy, work.astype(np.int64))
