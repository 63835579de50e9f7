"""The configuration that kepler.gl is given: layers, first view, time player, split view, blank or online basemap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trajkit.errors import ParameterError
from trajkit.geo import Box
from trajkit.viz.map_clock import Clock
from trajkit.viz.map_sets import MapSet

LAYERS = ("trips", "lines", "hexagons")
BENEATH = "beneath"
POINTS = " points"  # ids of the sets of points that hexagons are made from end in it
WIDTH_PX, TILE_PX, MARGIN = 900, 512, 1.08
STREETS = (176, 176, 176)
HEXAGON_KM = 0.25
INK = 400  # the more lines there are, the fainter each is drawn
ONLINE_STYLE = "positron"


def config(
    sets: Sequence[MapSet], clock: Clock, box: Box, *, layers: Sequence[str], split: bool, online: bool, height: int
) -> dict[str, Any]:
    """Return the map's configuration in kepler.gl's schema "v1". Raises ParameterError for layers that do not exist, or a split of other than two sets."""
    unknown = [kind for kind in layers if kind not in LAYERS]
    if unknown or not layers:
        raise ParameterError(f"layers {list(layers)} are not some of {', '.join(LAYERS)}")
    if split and len(sets) != 2:
        raise ParameterError(f"a split map shows two sets side by side, got {len(sets)}: pass two, or split=False")
    # kepler.gl draws its first layer on top
    drawn = [_layer(s, i, kind, clock, "trips" in layers) for kind in layers for i, s in enumerate(sets)]
    drawn.append(_beneath())
    sides = [{layer["id"]: layer["config"]["dataId"] in (BENEATH, *ids) for layer in drawn} for ids in _sides(sets)]
    return {
        "version": "v1",
        "config": {
            "visState": {
                "filters": [],
                "layers": drawn,
                "interactionConfig": {"tooltip": {"enabled": False, "fieldsToShow": {}}},
                "layerBlending": "normal",
                "splitMaps": [{"layers": side} for side in sides] if split else [],
                "animationConfig": {"currentTime": clock.start_s * 1000, "speed": 1, "timezone": "UTC"},
            },
            "mapState": {
                **view(box, 1 + split, height),
                "bearing": 0,
                "pitch": 0,
                "dragRotate": False,
                "isSplit": split,
            },
            "mapStyle": {"styleType": ONLINE_STYLE}
            if online
            else {"styleType": "no_map", "backgroundColor": [255, 255, 255]},
        },
    }


def set_id(i: int) -> str:
    """The name under which the page knows the i-th set: it stays when another set takes the place."""
    return f"set {i + 1}"


def view(box: Box, columns: int, height: int) -> dict[str, float]:
    """Centre and zoom at which ``box`` fills a map of ``height`` pixels, one of ``columns`` side by side."""
    low, high = (math.log(math.tan(math.pi / 4 + math.radians(lat) / 2)) for lat in (box.lat_min, box.lat_max))
    across = (box.lon_max - box.lon_min) / 360 * TILE_PX / (WIDTH_PX / columns)
    up = (high - low) / (2 * math.pi) * TILE_PX / height
    return {
        "longitude": (box.lon_min + box.lon_max) / 2,
        "latitude": math.degrees(2 * math.atan(math.exp((low + high) / 2)) - math.pi / 2),
        "zoom": -math.log2(max(across, up) * MARGIN),
    }


def rgb(colour: str) -> list[int]:
    """``#rrggbb`` as three numbers to 255."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _sides(sets: Sequence[MapSet]) -> list[tuple[str, str]]:
    return [(set_id(i), set_id(i) + POINTS) for i in range(len(sets))]


def _layer(s: MapSet, i: int, kind: str, clock: Clock, moving: bool) -> dict[str, Any]:
    colour = rgb(s.colour)
    if kind == "hexagons":
        scale = {"name": s.name, "type": "sequential", "category": "Custom", "colors": shades(colour)}
        look = {"opacity": 0.7, "worldUnitSize": HEXAGON_KM, "colorRange": scale, "coverage": 0.95, "enable3d": False}
        return _described(f"{kind} {i + 1}", "hexagon", set_id(i) + POINTS, s.name, colour, look)
    if kind == "trips":
        look = {"opacity": 0.9, "thickness": 1, "trailLength": clock.trail_s, "fadeTrail": True}
        return _described(f"{kind} {i + 1}", "trip", set_id(i), s.name, colour, look)
    opacity = min(0.6, max(0.1, INK / max(1, len(s.trajs))))
    pale = rgb(shades(colour)[1]) if moving else colour  # so that what moves stands out
    return _described(f"{kind} {i + 1}", "geojson", set_id(i), s.name, pale, _stroke(pale, opacity, 0.5))


def shades(colour: Sequence[int]) -> list[str]:
    """Five shades of a colour, from a fifth of it to the whole."""
    return ["#" + "".join(f"{round(255 - (255 - c) * part / 5):02x}" for c in colour) for part in range(1, 6)]


def _beneath() -> dict[str, Any]:
    return _described(BENEATH, "geojson", BENEATH, BENEATH, list(STREETS), _stroke(STREETS, 0.6, 0.4))


def _stroke(colour: Sequence[int], opacity: float, thickness: float) -> dict[str, Any]:
    return {
        "opacity": opacity,
        "strokeOpacity": opacity,
        "thickness": thickness,
        "strokeColor": list(colour),
        "stroked": True,
        "filled": False,
    }


def _described(id: str, kind: str, data: str, label: str, colour: list[int], look: dict[str, Any]) -> dict[str, Any]:
    columns = {"lat": "lat", "lng": "lon"} if kind == "hexagon" else {"geojson": "_geojson"}
    described = {
        "dataId": data,
        "label": label,
        "color": colour,
        "columns": columns,
        "isVisible": True,
        "visConfig": look,
    }
    return {"id": id, "type": kind, "config": described}
