"""The panel of a data set: each control changes what it should, private data stay hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.explore.data import HIDDEN, data_panel
from trajkit.explore.panel import Panel
from trajkit.viz.pictures import Picture, Text

CITY = {"people": 60, "days": 2, "seed": 0}


def _alts(panel: Panel) -> list[str]:
    return [v.alt if isinstance(v, Picture) else v.source for v in panel.shown()]


@pytest.fixture(scope="module")
def panel() -> Panel:
    return data_panel("city", settings=CITY, interactive=True)


def test_all_views_are_there_with_words(panel: Panel) -> None:
    panel.box()
    assert panel.message.value == "" and panel.views.value.count("<img alt=") == 4
    assert len(panel.also[0].children) == 1, "the moving map"


def test_the_window_changes_every_view(panel: Panel) -> None:
    panel.controls["hours"].value = (0, 24)
    whole = _alts(panel)
    panel.controls["hours"].value = (7, 10)
    assert all(a != b for a, b in zip(whole, _alts(panel), strict=True) if "points know" not in a)
    assert "7 to 10 o'clock" in _alts(panel)[0]
    panel.controls["hours"].value = (0, 24)
    assert _alts(panel) == whole


def test_uniqueness_grows_with_points_and_falls_with_coarser_cells(panel: Panel) -> None:
    def share() -> float:
        return float(_alts(panel)[2].rsplit(" ", 1)[1].rstrip("%"))

    panel.controls["points"].value, panel.controls["cell_m"].value = 1, 1000
    one = share()
    panel.controls["points"].value = 4
    four = share()
    panel.controls["cell_m"].value, panel.controls["minutes"].value = 4000, "no time"
    coarse = share()
    assert one < four and coarse < four


def test_an_empty_window_says_so(panel: Panel) -> None:
    panel.controls["hours"].value = (3, 4)
    assert "widen the hours" in _alts(panel)[0]


def test_choices_that_are_not_offered_are_named() -> None:
    with pytest.raises(ParameterError, match=r"cell_m = 7: one of 250.*points = 0: 1 to 6"):
        data_panel("city", settings=CITY, cell_m=7, points=0)


def _own_table(folder: Path) -> Path:
    rows = [
        f"u{u},{u}-{j},2024-01-08T0{7 + j}:{i:02d}:00Z,{41.15 + 0.002 * i},{-8.62 + 0.003 * u}"
        for u in range(6)
        for j in range(2)
        for i in range(10)
    ]
    (folder / "trips.csv").write_text("\n".join(["user,trip,time,lat,lon", *rows]))
    (folder / "own.yaml").write_text(
        "file: trips.csv\ncolumns: {user: user, traj: trip, t: time, lat: lat, lon: lon}\n"
        "box: [-8.72, 41.10, -8.50, 41.24]\ncrs: EPSG:32629\ntz: Europe/Lisbon\nmin_points: 2\n"
    )
    return folder / "own.yaml"


def test_private_data_are_hidden_unless_asked_for(tmp_path: Path) -> None:
    own = str(_own_table(tmp_path))
    hidden = data_panel("tables", data=own).shown()
    assert all(isinstance(v, Text) for v in hidden) and HIDDEN in hidden[0].html()  # type: ignore[union-attr]
    assert "120" not in "".join(v.html() for v in hidden), "no exact count"
    shown = data_panel("tables", data=own, allow_raw=True).shown()
    assert sum(isinstance(v, Picture) for v in shown) == 4
