"""C52: exported maps are empty offline. Ours hold everything: no host is named outside kepler.gl's own code, and the page's policy forbids all."""

from __future__ import annotations

import re
from pathlib import Path

from toys import walks

from trajkit.viz.kepler_widget import KMap
from trajkit.viz.map_html import CLOSED
from trajkit.viz.maps import trip_map

SETS = {
    "real": walks(5, 6, seed=1).with_meta(visibility="public"),
    "released": walks(5, 6, seed=2).with_meta(visibility="public"),
}
HOST = re.compile(r"(?:https?:|wss?:)?//[A-Za-z0-9.-]+\.[A-Za-z]{2,}")
"""Addresses; kepler.gl's code is base64 and holds neither ``:`` nor ``.``."""


def test_a_page_names_no_host_and_forbids_all() -> None:
    page = trip_map(SETS, split=True).html()
    assert HOST.findall(page) == []
    assert CLOSED in page and not re.search(r"https?:|\*|'self'", CLOSED)
    assert not re.findall(r"<(?:link|script|img)[^>]+(?:href|src)=\"(?!data:)", page)


def test_the_pattern_finds_hosts() -> None:
    assert HOST.findall('<script src="https://unpkg.com/x.js"><link href="//fonts.example.org/a.css">') == [
        "https://unpkg.com",
        "//fonts.example.org",
    ]


def test_the_widget_names_no_host() -> None:
    made = trip_map(SETS).widget()
    assert isinstance(made, KMap) and HOST.findall(made._esm + made.state) == []


def test_beside_every_map_lies_a_static_figure(tmp_path: Path) -> None:
    assert {f.suffix for f in trip_map(SETS).save(tmp_path / "a.html")} == {".html", ".png", ".svg"}
    assert {f.name for f in tmp_path.iterdir()} == {"a.html", "a.png", "a.svg"}


def test_svg_and_png_name_no_host_to_be_loaded(tmp_path: Path) -> None:
    svg = trip_map(SETS).save(tmp_path / "a.html")[2].read_text()
    assert not re.findall(r"(?:xlink:)?href=\"https?:", svg)
