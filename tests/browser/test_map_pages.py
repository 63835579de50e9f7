"""Saved maps, opened from disk by a browser without a network: what is seen, not only what is there."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv

from trajkit.datasets import load, roads_of
from trajkit.preprocess import to_fixed_length
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories
from trajkit.viz.maps import TripMap, trip_map

pytest.importorskip("playwright", reason="no browser is driven without playwright")

CITY = {"people": 60, "days": 2, "seed": 1}
BLUE, VERMILION = (0, 114, 178), (213, 94, 0)
LIGHTER = 60  # of 255: a pixel that differs by more has changed
PLAYER = 130  # pixels below, where the player and the scale bar stand


@pytest.fixture(scope="module")
def city() -> Trajectories:
    return load("city", settings=CITY)


@pytest.fixture(scope="module")
def roads() -> RoadNetwork:
    return roads_of("city", settings=CITY)


def _beside(city: Trajectories, roads: RoadNetwork, index: np.ndarray) -> TripMap:
    """The city, and 40 of its trajectories without times as if they had been released."""
    released = Trajectories.from_fixed(to_fixed_length(city.take(index), length=32), meta=city.meta)
    return trip_map({"real": city, "released": released}, roads=roads, split=True, rows=60)


def _open(page: Any, drawn: TripMap, folder: Path) -> None:
    page.goto(drawn.save(folder / "map.html")[0].as_uri())
    page.wait_for_selector(".trajkit-map canvas", timeout=90_000)


def _seen(pixels: np.ndarray, colour: tuple[int, int, int]) -> int:
    """How many pixels have the hue of a colour, pale ones included."""
    hue, saturation, _ = np.moveaxis(rgb_to_hsv(pixels / 255), -1, 0)
    return int(((np.abs(hue - rgb_to_hsv(np.array(colour) / 255)[0]) < 0.04) & (saturation > 0.2)).sum())


def _grey(pixels: np.ndarray) -> int:
    """How many pixels are neither white nor coloured."""
    low, high = pixels.min(axis=-1).astype(int), pixels.max(axis=-1).astype(int)
    return int(((high - low < 8) & (high < 240)).sum())


def _changed(a: np.ndarray, b: np.ndarray) -> int:
    return int((np.abs(a.astype(int) - b).max(axis=-1) > LIGHTER).sum())


def _map(page: Any, pixels: Any) -> np.ndarray:
    """The pixels of the map above its time player."""
    return pixels(page, ".trajkit-map")[:-PLAYER]


def _once(page: Any, pixels: Any, ready: Any) -> np.ndarray:
    """The pixels of the map once ``ready`` says so of them; the last ones after a minute."""
    shown = _map(page, pixels)
    for _ in range(60):
        if ready(shown):
            break
        page.wait_for_timeout(1000)
        shown = _map(page, pixels)
    return shown


def test_the_trajectories_are_seen_over_their_streets(
    page: Any, pixels: Any, shot: Any, city: Trajectories, roads: RoadNetwork, tmp_path: Path
) -> None:
    _open(page, trip_map({"real": city}, roads=roads, rows=60), tmp_path)
    shown = _once(page, pixels, lambda p: _seen(p, BLUE) > 1000)
    shot(page, "map-page")
    assert _seen(shown, BLUE) > 1000 and _grey(shown) > 1000
    legend = page.inner_text(".trajkit-legend")
    assert legend.startswith("real") and "real: 60 of" in legend
    assert not page.is_visible("#twin")


def test_the_time_player_moves_the_map(page: Any, pixels: Any, shot: Any, city: Trajectories, tmp_path: Path) -> None:
    _open(page, trip_map({"real": city}, layers=("trips",), rows=200), tmp_path)
    before = _once(page, pixels, lambda p: _seen(p, BLUE) > 300)
    play = page.locator(".playback-control-button").first
    play.click()
    page.wait_for_timeout(3000)
    play.click()
    after = _map(page, pixels)
    shot(page, "map-page-played")
    assert _seen(before, BLUE) > 300 and _changed(before, after) > 100


def test_each_half_of_a_split_map_shows_its_own_set(
    page: Any, pixels: Any, shot: Any, city: Trajectories, roads: RoadNetwork, tmp_path: Path
) -> None:
    _open(page, _beside(city, roads, np.arange(40)), tmp_path)
    shown = _once(page, pixels, lambda p: _seen(p, BLUE) > 500 and _seen(p, VERMILION) > 500)
    shot(page, "map-page-split")
    left, right = np.split(shown, 2, axis=1)
    assert _seen(left, BLUE) > 500 and _seen(right, VERMILION) > 500
    assert _seen(left, VERMILION) == 0 and _seen(right, BLUE) == 0
    assert page.inner_text(".trajkit-legend").startswith("left: real")


def test_hexagons_are_seen(page: Any, pixels: Any, shot: Any, city: Trajectories, tmp_path: Path) -> None:
    _open(page, trip_map({"real": city}, layers=("hexagons",), rows=60), tmp_path)
    shown = _once(page, pixels, lambda p: _seen(p, BLUE) > 10_000)
    shot(page, "map-page-hexagons")
    assert _seen(shown, BLUE) > 10_000


def test_other_sets_take_the_place_and_the_view_stays(
    page: Any, pixels: Any, shot: Any, city: Trajectories, roads: RoadNetwork, tmp_path: Path
) -> None:
    """As in a widget whose state changes: this page's model can be told."""
    maps = [_beside(city, roads, np.arange(40) + first) for first in (0, 100)]
    told = maps[0].html().replace("on: () => {}", "on: (_, call) => (globalThis.told = call)")
    file = tmp_path / "map.html"
    file.write_text(told.replace("const values = { state", "const values = globalThis.values = { state"))
    page.goto(file.as_uri())
    page.wait_for_selector(".trajkit-map canvas", timeout=90_000)
    _once(page, pixels, lambda p: _seen(p, BLUE) > 500 and _seen(p, VERMILION) > 500)
    page.click(".map-navigation-control__zoom-in")
    page.wait_for_timeout(3000)
    seen = [_map(page, pixels)]
    for other in (maps[1], maps[0]):
        page.evaluate(
            "([state, lines]) => { values.state = state; values.lines = Uint8Array.from(atob(lines), (c) => c.charCodeAt(0)); told() }",
            [other.state, base64.b64encode(other.lines).decode()],
        )
        seen.append(_once(page, pixels, lambda p: _changed(p, seen[-1]) > 100))
        shot(page, f"map-page-told-{len(seen)}")
    (left, right), (left_told, right_told), (left_back, right_back) = (np.split(p, 2, axis=1) for p in seen)
    assert _changed(left, left_told) < 20 and _changed(right, right_told) > 100
    assert _changed(left, left_back) < 20 and _changed(right, right_back) < 20


