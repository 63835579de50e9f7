"""The panel of `explore-data`: where and when people move in a data set, and how few known points single somebody out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from trajkit import datasets
from trajkit.anonymize.signatures import Signatures, signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import HOUR_MS, TimeBins
from trajkit.attacks.uniqueness import uniqueness
from trajkit.errors import ParameterError
from trajkit.explore.moving_map import ROWS, MovingMap
from trajkit.explore.panel import Panel
from trajkit.geo import box_xy
from trajkit.grid import Grid
from trajkit.local_time import local_ms
from trajkit.roads import RoadNetwork
from trajkit.seeds import rng
from trajkit.segment_index import polyline_lengths
from trajkit.study.tables import drop_table
from trajkit.trajectories import Trajectories
from trajkit.viz import records
from trajkit.viz.pictures import Picture, View, sentence, table

CELLS_M = (250, 500, 1000, 2000, 4000)
MINUTES = {"30 min": 30, "1 h": 60, "4 h": 240, "1 day": 1440, "no time": None}
MOST_POINTS = 6
SHOWN = 200  # trajectories on the map
TARGETS = 500  # people whom the known points are drawn from
KEPT = 64  # pictures of each kind that are kept
HIDDEN = (
    "The data set is private: its trajectories, and every figure computed from them, stay hidden. Set allow_raw = True to "
    "look at your own data on your own screen; nothing here may then leave it."
)


@dataclass(frozen=True)
class Records:
    """A data set with what its views need, computed once."""

    trajs: Trajectories
    roads: RoadNetwork | None

    @cached_property
    def start_hour(self) -> np.ndarray | None:
        """int64 [n]: local hour of the day at which each trajectory starts; None without times."""
        if self.trajs.t is None:
            return None
        return local_ms(self.trajs.t[self.trajs.starts], self.trajs.meta.tz) // HOUR_MS % 24

    @cached_property
    def km(self) -> np.ndarray:
        """float64 [n]: length of each trajectory."""
        return polyline_lengths(self.trajs.xy, self.trajs.offsets) / 1000

    @cached_property
    def streets(self) -> np.ndarray | None:
        """float64 [s, 4], metres."""
        return None if self.roads is None else self.roads.streets()

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """The public box in metres."""
        return box_xy(self.trajs.meta.box, self.trajs.meta.crs)

    def within(self, hours: tuple[int, int]) -> np.ndarray:
        """bool [n]: which trajectories start in ``hours`` (from, to) of the local day; all of them without times."""
        if self.start_hour is None:
            return np.ones(len(self.trajs), dtype=bool)
        return (self.start_hour >= hours[0]) & (self.start_hour < hours[1])


def data_panel(
    dataset: str, *, data: str | None = None, settings: dict[str, Any] | None = None, allow_raw: bool = False,
    hours: Sequence[int] = (0, 24), cell_m: int = 1000, minutes: str = "1 h", points: int = 4, interactive: bool | None = None,
) -> Panel:  # fmt: skip
    """Look at data set ``dataset`` (``data``, ``settings`` as in the studies), beginning with the given choices.

    Raises ParameterError for choices that are not offered, and what `trajkit.datasets.load` raises.
    """
    trajs = datasets.load(dataset, data=data, settings=settings)
    if trajs.meta.visibility == "private" and not allow_raw:
        steps = drop_table(trajs.meta.steps, exact=False)
        return Panel(
            {}, lambda: [sentence(HIDDEN), table(steps, caption="How it was processed")], interactive=interactive
        )
    found = Records(trajs, datasets.roads_of(dataset, data=data, settings=settings))
    controls = _controls(tuple(hours), cell_m, minutes, points, timed=trajs.t is not None)
    moving = MovingMap()

    @lru_cache(1)  # the other controls leave the map as it is
    def move(hours: tuple[int, int]) -> None:
        inside = np.flatnonzero(found.within(hours))
        drawn = rng(0, "sampling", "explore").permutation(inside)[:ROWS]
        if len(drawn):
            name = f"{len(drawn):,} of {len(inside):,} trips{_clock(found, hours)}"
            moving.show({name: trajs.take(drawn)}, roads=found.roads, allow_raw=allow_raw)

    return Panel(
        controls, Views(found), interactive=interactive, also=(moving.box,), after=lambda **chosen: move(chosen["hours"])
    )  # fmt: skip


def _controls(
    hours: tuple[int, ...], cell_m: int, minutes: str, points: int, *, timed: bool
) -> dict[str, widgets.ValueWidget]:
    problems = [
        *([f"hours = {hours}: two whole hours from 0 to 24, rising"] if not _window(hours) else []),
        *([f"cell_m = {cell_m}: one of {', '.join(map(str, CELLS_M))}"] if cell_m not in CELLS_M else []),
        *([f"minutes = {minutes!r}: one of {', '.join(MINUTES)}"] if minutes not in MINUTES else []),
        *([f"points = {points}: 1 to {MOST_POINTS}"] if not 1 <= points <= MOST_POINTS else []),
    ]
    if problems:
        raise ParameterError("; ".join(problems))
    cells = [(f"{m} m", m) for m in CELLS_M]
    return {
        "hours": widgets.IntRangeSlider(value=hours, min=0, max=24, description="hours of the day", disabled=not timed),
        "cell_m": widgets.SelectionSlider(value=cell_m, options=cells, description="cell size"),
        "minutes": widgets.SelectionSlider(
            value=minutes if timed else "no time", options=list(MINUTES), description="time known to", disabled=not timed
        ),
        "points": widgets.IntSlider(value=points, min=1, max=MOST_POINTS, description="points known"),
    }  # fmt: skip


def _window(hours: tuple[int, ...]) -> bool:
    return len(hours) == 2 and all(isinstance(h, int) for h in hours) and 0 <= hours[0] < hours[1] <= 24


class Views:
    """Map, density, lengths, hours and uniqueness of the trajectories that start in the window; what a control does not touch is kept."""

    def __init__(self, found: Records) -> None:
        self.found = found
        for name in ("_labels", "_isolated", "_cells", "_trips", "_density", "_how"):
            setattr(self, name, lru_cache(KEPT)(getattr(self, name)))

    def __call__(self, *, hours: tuple[int, int], cell_m: int, minutes: str, points: int) -> list[View]:
        found, inside = self.found, self.found.within(hours)
        if not inside.any():
            return [
                sentence(f"No trajectory starts from {hours[0]} to {hours[1]} o'clock: widen the hours of the day.")
            ]
        people, fixes = len(np.unique(found.trajs.user[inside])), int(found.trajs.lengths[inside].sum())
        size = f"{inside.sum():,} of {len(inside):,} trajectories, of {people:,} people, {fixes:,} points."
        alone = self._alone(hours, cell_m, minutes, points)
        return [self._trips(hours), self._density(hours, cell_m), alone, self._how(hours), sentence(size)]

    def _trips(self, hours: tuple[int, int]) -> Picture:
        found = self.found
        chosen = np.flatnonzero(found.within(hours))
        shown = found.trajs.take(chosen[np.unique(np.linspace(0, len(chosen) - 1, SHOWN).astype(int))])
        title = f"{len(shown)} of {len(chosen):,} trajectories{_clock(found, hours)}"
        figure = records.trips_map(shown, bounds=found.bounds, streets=found.streets, title=title)
        return Picture(figure, f"Map of {title}")

    def _density(self, hours: tuple[int, int], cell_m: int) -> Picture:
        found = self.found
        grid, cells = self._cells(cell_m)
        inside = cells[np.repeat(found.within(hours), found.trajs.lengths)]
        counts = np.bincount(inside[inside >= 0], minlength=grid.n_cells).reshape(grid.ny, grid.nx)
        title = f"points per cell of about {cell_m} m{_clock(found, hours)}"
        used = f"{(counts > 0).mean():.0%} of {counts.size} cells hold any, the fullest {counts.max():,}"
        return Picture(records.density_map(counts, bounds=found.bounds, title=title), f"Map of the {title}: {used}")

    def _cells(self, cell_m: int) -> tuple[Grid, np.ndarray]:
        x0, y0, x1, y1 = self.found.bounds
        grid = Grid(self.found.bounds, *(max(1, round(side / cell_m)) for side in (x1 - x0, y1 - y0)))
        return grid, grid.cell_of(self.found.trajs.xy)

    def _how(self, hours: tuple[int, int]) -> Picture:
        found, inside = self.found, self.found.within(hours)
        starts = None if found.start_hour is None else np.bincount(found.start_hour, minlength=24)
        figure = records.lengths_and_hours(found.km, inside, starts, hours)
        alt = f"Lengths of trajectories, median {np.median(found.km[inside]):.1f} km{_clock(found, hours)}"
        if starts is not None:
            alt += f", and starts by local hour, most at {int(starts.argmax())} o'clock"
        return Picture(figure, alt)

    def _labels(self, cell_m: int, minutes: str) -> Signatures:
        trajs = self.found.trajs
        return signatures(trajs, SquareCells(float(cell_m)), TimeBins(MINUTES[minutes], "absolute", trajs.meta.tz))

    def _isolated(self, hours: tuple[int, int], cell_m: int, minutes: str) -> tuple[pd.DataFrame, int]:
        chosen = np.flatnonzero(self.found.within(hours))
        labels, user = self._labels(cell_m, minutes).take(chosen), self.found.trajs.user[chosen]
        result = uniqueness(labels, user, seed=0, targets=TARGETS, p=tuple(range(1, MOST_POINTS + 1)))
        return result.to_frame(), result.persons

    def _alone(self, hours: tuple[int, int], cell_m: int, minutes: str, points: int) -> Picture:
        figures, persons = self._isolated(hours, cell_m, minutes)
        resolution = f"cells of {cell_m} m, {'no time' if MINUTES[minutes] is None else f'time to {minutes}'}"
        figure = records.uniqueness_curve(figures, chosen=points, title=f"{persons:,} people; {resolution}")
        at = figures[figures["p"] == points]
        share = f"{float(at['unicity'].iloc[0]):.0%}" if len(at) else "unknown: nobody has so many points"
        alt = f"With {points} known points ({resolution}) the share of people who match nobody else is {share}"
        return Picture(figure, alt)


def _clock(found: Records, hours: tuple[int, int]) -> str:
    return "" if found.start_hour is None or hours == (0, 24) else f", {hours[0]} to {hours[1]} o'clock"
