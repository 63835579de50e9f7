"""(k, delta)-anonymity: groups of at least k people who are within delta of each other at every time (NWA: Abul, Bonchi, Nanni 2008).

Times are aligned to a public grid, trajectories of one time span are grouped around pivots, what fits no group is left out (trash), and
the members of a group are moved together. The released file is checked before it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from trajkit.anonymize.alignment import Aligned, along_path, on_grid
from trajkit.anonymize.anonymizer import Anonymizer, AnonymizerConfig, all_of_them, persons, published
from trajkit.anonymize.clock import PublicDay, released_times
from trajkit.anonymize.discs import ROUNDING, disc_centres, extents, layout
from trajkit.anonymize.k_delta_groups import grouped
from trajkit.anonymize.k_delta_report import figures, guarantee
from trajkit.errors import PrivacyAccountingError
from trajkit.geo import unproject
from trajkit.methods import fitted_attribute
from trajkit.ragged import ragged_rows
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories, concatenate_offsets


class KDeltaConfig(AnonymizerConfig):
    """What is compared, how near is near, and what may be lost. All are public numbers.

    delta_m       largest distance of two members of a group at any time
    edit          "centre": all members are released as the centre line of their group (so alike, whatever delta is); "translate": points
                  are moved no farther than into the disc of radius delta / 2 around that line, and not at all where all are within delta
    interval_s    step of the common times; null: places are compared along the path (sets without times), ``length`` of them
    span_s        start and end are rounded inwards to a multiple of it; a multiple of interval_s
    of            "clock": time of the local day, the day is not released; "absolute": time since 1970
    day            public date on which times of the clock are released
    max_radius_m  first limit on the distance to a pivot; it grows by the factor ``growth`` until at most the
                  share ``trash`` is left over
    """

    delta_m: float = Field(500.0, ge=0, allow_inf_nan=False)
    edit: Literal["centre", "translate"] = "centre"
    interval_s: int | None = Field(60, ge=1)
    span_s: int = Field(300, ge=1)
    of: Literal["clock", "absolute"] = "clock"
    day: PublicDay = "2000-01-03"
    length: int = Field(64, ge=2)
    max_radius_m: float = Field(1000.0, gt=0, allow_inf_nan=False)
    growth: float = Field(1.5, gt=1.0, le=10.0)
    trash: float = Field(0.1, ge=0, le=1)

    @model_validator(mode="after")
    def _steps_fit(self) -> Self:
        if self.interval_s and self.span_s % self.interval_s:
            raise ValueError(f"span_s = {self.span_s} must be a multiple of interval_s = {self.interval_s}")
        return self


@dataclass(frozen=True)
class KDeltaModel:
    """What a fit leaves: the members of groups after editing (private until released), whom they count for, and the report."""

    edited: Aligned
    group: np.ndarray
    who: np.ndarray
    train: Trajectories
    report: dict[str, Any]


class KDelta(Anonymizer):
    """See the module."""

    Config = KDeltaConfig
    TEMPLATE = "method-k-delta"

    def __init__(self, config: KDeltaConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> KDelta:
        """Align, group and edit. Raises DataContractError for a bad set, ParameterError where times are asked for and there are none."""
        train = self.prepared(train)
        c = self.config
        if c.interval_s is None:
            aligned = along_path(train, c.length)
        else:
            aligned = on_grid(train, interval_s=c.interval_s, span_s=c.span_s, of=c.of)
        who = persons(train, c.count)[aligned.kept]
        groups = grouped(
            aligned, who, k=c.k, radius_m=c.max_radius_m, growth=c.growth, trash=c.trash, seed=seed
        )  # fmt: skip
        members = np.flatnonzero(groups.of >= 0)
        members = members[np.argsort(groups.of[members], kind="stable")]
        original, group = _taken(aligned, members), groups.of[members]
        edited = replace(original, xy=self._edited(original, group))
        self.model_ = KDeltaModel(
            edited, group, who[members], train, figures(c, train, aligned, groups, original, edited, group)
        )
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return the members of all groups, perhaps none. Raises PrivacyAccountingError if the file does not keep the promise."""
        model: KDeltaModel = fitted_attribute(self, "model_")
        all_of_them(n)
        c, meta, edited = self.config, model.train.meta, model.edited
        t = None if edited.t is None else released_times(edited.t, c.of, c.day, meta.tz)
        out, order = published(
            unproject(edited.xy, meta.crs), edited.offsets, t, model.group, meta=meta, seed=seed
        )  # fmt: skip
        # one and the same line is promised of the centre: nothing apart at all
        found = verify(out, model.who[order], k=c.k, delta=0.0 if c.edit == "centre" else c.delta_m)
        self.origin_ = self.source_[model.edited.kept[order]]
        hidden = {**model.report[HIDDEN], "preparation": self.steps_}
        return Release(out, guarantee(c), {**model.report, **found, HIDDEN: hidden})

    def _edited(self, members: Aligned, group: np.ndarray) -> np.ndarray:
        """float64 [M, 2]: where the members of each group (sorted by it) are moved."""
        at, times, cuts = layout(members.offsets, group)
        centres = disc_centres(members.xy, at, times, cuts)
        rows = concatenate_offsets(times)[:-1][group]
        within = np.arange(len(members.xy)) - np.repeat(members.offsets[:-1], np.diff(members.offsets))
        row = np.repeat(rows, np.diff(members.offsets)) + within
        if self.config.edit == "centre":
            return centres[row]
        limit = self.config.delta_m * (1 - 1e-6)  # so that projecting there and back cannot carry a pair past delta
        away = members.xy - centres[row]
        share = np.minimum(1.0, limit / 2 / np.maximum(np.hypot(*away.T), 1e-12))
        share[_pairwise(members, at, times, cuts, limit)[row]] = 1.0
        return centres[row] + away * share[:, None]


