"""The panel of releases: made on the spot or finished, everything changes together, raw private data stay hidden."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ipywidgets as widgets
import pytest

from trajkit.errors import ParameterError
from trajkit.explore import releases
from trajkit.explore.moving_map import MovingMap
from trajkit.explore.releases import Entry, judged, make, offered
from trajkit.explore.runs import RunsPanel, runs_panel
from trajkit.viz.pictures import Picture
from trajkit.yamlio import write_text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs and cache of these tests."""
    return tmp_path_factory.mktemp("explore")


@pytest.fixture(autouse=True)
def _outputs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(place / "cache"))
    for module in ("trajkit.explore.releases", "trajkit.study.workflow"):
        monkeypatch.setattr(f"{module}.OUTPUTS", place / "outputs")


def _panel() -> RunsPanel:
    return runs_panel("city", profile="smoke", epsilon=10.0, interactive=True)


def test_what_is_missing_is_made_beside_the_panel(place: Path) -> None:
    panel = _panel()
    panel.box()
    panel.work.wait(120)
    assert "done" in panel.work.status.value and panel.message.value == ""
    assert all(e.made for e in panel.entries) and not (place / "outputs" / "runs").exists()
    assert {e.config.method for e in panel.entries} == {"real", "uniform", "straight", "privtrace", "road_counts"}
    assert panel.views.value.count("<img alt=") == 5 and "Guarantee: holds" in panel.views.value


def test_a_choice_changes_all_views_together() -> None:
    panel = _panel()
    panel.box()
    panel.work.wait(120)
    before, maps = [v.html() for v in panel.shown()], panel.map.box.children[0].state
    panel.controls["method"].value = "road counts"
    after = [v.html() for v in panel.shown()]
    changed = [a != b for a, b in zip(before, after, strict=True)]
    assert changed == [True, True, False, True, True, True, True], "all but the map of real trips"
    assert panel.map.box.children[0].state != maps and "road counts" in panel.map.box.children[0].state


def test_the_wish_for_an_epsilon_survives_a_method_without() -> None:
    panel = _panel()
    panel.controls["method"].value = "real trips (the floor)"
    assert panel.values["epsilon"] == "none"
    panel.controls["method"].value = "PrivTrace"
    assert panel.values["epsilon"] == "10"


def test_cancel_leaves_what_is_missing_unmade(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(place / "empty"))
    panel = _panel()
    monkeypatch.setattr("trajkit.explore.runs.make", lambda entry: panel.work.stop())
    monkeypatch.setattr(panel.release_views, "prepare", lambda entry: None)
    panel.box()
    panel.work.wait(60)
    assert "cancelled" in panel.work.status.value
    assert "is not made yet" in panel.shown()[0].html()


def test_errors_lie_between_floor_and_ceiling() -> None:
    entries = offered("city", data=None, settings=None, profile="smoke")
    for entry in entries:
        make(entry)
    table = judged(entries).set_index("metric")
    of = {e.config.method: table[table["run_id"] == e.run_id]["rescaled"] for e in entries}
    assert of["real"].dropna().eq(0).all() and of["uniform"]["JSD"] == 1
    assert 0 < of["privtrace"]["JSD"] < 1


def test_a_finished_run_is_used_and_never_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = next(
        e for e in offered("city", data=None, settings=None, profile="smoke") if e.config.method == "privtrace"
    )
    make(entry)
    finished = place / "outputs" / "runs" / entry.run_id
    shutil.copytree(entry.folder, finished)
    write_text(finished / "manifest.json", "{}")
    plan = {
        "runs": [
            {"run_id": entry.run_id, "cell": "privtrace-private", "replicate": 0, "config": entry.config.model_dump()}
        ]
    }
    (place / "outputs" / "rq7" / "smoke-city").mkdir(parents=True)
    write_text(place / "outputs" / "rq7" / "smoke-city" / "plan.json", json.dumps(plan))
    monkeypatch.setenv("TRAJKIT_CACHE", str(place / "other"))
    try:
        assert releases.finished() == [entry] and entry.made and entry.folder == finished
    finally:
        shutil.rmtree(place / "outputs")


def test_an_unknown_choice_names_the_others() -> None:
    with pytest.raises(ParameterError, match="there is no vae at epsilon 1 to look at: choose among"):
        runs_panel("city", profile="smoke", method="vae")


def test_private_trips_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = _panel()
    make(panel.entry)
    stage = panel.release_views._stage(_place(panel.entry))
    monkeypatch.setattr(stage, "private", True)
    monkeypatch.setattr(panel.release_views, "_stage", lambda place: stage)
    shown = panel.release_views.of(panel.entry)
    alts = [v.alt for v in shown if isinstance(v, Picture)]
    assert not any("real (test)" in a or "Road map" in a for a in alts) and "is private" in shown[0].html()
    words = " ".join(v.html() for v in shown if not isinstance(v, Picture))
    assert "no guarantee covers them" in words, "errors are computed from the private trips"
    assert "holds, while nobody knows the seed" in words, "the study's noise can be repeated"
    floor = next(e for e in panel.entries if e.config.method == "real")
    assert len(panel.release_views.of(floor)) == 1
    panel._move()  # one half is hidden, so the map is not split
    assert panel.map.box.children


def test_no_earlier_map_stays_beneath_a_choice_that_has_none() -> None:
    moving = MovingMap()
    moving.box.children = (widgets.HTML("an earlier map"),)
    with pytest.raises(ParameterError):
        moving.show({})
    assert moving.box.children == ()


def _place(entry: Entry) -> str:
    from trajkit.explore import release_views

    return release_views._place(entry)
