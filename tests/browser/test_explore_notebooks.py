"""The explore notebooks in JupyterLab: run all, drag a slider, and see pictures and map change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from driven_lab import Lab, drag

CITY = {"people": 120, "days": 2, "seed": 1}
CANVAS = ".trajkit-map canvas"
PLAYER = 130  # pixels below, where the time player of the map stands and moves by itself


def _pictures(page: Any) -> list[str]:
    """The source of each picture that the panels show."""
    return page.eval_on_selector_all(".jupyter-widgets img", "all => all.map(one => one.src)")


def _until(changed: Callable[[], bool], page: Any, *, seconds: float = 60) -> None:
    """Wait until ``changed`` says so."""
    end = time.monotonic() + seconds
    while not changed():
        assert time.monotonic() < end, f"nothing has changed in {seconds:.0f} s"
        page.wait_for_timeout(500)


def _map(page: Any, pixels: Any) -> np.ndarray:
    """The map as it is seen, drawn to its end: twice the same."""
    page.locator(".trajkit-map").first.scroll_into_view_if_needed()
    before = pixels(page, ".trajkit-map")[:-PLAYER]
    for _ in range(60):
        page.wait_for_timeout(1000)
        now = pixels(page, ".trajkit-map")[:-PLAYER]
        if _coloured(now) and np.array_equal(before, now):
            break
        before = now
    return before


def _coloured(pixels: np.ndarray) -> int:
    """How many pixels have a colour of their own."""
    return int((np.ptp(pixels.astype(int), axis=-1) > 40).sum())


def _differ(a: np.ndarray, b: np.ndarray) -> int:
    return int((np.abs(a.astype(int) - b).max(axis=-1) > 60).sum())


def test_explore_data(lab: Lab, page: Any, pixels: Any, shot: Any) -> None:
    lab.run_all(page, "explore-data", {"dataset_settings": CITY})
    page.wait_for_selector(CANVAS, timeout=120_000)
    shot(page, "explore-data")
    before = _pictures(page)
    assert len(before) >= 4
    drawn = _map(page, pixels)
    assert _coloured(drawn) > 500
    shot(page, "explore-data-map")
    drag(page, "hours of the day", 0.4)
    _until(lambda: all(a != b for a, b in zip(before, _pictures(page), strict=True)), page)
    _until(lambda: _differ(drawn, _map(page, pixels)) > 200, page)
    shot(page, "explore-data-hours")


def test_explore_runs(lab: Lab, page: Any, pixels: Any, shot: Any) -> None:
    lab.run_all(page, "explore-runs", {})
    page.wait_for_selector(CANVAS, timeout=120_000)
    _until(lambda: "done" in page.locator(".jp-Notebook").inner_text(), page, seconds=240)
    shot(page, "explore-runs")
    before, said = _pictures(page), page.locator(".jupyter-widgets img").first.get_attribute("alt")
    drawn = _map(page, pixels)
    assert _coloured(drawn) > 500
    shot(page, "explore-runs-map")
    drag(page, "epsilon", 0.5)
    _until(lambda: _pictures(page)[0] != before[0], page)
    assert page.locator(".jupyter-widgets img").first.get_attribute("alt") != said
    _until(lambda: _differ(drawn, _map(page, pixels)) > 100, page)
    shot(page, "explore-runs-epsilon")


def test_explore_privacy(lab: Lab, page: Any, pixels: Any, shot: Any) -> None:
    lab.run_all(page, "explore-privacy", {"dataset_settings": CITY, "releases": 10000})
    _until(lambda: len(_pictures(page)) >= 6, page)  # two of them from the accountants, which take seconds
    shot(page, "explore-privacy")
    for label, share in (
        ("trips per user, at most", 0.4),
        ("k", 0.5),
        ("claimed epsilon", -0.3),
        ("sensitivity (trips of one person)", 0.4),
    ):
        before = _pictures(page)
        drag(page, label, share)
        _until(lambda before=before: len(_pictures(page)) >= len(before) and _pictures(page) != before, page)
        shot(page, f"explore-privacy-{label.split(',')[0].split(' (')[0].replace(' ', '-')}")


def test_the_index_leads_to_every_notebook(lab: Lab, page: Any, shot: Any) -> None:
    lab.run_all(page, "index", {})
    shot(page, "index")
    page.locator(".jp-MarkdownOutput a", has_text="explore-data").first.click()
    page.wait_for_selector(".lm-TabBar-tab.lm-mod-current >> text=explore-data.ipynb", timeout=60_000)


def test_a_saved_notebook_updates_its_text_twin(lab: Lab, page: Any) -> None:
    twin = lab.folder / "notebooks" / "text" / "index.py"
    lab.run_all(page, "index", {})
    cells = twin.read_text().count("# %%")
    for command in ("notebook:insert-cell-below", "docmanager:save"):
        page.evaluate(f"() => window.jupyterapp.commands.execute('{command}')")
    _until(lambda: twin.read_text().count("# %%") == cells + 1, page)


@pytest.fixture(autouse=True)
def wide(page: Any) -> None:
    page.set_viewport_size({"width": 1600, "height": 1100})
