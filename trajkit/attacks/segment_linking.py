"""Linking released parts of one person: where one part ends and another begins soon after and not far away, they may be one trip.

Parts are published apart so that each is like those of k people, and their names are drawn afresh. The adversary joins ends to beginnings,
nearest first, each end to one beginning; or, where cells and time bins were released, those that share one. What two releases of the same
people give away together is measured by `attacks.linkage`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numba import njit
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trajkit import seeds
from trajkit.attacks.intervals import share_interval
from trajkit.attacks.nearest_neighbour import effective
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.uniqueness import flat
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.parameters import checked
from trajkit.trajectories import Trajectories

NAME = "segment linking"
NO_TIMES = "segment linking needs times, and the release has none: set space_only to true"
EQUAL_M = 1e-6  # what lies so near together is joined in random order
MOST_PAIRS, MOST_LOOKED_AT = 50_000_000, 2_000_000_000


class TooManyPairsError(ParameterError):
    """Parts lie so near each other that nearly every one may go on as nearly every other."""


class LinkingSettings(MethodConfig):
    """Which ends and beginnings may belong together; all are public numbers.

    gap_s       longest time from an end to a beginning; ``overlap_s``: how much earlier than the end a beginning may lie (time bins)
    near_m      farthest that they lie apart at the same moment; ``speed_mps`` adds so much for each second between them
    wait_mps    how a second between them weighs against a metre when the nearest pairs are joined first: 1 for parts of one trip, little for trips
                that begin where the last one ended
    space_only  times are not used: any end and any beginning within ``near_m``
    """

    gap_s: float = Field(1800.0, ge=0, allow_inf_nan=False)
    overlap_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    near_m: float = Field(300.0, gt=0, allow_inf_nan=False)
    speed_mps: float = Field(0.0, ge=0, allow_inf_nan=False)
    wait_mps: float = Field(1.0, ge=0, allow_inf_nan=False)
    space_only: bool = False
    level: float = Field(0.95, gt=0, lt=1)


class Links(NamedTuple):
    """Part ``first`` [l] is taken to go on as part ``second`` [l]; indices of released trajectories, each at most once on a side."""

    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class SegmentLinking:
    """Links made among ``parts`` released trajectories; ``suppressed``: raw trajectories of which no part was released.

    linkable   parts after which another part of the same person begins in the time that is looked at (whatever the place)
    links      made; ``correct``: of one person, of which ``same_trip`` join parts of one raw trajectory
    precision  correct / links, None where none was made; ``recall``: correct links out of the linkable parts / linkable
    guess      what precision and recall are where the next part is drawn at random from those that begin in that time, averaged over
               all parts after which any begins, and over the linkable ones
    by_name    share of the linkable parts that such a part shares the printed user with: linked without any attack
    chain      mean number of parts of a person that stand together once links are followed, over people with two parts or more
    intervals are for the draw of people (`nearest_neighbour.effective`)
    """

    parts: int
    people: int
    suppressed: int
    linkable: int
    links: int
    correct: int
    same_trip: int
    precision: float | None
    precision_interval: tuple[float, float] | None
    guess_precision: float
    recall: float
    recall_interval: tuple[float, float]
    guess_recall: float
    by_name: float
    chain: float
    space_only: bool
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row; intervals in columns of their own."""
        return pd.DataFrame([flat(asdict(self))])


