"""Tables and sentences on conditions, on made figures: threat models, signal, leak, overhead, ablations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import pytest
import stand_ins

from trajkit.study import conditioning, conditioning_text, ranking_text, rule_calibration, text
from trajkit.study.conditioning import against_condition, leak_table, overhead_table, signal_table
from trajkit.study.costs import cost_table, parameter_table
from trajkit.study.results import StudyResults
from trajkit.study.stability import stability_table
from trajkit.study.threat import ORDER, by_threat_model, meanings
from trajkit.viz.curves import error_along
from trajkit.viz.threat import threat_figure

PLAIN, PRIVATE = {"regime": "plain"}, {"regime": "private", "epsilon": 10.0}
SAMPLE = {"type": "sample"}


def _mechanism(kind: str, **changes: Any) -> dict[str, Any]:
    return {**SAMPLE, "mechanism": kind, "epsilon": 20.0, **changes}


def _report(*, cosine: float | None = None, found: float | None = None, n_params: int = 1100) -> dict[str, Any]:
    hidden: dict[str, Any] = {}
    if cosine is not None:
        hidden |= {"mean cosine": cosine, "predicted cosine": 0.5}
    if found is not None:
        hidden["leak"] = {"ratio": 1 - found / 2, "found": found, "chance": 0.01}
    return {"n_params": n_params, "parameters apart (condition)": 50, "not covered by the guarantee": hidden}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResults:
    """A diffusion model without a condition and with several, plain and private, and two ablations."""
    bare = {"n_params": 1000}
    slow = {"losses": (2.0, 1.0, 0.5)}  # a step more: 150 instead of 90 core-seconds
    gaussian = _mechanism("gaussian")
    cells: dict[str, dict[str, Any]] = {
        **made.baselines(3),
        "diffusion-plain": {"rescaled": [0.3, 0.31, 0.29], "parameters": PLAIN, "report": bare},
        "diffusion-private": {"rescaled": [0.6, 0.62, 0.61], "parameters": PRIVATE, "report": bare},
        "diffusion-sample-plain": {
            "rescaled": [0.1, 0.12, 0.11], "parameters": {**PLAIN, "condition": SAMPLE}, "report": _report(found=0.9), **slow,
        },
        "diffusion-sample-private": {
            "rescaled": [0.5, 0.5, 0.51], "parameters": {**PRIVATE, "condition": SAMPLE}, "report": _report(found=0.4), **slow,
        },
        "diffusion-gaussian-plain": {
            "rescaled": [0.28, 0.35, 0.3], "parameters": {**PLAIN, "condition": gaussian}, "report": _report(cosine=0.49, found=0.02),
        },
        "diffusion-gaussian-private": {
            "rescaled": [0.55, 0.6, 0.58], "parameters": {**PRIVATE, "condition": gaussian}, "report": _report(cosine=0.51, found=0.01),
        },
        "diffusion-gaussian-private-epsilon_c-1.0": {
            "rescaled": [0.7, 0.72, 0.71], "parameters": {**PRIVATE, "condition": _mechanism("gaussian", epsilon=1.0)},
            "report": _report(cosine=0.1, found=0.01),
        },
        "diffusion-gaussian-private-d_out-4": {
            "rescaled": [0.5, 0.52, 0.51], "parameters": {**PRIVATE, "condition": _mechanism("gaussian", d_out=4)},
            "report": _report(cosine=0.6, found=0.01),
        },
    }  # fmt: skip
    table = stand_ins.readings(rule_calibration.EPSILONS, rule_calibration.DELTA)
    monkeypatch.setattr(rule_calibration, "readings_table", lambda: table)
    return StudyResults(made.study(tmp_path, monkeypatch, cells, claims=["C4", "C7"]))


def test_each_cell_stands_under_its_threat_model(study: StudyResults) -> None:
    table = by_threat_model(study).set_index("cell")
    assert table["threat model"].to_dict() == {
        "diffusion-sample-plain": "none", "diffusion-plain": "none", "diffusion-sample-private": "training set",
        "diffusion-private": "training set", "diffusion-gaussian-plain": "conditioning set", "diffusion-gaussian-private": "both",
    }  # fmt: skip
    assert list(table.index)[:2] == ["diffusion-sample-plain", "diffusion-plain"]  # best first
    assert table.loc["diffusion-gaussian-private", "holds"] and not table.loc["diffusion-sample-private", "holds"]
    figure = threat_figure(by_threat_model(study))
    assert [t.get_text() for t in figure.axes[0].texts] == list(ORDER)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == list(table.index)
    assert list(meanings()["threat model"]) == list(ORDER)


def test_the_guarantees_say_the_threat_model_and_what_holds_of_it(study: StudyResults) -> None:
    table = study.guarantees()
    assert table.loc["diffusion-gaussian-plain", "threat model"] == "conditioning set"
    assert not table.loc["diffusion-gaussian-plain", "holds"]
    assert "conditioning set: (20, 0), replace-one" in table.loc["diffusion-gaussian-plain", "in words"]
    assert table.loc["diffusion-gaussian-private", ["threat model", "holds"]].tolist() == ["both", True]
    assert "for the cell *diffusion-private*" in text.user_level(study).lower()


def test_signal_is_shown_beside_what_theory_predicts(study: StudyResults) -> None:
    table = signal_table(study).set_index("cell")
    assert set(table.index) == {c for c in study.runs["cell"] if "gaussian" in c}
    assert table.loc["diffusion-gaussian-private", ["mean cosine", "predicted"]].tolist() == pytest.approx([0.51, 0.5])
    assert table.loc["diffusion-gaussian-private-d_out-4", "d_out"] == 4
    said = conditioning_text.signal_in_words(study)
    assert (
        "diffusion-gaussian-plain 0.490 (predicted 0.500)" in said and "largest difference over all cells 0.400" in said
    )


def test_the_leak_check_tells_a_condition_without_a_mechanism_from_one_with(study: StudyResults) -> None:
    table = leak_table(study).set_index("cell")
    assert table.loc["diffusion-sample-plain", ["found", "ratio", "chance"]].tolist() == pytest.approx(
        [0.9, 0.55, 0.01]
    )
    assert table.loc["diffusion-sample-plain", "threat model"] == "none" and table["runs"].eq(3).all()
    said = conditioning_text.leak_in_words(study)
    assert "Without a mechanism the own condition of a release is the nearest of 100 in 40 to 90 % of the cases" in said
    assert "more than 3 times chance in 2 of 2 cells" in said and "within 3 times chance in all 4 cells" in said
    assert "no guarantee" in said


def test_the_overhead_is_against_the_same_cell_without_a_condition(study: StudyResults) -> None:
    table = overhead_table(study)
    assert table.loc["diffusion-sample-plain", ["core-seconds", "without", "time"]].tolist() == [150.0, 90.0, "+67 %"]
    assert table.loc["diffusion-gaussian-private", ["time", "memory", "parameters"]].tolist() == [
        "+0 %",
        "+0 %",
        "+15.0 %",
    ]
    assert not any("epsilon_c" in cell for cell in table.index)
    assert "takes +0 to +67 % core-seconds over 4 cells" in conditioning_text.overhead_in_words(study)
    parameters = parameter_table(study).set_index("condition")
    assert parameters.loc["none", "released network"] == 1000 and parameters.loc["sample", "condition, apart"] == 50
    assert "diffusion-gaussian-private-d_out-4" in cost_table(study).index


def test_ablations_are_lines_of_their_own(study: StudyResults) -> None:
    along = against_condition(study, "epsilon_c")
    swd = along[along["metric"] == "SWD"]
    assert swd["x"].tolist() == [1.0, 20.0] and set(swd["model"]) == {"diffusion model, Gaussian"}
    sizes = against_condition(study, "d_out")
    assert sizes.loc[sizes["metric"] == "JSD", "x"].tolist() == [4.0, 8.0]
    assert sizes.loc[sizes["x"] == 4, "mean"].iloc[0] == pytest.approx(0.51)
    assert [ax.get_title() for ax in error_along(sizes, label="d_out").axes] == ["SWD", "JSD"]


def test_the_answer_is_made_of_the_figures(study: StudyResults) -> None:
    said = conditioning_text.answer(study)
    assert said.startswith("**In short**: of 4 comparisons of a private condition with none")
    assert "90 % of the releases point to their own conditioning trajectory among 100, against 1 % by chance" in said
    assert "*None*: diffusion-sample-plain 0.11 [" in said and "*Both*: diffusion-gaussian-private 0.58 [" in said
    assert "sample, plain: SWD -0.190 [" in said and "sample + Gaussian, with DP-SGD: SWD" in said
    assert "**C7** (Theorem 2" in said and "**Reproduced**, since" in said
    assert "Not testable here" in said and "C4 for diffusion model, VAE, GAN" in said
    limits = conditioning_text.limits(study)
    assert "Not every threat model" not in limits and "Stability" not in limits
    pairs = {(cell, without) for _, cell, without in conditioning.comparisons(study)}
    assert ("diffusion-gaussian-private", "diffusion-private") in pairs and len(pairs) == 4


def test_a_pick_that_follows_unprotected_trajectories_says_so(study: StudyResults) -> None:
    said = ranking_text.answer(study)
    assert "pick the **conditional diffusion model (sample)**" in said
    assert "the leak check of question 2 shows what that gives away" in said
    assert "The conditional diffusion model (sample) is left out: its guarantee does not hold." in said


def test_where_nothing_is_complete_every_table_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {
        "gan-private": {"rescaled": [None], "parameters": PRIVATE},
        "gan-vmf-private": {"rescaled": [None], "parameters": {**PRIVATE, "condition": _mechanism("vmf")}},
    }
    study = StudyResults(made.study(tmp_path, monkeypatch, cells, claims=["C4"]))
    tables = [
        signal_table(study),
        leak_table(study),
        overhead_table(study),
        by_threat_model(study),
        against_condition(study, "d_out"),
    ]
    tables += [study.guarantees(), cost_table(study), parameter_table(study), stability_table(study), study.tiny]
    assert not any(map(len, tables))
    assert "No run is complete" in conditioning_text.answer(study)
    assert "Not every threat model has a complete run" in conditioning_text.limits(study)
