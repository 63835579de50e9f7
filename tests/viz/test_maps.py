"""The map as a widget, a page and a figure."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ipywidgets
import numpy as np
import pytest
from toys import META, walks

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.public_map import lattice
from trajkit.viz.map_html import read_page
from trajkit.viz.map_lines import unpack
from trajkit.viz.maps import TripMap, trip_map

REAL = walks(30, 8, seed=1).with_meta(visibility="public")
RELEASED = walks(20, 8, seed=2).with_meta(visibility="public")


@pytest.fixture
def split() -> TripMap:
    return trip_map({"real": REAL, "released": RELEASED}, split=True, rows=10)


class _Comm:
    """Keeps what is sent to the browser."""

    comm_id = "toy"
    kernel = object()

    def __init__(self, sent: list[dict[str, Any]], **opened: Any) -> None:
        self.sent = sent
        sent.append(opened)

    def send(self, data: dict[str, Any], buffers: list[Any] | None = None) -> None:
        self.sent.append({"data": data, "buffers": buffers})

    def on_msg(self, call: Any) -> None:
        pass

    on_close = on_msg

    def close(self) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every message of widgets to the browser."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(ipywidgets.comm, "create_comm", lambda **opened: _Comm(messages, **opened))
    return messages


# ---- the page -----------------------------------------------------------------------------------------------------


def test_a_page_holds_the_sampled_lines_and_says_what_it_shows(split: TripMap) -> None:
    state, lines = read_page(split.html())
    real, released, grid = unpack(state, lines)
    assert [len(part.offsets) - 1 for part in (real, released)] == [10, 10] and len(grid.offsets) > 8
    kept = {tuple(np.rint(p * 1e6).astype(int)) for p in REAL.lonlat}
    assert {tuple(np.rint(p * 1e6).astype(int)) for p in real.lonlat} <= kept
    assert state["legend"] == [
        {"name": "real", "colour": "#0072b2", "side": "left"},
        {"name": "released", "colour": "#d55e00", "side": "right"},
    ]
    assert state["notes"] == split.notes
    assert "real: 10 of 30 trajectories are shown, drawn at random with seed 0" in split.notes
    assert any("the clock is made" in note for note in split.notes)


def test_names_cannot_break_out_of_the_page() -> None:
    name = "</script><script>alert(1)</script>"
    page = trip_map({name: REAL}).html()
    assert name not in page and "<script>alert" not in page
    assert read_page(page)[0]["legend"][0]["name"] == name


def test_the_page_is_the_same_each_time(split: TripMap) -> None:
    again = trip_map({"real": REAL, "released": RELEASED}, split=True, rows=10)
    assert read_page(split.html()) == read_page(again.html())


def test_saving_writes_the_page_and_its_twin_beside_it(split: TripMap, tmp_path: Path) -> None:
    files = split.save(tmp_path / "maps" / "both.html")
    assert [f.name for f in files] == ["both.html", "both.png", "both.svg"] and all(f.is_file() for f in files)
    png = files[1].read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">I", png[16:20])[0] > 1000
    assert b"real (10 trajectories)" in png and "real (10 trajectories)" in files[2].read_text()
    ElementTree.parse(files[2])
    assert "real (10 trajectories)" in read_page(files[0].read_text())[0]["alt"]


def test_a_map_is_saved_as_html_only(split: TripMap, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"both\.png in \.html"):
        split.save(tmp_path / "both.png")


def test_streets_lie_beneath() -> None:
    roads = lattice(META.box, META.crs, 2000.0).network
    state, lines = read_page(trip_map({"real": REAL}, roads=roads).html())
    assert len(unpack(state, lines)[-1].offsets) - 1 == len(roads.streets())


def test_the_online_basemap_is_announced() -> None:
    asked = trip_map({"real": REAL}, basemap="online")
    assert "the basemap is loaded from basemaps.cartocdn.com" in asked.notes
    assert (
        "Content-Security-Policy" not in asked.html() and "Content-Security-Policy" in trip_map({"real": REAL}).html()
    )


@pytest.mark.parametrize(
    ("wrong", "words"), [({"basemap": "osm"}, "basemap 'osm'"), ({"height": 5}, "height is in pixels")]
)
def test_bad_settings_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        trip_map({"real": REAL}, **wrong)


# ---- the figure ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [("trips", "lines"), ("hexagons",)])
def test_the_twin_has_a_panel_a_set_in_the_colours_of_the_map(split: TripMap, layers: tuple[str, ...]) -> None:
    drawn = trip_map({"real": REAL, "released": RELEASED}, layers=layers, rows=10)
    panels = drawn.figure().axes
    state = json.loads(drawn.state)
    assert [(ax.get_title(), ax.title.get_color()) for ax in panels] == [
        (e["name"], e["colour"]) for e in state["legend"]
    ]
    assert all(len(ax.collections) == 2 for ax in panels)


def test_an_empty_set_has_an_empty_panel() -> None:
    drawn = trip_map({"real": REAL, "nothing": RELEASED.take(np.zeros(0, dtype=int))})
    assert "nothing is empty: nothing is drawn" in drawn.notes
    assert [len(ax.collections) for ax in drawn.figure().axes] == [2, 1]
    assert '"lines": 0' in drawn.state


# ---- the widget ---------------------------------------------------------------------------------------------------


def test_everything_is_there_when_the_widget_opens(split: TripMap, sent: list[dict[str, Any]]) -> None:
    split.widget()
    opened = next(m for m in sent if "KMap" in str(m["data"]["state"].get("_anywidget_id")))
    assert opened["data"]["state"]["state"] == split.state
    assert {
        tuple(p): bytes(b) for p, b in zip(opened["data"]["buffer_paths"], opened["buffers"], strict=True)
    }.keys() == {
        ("kepler",),
        ("lines",),
    }
    assert sent[-1] is opened


def test_the_module_that_the_browser_imports_is_small(split: TripMap) -> None:
    assert len(split.widget()._esm) < 20_000


def test_other_sets_come_in_one_message_without_kepler(split: TripMap, sent: list[dict[str, Any]]) -> None:
    widget = split.widget()
    before = len(sent)
    notes = widget.update({"real": RELEASED, "released": REAL})
    (message,) = sent[before:]
    assert set(message["data"]["state"]) == {"state"} and message["data"]["buffer_paths"] == [["lines"]]
    assert notes == json.loads(widget.state)["notes"] and "real: 10 of 20 trajectories" in notes[0]


def test_same_counts_and_other_lines_are_another_state(split: TripMap) -> None:
    widget = split.widget()
    before = widget.state
    widget.update({"real": REAL.with_meta(), "released": walks(20, 8, seed=3).with_meta(visibility="public")})
    assert widget.state != before


def test_an_update_is_checked_as_the_map_was(split: TripMap) -> None:
    widget = split.widget()
    before = widget.state
    with pytest.raises(PrivacyAccountingError):
        widget.update({"real": walks(3, 8, seed=1), "released": RELEASED})
    assert widget.state == before
    assert split.widget() is widget
