"""What would we publish: picks at each epsilon, the cost of privacy, wrong maps, and what is said where something is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made import baselines, study

from trajkit.study import publish_text
from trajkit.study.results import StudyResults

PRIVATE = {"parameters": {"regime": "private", "epsilon": 10.0}}
PLAIN = {"parameters": {"regime": "plain"}}
OFF = {"report": {"share of trajectories off the map (noisy)": 0.25, "map": "a map"}}


def made_study(folder: Path, monkeypatch: pytest.MonkeyPatch, **cells: Any) -> StudyResults:
    facts = {
        "gan-plain-long": {"rescaled": [0.1, 0.12, 0.11], **PLAIN},
        "vae-plain": {"rescaled": [0.3, 0.32, 0.31], **PLAIN},
        "gan-private": {"rescaled": [0.2, 0.22, 0.21], **PRIVATE},
        "road_counts-private": {"rescaled": [0.02, 0.03, 0.025], **PRIVATE, **OFF},
        "road_counts-private-map-lattice": {"rescaled": [0.2, 0.2, 0.2], **PRIVATE, **OFF},
        "gan-private-epsilon-0.3": {"rescaled": [0.5, 0.5, 0.6], **PRIVATE},
        "flat-private-epsilon-0.3": {"rescaled": [0.9, 0.5, 0.7], **PRIVATE},
        **cells,
    }
    return StudyResults(study(folder, monkeypatch, {**baselines(3), **facts}, claims=[]))


def test_the_pick_at_each_epsilon_is_compared_with_the_best_plain_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = made_study(tmp_path, monkeypatch)
    assert publish_text.best_plain(s) == "gan-plain-long"
    assert [(x.name, p.model) for x, p in publish_text.picks(s)] == [
        ("private, epsilon 10", "road_counts"), ("private, epsilon 0.3", "gan"),
    ]  # fmt: skip
    text = publish_text.answer(s)
    assert "epsilon 10: **road counts** (clear)" in text and "epsilon 0.3: **GAN** (not clear)" in text
    assert "SWD 0.025 against 0.110" in text and "lower mean error in none" in text and "over 3 fold(s)" in text
    cost = publish_text.cost_of_privacy(s)
    assert len(cost) == 4 and cost["over gan-plain-long"].iloc[0] < 1 < cost["over real data"].iloc[0]


def test_a_lattice_is_a_map_of_its_own_and_no_contestant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = made_study(tmp_path, monkeypatch)
    table = publish_text.wrong_maps(s)
    assert list(table["cell"]) == ["road_counts-private", "road_counts-private-map-lattice"]
    assert (table["off the map (noisy)"] == 0.25).all() and list(table["map"]) == ["as it is", "a lattice"]
    assert table["SWD"].tolist() == pytest.approx([0.025, 0.2])
    assert not any("map-lattice" in c for x in publish_text.settings(s) for c in x.cells.values())


def test_cells_with_data_of_their_own_are_rescaled_by_their_own_baselines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"data": {"off_roads": 0.2}}
    ends = {"real": 0.2, "uniform": 0.7, "straight": 0.7}
    cells = {f"{m}-map-left": {"rescaled": [v] * 3, **own} for m, v in ends.items()}
    s = made_study(
        tmp_path,
        monkeypatch,
        **cells,
        **{"road_counts-private-map-left": {"rescaled": [0.3] * 3, **own, **PRIVATE, **OFF}},
    )
    table = publish_text.wrong_maps(s).set_index("cell")
    assert table.loc["road_counts-private-map-left", "SWD"] == pytest.approx((0.3 - 0.2) / (0.7 - 0.2))
    assert table.loc["road_counts-private", "SWD"] == pytest.approx(0.025)
    assert publish_text.best_plain(s) == "gan-plain-long" and len(publish_text.settings(s)) == 2


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = StudyResults(study(tmp_path, monkeypatch, {"gan-private": {"rescaled": ["missing"], **PRIVATE}}))
    assert "No run is complete" in publish_text.answer(none) and publish_text.best_plain(none) is None
    assert not len(publish_text.cost_of_privacy(none)) and not len(publish_text.wrong_maps(none))


def test_every_contestant_is_of_some_kind() -> None:
    table = publish_text.families().set_index("method")["kind"]
    assert "public road map" in table["road counts"] and "deep" in table["GAN"] and "noisy counts" in table["PrivTrace"]


def test_a_release_without_a_guarantee_is_no_better_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {
        "gan-private": {
            "rescaled": [0.001] * 3,
            "parameters": {"regime": "private", "epsilon": 10.0, "dp_target": "generator"},
        }
    }
    s = made_study(tmp_path, monkeypatch, **broken, **{"flat-private": {"rescaled": [0.4] * 3, **PRIVATE}})
    text = publish_text.answer(s)
    assert "epsilon 10: **road counts**" in text and "(GAN)" not in text


def test_without_a_fold_in_common_nothing_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {
        "road_counts-private": {"rescaled": [0.1, None], **PRIVATE},
        "flat-private": {"rescaled": [None, 0.2], **PRIVATE},
    }
    s = StudyResults(study(tmp_path, monkeypatch, {**baselines(2), **cells}, claims=[]))
    assert "lower mean error in none" not in publish_text.answer(s)
