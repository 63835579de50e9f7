"""How long the explore panels take to answer a control, on the simulated city at the sizes of profile quick; the aim is 200 ms."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from trajkit.benchmarks import BenchRow
from trajkit.explore.data import CELLS_M, MINUTES, MOST_POINTS, data_panel
from trajkit.explore.panel import Panel
from trajkit.explore.runs import runs_panel

CITY = {"trips": 20000, "seed": 0}


def rows() -> list[BenchRow]:
    """Median and longest answer of each control: from its change to the new picture (the browser's part not counted)."""
    return [*_data(), *_runs()]


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
