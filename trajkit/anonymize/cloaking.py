"""Spatio-temporal cloaking: each place becomes a public cell and each time a public bin that really hold k people (Gruteser, Grunwald 2003).

A radius from the density sets how fine a cell is tried first; who was there is then counted, and the cell enlarged until it holds k,
or the point is left out. The released place is the centre of the cell: a disc around the true place would give it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from trajkit import seeds
from trajkit.anonymize.anonymizer import Anonymizer, AnonymizerConfig, all_of_them, persons, published
from trajkit.anonymize.cloak_radius import radius_expected, radius_sure
from trajkit.anonymize.cloak_regions import (
    MINUTE_MS,
    UNSETTLED,
    Cloaks,
    Rung,
    discs_hold,
    people_in,
    recount,
    settled,
    spread_times,
)  # fmt: skip
from trajkit.anonymize.cloaking_report import figures, guarantee, sizes
from trajkit.anonymize.clock import PublicDay, compared_times, released_times
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import divides_a_day
from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.geo import unproject
from trajkit.methods import fitted_attribute
from trajkit.ragged import ragged_rows
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories, concatenate_offsets

LOOKED_AT = 20_000  # points whose discs are looked at for the report
DAY = 1440


class CloakingConfig(AnonymizerConfig):
    """Sizes of regions and how they are chosen. All are public numbers.

    space         true: cells are enlarged; false: temporal cloaking alone, cells stay ``finest_m`` wide and time bins are enlarged
    minutes       time bins (a divisor of a day), the finest where space is false; null: time is not released
    of            "clock": time of the local day, the day is not released; "absolute": time since 1970
    day           public date on which times of the clock are released
    finest_m      side of the finest cells; each rung of the ladder is twice as wide
    max_radius_m  cells wider than twice this are not released, the point is left out
    start         the cell tried first: "density", wide enough for the radius that `radius_sure` asks for at the density of its window;
                  "finest", which comes out smaller where people move about, as each counts in every cell on the way
    window_m      side of the cells in which density is counted
    confidence    with which the radius from the density is to hold k people
    reciprocal    whether people count for a region only if it is released for them too; false: all who were there count
    """

    space: bool = True
    minutes: int | None = Field(60, ge=1, le=DAY)
    of: Literal["clock", "absolute"] = "clock"
    day: PublicDay = "2000-01-03"
    finest_m: float = Field(125.0, gt=0, allow_inf_nan=False)
    max_radius_m: float = Field(4000.0, gt=0, allow_inf_nan=False)
    start: Literal["density", "finest"] = "density"
    window_m: float = Field(2000.0, gt=0, allow_inf_nan=False)
    confidence: float = Field(0.95, gt=0, lt=1)
    reciprocal: bool = True

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.minutes is not None and not divides_a_day(self.minutes):
            raise ValueError(
                f"time bins of {self.minutes} min do not divide a day: use 15, 30, 60, 120 …, 1440, or null"
            )
        if not self.space and self.minutes is None:
            raise ValueError("temporal cloaking alone (space: false) needs time bins: set minutes")
        if self.finest_m > 2 * self.max_radius_m:
            raise ValueError(f"finest_m = {self.finest_m} is wider than twice max_radius_m = {self.max_radius_m}")
        return self

    def ladder(self) -> list[Rung]:
        """Regions from the finest to the widest, each made of whole ones of the rung before."""
        if not self.space:
            steps = [self.minutes or DAY]
            while steps[-1] < DAY:
                steps.append(next(m for m in range(2 * steps[-1], DAY + 1, steps[-1]) if DAY % m == 0))
            return [Rung(self.finest_m, m) for m in steps]
        count = int(np.floor(np.log2(2 * self.max_radius_m / self.finest_m) + 1e-9)) + 1
        return [Rung(self.finest_m * 2**i, self.minutes) for i in range(count)]


@dataclass(frozen=True)
class CloakingModel:
    """What a fit leaves (private until released): raw places and times on the compared time line, who, and the region of each point."""

    train: Trajectories
    times: np.ndarray | None
    who: np.ndarray
    cloaks: Cloaks
    report: dict[str, Any]


class Cloaking(Anonymizer):
    """See the module."""

    Config = CloakingConfig
    TEMPLATE = "method-cloaking"

    def __init__(self, config: CloakingConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> Cloaking:
        """Find a region for each point. Raises DataContractError for a bad set, ParameterError where times are asked for and there are none."""
        train = self.prepared(train)
        c = self.config
        if c.minutes is not None and train.t is None:
            raise ParameterError("time bins need times, and this data set has none: set minutes to null")
        times = None if c.minutes is None else compared_times(train, c.of)
        who = persons(train, c.count)[train.traj_of_point]
        guide, sure = self._radii(train.xy, times, who)
        ladder = c.ladder()
        start = np.zeros(len(who), dtype=np.int64)
        if c.space and c.start == "density":
            sides = np.array([rung.side_m for rung in ladder])
            start = np.minimum(np.searchsorted(sides, 2 * sure), len(ladder) - 1)
        cloaks = settled(ladder, train.xy, times, who, start, k=c.k, reciprocal=c.reciprocal)
        held = self._held(train.xy, times, who, (start, cloaks.rung), {"expected": guide, "sure": sure}, seed)
        self.model_ = CloakingModel(train, times, who, cloaks, figures(train, cloaks, ladder, held, c.k))
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return every trajectory that has a point left; ``rungs_`` int64 [N] is then the size of each point's region, by the ladder. Raises PrivacyAccountingError if the file does not keep the promise."""
        model: CloakingModel = fitted_attribute(self, "model_")
        all_of_them(n)
        c, meta, ladder = self.config, model.train.meta, self.config.ladder()
        kept, traj = merged(model.cloaks, model.train.traj_of_point)
        alive, lengths = np.unique(traj, return_counts=True)
        offsets = concatenate_offsets(lengths)
        rung, cell, bins = (a[kept] for a in (model.cloaks.rung, model.cloaks.cell, model.cloaks.bin))
        t = None
        if c.minutes is not None:
            width = np.array([r.minutes or 0 for r in ladder], dtype=np.int64)[rung] * MINUTE_MS
            t = released_times(spread_times(bins * width, (bins + 1) * width, offsets), c.of, c.day, meta.tz)
        lonlat = unproject(centres(ladder, rung, cell), meta.crs)
        out, order = published(lonlat, offsets, t, np.arange(len(alive)), meta=meta, seed=seed)
        points, _ = ragged_rows(offsets, order)
        emitted = Cloaks(rung[points], cell[points], bins[points])
        verify(out, emitted, model.who[kept][points], model, c)
        self.origin_, self.rungs_ = self.source_[alive[order]], emitted.rung
        hidden = {**model.report[HIDDEN], "preparation": self.steps_}
        return Release(out, guarantee(c), {**model.report, **sizes(ladder, emitted), HIDDEN: hidden})

    def _radii(self, xy: np.ndarray, times: np.ndarray | None, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Radius of each point by the density of people in its window: expected to hold k, and surely."""
        c = self.config
        cell, bins = Rung(c.window_m, c.minutes).regions(xy, times)
        density = people_in(cell, bins, who) / c.window_m**2
        return radius_expected(c.k, density), radius_sure(c.k, density, c.confidence)

    def _held(
        self, xy: np.ndarray, times: np.ndarray | None, who: np.ndarray,
        rungs: tuple[np.ndarray, np.ndarray], radii: dict[str, np.ndarray], seed: int,
    ) -> dict[str, float]:  # fmt: skip
        """Share of points with k people in the disc of each radius (of at most `LOOKED_AT` points), and in the first and the last region."""
        c, ladder, (start, final) = self.config, self.config.ladder(), rungs
        if not len(xy):
            return {}
        asked = np.arange(len(xy))
        if len(asked) > LOOKED_AT:
            asked = seeds.rng(seed, "sampling", "discs").choice(len(xy), LOOKED_AT, replace=False)
        bins = ladder[0].regions(xy, times)[1]
        discs = {
            f"disc of the {what} radius": float(discs_hold(xy, bins, who, asked, r[asked], c.k).mean())
            for what, r in radii.items()
        }
        first, last = np.zeros(len(xy), dtype=bool), np.zeros(len(xy), dtype=bool)
        for level, rung in enumerate(ladder):
            cell, bins = rung.regions(xy, times)
            enough = people_in(cell, bins, who) >= c.k
            first[start == level] = enough[start == level]
            last[final == level] = enough[final == level]
        after = (
            {"region released (of the points released)": float(last[final != UNSETTLED].mean())} if last.any() else {}
        )
        return {**discs, "region tried first": float(first.mean()), **after}


def merged(cloaks: Cloaks, traj_of_point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices of the points to release, their trajectory): no suppressed ones, and one for those that follow in the same region."""
    kept = np.flatnonzero(cloaks.rung != UNSETTLED)
    label = np.column_stack([traj_of_point, cloaks.rung, cloaks.cell, cloaks.bin])[kept]
    new = np.append(True, (label[1:] != label[:-1]).any(axis=1))[: len(kept)]
    return kept[new], traj_of_point[kept[new]]


def centres(ladder: list[Rung], rung: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """float64 [m, 2]: centre in metres of each region's cell."""
    out = np.empty((len(cell), 2))
    for level in np.unique(rung):
        out[rung == level] = SquareCells(ladder[level].side_m).centres(cell[rung == level])
    return out


def verify(out: Trajectories, emitted: Cloaks, who: np.ndarray, model: CloakingModel, c: CloakingConfig) -> None:
    """Recount from the released file that every place is the centre of its region, every time in its bin, and every region holds k people.

    Who was in a region is asked by its bounds, not by the label under which it was found. ``emitted`` and ``who`` are by point of
    ``out``. Raises PrivacyAccountingError, naming what is broken.
    """
    ladder, meta, problems = c.ladder(), model.train.meta, []
    middle = centres(ladder, emitted.rung, emitted.cell)
    if not np.array_equal(out.lonlat, meta.box.clip(unproject(middle, meta.crs))):
        problems.append("a released place is not the centre of its region")
    few = 0
    for level in np.unique(emitted.rung):
        here, rung = np.flatnonzero(emitted.rung == level), ladder[level]
        width = (rung.minutes or 0) * MINUTE_MS
        asked = squares(middle[here], rung.side_m), emitted.bin[here]
        raw = squares(model.train.xy, rung.side_m), rung.regions(model.train.xy, model.times)[1]
        few += int((recount(raw, model.who, asked) < c.k).sum())
        if c.reciprocal:
            few += int((recount(asked, who[here], asked) < c.k).sum())
        if out.t is not None:
            start = released_times(asked[1] * width, c.of, c.day, meta.tz)
            if ((out.t[here] < start) | (out.t[here] >= start + width)).any():
                problems.append("a released time lies outside its bin")
    if few:
        problems.append(f"{few} released points lie in regions with fewer than {c.k} people")
    if problems:
        raise PrivacyAccountingError("the cloaks do not keep their promise, nothing leaves: " + "; ".join(problems))


def squares(xy: np.ndarray, side_m: float) -> np.ndarray:
    """int64 [N]: one number for the square of ``side_m`` that holds each point, made from its column and row alone."""
    column, row = np.floor(xy / side_m).astype(np.int64).T
    return column * 4_294_967_311 + row
