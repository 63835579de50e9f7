"""The panel of `explore-runs`: pick data set, method and epsilon; map, errors, guarantee and examples change together."""

from __future__ import annotations

import math
from typing import Any

import ipywidgets as widgets

from trajkit.errors import ParameterError
from trajkit.explore.moving_map import MovingMap
from trajkit.explore.panel import Panel
from trajkit.explore.release_views import ReleaseViews
from trajkit.explore.releases import BASELINE_NAMES, NO_EPSILON, Entry, catalogue, make
from trajkit.explore.work import Steps, Work
from trajkit.study.cells import BASELINES, label
from trajkit.viz.pictures import DRAWING, View, sentence

LEVELS = ("data", "method", "epsilon", "variant")
NAMES = {"data": "data set", "method": "method", "epsilon": "epsilon", "variant": "run"}


class RunsPanel(Panel):
    """See `runs_panel`. ``entries``: what can be chosen; ``work``: makes what is missing, and prepares the pictures of all."""

    def __init__(self, entries: list[Entry], first: Entry, *, allow_raw: bool, interactive: bool | None) -> None:
        self.entries, self.first = entries, first
        self.release_views = ReleaseViews(entries, allow_raw=allow_raw)
        self._wish = {level: getattr(first, level) for level in LEVELS}  # what a person chose last at each level
        controls: dict[str, Any] = {
            level: (widgets.SelectionSlider if level == "epsilon" else widgets.Dropdown)(
                options=self._offers(level, self._wish), value=self._wish[level], description=NAMES[level]
            )
            for level in LEVELS
        }
        controls["method"].layout.width = controls["variant"].layout.width = "22em"
        controls["data"].layout.width = "34em"
        for level in LEVELS:  # before the panel listens, so that what it draws is a choice that exists
            controls[level].observe(self._narrow, names="value")
        self.work = Work(self._steps, label="Make all releases")
        self.map = MovingMap()
        super().__init__(
            controls, self._views, interactive=interactive,
            before=(self.work.box(),), also=(self.map.box,), after=self._move,
        )  # fmt: skip

    @property
    def entry(self) -> Entry:
        """The release that is chosen."""
        chosen = self.values
        return next(e for e in self.entries if all(getattr(e, level) == chosen[level] for level in LEVELS))

    def prepare(self) -> None:
        """Make the chosen release and its floor and ceilings now: what figures without widgets need."""
        for entry in self._order()[: 1 + sum(e.config.method in BASELINES for e in self._alike())]:
            make(entry)

    def box(self) -> widgets.Widget:
        """The panel; what is missing is being made meanwhile."""
        shown = super().box()
        self.work.begin()
        return shown

    def shown(self) -> list[View]:
        """The views of the chosen release; without widgets it is made first."""
        if not self.interactive:
            self.prepare()
        return list(super().shown())

    def _views(self, **_chosen: str) -> list[View]:
        entry = self.entry
        if not entry.made:
            return [
                sentence(
                    f"{_named(entry)} is not made yet: it is on its way, or press “{self.work.start.description}”."
                )
            ]
        return self.release_views.of(entry)

    def _move(self, **_chosen: str) -> None:
        if self.entry.made:
            sets, roads = self.release_views.sets(self.entry)
            both = all(shown is not None for shown in sets.values())
            self.map.show(sets, roads=roads, split=both, allow_raw=self.release_views.allow_raw)

    def _offers(self, level: str, chosen: dict[str, str]) -> list[str]:
        """What can be chosen at ``level``, given the choices above it; epsilons rise."""
        above = LEVELS[: LEVELS.index(level)]
        alike = (e for e in self.entries if all(getattr(e, a) == chosen[a] for a in above))
        found = list(dict.fromkeys(getattr(e, level) for e in alike))
        return found if level != "epsilon" else sorted(found, key=lambda e: math.inf if e == NO_EPSILON else float(e))

    def _narrow(self, change: Any) -> None:
        """After one choice, offer below it what goes with it, and keep the other choices where they are offered."""
        if self._paused:
            return
        level = next(name for name in LEVELS if self.controls[name] is change["owner"])
        self._wish[level] = change["new"]
        with DRAWING, self.paused():
            for below in LEVELS[LEVELS.index(level) + 1 :]:
                control, offers = self.controls[below], self._offers(below, self.values)
                control.options = offers
                control.value = self._wish[below] if self._wish[below] in offers else offers[-1]

    def _alike(self) -> list[Entry]:
        return [e for e in self.entries if e.data == self.values["data"]]

    def _order(self) -> list[Entry]:
        """The entries of the chosen data: the chosen one, baselines, its method, then the rest."""
        now = self.entry
        return sorted(self._alike(), key=lambda e: (e != now, e.config.method not in BASELINES, e.method != now.method))

    def _steps(self) -> Steps:
        """Make what is missing, then draw each once, so that the controls answer at once."""
        order = self._order()
        for what, work in (("making", self._make), ("drawing", self._draw)):
            for i, entry in enumerate(order):
                if what == "making" and entry.made:
                    continue
                done = (i / len(order) + (what == "drawing")) / 2
                yield f"{what} {_named(entry)} ({i + 1} of {len(order)})", done
                work(entry)
                if what == "making" and (entry == self.entry or entry.config.method in BASELINES):
                    self.redraw()

    def _make(self, entry: Entry) -> None:
        make(entry)
        self.release_views.prepare(entry)

    def _draw(self, entry: Entry) -> None:
        self.release_views.prepare(entry)
        with DRAWING:
            for view in self.release_views.of(entry):
                view.html()


def _named(entry: Entry) -> str:
    return entry.method if entry.epsilon == NO_EPSILON else f"{entry.method}, epsilon {entry.epsilon}"


def runs_panel(
    dataset: str, *, data: str | None = None, settings: dict[str, Any] | None = None, profile: str = "quick",
    method: str = "privtrace", epsilon: float = 1.0, allow_raw: bool = False, interactive: bool | None = None,
) -> RunsPanel:  # fmt: skip
    """Look at releases of ``dataset`` made on the spot (sizes of ``profile``) and at every finished run, beginning with one choice.

    method: a key of `trajkit.methods.METHODS` that is offered. Raises ParameterError naming the choices there are.
    """
    entries = catalogue(dataset, data=data, settings=settings, profile=profile)
    name = BASELINE_NAMES.get(method) or label(method)
    found = [e for e in entries if e.method == name and e.epsilon in (f"{epsilon:g}", NO_EPSILON)]
    if not found:
        there = sorted({f"{e.config.method} at epsilon {e.epsilon}" for e in entries})
        raise ParameterError(f"there is no {method} at epsilon {epsilon:g} to look at: choose among {', '.join(there)}")
    return RunsPanel(entries, found[0], allow_raw=allow_raw, interactive=interactive)
