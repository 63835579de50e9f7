"""C51: a blank map or "Error displaying widget". Where no map is possible the static figure is shown, with the reason."""

from __future__ import annotations

from typing import Any

import IPython.display
import pytest
from toys import walks

from trajkit.errors import MissingDataError
from trajkit.viz import maps

SHOWN = maps.trip_map({"walks": walks(5, 6, seed=1).with_meta(visibility="public")})


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a cell would show."""
    shown: list[Any] = []
    monkeypatch.setattr(IPython.display, "display", lambda thing, **kwargs: shown.append(thing))
    return shown


def test_where_nobody_looks_the_figure_alone_is_shown(monkeypatch: pytest.MonkeyPatch, displayed: list[Any]) -> None:
    monkeypatch.setenv("TRAJKIT_LIVE", "0")
    SHOWN.show()
    (figure,) = displayed
    assert set(figure) == {"image/png", "text/plain"} and "walks (5 trajectories)" in figure["text/plain"]


def test_in_a_notebook_the_map_is_shown_and_the_figure_below(
    monkeypatch: pytest.MonkeyPatch, displayed: list[Any]
) -> None:
    monkeypatch.setenv("TRAJKIT_LIVE", "1")
    SHOWN.show()
    assert [type(thing).__name__ for thing in displayed] == ["KMap", "dict"]


def test_without_kepler_the_figure_is_shown_and_says_why(monkeypatch: pytest.MonkeyPatch, displayed: list[Any]) -> None:
    monkeypatch.setenv("TRAJKIT_LIVE", "1")

    def absent(online: bool) -> bytes:
        raise MissingDataError("the package keplergl is not installed")

    monkeypatch.setattr(maps, "bundle", absent)
    maps.trip_map({"walks": walks(5, 6, seed=1).with_meta(visibility="public")}).show()
    reason, figure = displayed
    assert "not possible here (the package keplergl is not installed)" in reason.data and "image/png" in figure


def test_where_the_browser_cannot_draw_the_page_shows_the_figure() -> None:
    """The script of the page itself says why, then shows the twin that the page holds; a browser test opens such a page."""
    page = SHOWN.html()
    assert "The interactive map cannot be shown" in page and page.count('src="data:image/png;base64,') == 2