def segment_linking(
    raw: Trajectories, released: Trajectories, origin: Origin | None, *, seed: int, links: Links | None = None, **settings: Any
) -> SegmentLinking | NotPossible:  # fmt: skip
    """Link the parts of ``released`` and count by the private map ``origin`` who they are of; settings: `LinkingSettings`.

    links   what `link_parts` made of ``released`` with these settings, where that is known already (no part of it may be a made one)
    `NotPossible` for generated trajectories (no origin), a release without times (unless ``space_only``), and where nobody has two parts.
    Raises ParameterError for settings out of range, an origin that does not fit or has several sources for one part.
    """
    chosen = checked(LinkingSettings, settings, where=NAME.replace(" ", "_"))
    if origin is None:
        return NotPossible(NAME, "released trajectories were generated: no two of them are of one person")
    released, origin = origin.check(len(released), len(raw)).of_people(released)
    if len(origin.released) != len(released):
        raise ParameterError("segment_linking: origin gives several sources for one released trajectory: give one each")
    if released.t is None and not chosen.space_only:
        return NotPossible(NAME, "the release has no times: set space_only to link by places alone")
    if not len(released):
        return NotPossible(NAME, "nothing was released")
    trip = np.empty(len(released), dtype=np.int64)
    trip[origin.released] = origin.source
    person = raw.user[trip]
    order, low, high = _windows(released, chosen)
    same, others = _same_person(order, low, high, person)
    linkable = same > 0
    if not linkable.any():
        return NotPossible(NAME, "nobody has two released parts that follow each other in the time that is looked at")
    made = link_parts(released, seed=seed, **settings) if links is None else links
    correct = person[made.first] == person[made.second]
    hit = np.zeros(len(released), dtype=bool)
    hit[made.first[correct]] = True
    shares = same[others > 0] / others[others > 0]
    return SegmentLinking(
        parts=len(released), people=len(np.unique(person)), suppressed=len(raw) - len(np.unique(origin.source)),
        linkable=int(linkable.sum()), links=len(correct), correct=int(correct.sum()),
        same_trip=int((trip[made.first] == trip[made.second]).sum()),
        precision=float(correct.mean()) if len(correct) else None,
        precision_interval=share_interval(correct, effective(person[made.first]), chosen.level) if len(correct) else None,
        guess_precision=float(shares.mean()),
        recall=float(hit[linkable].mean()),
        recall_interval=share_interval(hit[linkable], effective(person[linkable]), chosen.level),
        guess_recall=float((same[linkable] / others[linkable]).mean()),
        by_name=float(_by_name(order, low, high, person, released.user)[linkable].mean()),
        chain=_chain(groups_of(made, len(released)), person),
        space_only=chosen.space_only, level=chosen.level,
    )  # fmt: skip


def link_parts(released: Trajectories, *, seed: int, **settings: Any) -> Links:
    """Join ends to beginnings, those with least distance (and time) between them first; equals in random order. Settings: `LinkingSettings`.

    Raises ParameterError for settings out of range, a release without times unless ``space_only``, or too many pairs to look at.
    """
    chosen = checked(LinkingSettings, settings, where="link_parts")
    ends, begins = released.xy[released.ends], released.xy[released.starts]
    window = (-np.inf, np.inf) if chosen.space_only else (-1000 * chosen.overlap_s, 1000 * chosen.gap_s)
    if not chosen.space_only and released.t is None:
        raise ParameterError(NO_TIMES)
    t = np.zeros(released.n_points, dtype=np.int64) if released.t is None or chosen.space_only else released.t
    farthest = 0.0 if chosen.space_only else max(chosen.gap_s, chosen.overlap_s)
    about = (
        *_near(ends, begins, chosen.near_m + chosen.speed_mps * farthest), ends, begins, t[released.ends], t[released.starts], *window,
        chosen.near_m, chosen.speed_mps, chosen.wait_mps,
    )  # fmt: skip
    none = np.zeros(0, dtype=np.int64)
    count = _pairs(*about, none, none, np.zeros(0))
    if count > MOST_PAIRS:
        raise TooManyPairsError(f"segment linking: {count:,} pairs of parts may be linked: shorten gap_s or near_m")
    first, second, apart = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64), np.empty(count)
    _pairs(*about, first, second, apart)
    rank = np.argsort(apart + EQUAL_M * seeds.rng(seed, "attack", NAME, "equals").random(count))
    taken = _greedy(first[rank], second[rank], len(released))
    return Links(first[rank][taken], second[rank][taken])