def _pairwise(members: Aligned, at: np.ndarray, times: np.ndarray, cuts: np.ndarray, limit: float) -> np.ndarray:
    """bool [sum of times]: whether all members of the group are within ``limit`` of each other at that time already."""
    step = np.arange(times.sum()) - np.repeat(concatenate_offsets(times)[:-1], times)
    sizes = np.repeat(np.diff(cuts), times)
    first = np.repeat(cuts[:-1], times)
    member = np.repeat(first - concatenate_offsets(sizes)[:-1], sizes) + np.arange(sizes.sum())
    apart, _ = extents(
        members.xy, at[member] + np.repeat(step, sizes), np.ones(len(step), dtype=np.int64), concatenate_offsets(sizes)
    )
    return apart <= limit


def _taken(aligned: Aligned, index: np.ndarray) -> Aligned:
    """The aligned trajectories at ``index``, in that order."""
    points, offsets = ragged_rows(aligned.offsets, index)
    t = None if aligned.t is None else aligned.t[points]
    return Aligned(aligned.xy[points], offsets, t, aligned.kept[index], aligned.span[index])


def verify(out: Trajectories, who: np.ndarray, *, k: int, delta: float) -> dict[str, Any]:
    """Recount groups, people, times and distances from the released file, joined to the private list ``who`` [n] each one counts for.

    Returns the figures found. Raises PrivacyAccountingError where a group has fewer than k people, different times, or a pair beyond delta.
    """
    names = np.array([name.partition("-")[0] for name in out.traj_ids.astype(str)], dtype=str)
    _, first, group = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(group, kind="stable")
    one, group = out.take(order), group[order]
    pairs = np.unique(np.column_stack([group, who[order]]), axis=0)
    people = np.bincount(pairs[:, 0].astype(np.int64), minlength=len(first))
    at, times, cuts = layout(one.offsets, group)
    problems = []
    if (people < k).any():
        problems.append(f"{(people < k).sum()} groups hold fewer than {k} distinct members")
    if (one.lengths != times[group]).any():
        problems.append("members of a group have different numbers of points")
    elif one.t is not None and len(one):
        leader = np.repeat(at[cuts[:-1]][group], one.lengths)
        within = np.arange(one.n_points) - np.repeat(one.starts, one.lengths)
        if (one.t != one.t[leader + within]).any():
            problems.append("members of a group have different times")
    apart, radius = (np.zeros(0), np.zeros(0)) if problems else extents(one.xy, at, times, cuts)
    if (apart > delta * (1 + ROUNDING)).any():
        problems.append(f"{(apart > delta).sum()} groups hold a pair farther apart than delta = {delta} m")
    if problems:
        raise PrivacyAccountingError(
            "the (k, delta) release does not keep its promise, nothing leaves: " + "; ".join(problems)
        )
    return {
        "groups": len(first),
        "trajectories": len(out),
        "largest distance of two members at one time, released, m": float(apart.max(initial=0.0)),
        "largest radius of the smallest disc around a group, released, m": float(radius.max(initial=0.0)),
    }
