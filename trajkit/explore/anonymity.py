"""The k-anonymity playground of `explore-privacy`: cell, time bin and k against what is lost, where, and what an adversary still finds.

Everything is computed by `trajkit.anonymize` and `trajkit.attacks` as a release would be; nothing is released here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from trajkit import datasets
from trajkit.anonymize.anonymizer import persons
from trajkit.anonymize.groups import Groups, whole
from trajkit.anonymize.search import Setting
from trajkit.anonymize.signatures import Classes, Signatures, grouped, signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.origin import Origin
from trajkit.attacks.reidentification import reidentification
from trajkit.attacks.uniqueness import uniqueness
from trajkit.errors import ParameterError
from trajkit.explore.data import HIDDEN, SHOWN, Records
from trajkit.explore.panel import Panel
from trajkit.explore.work import Steps, Work
from trajkit.grid import Grid
from trajkit.seeds import rng
from trajkit.trajectories import Trajectories
from trajkit.viz import anonymity as figures
from trajkit.viz.pictures import Picture, View, sentence

CELLS_M = (250, 500, 1000, 2000, 4000, 8000)
BINS = {"15 min": 15, "30 min": 30, "1 h": 60, "2 h": 120, "4 h": 240, "1 day": 1440, "no time": None}
KS = range(2, 51)
LEAST_LABELS = 2  # a single place is no movement: the default of `trajkit.anonymize.search.KAnonymityConfig`
KNOWN = (1, 2, 3, 4)  # points known of a person
TARGETS = 200
KEPT, KEPT_LARGE = 256, 6  # small and large results that are kept
MOST_POINTS = 2_000_000  # up to here all settings are prepared when the panel opens, and kept
MAP_CELLS = 48
PICTURES = 64  # of each kind that are kept


class Playground:
    """What whole-trajectory k-anonymity does to ``trajs`` at every setting; each part is computed once and kept."""

    def __init__(self, trajs: Trajectories) -> None:
        self.trajs = trajs
        self.who = persons(trajs, "user")
        self.people = len(np.unique(self.who))
        large = len(CELLS_M) * len(BINS) if trajs.n_points <= MOST_POINTS else KEPT_LARGE
        for name, size in (
            ("classes", large),
            ("labels", large),
            ("shared_by", KEPT),
            ("alone", KEPT),
            ("named", KEPT),
        ):
            setattr(self, name, lru_cache(size)(getattr(self, name)))

    def prepare(self) -> Steps:
        """Group by every setting, so that the controls answer at once."""
        settings = [(m, b) for m in CELLS_M for b in BINS if self.trajs.t is not None or BINS[b] is None]
        for i, (cell_m, bins) in enumerate(settings):
            yield f"grouping by cells of {cell_m} m, {bins} ({i + 1} of {len(settings)})", i / len(settings)
            self.shared_by(cell_m, bins)
            self.alone(cell_m, bins)

    def setting(self, cell_m: int, bins: str) -> Setting:
        """Public squares of ``cell_m`` metres and bins of the local clock, one of `BINS`."""
        return Setting(SquareCells(float(cell_m)), TimeBins(BINS[bins], "clock", self.trajs.meta.tz))

    def classes(self, cell_m: int, bins: str) -> Classes:
        """Trajectories of one signature, compared label by label."""
        setting = self.setting(cell_m, bins)
        return grouped(self.trajs, setting.cells, setting.bins, self.who)

    def labels(self, cell_m: int, bins: str) -> Signatures:
        """The signature of each trajectory."""
        setting = self.setting(cell_m, bins)
        return signatures(self.trajs, setting.cells, setting.bins)

    def shared_by(self, cell_m: int, bins: str) -> np.ndarray:
        """int64 [n]: distinct people who share the signature of each trajectory, 0 where it has fewer than `LEAST_LABELS` labels.

        A trajectory is released at k where this is at least k.
        """
        found, labels = self.classes(cell_m, bins), self.labels(cell_m, bins)
        return np.where(np.diff(labels.offsets) >= LEAST_LABELS, found.users[found.of], 0)

    def suppression(self, cell_m: int, bins: str) -> dict[str, np.ndarray]:
        """Suppressed share of trajectories, points and users at each k of `KS`, float64 [len(KS)]; a user is lost with all of his."""
        shared = self.shared_by(cell_m, bins)
        best = np.zeros(self.people, dtype=np.int64)
        np.maximum.at(best, np.unique(self.who, return_inverse=True)[1], shared)
        return {
            "trajectories": _below(shared, None),
            "points": _below(shared, self.trajs.lengths),
            "users": _below(best, None),
        }

    def groups(self, cell_m: int, bins: str, k: int) -> Groups:
        """What would be released."""
        setting = self.setting(cell_m, bins)
        return whole(self.trajs, setting.cells, setting.bins, self.classes(cell_m, bins), k=k, min_labels=LEAST_LABELS)

    def alone(self, cell_m: int, bins: str) -> pd.DataFrame:
        """Uniqueness of `TARGETS` people by their own points at this resolution, nothing suppressed; a row for each number of points."""
        return uniqueness(self.labels(cell_m, bins), self.who, seed=0, targets=TARGETS, p=KNOWN).to_frame()

    def named(self, cell_m: int, bins: str, k: int) -> pd.DataFrame | None:
        """The attack on what would be released, with points of the raw records of `TARGETS` people; None where nothing is released."""
        groups = self.groups(cell_m, bins, k)
        if not len(groups.of):
            return None
        released, origin = groups.signatures.take(groups.of), Origin.one_each(groups.origin)
        raw = self.labels(cell_m, bins)
        return reidentification(raw, self.who, released, origin, seed=0, k=k, targets=TARGETS, p=KNOWN).to_frame()


def _below(shared: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Share (by ``weight``) of ``shared`` [n] that is below each k of `KS`; 0 of nothing is 0."""
    counts = np.bincount(np.minimum(shared, KS[-1]), weights=weight, minlength=KS[-1] + 1)
    return np.cumsum(counts)[np.array(KS) - 1] / max(counts.sum(), 1)


