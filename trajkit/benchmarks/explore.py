"""How long the explore panels take to answer a control, on the simulated city at the sizes of profile quick; the aim is 200 ms."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from trajkit.benchmarks import BenchRow
from trajkit.explore.anonymity import BINS, AnonymityPanel, anonymity_panel
from trajkit.explore.anonymity import CELLS_M as PLAYGROUND_M
from trajkit.explore.audits import audits_panel
from trajkit.explore.budget import TRIPS
from trajkit.explore.budget_panel import EPSILONS, budget_panel
from trajkit.explore.data import CELLS_M, MINUTES, MOST_POINTS, data_panel
from trajkit.explore.games import BUDGETS
from trajkit.explore.noise import EPSILONS as NOISE_EPSILONS
from trajkit.explore.noise import MECHANISMS, noise_panel
from trajkit.explore.on_demand import OnDemandPanel
from trajkit.explore.panel import Panel
from trajkit.explore.runs import runs_panel

CITY = {"trips": 20000, "seed": 0}


def rows() -> list[BenchRow]:
    """Median and longest answer of each control: from its change to the new picture (the browser's part not counted)."""
    return [*_data(), *_runs(), *_privacy()]


def _data() -> list[BenchRow]:
    panel = data_panel("city", settings=CITY, interactive=True)
    panel.box()
    choices: dict[str, list[Any]] = {
        "hours": [(7, 10), (0, 12), (16, 20), (12, 14), (5, 23), (0, 24)],
        "cell_m": [*CELLS_M],
        "minutes": [*MINUTES],
        "points": [*range(1, MOST_POINTS + 1)],
    }
    return [row for name, values in choices.items() for row in _answers("explore-data", panel, name, values)]


def _runs() -> list[BenchRow]:
    """After everything is made and drawn once, as the panel does beside itself when it opens."""
    panel = runs_panel("city", interactive=True)
    start = time.perf_counter()
    panel.box()
    panel.work.wait()
    made = BenchRow("explore-runs: all releases made or found, and drawn", time.perf_counter() - start, "s")
    shown = {name: [*panel.controls[name].options] for name in ("epsilon", "method")}
    return [made, *(row for name, values in shown.items() for row in _answers("explore-runs", panel, name, values))]


def _privacy() -> list[BenchRow]:
    """The playground and the noise bench move every control; of budgets and audits what is known answers, and a first answer is timed apart."""
    playground = anonymity_panel("city", settings=CITY, interactive=True)
    playground.box()
    if isinstance(playground, AnonymityPanel):
        playground.work.wait()
    noise = noise_panel("city", settings=CITY, interactive=True)
    noise.box()
    budget, made = _begun("budget planner, answers to all epsilons", budget_panel(interactive=True))
    audits, played = _begun("one audit game played and judged", audits_panel(interactive=True))
    moved: list[tuple[str, Panel, dict[str, list[Any]]]] = [
        ("k-anonymity", playground, {"k": [2, 3, 5, 8, 13, 21, 34, 50], "cell_m": [*PLAYGROUND_M], "bins": [*BINS]}),
        ("noise", noise, {"mechanism": [*MECHANISMS], "epsilon": [*NOISE_EPSILONS]}),
        ("budget", budget, {"epsilon": [*EPSILONS], "trips": [*TRIPS]}),
        ("audits", audits, {"counted": [*BUDGETS]}),
    ]
    return [
        made, played,
        *(
            row for what, panel, controls in moved for name, values in controls.items()
            for row in _answers(f"explore-privacy, {what}", panel, name, values)
        ),
    ]  # fmt: skip


def _begun(what: str, panel: OnDemandPanel) -> tuple[OnDemandPanel, BenchRow]:
    start = time.perf_counter()
    panel.box()
    panel.work.wait()
    return panel, BenchRow(f"explore-privacy: {what}", time.perf_counter() - start, "s")


def _answers(notebook: str, panel: Panel, name: str, values: list[Any]) -> list[BenchRow]:
    control, seconds = panel.controls[name], []
    for value in values:
        if value != control.value:
            start = time.perf_counter()
            control.value = value
            seconds.append(time.perf_counter() - start)
        if panel.message.value:
            raise RuntimeError(f"{notebook}, {name} = {value}: {panel.message.value}")
    title = f"{notebook}: {control.description}"
    return [
        BenchRow(f"{title}, median answer", median(seconds) * 1000, "ms"),
        BenchRow(f"{title}, longest answer", max(seconds) * 1000, "ms"),
    ]
