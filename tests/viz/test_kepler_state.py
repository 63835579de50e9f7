"""The configuration that kepler.gl gets."""

from __future__ import annotations

import math

import pytest
from toys import META, walks

from trajkit.errors import ParameterError
from trajkit.geo import Box
from trajkit.viz.kepler_state import config, rgb, shades, view
from trajkit.viz.map_clock import clock_of
from trajkit.viz.map_sets import MapSet

SETS = [MapSet("real", walks(4, 5, seed=1), "#0072b2"), MapSet("released", walks(4, 5, seed=2), "#d55e00")]


def _config(sets: list[MapSet] = SETS, **changed: object) -> dict:
    asked = {"layers": ("trips", "lines"), "split": False, "online": False, "height": 600, **changed}
    return config(sets, clock_of(sets, None), META.box, **asked)["config"]  # type: ignore[arg-type]


def test_every_set_has_each_layer_in_its_colour_and_the_streets_lie_last() -> None:
    layers = _config(layers=("trips", "lines", "hexagons"))["visState"]["layers"]
    assert [(layer["id"], layer["type"], layer["config"]["dataId"]) for layer in layers] == [
        ("trips 1", "trip", "set 1"),
        ("trips 2", "trip", "set 2"),
        ("lines 1", "geojson", "set 1"),
        ("lines 2", "geojson", "set 2"),
        ("hexagons 1", "hexagon", "set 1 points"),
        ("hexagons 2", "hexagon", "set 2 points"),
        ("beneath", "geojson", "beneath"),
    ]
    assert [layer["config"]["color"] for layer in layers[:2]] == [rgb(s.colour) for s in SETS]


def test_each_side_of_a_split_map_shows_one_set_and_the_streets() -> None:
    shown = _config(split=True)
    left, right = (side["layers"] for side in shown["visState"]["splitMaps"])
    assert {k for k, on in left.items() if on} == {"trips 1", "lines 1", "beneath"}
    assert {k for k, on in right.items() if on} == {"trips 2", "lines 2", "beneath"}
    assert shown["mapState"]["isSplit"] and not _config()["mapState"]["isSplit"]


def test_a_split_needs_two_sets() -> None:
    with pytest.raises(ParameterError, match="two sets side by side, got 1"):
        _config(SETS[:1], split=True)


@pytest.mark.parametrize("layers", [(), ("trips", "arcs"), "trips"])
def test_unknown_layers_are_refused(layers: object) -> None:
    with pytest.raises(ParameterError, match="not some of trips, lines, hexagons"):
        _config(layers=layers)


def test_the_player_starts_at_the_clocks_moment() -> None:
    clock = clock_of(SETS, None)
    assert _config()["visState"]["animationConfig"]["currentTime"] == clock.start_s * 1000


def test_the_basemap_is_blank_unless_it_is_asked_for() -> None:
    assert _config()["mapStyle"] == {"styleType": "no_map", "backgroundColor": [255, 255, 255]}
    assert _config(online=True)["mapStyle"] == {"styleType": "positron"}


def test_the_view_holds_the_box_and_fills_the_map() -> None:
    for box, columns, height in ((META.box, 1, 600), (META.box, 2, 600), (Box(0, 40, 0.01, 41), 1, 400)):
        seen = view(box, columns, height)
        pixels = 512 * 2 ** seen["zoom"]  # of the whole world

        def north(lat: float, world: float = pixels) -> float:
            return math.log(math.tan(math.pi / 4 + math.radians(lat) / 2)) / (2 * math.pi) * world

        wide = (box.lon_max - box.lon_min) / 360 * pixels / (900 / columns)
        high = (north(box.lat_max) - north(box.lat_min)) / height
        assert max(wide, high) == pytest.approx(1 / 1.08)
        assert north(box.lat_max) - north(seen["latitude"]) == pytest.approx(
            north(seen["latitude"]) - north(box.lat_min)
        )


def test_shades_end_in_the_colour() -> None:
    assert shades([0, 114, 178])[-1] == "#0072b2" and len(set(shades([0, 114, 178]))) == 5


def test_more_lines_are_drawn_fainter() -> None:
    many = [MapSet("real", walks(2000, 2, seed=1), "#0072b2")]
    opacity = [
        next(x for x in _config(s)["visState"]["layers"] if x["id"] == "lines 1")["config"]["visConfig"]["opacity"]
        for s in (SETS, many)
    ]
    assert opacity[0] > opacity[1] > 0
