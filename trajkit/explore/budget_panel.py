"""The budget planner of `explore-privacy`. Answers that take seconds are computed beside the panel and kept; until then it says so."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import ipywidgets as widgets

from trajkit.errors import ParameterError
from trajkit.explore import budget
from trajkit.explore.budget import Answer, Question
from trajkit.explore.on_demand import OnDemandPanel
from trajkit.explore.work import Step
from trajkit.privacy.gdp import central_limit_mu, gdp_epsilon
from trajkit.viz.pictures import View, sentence

NOISE, EPSILON = "the noise for this epsilon", "the epsilon of this noise"
NS = (1_000, 2_800, 5_600, 20_000, 69_500, 200_000, 1_560_000)
BATCHES = (32, 64, 128, 256, 512, 1024)
STEPS = (100, 300, 720, 2_000, 5_000, 20_000, 100_000)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0)
NOISES = (0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


class BudgetPanel(OnDemandPanel):
    """See `budget_panel`."""

    label = "Compute"

    def question(self, *, find: str, epsilon: float, noise: float, **chosen: Any) -> Question:
        """What the controls ask."""
        return Question(**chosen, epsilon=epsilon if find == NOISE else None, noise=None if find == NOISE else noise)

    def wanted(self) -> Question:
        """The key of the question."""
        return self.question(**self.values).key

    def later(self) -> Iterator[Question]:
        """The other epsilons (or noises) of the same training, the nearest first."""
        now = self.wanted()
        name = "epsilon" if now.noise is None else "noise"
        at = getattr(now, name)
        values = (value for _, value in self.controls[name].options if value != at)
        for value in sorted(values, key=lambda v: abs(math.log(v / at))):
            yield self.question(**{**self.values, name: value}).key

    def answering(self, key: Question) -> Generator[Step, None, Answer]:
        """Seconds for each."""
        return budget.answering(key)

    def named(self, key: Question) -> str:
        """For the line that says what is being done."""
        return _named(key)

    def views_of(self, **chosen: Any) -> list[View]:
        """The answer, or that it is being computed."""
        q = self.question(**chosen)
        find = chosen["find"]
        self.controls["epsilon"].disabled, self.controls["noise"].disabled = find != NOISE, find == NOISE
        found = self.answer(q.key)
        if isinstance(found, Answer):
            return budget.views(q, found)
        return [sentence(found or f"Being computed, this takes some seconds. {_estimate(q)}")]


def _named(q: Question) -> str:
    return f"epsilon {q.epsilon:g} per {q.unit}" if q.noise is None else f"noise {q.noise:g}"


def _estimate(q: Question) -> str:
    """What the central limit says at once; it is marked as no claim."""
    if q.noise is not None:
        mu = central_limit_mu(sample_rate=q.batch / q.n, noise_multiplier=q.noise, steps=q.steps)
        return f"The central limit, which is no claim and can understate, puts epsilon per trajectory near {gdp_epsilon(mu, q.delta):.3g}."
    return "No estimate is shown in its place."


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