def groups_of(links: Links, n: int) -> np.ndarray:
    """int64 [n]: the same number for parts that links join, directly or through others; for `home_work`."""
    joined = coo_array((np.ones(len(links.first)), (links.first, links.second)), shape=(n, n))
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def _windows(released: Trajectories, chosen: LinkingSettings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parts in order of the times of their beginnings, and which of these may follow each part: ``low`` to ``high`` - 1; all without time."""
    if chosen.space_only:
        n = len(released)
        return np.arange(n), np.zeros(n, dtype=np.int64), np.full(n, n, dtype=np.int64)
    if released.t is None:
        raise ParameterError(NO_TIMES)
    begin, end = released.t[released.starts], released.t[released.ends]
    order = np.argsort(begin, kind="stable")
    low = np.searchsorted(begin[order], end - int(chosen.overlap_s * 1000), side="left")
    high = np.searchsorted(begin[order], end + int(chosen.gap_s * 1000), side="right")
    if (pairs := int((high - low).sum())) > MOST_LOOKED_AT:
        raise TooManyPairsError(
            f"segment linking: {pairs:,} pairs of parts lie within gap_s of each other: shorten gap_s"
        )
    return order, low, high


def _near(ends: np.ndarray, begins: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Beginnings in order of their square, and, [n, 3], the ranges of them in the columns of squares about each end: all within reach are there."""
    side = within * (1 + 1e-6)  # what lies exactly within reach is not lost to rounding
    corner = np.minimum(ends.min(axis=0), begins.min(axis=0)) - side
    a, b = (np.floor((xy - corner) / side).astype(np.int64) for xy in (ends, begins))
    rows = max(int(a[:, 1].max()), int(b[:, 1].max())) + 2
    key = b[:, 0] * rows + b[:, 1]
    order = np.argsort(key, kind="stable")
    column = (a[:, :1] + np.array([-1, 0, 1])) * rows + a[:, 1:]
    low, high = (np.searchsorted(key[order], column + d, side) for d, side in ((-1, "left"), (1, "right")))  # type: ignore[call-overload]
    return order, low, high


def _chain(group: np.ndarray, person: np.ndarray) -> float:
    """Mean over people with two parts or more of the most parts of theirs that are in one group."""
    pairs, count = np.unique(np.column_stack([person, group]), axis=0, return_counts=True)
    most, parts = np.zeros(int(person.max()) + 1, dtype=np.int64), np.bincount(person)
    np.maximum.at(most, pairs[:, 0], count)
    return float(most[parts > 1].mean()) if (parts > 1).any() else 1.0


# ---- kernels ----------------------------------------------------------------------------------------------------


@njit(cache=True)
def _pairs(
    order, low, high, ends, begins, end_t, begin_t, earliest, latest, near, speed, weight, first, second, apart
):  # pragma: no cover - compiled
    """Count the pairs near enough, and write them where there is room."""
    n = 0
    for i in range(len(ends)):
        for column in range(3):
            for k in range(low[i, column], high[i, column]):
                j = order[k]
                later = begin_t[j] - end_t[i]
                if j == i or later < earliest or later > latest:
                    continue
                wait = abs(later) / 1000.0
                d = np.hypot(begins[j, 0] - ends[i, 0], begins[j, 1] - ends[i, 1])
                if d <= near + speed * wait:
                    if n < len(first):
                        first[n], second[n], apart[n] = i, j, d + weight * wait
                    n += 1
    return n


@njit(cache=True)
def _greedy(first, second, n):  # pragma: no cover - compiled
    """bool: which pairs are taken, in order, each part at most once on a side, and no part twice in a circle of two."""
    ends, begins = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    before = np.full(n, -1, dtype=np.int64)
    out = np.zeros(len(first), dtype=np.bool_)
    for p in range(len(first)):
        i, j = first[p], second[p]
        if not ends[i] and not begins[j] and before[i] != j:
            ends[i] = begins[j] = out[p] = True
            before[j] = i
    return out


@njit(cache=True)
def _same_person(order, low, high, person):  # pragma: no cover - compiled
    """Of each part, how many of the parts in its window are of the same person, and how many there are, itself left out."""
    same, others = np.zeros(len(low), dtype=np.int64), np.zeros(len(low), dtype=np.int64)
    for i in range(len(low)):
        for k in range(low[i], high[i]):
            j = order[k]
            if j != i:
                others[i] += 1
                same[i] += person[j] == person[i]
    return same, others


@njit(cache=True)
def _by_name(order, low, high, person, name):  # pragma: no cover - compiled
    """bool: some part in the window is of the same person and has the same printed name."""
    out = np.zeros(len(low), dtype=np.bool_)
    for i in range(len(low)):
        for k in range(low[i], high[i]):
            j = order[k]
            if j != i and person[j] == person[i] and name[j] == name[i]:
                out[i] = True
                break
    return out
