"""The moving map follows the panel in place, and says why where it cannot be made."""

from __future__ import annotations

import pytest
from toys import walks

from trajkit.errors import MissingDataError, PrivacyAccountingError
from trajkit.explore.moving_map import MovingMap
from trajkit.viz.maps import TripMap

OPEN = walks(5, 10, 0).with_meta(visibility="public")


def test_other_sets_are_shown_in_the_same_widget() -> None:
    moving = MovingMap()
    moving.show({"first": OPEN})
    (shown,) = moving.box.children
    before = shown.lines
    moving.show({"second": walks(5, 10, 1).with_meta(visibility="public")})
    assert moving.box.children == (shown,) and shown.lines != before and "second" in shown.state


def test_where_there_is_no_map_a_sentence_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: TripMap) -> None:
        raise MissingDataError("keplergl is not installed: install it")

    monkeypatch.setattr(TripMap, "widget", missing)
    moving = MovingMap()
    moving.show({"first": OPEN})
    assert "keplergl is not installed" in moving.box.children[0].value


def test_raw_private_trips_are_refused() -> None:
    private = walks(5, 10, 0).with_meta(visibility="private")
    with pytest.raises(PrivacyAccountingError, match="may not be drawn"):
        MovingMap().show({"mine": private})