def test_where_the_browser_cannot_draw_the_figure_is_shown_with_the_reason(
    page: Any, shot: Any, city: Trajectories, tmp_path: Path
) -> None:
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(trip_map({"real": city}, rows=60).save(tmp_path / "map.html")[0].as_uri())
    page.wait_for_selector("#twin img", state="visible", timeout=30_000)
    shot(page, "map-page-without-webgl")
    assert "this browser has no WebGL 2" in page.inner_text(".trajkit-failed")
    assert "real (60 trajectories)" in page.get_attribute("#twin img", "alt")


def test_maps_lie_side_by_side_in_a_report(
    page: Any, pixels: Any, shot: Any, city: Trajectories, tmp_path: Path
) -> None:
    """Two saved maps in the frames of one page, with the figures beside them."""
    for name in ("a", "b"):
        trip_map({name: city}, rows=40, height=260).save(tmp_path / f"{name}.html")
    frames = "".join(
        f'<iframe src="{n}.html" width="480" height="330"></iframe><img src="{n}.svg" width="400">' for n in "ab"
    )
    (tmp_path / "report.html").write_text(f"<!DOCTYPE html><title>report</title>{frames}")
    page.goto((tmp_path / "report.html").as_uri())
    for frame in page.locator("iframe").all():
        frame.content_frame.locator(".trajkit-map canvas").first.wait_for(timeout=90_000)
    for _ in range(60):
        page.wait_for_timeout(1000)
        counts = [_seen(pixels(page, f"iframe >> nth={i}")[:200], BLUE) for i in range(2)]
        if min(counts) > 300:
            break
    shot(page, "map-page-in-report")
    assert min(counts) > 300
    assert all(page.evaluate("[...document.images].map((i) => i.complete && i.naturalWidth > 0)"))
