"""The lattice of generalizations: every (cells, time bins) of the parameters, what each would release, and the one that is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from trajkit.anonymize.anonymizer import AnonymizerConfig, persons
from trajkit.anonymize.clock import PublicDay
from trajkit.anonymize.groups import Groups, whole
from trajkit.anonymize.quad_cells import QuadCells
from trajkit.anonymize.segments import parts
from trajkit.anonymize.signatures import classes, digests, grouped, merged
from trajkit.anonymize.suppression import by_person, shares, told
from trajkit.anonymize.tessellation import HexCells, SquareCells, Tessellation
from trajkit.anonymize.time_bins import TimeBins, divides_a_day
from trajkit.methods import FromList
from trajkit.trajectories import Trajectories

RULES = {
    "volume": "smallest product of cell area and bin width, ties to the smaller cell",
    "cells": "smallest cell, then the narrowest bin",
    "minutes": "narrowest bin, then the smallest cell",
}


class KAnonymityConfig(AnonymizerConfig):
    """What may be tried, and how it is chosen.

    ``cells``: "square" and "adaptive" (quadtree) of ``cells_m`` metres, of adaptive ones the smallest, ``depth`` times doubled the largest;
    "h3" of ``resolutions``. ``minutes``: widths of time bins, divisors of a day, null for no time at all, of the local clock or absolute
    (``of``). ``order``: which setting is the finest, see `RULES`; no time is coarser than any. The finest that suppresses at most
    ``suppression_budget`` is taken: of the trajectories, or of the points where ``suppress`` is "segments".
    ``min_labels``: shorter signatures are not released: a single place is no movement and would fill classes at no cost.
    ``day``: public date on which bins of the clock are released.
    """

    cells: Literal["square", "h3", "adaptive"] = "square"
    cells_m: Annotated[tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...], FromList, Field(min_length=1)] = (
        250.0, 500.0, 1000.0, 2000.0, 4000.0,
    )  # fmt: skip
    resolutions: Annotated[tuple[Annotated[int, Field(ge=0, le=15)], ...], FromList, Field(min_length=1)] = (9, 8, 7, 6)
    depth: int = Field(3, ge=0, le=12)
    minutes: Annotated[tuple[int | None, ...], FromList, Field(min_length=1)] = (30, 60, 120, None)
    of: Literal["clock", "absolute"] = "clock"
    order: Literal["volume", "cells", "minutes"] = "volume"
    suppress: Literal["trajectory", "segments"] = "trajectory"
    suppression_budget: float = Field(0.3, ge=0, le=1)
    min_labels: int = Field(2, ge=1)
    day: PublicDay = "2000-01-03"

    @field_validator("minutes")
    @classmethod
    def _divide_a_day(cls, value: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if bad := [m for m in value if m is not None and not divides_a_day(m)]:
            raise ValueError(f"bins of {bad[0]} min do not divide a day")
        return value


@dataclass(frozen=True)
class Setting:
    """One generalization."""

    cells: Tessellation
    bins: TimeBins

    def rank(self, order: str) -> tuple[float, ...]:
        """Sorts the finest first."""
        area, width = self.cells.area_m2, self.bins.width_ms or math.inf
        return {"volume": (area * width, area), "cells": (area, width), "minutes": (width, area)}[order]

    def named(self) -> dict[str, Any]:
        """For reports."""
        return {"cells": str(self.cells), "minutes": self.bins.minutes}


@dataclass(frozen=True)
class Found:
    """The ``setting`` taken, what it releases, and the lattice: a row for each setting, finest first, for the public and exact."""

    setting: Setting
    groups: Groups
    unique_share: float
    within_budget: bool
    public: list[dict[str, Any]]
    exact: list[dict[str, Any]]


def search(trajs: Trajectories, config: KAnonymityConfig) -> Found:
    """The finest setting within the suppression budget; where there is none, the one that suppresses least (the finest of several)."""
    who = persons(trajs, config.count)
    tried = settings(trajs, who, config)
    judged = "points" if config.suppress == "segments" else "trajectories"
    exact, public = [], []
    for setting in tried:
        points = groups_of(trajs, who, setting, config)[0].released_points(len(trajs))
        lost = shares(trajs, points)
        public.append({**setting.named(), "suppressed": told(by_person(trajs, points), trajs, config.k)})
        exact.append(
            {**setting.named(), "suppressed": lost, "within budget": lost[judged] <= config.suppression_budget}
        )
    chosen = next((i for i, row in enumerate(exact) if row["within budget"]), None)
    if chosen is None:
        chosen = min(range(len(exact)), key=lambda i: (exact[i]["suppressed"][judged], i))
    groups, unique_share = groups_of(trajs, who, tried[chosen], config, compared=True)
    public = [{**row, "within budget": known["within budget"]} for row, known in zip(public, exact, strict=True)]
    return Found(tried[chosen], groups, unique_share, exact[chosen]["within budget"], public, exact)


def settings(trajs: Trajectories, who: np.ndarray, config: KAnonymityConfig) -> list[Setting]:
    """All settings, finest first. Sets without times have none but null for time."""
    minutes = (None,) if trajs.t is None else tuple(dict.fromkeys(config.minutes))
    bins = [TimeBins(m, config.of, trajs.meta.tz) for m in minutes]
    tessellations: list[Tessellation]
    if config.cells == "h3":
        tessellations = [HexCells(r, trajs.meta.crs) for r in dict.fromkeys(config.resolutions)]
    elif config.cells == "square":
        tessellations = [SquareCells(m) for m in dict.fromkeys(config.cells_m)]
    else:
        of_point = who[trajs.traj_of_point]
        tessellations = [
            QuadCells.built(trajs.xy, of_point, size_m=m, depth=config.depth, k=config.k)
            for m in dict.fromkeys(config.cells_m)
        ]
    return sorted((Setting(c, b) for c in tessellations for b in bins), key=lambda s: s.rank(config.order))


def groups_of(
    trajs: Trajectories, who: np.ndarray, setting: Setting, config: KAnonymityConfig, *, compared: bool = False
) -> tuple[Groups, float]:
    """What ``setting`` releases, and the share of trajectories whose signature is theirs alone. ``compared``: members of a class are
    compared label by label; without it only by digests.
    """
    cells, bins = setting.cells, setting.bins
    found = grouped(trajs, cells, bins, who) if compared else classes(digests(trajs, cells, bins), who)
    if config.suppress == "segments":
        sig, points = merged(trajs, cells, bins)
        return parts(sig, points, who, k=config.k, min_labels=config.min_labels), found.unique_share
    return whole(trajs, cells, bins, found, k=config.k, min_labels=config.min_labels), found.unique_share
