"""Anonymity against DP: risk of real runs in small, the claim's rule, tables of a report, figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from trajkit.study import run as run_module
from trajkit.study.anonymity_panels import figures, held, kept_and_made, lattice, missing, regions, stages
from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, UNDECIDABLE
from trajkit.study.folders import ORIGIN, reuse_release
from trajkit.study.risk import ALL, COLUMNS, FOUND, GUESSED, SPACE, named, risk_of
from trajkit.study.rule_isolated import isolated
from trajkit.study.run import Run, open_run
from trajkit.study.unicity import ANTENNAS, unicity_of
from trajkit.viz.frontier import frontier, unicity

CITY = {"people": 150, "days": 2, "seed": 0}


def done(method: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> Run:
    monkeypatch.setattr(run_module, "OUTPUTS", folder)
    run = open_run(
        method=method,
        dataset="city",
        dataset_settings=CITY,
        unit="user",
        length=16,
        n_release=150,
        parameters=parameters,
    )
    run.release(run.fit())
    return run


@pytest.fixture(scope="module")
def k_anonymous(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        yield done(
            "k_anonymity",
            tmp_path_factory.mktemp("k"),
            patch,
            k=3,
            cells_m=[2000.0, 4000.0],
            minutes=[240, None],
            suppression_budget=0.8,
        )


def test_the_private_map_is_kept_beside_the_release_and_read_back(k_anonymous: Run) -> None:
    source, out = k_anonymous.origin(), k_anonymous.release(None).trajectories
    assert source is not None and len(source) == len(out) and source.max() < len(k_anonymous.fold.train)
    assert (k_anonymous.folder / ORIGIN).is_file()


def test_the_private_map_goes_with_a_release_that_is_used_again(tmp_path: Path) -> None:
    old, new = tmp_path / "abc-1", tmp_path / "abc-2"
    for folder in (old, new):
        folder.mkdir()
    for name in ("release.parquet", "guarantee.json", "release.json", "history.csv", "manifest.json", ORIGIN):
        (old / name).write_text("x")
    assert reuse_release(new) and (new / ORIGIN).is_file()


def test_real_trajectories_are_found_and_k_anonymous_ones_are_not(
    k_anonymous: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = risk_of(done("real", tmp_path, monkeypatch))
    assert [row["fields"] for row in real] == [SPACE] and real[0]["auc"] > 0.85 and real[0]["named"] > 0.7
    assert real[0]["bound"] is None and real[0]["kind"] == "none" and real[0]["suppressed"] == 0
    assert real[0]["member auc"] > 0.95 and real[0][FOUND] > 0.8  # whole trips, and no mistake
    rows = risk_of(k_anonymous)
    assert [row["fields"] for row in rows if "member auc" in row] == [SPACE]
    assert rows[0]["member auc low"] < rows[0]["member auc"] < rows[0]["member auc high"] <= 1
    assert 0 <= rows[0][f"{FOUND} low"] <= rows[0][FOUND] <= rows[0][f"{FOUND} high"] and rows[0][FOUND] < 0.5
    assert set(rows[0]) <= set(COLUMNS) and {row["fields"] for row in rows} <= {SPACE, ALL}
    for row in rows:
        assert row["bound"] == pytest.approx(1 / 3) and row["named"] <= row["bound"] + 0.1
        assert row["named by cells"] is None or 0 <= row["named by cells"] <= row["bound"]
        assert row["auc_low"] < row["auc"] < 0.8
    assert any(row["named by cells"] for row in rows)


def test_the_floor_of_a_small_set_is_all_there_is_and_a_guess_is_told_by_those_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "OUTPUTS", tmp_path)
    run = open_run(
        method="real", dataset="city", dataset_settings={"people": 40, "days": 1, "seed": 0}, unit="user", length=16, n_release=5000
    )  # fmt: skip
    release = run.release(run.fit())
    assert (
        len(release.trajectories) == len(run.fold.train) < 5000 and "smaller than n_release" in release.report["note"]
    )
    held_out = len(np.unique(run.fold.test.user))
    assert held_out < 99 and risk_of(run)[0][GUESSED] == pytest.approx(1 / (held_out + 1))


def test_risk_is_computed_once_for_a_run(k_anonymous: Run) -> None:
    first = risk_of(k_anonymous)
    (file,) = k_anonymous.folder.glob("risk-*.json")
    file.write_text(json.dumps([{"fields": "kept"}]))
    assert risk_of(k_anonymous) == [{"fields": "kept"}]
    file.write_text(json.dumps(first))


def test_cells_in_words() -> None:
    assert named("k_anonymity-syntactic-k-10") == "k-anonymity k 10" and named("gan-plain") == "GAN without DP"
    assert named("real") == "real trajectories" and named("my own") == "my own"


def test_tables_of_an_escalation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lattice_ = {"k": 3, "cells_m": [500.0], "minutes": [None], "synthesizer": "privtrace", "n_made": 40}
    run = done("escalation", tmp_path, monkeypatch, **lattice_, tolerance=0.0)
    release, source = run.release(None), run.origin()
    assert source is not None and (source < 0).sum() == 40 and len(source) == len(release.trajectories)
    table = stages(release.report)
    assert len(table) == 3 and table["made"].tolist() == ["", "", 40] and table["cells"].iloc[1] == "square 1000 m"
    assert table["points suppressed"].iloc[:2].between(0, 1).all()
    assert lattice(release.report)["taken"].tolist() == ["", "yes"]
    assert any(of.startswith("points, by length") for of in missing(release.report)["of"])
    parts = kept_and_made(release.trajectories)
    assert len(parts["made"]) == 40 and len(parts["kept, coarser"]) == (source >= 0).sum()
    assert named("escalation-syntactic").startswith("escalation")
    stops = done("escalation", tmp_path / "b", monkeypatch, **lattice_, tolerance=1.0).release(None)
    assert len(stages(stops.report)) == 1 and set(kept_and_made(stops.trajectories)) == {"kept, coarser"}


def test_tables_of_a_release(k_anonymous: Run) -> None:
    report = k_anonymous.release(None).report
    tried = lattice(report)
    assert len(tried) == 4 and (tried["taken"] == "yes").sum() == 1
    lost = missing(report)
    assert {"all trajectories", "all users", "all points"} <= set(lost["of"]) and lost["share missing"].between(
        0, 1
    ).all()
    assert not len(lattice({})) and not len(missing({}))


def test_tables_of_a_cloaked_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = done("cloaking", tmp_path, monkeypatch, k=3, start="finest").release(None).report
    assert regions(report)["points"].sum() > 0 and held(report)["share of points"].between(0, 1).all()
    assert len(figures(report))


# ---- the claim ------------------------------------------------------------------------------------------------------


def alone(share: float) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "resolution": "1000 m, 60 min",
                "p": 4,
                "unicity": share,
                "low": share - 0.03,
                "high": share + 0.03,
                "metres": 1000.0,
                "minutes": 60,
            }
        ]
    )


def report(metres: float, minutes: int | None, *, within: bool = True, cells: str = "square") -> dict[str, Any]:
    return {"setting": {"cells": f"{cells} {metres:g} m", "minutes": minutes}, "within budget": within}


def test_the_claim_has_two_halves() -> None:
    assert isolated(alone(0.95), ANTENNAS, report(500, 60))[0] == AGREES
    assert isolated(alone(0.91), ANTENNAS, report(500, 60))[0] == UNDECIDABLE
    assert isolated(alone(0.5), ANTENNAS, report(500, 60))[0] == DISAGREES
    verdict, figures_, why = isolated(alone(0.95), ANTENNAS, report(4000, None))
    assert (
        verdict == DISAGREES and "coarser" in why and figures_["finest setting within the budget"] == "4000 m, no time"
    )
    assert "finer" in isolated(alone(0.95), ANTENNAS, report(100, 15))[2]
    found = isolated(alone(0.95), ANTENNAS, report(250, 30, within=False))
    assert found[0] == DISAGREES and found[1]["finest setting within the budget"] == "none"
    assert isolated(alone(0.95), ANTENNAS, report(8, 30, cells="H3 resolution"))[0] == NOT_TESTABLE
    assert (
        isolated(alone(0.95), ANTENNAS, None)[0]
        == isolated(pd.DataFrame(), ANTENNAS, report(500, 60))[0]
        == NOT_TESTABLE
    )


def test_unicity_needs_no_times(k_anonymous: Run) -> None:
    train = k_anonymous.fold.train
    table = unicity_of(train)
    assert set(table["p"]) == {1, 2, 3, 4} and table["unicity"].between(0, 1).all()
    assert (table["low"] <= table["unicity"]).all() and (table["unicity"] <= table["high"]).all()
    assert set(unicity_of(replace(train, t=None))["minutes"].dropna()) == set()


def test_figures_are_drawn() -> None:
    rows = [
        {"release": r, "kind": k, "fields": f, "error": 0.1 * i, "auc": 0.6, "auc_low": 0.5, "auc_high": 0.7}
        for i, (r, k) in enumerate((("a", "dp"), ("b", "k-anonymity"), ("c", "(k,delta)-anonymity"), ("d", "none")))
        for f in (SPACE, ALL)
    ]
    drawn = frontier(pd.DataFrame(rows))
    assert [ax.get_title() for ax in drawn.axes] == [SPACE, ALL]
    assert all(np.isfinite(line.get_ydata()).all() for ax in drawn.axes for line in ax.lines)
    table = pd.concat([alone(0.9), alone(0.95).assign(p=3)])
    assert len(unicity(table).axes[0].lines) == 2  # the resolution, and the line at 95 %
