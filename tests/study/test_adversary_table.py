"""What adversaries find, in a study: rows kept beside the run, tables and sentences, and the releases that are set aside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made import baselines, study
from test_anonymity_study import done

from trajkit.attacks.adversaries import BACK, HOME, MATCHED, NEXT, OFF, PLACES, POINTS, ROUTES, STREETS, Finding
from trajkit.study import adversaries as module
from trajkit.study.adversaries import (
    COLUMNS,
    adversary_panel,
    adversary_table,
    countermeasures,
    found_in,
    surely_named,
    untried,
)
from trajkit.study.anonymity_text import adversaries_in_words
from trajkit.study.results import StudyResults
from trajkit.viz.adversaries import adversaries


def row(cell: str, measure: str, value: float | None, **more: Any) -> dict[str, Any]:
    spread = {"low": None, "high": None} if value is None else {"low": value - 0.05, "high": value + 0.05}
    about = {
        "cell": cell, "release": cell, "guarantee": "", "k": None, "protects": False, "adversary": STREETS, "measure": measure, "value": value,
        "guess": 0.01, "reason": "", "inferred": False,
    }  # fmt: skip
    return {**about, **spread, **more}


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


def test_rows_are_computed_once_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = done("pseudonyms", tmp_path, monkeypatch)
    rows = found_in(run)
    routes = next(r for r in rows if r["measure"] == ROUTES)
    assert routes["value"] > 0.8 and not routes["protects"] and routes["k"] is None and not routes["inferred"]
    assert set(rows[0]) | {"cell", "release"} == set(COLUMNS)
    (file,) = run.folder.glob("adversaries-*.json")
    file.write_text(json.dumps([{"measure": "kept"}]))
    assert found_in(run) == [{"measure": "kept"}]


def test_only_what_promises_k_people_and_is_surely_above_is_set_aside() -> None:
    found = table(
        row("k", MATCHED, 0.30, k=5, protects=True),  # 0.25 to 0.35, 1/k is 0.2
        row("k", PLACES, 0.21, k=5, protects=True),
        row("near", MATCHED, 0.22, k=5, protects=True),  # may be below
        row("plain", MATCHED, 0.9),
        row("k", ROUTES, 0.9, k=5, protects=True),  # a route is no name
    )
    assert surely_named(found) == {"k": (MATCHED, 0.30, 0.2)}
    assert surely_named(table()) == {}


def test_a_panel_says_what_was_found_or_why_not() -> None:
    found = table(
        row("a", ROUTES, 0.5), row("a", MATCHED, 0.25), row("b", "", None, reason="nothing was released", guess=None),
        row("a", OFF, 200.4, adversary=POINTS),
    )  # fmt: skip
    panel = adversary_panel(found, STREETS).set_index("release")
    assert panel.loc["a", ROUTES] == "0.50 (0.45 to 0.55; guess 0.01)" and list(panel.index) == ["a"]
    assert (
        untried(found, STREETS) == "Nothing to start from in b (nothing was released)." and untried(found, POINTS) == ""
    )
    assert adversary_panel(found, POINTS)[OFF].tolist() == ["200 (200 to 200; guess 0)"]
    assert not len(adversary_panel(found, "homes"))


def test_sentences_name_the_worst_of_either_kind() -> None:
    found = table(
        row("pseudonyms-plain", ROUTES, 0.95), row("cloaking-syntactic", ROUTES, 0.17, protects=True, k=5),
        row("lkc-syntactic", ROUTES, 0.02, protects=True, k=5), row("cloaking-syntactic", MATCHED, 0.98, protects=True, k=5),
        row("planar_laplace-plain", OFF, 200.0), row("planar_laplace-plain", BACK, 80.0),
        row("road_counts-private", "", None, reason="released trajectories were generated: they are nobody's", protects=True),
    )  # fmt: skip
    (text,) = adversaries_in_words(found)
    assert "95 % of whole routes in pseudonyms-plain" in text and "at most 17 %, in cloaking-syntactic" in text
    assert "moved by 200 m on average are brought back to 80 m" in text and "In 1 generated releases" in text
    assert "named by streets in 98 %, where 1/k is 20 %" in text
    assert adversaries_in_words(table()) == []


def test_noise_that_stays_is_not_said_to_go_away() -> None:
    stays = table(row("planar_laplace-plain", OFF, 200.0), row("planar_laplace-plain", BACK, 199.98))
    assert not any("no answer" in line for line in adversaries_in_words(stays))


def test_k_of_trajectories_is_no_k_of_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "attack", lambda *_, **__: [Finding(STREETS, MATCHED, 0.9, 0.8, 1.0, 0.01)])
    for count, k in (("trajectory", None), ("user", 3)):
        run = done("k_anonymity", tmp_path / count, monkeypatch, k=3, count=count, cells_m=[4000.0], minutes=[None])
        (found,) = found_in(run)
        assert found["k"] == k and found["protects"]
        assert len(surely_named(table({**found, "cell": "x"}))) == (count == "user")


def test_the_truth_of_another_map_is_not_taken_for_this_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = done("pseudonyms", tmp_path, monkeypatch)
    roads = replace(run.roads, length_m=2 * run.roads.length_m)
    other = SimpleNamespace(fold=run.fold, roads=roads)
    assert module._truth(run) is module._truth(run)
    assert module._truth(other).network is roads  # type: ignore[arg-type]


def test_the_figure_has_a_line_for_each_release() -> None:
    found = table(
        row("pseudonyms-plain", ROUTES, 0.95), row("pseudonyms-plain", HOME, 0.8, guess=np.nan),
        row("road_counts-private", "", None, reason="generated", protects=True), row("pseudonyms-plain", NEXT, 0.4),
    )  # fmt: skip
    empty = row("k_anonymity-syntactic", "", None, reason="nothing was released", protects=True)
    figure = adversaries(table(*found.to_dict("records"), empty))
    assert [t.get_text() for t in figure.axes[0].texts] == ["made: nobody's"], "an empty release is no made one"
    figure = adversaries(found)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["pseudonyms-plain", "road_counts-private"]
    assert len(figure.axes) == 2, "next trips found are in the table"
    assert adversaries(table())


def test_a_private_study_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = StudyResults(study(tmp_path, monkeypatch, baselines(2), claims=[], private=True))
    assert not len(adversary_table(s)) and not len(countermeasures(s))
