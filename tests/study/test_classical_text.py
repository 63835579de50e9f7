"""Deep against classical: the best of each family, tests between them, and what the sentences say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made import baselines, study

from trajkit.study import classical_text
from trajkit.study.claims import judge, read_claims
from trajkit.study.ranking import Setting
from trajkit.study.results import StudyResults

PRIVATE = {"parameters": {"regime": "private", "epsilon": 10.0}}
AT_ONE = {"parameters": {"regime": "private", "epsilon": 1.0}}


def made_study(folder: Path, monkeypatch: pytest.MonkeyPatch, **cells: Any) -> StudyResults:
    errors = {
        "diffusion-private": [0.30, 0.31, 0.29], "gan-private": [0.20, 0.21, 0.19],
        "prefix_tree-private": [0.10, 0.11, 0.105], "flat-private": [0.40, 0.41, 0.40],
        "privtrace-published-private": [0.01, 0.01, 0.01],
        **cells,
    }  # fmt: skip
    facts = {c: {"rescaled": v, **(AT_ONE if c.endswith("1.0") else PRIVATE)} for c, v in errors.items()}
    return StudyResults(study(folder, monkeypatch, {**baselines(3), **facts}, claims=["C8"]))


def test_the_best_of_each_family_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = made_study(tmp_path, monkeypatch)
    (duel,) = classical_text.duels(s)
    assert (duel.deep, duel.classical) == ("gan", "prefix_tree")  # the published variant takes no part
    table = classical_text.duel_table(s)
    assert set(table["metric"]) == {"SWD", "JSD"} and (table["clearly better"] == "noisy prefix tree").all()
    text = classical_text.answer(s)
    assert "private, epsilon 10: the **noisy prefix tree** ahead of the GAN (clearly in SWD and JSD)" in text
    assert "C8" in text and "90 s and 90.0 s" in text


def test_deep_can_win_too_and_holm_runs_over_both_epsilons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"vae-private-epsilon-1.0": [0.1, 0.3, 0.2], "adatrace-private-epsilon-1.0": [0.2, 0.5, 0.28]}
    s = made_study(tmp_path, monkeypatch, **more)
    table = classical_text.duel_table(s)
    assert len(table) == 4 and set(table["setting"]) == {"private, epsilon 10", "private, epsilon 1"}
    assert (table["p (Holm)"] >= 0).all()
    assert "private, epsilon 1: the **VAE** ahead of AdaTrace (not sure" in classical_text.answer(s)


def test_one_family_or_no_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only = StudyResults(
        study(tmp_path, monkeypatch, {**baselines(2), "gan-private": {"rescaled": [0.1, 0.2], **PRIVATE}})
    )
    assert "nothing to compare" in classical_text.answer(only)


def test_nothing_complete_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"gan-private": {"rescaled": ["missing"], **PRIVATE}, "flat-private": {"rescaled": ["missing"], **PRIVATE}}
    none = StudyResults(study(tmp_path, monkeypatch, cells))
    assert "No run is complete" in classical_text.answer(none)
    assert not len(classical_text.duel_table(none)) and not len(classical_text.composition_table(none))


def test_c8_is_about_privtrace_as_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = made_study(tmp_path, monkeypatch, **{"privtrace-private": [0.25, 0.26, 0.25]})
    verdicts = judge("C8", read_claims()["C8"], s.results, dataset="porto", profile="paper", test_ratio=0.25)
    by_model = {v.model: v for v in verdicts}
    assert by_model["gan"].verdict == "not reproduced" and by_model["vae"].verdict == "not testable at this profile"
    assert any("PrivTrace made private" in name for name in by_model["gan"].figures)


@pytest.mark.parametrize(
    ("better", "words"), [("gan", "but the GAN is clearly better in SWD"), ("flat", "clearly in SWD"), ("", "not sure")]
)
def test_sureness_is_about_the_one_that_leads(better: str, words: str) -> None:
    tests = pd.DataFrame({"metric": ["SWD", "JSD"], "p": [0.01, 0.4], "better": [better, ""]})
    duel = classical_text.Duel(Setting("private, epsilon 10", "matched", {}), "gan", "flat", tests)
    said = classical_text._sure(duel, "flat")
    assert said.startswith(words) and ("but" in said) is (better == "gan")


def test_means_are_over_the_folds_that_both_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {
        "gan-private": {"rescaled": [0.2, 0.4, None], **PRIVATE},
        "flat-private": {"rescaled": [0.1, 0.2, 0.9], **PRIVATE},
    }
    s = StudyResults(study(tmp_path, monkeypatch, {**baselines(3), **cells}, claims=[]))
    assert "flat noisy counts SWD 0.15, JSD 0.15" in classical_text.answer(s)
