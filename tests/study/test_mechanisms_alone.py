"""Sections that need no run: the embedding alone, and Theorem 2. Stand-ins first, then the real mechanisms where they are."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import stand_ins

from trajkit.study import rule_calibration, theorem_2_text
from trajkit.study.embedding_ablation import embedding_ablation, in_words
from trajkit.viz.mechanisms import readings_figure, signal_kept


def _with(monkeypatch: pytest.MonkeyPatch, name: str, **functions: Any) -> None:
    module = ModuleType(name)
    for key, value in functions.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)


def test_the_ablation_measures_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def row_mechanism(kind: str, **given: Any) -> stand_ins.Turned:
        asked.append({"kind": kind, **given})
        return stand_ins.Turned(0.5 if kind == "vmf" else 0.9, claimed=0.5 if kind == "vmf" else 0.8)

    _with(monkeypatch, "trajkit.privacy.mechanisms", row_mechanism=row_mechanism)
    table = embedding_ablation(d_outs=(8, 64), epsilons=(5.0, 20.0), vectors=50, draws=4)
    assert len(table) == 12 and asked[0] == {
        "kind": "laplace",
        "epsilon": 5.0,
        "delta": None,
        "norm": 1.0,
        "dimension": 8,
    }
    assert {a["delta"] for a in asked if a["kind"] == "gaussian"} == {1e-5}
    vmf = table[table["mechanism"] == "VMF"]
    assert vmf["mean cosine"].tolist() == pytest.approx([0.5] * 4, abs=0.005) and (vmf["off by"].abs() < 5).all()
    assert (table.loc[table["mechanism"] == "Laplace", "off by"] > 50).all()  # a theory that is wrong shows
    assert (table["chance"] == 1 / 50).all() and table.loc[table["d_out"] == 64, "found"].min() > 0.5
    assert "theory and code disagree somewhere" in in_words(table)
    assert "at most" in in_words(vmf) and "disagree" not in in_words(vmf)
    again = embedding_ablation(d_outs=(8, 64), epsilons=(5.0, 20.0), vectors=50, draws=4)
    pd.testing.assert_frame_equal(table, again)
    figure = signal_kept(table)
    assert [ax.get_title() for ax in figure.axes[:3]] == ["Laplace", "Gaussian", "VMF"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["8 dimensions", "64 dimensions"]


def test_laplace_gets_rows_of_l1_norm_one_and_the_others_unit_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: dict[str, float] = {}

    def row_mechanism(kind: str, **_: Any) -> stand_ins.Turned:
        mechanism = stand_ins.Turned(0.9, 0.9)
        kept = mechanism.randomise

        def randomise(rows: Any, rng: Any) -> Any:
            norms[kind] = float(abs(rows).sum(axis=1).max() if kind == "laplace" else (rows**2).sum(axis=1).max())
            return kept(rows, rng)

        mechanism.randomise = randomise  # type: ignore[method-assign]
        return mechanism

    _with(monkeypatch, "trajkit.privacy.mechanisms", row_mechanism=row_mechanism)
    embedding_ablation(d_outs=(8,), epsilons=(20.0,), vectors=20, draws=1)
    assert norms == pytest.approx({"laplace": 1.0, "gaussian": 1.0, "vmf": 1.0})


def test_theorem_2_in_words_names_what_breaks_privacy() -> None:
    table = stand_ins.readings(rule_calibration.EPSILONS, rule_calibration.DELTA)
    said = theorem_2_text.theorem_2_in_words(table)
    assert "at 8 values of epsilon from 0.1 to 20 it is the exact value" in said
    assert (
        "is far too little noise at epsilon 20: sigma 0.1297 instead of 0.5801 (22 % of it), a real epsilon of 183.8"
        in said
    )
    assert "sigma 0.1834 instead of 0.5801 (32 % of it), a real epsilon of 105.1" in said
    assert "the public review's correction is the one that breaks privacy" in said
    assert [ax.get_ylabel() for ax in readings_figure(table).axes] == ["sigma (sensitivity 2)", "epsilon really given"]
    assert set(theorem_2_text.shown(table).columns) > {"of the exact sigma", "real epsilon"}
    # were the formula wrong, the sentences would say so
    table.loc[table["reading"].str.startswith(rule_calibration.PUBLISHED), "sigma"] *= 0.9
    assert "it is **not** the exact value" in theorem_2_text.theorem_2_in_words(table)
    assert "breaks privacy" not in theorem_2_text.theorem_2_in_words(table)


def test_the_grid_is_asked_of_the_privacy_package(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, "trajkit.privacy.theorem_2", readings=stand_ins.readings)
    assert rule_calibration.calibration()[0] == "reproduced"
    assert len(rule_calibration.readings_table()) == 24


def test_the_real_readings_agree_with_the_stand_in() -> None:
    pytest.importorskip("trajkit.privacy.theorem_2")
    ours = stand_ins.readings(rule_calibration.EPSILONS, rule_calibration.DELTA)
    theirs = rule_calibration.readings_table()
    for name in stand_ins.NAMES:
        a, b = (rule_calibration.of_reading(t, name).reset_index(drop=True) for t in (ours, theirs))
        for column in ("epsilon", "sigma", "exact sigma", "real epsilon"):
            assert b[column].tolist() == pytest.approx(a[column].tolist(), rel=1e-6), (name, column)


def test_the_real_mechanisms_keep_what_theory_predicts() -> None:
    pytest.importorskip("trajkit.privacy.mechanisms")
    table = embedding_ablation(d_outs=(4, 8, 64), epsilons=(5.0, 20.0, 100.0), vectors=100, draws=20, seed=3)
    assert len(table) == 27 and (table["off by"].abs() < 4).all(), table[table["off by"].abs() >= 4]
    vmf = table[(table["mechanism"] == "VMF") & (table["epsilon_c"] == 20)].set_index("d_out")["predicted"]
    assert vmf.loc[[4, 8, 64]].tolist() == pytest.approx([0.854, 0.698, 0.153], abs=1e-3)
    for _, rows in table.groupby(["mechanism", "d_out"]):
        assert rows.sort_values("epsilon_c")["found"].is_monotonic_increasing
