"""Which release for which use: the rule, on made figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made import baselines, study

from trajkit.attacks.adversaries import MATCHED
from trajkit.privacy.guarantee import Guarantee
from trajkit.study import decisions as module
from trajkit.study.adversaries import COLUMNS
from trajkit.study.decisions import ASIDE, UNTRIED, decisions, errors_by_cell
from trajkit.study.results import StudyResults
from trajkit.study.risk import SPACE
from trajkit.study.silence import HOURS

PRIVATE = {"parameters": {"regime": "private", "epsilon": 10.0}}
ANONYMOUS = Guarantee(holds=True, kind="k-anonymity", k=5, unit="user", mechanism="classes")
POINTS = Guarantee(holds=True, kind="k-anonymity", k=5, unit="point", mechanism="regions")


def made(folder: Path, monkeypatch: pytest.MonkeyPatch, **rescaled: float) -> StudyResults:
    cells: dict[str, Any] = {
        name.replace("__", "-"): {"rescaled": [v, v], **(PRIVATE if "private" in name else {})}
        for name, v in rescaled.items()
    }
    s = StudyResults(study(folder, monkeypatch, {**baselines(2), **cells}, claims=[]))
    for run in s.runs.to_dict("records"):
        if "syntactic" in run["cell"]:
            promise = POINTS if run["cell"].startswith("cloaking") else ANONYMOUS
            (folder / "runs" / run["run_id"] / "guarantee.json").write_text(promise.to_json())
    monkeypatch.setattr(module, "silence_table", lambda _: pd.DataFrame({"cell": [], f"{HOURS}, rescaled": []}))
    monkeypatch.setattr(module, "adversary_table", lambda _: pd.DataFrame(columns=COLUMNS))
    monkeypatch.setattr(
        module,
        "risk_table",
        lambda _: pd.DataFrame({"cell": ["k_anonymity-syntactic"], "fields": [SPACE], "auc": [0.6]}),
    )
    return s


def taken(s: StudyResults) -> set[str]:
    return set(decisions(s)["take"])


def test_a_usable_dp_release_comes_first_also_where_an_anonymous_one_is_nearer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = made(tmp_path, monkeypatch, privtrace__private=0.4, flat__private=0.45, k_anonymity__syntactic=0.1)
    assert taken(s) == {"PrivTrace"}
    table = decisions(s)
    assert (
        table["best with anonymity"].str.startswith("k-anonymity (").all()
        and not table["judged by"].str.contains(HOURS).any()
    )


def test_an_anonymous_release_is_taken_where_no_dp_release_is_usable_and_its_risk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = made(tmp_path, monkeypatch, privtrace__private=0.6, k_anonymity__syntactic=0.1)
    assert all("k-anonymity, which does not add up" in t and "AUC of 0.60" in t for t in taken(s))


def test_an_anonymous_release_that_names_more_often_than_one_in_k_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = made(tmp_path, monkeypatch, privtrace__private=0.6, k_anonymity__syntactic=0.1, lkc__syntactic=0.3)
    named = {"cell": "k_anonymity-syntactic", "measure": MATCHED, "value": 0.5, "low": 0.4, "k": 5}
    monkeypatch.setattr(module, "adversary_table", lambda _: pd.DataFrame([named]))
    table = decisions(s)
    assert all(t.startswith("LKC-privacy, which does not add up") for t in taken(s))
    assert (table[ASIDE] == "k-anonymity (named by streets 0.50, 1/k is 0.20)").all()
    monkeypatch.setattr(module, "adversary_table", lambda _: pd.DataFrame([{**named, "low": 0.19}]))
    assert all(t.startswith("k-anonymity, which") for t in taken(s)) and not decisions(s)[ASIDE].any()


def test_what_was_set_aside_is_not_said_to_be_unmeasured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = made(tmp_path, monkeypatch, k_anonymity__syntactic=0.1)
    named = {"cell": "k_anonymity-syntactic", "measure": MATCHED, "value": 0.5, "low": 0.4, "k": 5}
    monkeypatch.setattr(module, "adversary_table", lambda _: pd.DataFrame([named]))
    assert all("set aside" in t for t in taken(s))
    monkeypatch.setattr(StudyResults, "may_show_raw", False)
    assert set(decisions(s)[ASIDE]) == {UNTRIED}, "private data: nothing was tried"


def test_nothing_is_taken_where_nothing_is_usable_and_a_promise_about_points_is_none_about_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = made(
        tmp_path,
        monkeypatch,
        privtrace__private=0.6,
        k_anonymity__syntactic=0.9,
        cloaking__syntactic=0.0,
        gan__plain=0.0,
    )
    assert all(t.startswith("nothing here") for t in taken(s))


def test_without_a_run_there_is_no_error_to_decide_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = StudyResults(study(tmp_path, monkeypatch, {"privtrace-private": {"rescaled": ["missing"], **PRIVATE}}))
    assert not len(errors_by_cell(s))
    table = decisions(s)
    assert len(table) == 3 and table["judged by"].str.startswith("nothing").all()
