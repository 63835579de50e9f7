"""Stability: spikes are seen and noise is not one, states are told apart, and tiny cells leak into nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made
import numpy as np
import pandas as pd
import pytest

from trajkit.study import progress, report, text
from trajkit.study.cells import is_tiny
from trajkit.study.costs import cost_table, parameter_table
from trajkit.study.ranking_text import comparisons
from trajkit.study.results import StudyResults
from trajkit.study.stability import spikes, stability_runs, stability_table
from trajkit.study.threat import by_threat_model
from trajkit.viz.stability import stability_figure

SAMPLE = {"type": "sample", "mechanism": "gaussian", "epsilon": 20.0}
PRIVATE = {"regime": "private", "epsilon": 10.0}
SPIKY = [*np.linspace(1.0, 0.5, 30), 9.0, *np.linspace(0.5, 0.4, 29)]
CALM = [*np.linspace(1.0, 0.4, 60)]


@pytest.mark.parametrize("level", [5.0, 0.0, -5.0])
def test_a_spike_is_seen_wherever_the_loss_lies(level: float) -> None:
    rng = np.random.default_rng(0)
    loss = level + 0.1 * rng.standard_normal(60)
    assert spikes(loss) == 0
    loss[40] += 3.0
    loss[41] -= 3.0  # a drop is none
    assert spikes(loss) == 1


def test_a_loss_that_falls_rises_slowly_or_stands_still_has_no_spike() -> None:
    assert spikes(np.linspace(5, 1, 60)) == spikes(np.full(60, 0.3)) == spikes(np.linspace(1, 1.5, 60)) == 0
    assert spikes([1.0] * 20 + [50.0]) == 1 and spikes([*range(15), 500.0]) == 0  # too short to judge
    assert spikes([]) == 0


def test_noise_is_rarely_called_a_spike() -> None:
    rng = np.random.default_rng(1)
    assert np.mean([spikes(rng.standard_normal(60)) > 0 for _ in range(300)]) < 0.15


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResults:
    """Two ordinary cells, and two small ones of ten seeds: one with a failed, a missing and a spiky run."""
    report_of = {"n_params": 1000}
    cells: dict[str, dict[str, Any]] = {
        **made.baselines(2),
        "gan-private": {"rescaled": [0.4, 0.5], "parameters": PRIVATE, "report": report_of},
        "gan-gaussian-private": {
            "rescaled": [0.3, 0.35], "parameters": {**PRIVATE, "condition": SAMPLE}, "report": report_of
        },
        "gan-private-tiny": {
            "rescaled": [None, made.MISSING, *[3.0 + 0.1 * i for i in range(8)]],
            "parameters": PRIVATE, "train_size": 1600, "report": {"n_params": 77}, "losses": SPIKY,
        },
        "gan-gaussian-private-tiny": {
            "rescaled": [2.0 + 0.01 * i for i in range(10)],
            "parameters": {**PRIVATE, "condition": SAMPLE}, "train_size": 1600, "report": {"n_params": 77}, "losses": CALM,
        },
    }  # fmt: skip
    return StudyResults(made.study(tmp_path, monkeypatch, cells, claims=["C4"]))


def test_states_spikes_and_spread_are_told_apart(study: StudyResults) -> None:
    runs = stability_runs(study)
    own = runs[runs["cell"] == "gan-private-tiny"]
    assert own["state"].tolist() == ["failed", "missing", *["complete"] * 8]
    assert own["SWD"].notna().sum() == 8
    table = stability_table(study)
    row = table.loc["gan-private-tiny"]
    assert (row["planned"], row["failed"], row["missing"], row["runs with a spike"]) == (10, 1, 1, 10)
    calm = table.loc["gan-gaussian-private-tiny"]
    assert (calm["failed"], calm["runs with a spike"], calm["threat model"]) == (0, 0, "both")
    values = made.FLOOR + (made.CEILING - made.FLOOR) * (2.0 + 0.01 * np.arange(10))
    assert calm["SWD, sd over seeds"] == pytest.approx(values.std(ddof=1))
    labels = [t.get_text() for t in stability_figure(runs).axes[0].get_yticklabels()]
    assert labels == ["gan-private-tiny (1 failed)", "gan-gaussian-private-tiny (0 failed)"]
    gan = next(v for v in study.verdicts() if v.model == "gan")
    assert gan.verdict == "not testable at this profile" and "1 runs of" in gan.why


def test_tiny_cells_leak_into_nothing_else(study: StudyResults) -> None:
    tables = [study.summary(), study.guarantees(), cost_table(study)]
    assert not any(is_tiny(str(cell)) for table in tables for cell in table.index)
    assert not study.results["cell"].map(is_tiny).any() and study.tiny["cell"].map(is_tiny).all()
    assert study.test_ratio == pytest.approx(4031 / 16123)  # not that of the small trainings
    assert study.results["rescaled"].dropna().max() == pytest.approx(1.0)
    assert set(parameter_table(study)["released network"]) == {1000}
    assert study.cells_of("gan") == ["gan-private", "gan-gaussian-private"] and set(study.histories("gan")) == set(
        study.cells_of("gan")
    )
    assert [s.cells for s in comparisons(study)] == [{"gan": "gan-private", "gan-gaussian": "gan-gaussian-private"}]
    assert set(by_threat_model(study)["cell"]) == {"gan-private", "gan-gaussian-private"}
    assert "over 2 fold(s)" in text.setting(study)
    assert "tiny" not in progress.page(study, "x")
    assert set(study.holes()["cell"]) == {"gan-private-tiny"}  # but what failed is said


def test_only_small_cells_are_no_study_of_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"vae-plain-tiny": {"rescaled": [0.1] * 10, "parameters": {"regime": "plain"}, "train_size": 1600}}
    study = StudyResults(made.study(tmp_path, monkeypatch, cells))
    assert study.test_ratio is None and not len(study.results) and len(study.tiny)
    assert not len(by_threat_model(study)) and not len(cost_table(study)) and not len(parameter_table(study))


def test_results_csv_holds_threat_model_condition_and_the_small_cells(study: StudyResults) -> None:
    report.build_report(study.folder)
    table = pd.read_csv(study.folder / "results.csv", keep_default_na=False)
    threat = table.drop_duplicates("cell").set_index("cell")["threat_model"].to_dict()
    assert (
        threat["gan-private"] == "training set"
        and threat["gan-gaussian-private"] == "both"
        and threat["real"] == "none"
    )
    first = table.drop_duplicates("cell").set_index("cell")
    assert first.loc["gan-gaussian-private", ["condition", "epsilon_c", "d_out"]].tolist() == [
        "sample + Gaussian",
        "20.0",
        "8.0",
    ]
    assert first.loc["gan-private", ["condition", "epsilon_c"]].tolist() == ["none", ""]
    small = table[table["cell"] == "gan-gaussian-private-tiny"]
    assert len(small["replicate"].unique()) == 10 and set(small["rescaled"]) == {""}
    assert json.loads((study.folder / "claims.json").read_text())[0]["claim"] == "C4"