def _passes(trajs: Trajectories, grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair of a trajectory and a cell of ``grid`` that it has points in, int64 [p] each, and how many points."""
    cell = grid.cell_of(trajs.xy)
    inside = cell >= 0
    pairs, points = np.unique(trajs.traj_of_point[inside] * grid.n_cells + cell[inside], return_counts=True)
    return pairs // grid.n_cells, pairs % grid.n_cells, points


class Views:
    """Curve of suppression, risk, map and words for one choice."""

    def __init__(self, found: Records) -> None:
        self.found, self.play = found, Playground(found.trajs)
        trajs = found.trajs
        x0, y0, x1, y1 = found.bounds
        side = max(x1 - x0, y1 - y0) / MAP_CELLS
        self.grid = Grid(found.bounds, *(max(1, round(length / side)) for length in (x1 - x0, y1 - y0)))
        self.passes = _passes(trajs, self.grid)
        self.all = np.bincount(self.passes[1], weights=self.passes[2], minlength=self.grid.n_cells)
        chosen = rng(0, "sampling", "explore").permutation(len(trajs))[:SHOWN]
        self.shown = np.sort(chosen)
        for name in ("_curves", "_map"):
            setattr(self, name, lru_cache(PICTURES)(getattr(self, name)))
        self.streets = figures.street_picture(found.streets, found.bounds)

    def __call__(self, *, cell_m: int, bins: str, k: int) -> list[View]:
        lost = self.play.suppression(cell_m, bins)
        at = {name: float(values[k - KS[0]]) for name, values in lost.items()}
        where = f"cells of {cell_m} m, {'no time' if BINS[bins] is None else f'bins of {bins}'}"
        told = ", ".join(f"{share:.0%} of the {name}" for name, share in at.items())
        return [
            sentence(self._words(where, k, told)),
            self._curves(cell_m, bins, k, where, told),
            self._map(cell_m, bins, k, where),
        ]

    def _words(self, where: str, k: int, told: str) -> str:
        return (
            f"With {where} and k = {k}, {told} are suppressed: their sequence of cells and bins is that of fewer than {k} of the "
            f"{self.play.people:,} people. These are exact figures, for who holds the data. k-anonymity promises nothing about who is "
            "missing, about a place that all of a class share, or across two releases."
        )

    def _curves(self, cell_m: int, bins: str, k: int, where: str, told: str) -> Picture:
        lost, before, after = (
            self.play.suppression(cell_m, bins),
            self.play.alone(cell_m, bins),
            self.play.named(cell_m, bins, k),
        )
        titles = (where, f"{min(TARGETS, self.play.people)} people attacked, bands: 95 % intervals")
        figure = figures.suppression_and_risk(KS, lost, before, after, k=k, titles=titles)
        alt = f"Left, suppressed shares against k ({where}): at k = {k} {told}. Right, chance to name a person by known points: at most "
        alt += f"{before['guess_success'].max():.0%} where nothing is suppressed, "
        alt += "and nothing is released" if after is None else f"at most {after['success'].max():.1%} in the release"
        return Picture(figure, f"{alt} (bound 1/k = {1 / k:.1%})")

    def _map(self, cell_m: int, bins: str, k: int, where: str) -> Picture:
        found, kept = self.found, self.play.shared_by(cell_m, bins) >= k
        trip, cell, points = self.passes
        gone = np.bincount(cell, weights=points * ~kept[trip], minlength=self.grid.n_cells)
        share = np.where(self.all > 0, gone / np.maximum(self.all, 1), np.nan).reshape(self.grid.ny, self.grid.nx)
        shown = found.trajs.take(self.shown)
        figure = figures.lost_map(
            share, shown, kept[self.shown], bounds=found.bounds, streets=self.streets, title=f"k = {k}"
        )
        whole_lost = float((share[~np.isnan(share)] == 1).mean()) if points.any() else 0.0
        alt = f"Maps at k = {k}, {where}: {whole_lost:.0%} of the visited places lose all their points; "
        return Picture(figure, f"{alt}{int(kept[self.shown].sum())} of {len(self.shown)} example trips are kept")


class AnonymityPanel(Panel):
    """See `anonymity_panel`. ``work``: prepares what other settings need, beside the panel."""

    def __init__(self, controls: dict[str, widgets.ValueWidget], views: Views, *, interactive: bool | None) -> None:
        self.work = Work(views.play.prepare, label="Prepare all settings")
        super().__init__(controls, views, interactive=interactive, before=(self.work.box(),))
        self.small = views.play.trajs.n_points <= MOST_POINTS

    def box(self) -> widgets.Widget:
        """The panel; where the set is small, all settings are being prepared meanwhile."""
        shown = super().box()
        if self.small:
            self.work.begin()
        return shown


def anonymity_panel(
    dataset: str, *, data: str | None = None, settings: dict[str, Any] | None = None, allow_raw: bool = False,
    cell_m: int = 2000, bins: str = "no time", k: int = 5, interactive: bool | None = None,
) -> Panel:  # fmt: skip
    """Play with k-anonymity on ``dataset`` (``data``, ``settings`` as in the studies), beginning with the given choices.

    Raises ParameterError for choices that are not offered, and what `trajkit.datasets.load` raises.
    """
    trajs = datasets.load(dataset, data=data, settings=settings)
    if trajs.meta.visibility == "private" and not allow_raw:
        return Panel({}, lambda: [sentence(HIDDEN)], interactive=interactive)
    controls = _controls(cell_m, bins, k, timed=trajs.t is not None)
    found = Records(trajs, datasets.roads_of(dataset, data=data, settings=settings))
    return AnonymityPanel(controls, Views(found), interactive=interactive)


def _controls(cell_m: int, bins: str, k: int, *, timed: bool) -> dict[str, widgets.ValueWidget]:
    problems = [
        *([f"cell_m = {cell_m}: one of {', '.join(map(str, CELLS_M))}"] if cell_m not in CELLS_M else []),
        *([f"bins = {bins!r}: one of {', '.join(BINS)}"] if bins not in BINS else []),
        *([f"k = {k}: {KS[0]} to {KS[-1]}"] if k not in KS else []),
    ]
    if problems:
        raise ParameterError("; ".join(problems))
    return {
        "cell_m": widgets.SelectionSlider(value=cell_m, options=[(f"{m} m", m) for m in CELLS_M], description="cell size"),
        "bins": widgets.SelectionSlider(
            value=bins if timed else "no time", options=list(BINS), description="time bin", disabled=not timed
        ),
        "k": widgets.IntSlider(value=k, min=KS[0], max=KS[-1], description="k"),
    }  # fmt: skip
