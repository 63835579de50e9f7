"""The budget planner of `explore-privacy`. Answers that take seconds are computed beside the panel and kept; until then it says so."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from trajkit.errors import ParameterError, TrajkitError
from trajkit.explore import budget
from trajkit.explore.budget import Answer, Question
from trajkit.explore.panel import Panel
from trajkit.explore.pictures import View, sentence
from trajkit.explore.work import Steps, Work
from trajkit.privacy.gdp import gdp_epsilon
from trajkit.study.runner import in_one_line

NOISE, EPSILON = "the noise for this epsilon", "the epsilon of this noise"
NS = (1_000, 2_800, 5_600, 20_000, 69_500, 200_000, 1_560_000)
BATCHES = (32, 64, 128, 256, 512, 1024)
STEPS = (100, 300, 720, 2_000, 5_000, 20_000, 100_000)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0)
NOISES = (0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


class BudgetPanel(Panel):
    """See `budget_panel`. ``known``: answers by the key of their question, or the sentence that says why there is none."""

    def __init__(self, controls: dict[str, widgets.ValueWidget], *, interactive: bool | None) -> None:
        self.known: dict[Question, Answer | str] = {}
        self._busy, self._lock = False, threading.Lock()
        self.work = Work(self._steps, label="Compute")
        super().__init__(controls, self._views, interactive=interactive, before=(self.work.box(),))

    def question(self, *, find: str, epsilon: float, noise: float, **chosen: Any) -> Question:
        """What the controls ask."""
        asked = {"epsilon": epsilon} if find == NOISE else {"noise": noise}
        return Question(**chosen, **asked)

    def box(self) -> widgets.Widget:
        """The panel; other epsilons are being computed meanwhile."""
        shown = super().box()
        self._want()
        return shown

    def _views(self, **chosen: Any) -> list[View]:
        q = self.question(**chosen)
        self.controls["epsilon"].disabled, self.controls["noise"].disabled = chosen["find"] != NOISE, chosen["find"] == NOISE
        if not self.interactive:
            return budget.views(q, budget.answer(q))
        found = self.known.get(q.key)
        if isinstance(found, Answer):
            return budget.views(q, found)
        if found is None:
            self._want()
        return [sentence(found or f"Being computed, this takes some seconds. {_estimate(q)}")]

    def _want(self) -> None:
        """Have the work running: it looks for what is asked until that is known."""
        with self._lock:
            busy, self._busy = self._busy, True
        if not busy:
            self.work.wait()  # it has nothing left to do
            self.work.begin()

    def _steps(self) -> Steps:
        """Answer what is asked, then the other epsilons (or noises) of the same training, beginning with the nearest."""
        self._busy = True  # also where the button was pressed
        try:
            while (q := self._next()) is not None:
                yield from self._answered(q)
        finally:
            with self._lock:
                self._busy = False

    def _answered(self, q: Question) -> Steps:
        try:
            pieces = budget.answering(q)
            while True:
                try:
                    what, share = next(pieces)
                except StopIteration as end:
                    self.known[q.key] = end.value
                    break
                yield f"{_named(q)}: {what}", share
                if self._asked() not in (None, q) and self._asked().key not in self.known:  # type: ignore[union-attr]
                    return  # something else is more urgent
        except TrajkitError as error:
            self.known[q.key] = in_one_line(error)
        if (now := self._asked()) is not None and now.key == q.key:
            self.redraw()

    def _asked(self) -> Question | None:
        try:
            return self.question(**self.values)
        except ParameterError:  # the panel says so
            return None

    def _next(self) -> Question | None:
        now = self._asked()
        if now is None:
            return None
        if now.key not in self.known:
            return now
        name = "epsilon" if now.noise is None else "noise"
        at = getattr(now, name)
        others = sorted((v for v in _values(self.controls[name]) if v != at), key=lambda v: abs(math.log(v / at)))
        more = (self.question(**{**self.values, name: v}) for v in others)
        return next((q for q in more if q.key not in self.known), None)


def _named(q: Question) -> str:
    return f"epsilon {q.epsilon:g} per {q.unit}" if q.noise is None else f"noise {q.noise:g}"


def _estimate(q: Question) -> str:
    """What the central limit says at once; it is marked as no claim."""
    if q.noise is not None:
        mu = budget.central_limit_mu(sample_rate=q.batch / q.n, noise_multiplier=q.noise, steps=q.steps)
        return f"The central limit, which is no claim and can understate, puts epsilon per trajectory near {gdp_epsilon(mu, q.delta):.3g}."
    return "No estimate is shown in its place."


def _values(control: Any) -> list[Any]:
    return [value for _, value in control.options]


def _slider(values: Sequence[float], value: float, description: str) -> widgets.SelectionSlider:
    """A slider over ``values`` and the one that it begins with."""
    options = [(f"{v:,.10g}" if v >= 1e-3 else f"{v:.0e}", v) for v in sorted({*values, value})]
    return widgets.SelectionSlider(options=options, value=value, description=description)


def budget_panel(
    *, n: int = 2_800, batch: int = 128, steps: int = 720, delta: float = 1e-5, unit: str = "trajectory", trips: int = 4,
    epsilon: float = 10.0, noise: float = 1.0, find: str = NOISE, interactive: bool | None = None,
) -> BudgetPanel:  # fmt: skip
    """Plan a budget, beginning with the given choices (which need not be among those that the sliders offer).

    ``unit``: to whom ``epsilon`` is promised, "trajectory" or "user" of at most ``trips`` trajectories; ``find``: `NOISE` or `EPSILON`.
    Raises ParameterError for an unknown unit or ``find``.
    """
    if unit not in ("trajectory", "user") or find not in (NOISE, EPSILON):
        raise ParameterError(
            f"unit = {unit!r}, find = {find!r}: unit is trajectory or user, find is {NOISE!r} or {EPSILON!r}"
        )
    controls: dict[str, Any] = {
        "epsilon": _slider(EPSILONS, epsilon, "epsilon"),
        "trips": _slider(budget.TRIPS, trips, "trips per user, at most"),
        "unit": widgets.Dropdown(options=["trajectory", "user"], value=unit, description="epsilon is promised per"),
        "n": _slider(NS, n, "trajectories (n)"),
        "batch": _slider(BATCHES, batch, "batch size"),
        "steps": _slider(STEPS, steps, "steps"),
        "delta": _slider(DELTAS, delta, "delta"),
        "find": widgets.Dropdown(options=[NOISE, EPSILON], value=find, description="find"),
        "noise": _slider(NOISES, noise, "noise multiplier (sigma)"),
    }
    return BudgetPanel(controls, interactive=interactive)
