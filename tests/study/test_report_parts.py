"""What reports are made of, on made figures: answers, curves, costs; holes are said and nothing promises more than it holds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import made
import pytest

from trajkit.study import ranking_text, text
from trajkit.study.cells import conditional, core, is_tiny, mapped, parsed
from trajkit.study.costs import cost_table, latent_table, parameter_table
from trajkit.study.curves import against_epsilon, against_size
from trajkit.study.results import StudyResults
from trajkit.viz import curves, plots

PLAIN, CLIPPED = {"regime": "plain"}, {"regime": "clipped"}
PUBLISHED = {"regime": "private", "epsilon": 10.0, "dp_target": "generator"}
GAN = {
    "n_params": 1000, "updates of the released network": 50, "generator updates": 50, "critic updates": 150,
    "parameters apart (critic)": 400,
}  # fmt: skip


def _private(epsilon: float = 10.0) -> dict[str, Any]:
    return {"regime": "private", "epsilon": epsilon}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResults:
    """Two models and a published variant; one GAN run has collapsed."""
    vae = {
        "n_params": 1050,
        "updates of the released network": 100,
        "parameters apart (encoder)": 300,
        "latent units": 8,
    }
    vae["not covered by the guarantee"] = {"active latent units": 3}
    cells = {
        **made.baselines(3),
        "vae-plain": {"rescaled": [0.10, 0.11, 0.12], "parameters": PLAIN, "report": vae},
        "vae-clipped": {"rescaled": [0.20, 0.22, 0.21], "parameters": CLIPPED, "report": vae},
        "vae-private": {"rescaled": [0.40, 0.41, 0.43], "parameters": _private(), "report": vae},
        "vae-private-epsilon-1.0": {"rescaled": [0.7, 0.71, 0.72], "parameters": _private(1.0), "report": vae},
        "vae-private-small": {
            "rescaled": [0.8, 0.9, 0.85],
            "parameters": _private(),
            "train_size": 1600,
            "report": vae,
        },
        "vae-private-n-4000": {
            "rescaled": [0.6, 0.61, 0.62],
            "parameters": _private(),
            "train_size": 4000,
            "report": vae,
        },
        "gan-plain": {"rescaled": [0.3, 0.31, None], "parameters": PLAIN, "report": GAN},
        "gan-private": {"rescaled": [0.5, 0.55, 0.52], "parameters": _private(), "report": GAN},
        "gan-published-private": {"rescaled": [0.05, 0.06, 0.07], "parameters": PUBLISHED, "report": GAN},
    }
    return StudyResults(made.study(tmp_path, monkeypatch, cells))


def test_the_answer_names_every_model_and_what_cannot_be_tested(study: StudyResults) -> None:
    said = text.answer(study)
    assert "**VAE.**" in said and "**GAN.**" in said
    assert "Clipping alone changes the rescaled error by +0.100 in SWD" in said
    assert "**C1** (" in said and "VAE: **direction agrees**" in said
    assert (
        "Not testable here, since cells are missing or incomplete or a metric is not measured: C1 for diffusion model"
        in said
    )


def test_the_pick_leaves_out_what_promises_nothing(study: StudyResults) -> None:
    said = ranking_text.answer(study)
    assert said.startswith("**In short**: pick without DP (plain) the **VAE**")
    assert "The GAN is left out: its guarantee does not hold." in said
    assert "Runs that failed or are missing: gan-plain 1 of 3." in said
    table = ranking_text.pick_table(study).set_index("setting")
    assert table.loc["private, published protocol (GAN: no guarantee)", "pick"] == "VAE"
    assert table.loc["private, published protocol (GAN: no guarantee)", "left out (no guarantee)"] == "GAN"


def test_no_epsilon_stands_beside_a_guarantee_that_does_not_hold(study: StudyResults) -> None:
    rows = study.results[study.results["cell"] == "gan-published-private"]
    assert set(rows["epsilon"]) == {math.inf} and rows["target_epsilon"].isna().all() and not rows["holds"].any()
    assert "for the cell *vae-private*" in text.user_level(study).lower()


def test_curves_are_there_where_the_study_varies_something(study: StudyResults) -> None:
    epsilons = against_epsilon(study)
    vae = epsilons[(epsilons["model"] == "VAE") & (epsilons["training set"] == "whole") & (epsilons["metric"] == "SWD")]
    assert vae["x"].tolist() == [1.0, 10.0, math.inf] and vae["mean"].tolist() == pytest.approx(
        [0.71, 0.4133, 0.21], abs=1e-3
    )
    sizes = against_size(study)
    assert sizes.loc[(sizes["model"] == "VAE") & (sizes["metric"] == "JSD"), "x"].tolist() == [1600, 4000, 16123]
    for table in (epsilons, sizes):
        figure = curves.error_along(table, label="x")
        assert [ax.get_title() for ax in figure.axes] == ["SWD", "JSD"]
    assert "∞" in [t.get_text() for t in curves.error_along(epsilons, label="x").axes[0].get_xticklabels()]


def test_a_study_that_varies_nothing_has_no_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {**made.baselines(2), "vae-private": {"rescaled": [0.4, 0.5], "parameters": _private()}}
    study = StudyResults(made.study(tmp_path, monkeypatch, cells, private=True))
    assert not len(against_epsilon(study)) and not len(against_size(study))
    assert "No setting of this study holds two models" in ranking_text.answer(study)


def test_where_every_run_failed_there_is_a_reason_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {f"{m}-private": {"rescaled": [None, None], "parameters": _private()} for m in ("vae", "gan")}
    study = StudyResults(made.study(tmp_path, monkeypatch, cells))
    for table in (
        against_epsilon(study),
        against_size(study),
        cost_table(study),
        parameter_table(study),
        latent_table(study),
    ):
        assert not len(table)
    assert "No run is complete" in text.answer(study) and "No run is complete" in ranking_text.answer(study)
    assert set(ranking_text.pick_table(study)["pick"]) == {"none"} and not len(ranking_text.tests_of(study))
    assert set(study.verdict_table()["verdict"]) == {"not testable at this profile"}
    assert len(study.holes()) == 4 and set(study.histories("gan")) == {"gan-private (failed)"}


def test_exact_sizes_of_private_data_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {
        **made.baselines(2),
        **{f"vae-private{s}": {"rescaled": [0.4, 0.5], "parameters": _private(), "train_size": n}
           for s, n in (("", None), ("-n-4000", 4000), ("-small", 1600))},
    }  # fmt: skip
    study = StudyResults(made.study(tmp_path, monkeypatch, cells, private=True))
    assert sorted(set(against_size(study)["x"])) == [1600, 4000, 16000]


def test_costs_and_parameters(study: StudyResults) -> None:
    table = parameter_table(study).set_index("model")
    assert table.loc["VAE", "released network"] == 1050 and table.loc["VAE", "encoder"] == 300
    assert table.loc["GAN", "critic"] == 400 and table.loc["GAN", "against the first"] == "-4.8 %"
    cost = cost_table(study)
    assert cost.loc["gan-private", "critic updates"] == 150 and cost.loc["gan-private", "generator updates"] == 50
    assert (
        cost.loc["vae-plain", "core-seconds of training"] == 90.0
    )  # all steps, though the run itself took 40 s over its share
    assert math.isnan(cost.loc["real", "core-seconds of training"])
    assert latent_table(study).loc["vae-plain", "active, at least"] == 3


def test_a_failed_run_shows_its_loss_and_its_reason(study: StudyResults) -> None:
    histories = study.histories("gan")
    assert set(histories) == {"gan-plain", "gan-plain (failed)", "gan-private", "gan-published-private"}
    assert plots.loss_curves(histories).axes[0].get_yscale() == "log"
    negative = {"gan-plain": histories["gan-plain"].assign(loss=-1.0)}
    assert plots.loss_curves(negative).axes[0].get_yscale() == "symlog"
    assert study.holes()[["cell", "reason"]].values.tolist() == [["gan-plain", "it has collapsed"]]


def test_which_cells_stand_on_their_own() -> None:
    cells = ["real", "vae-plain", "vae-clipped", "vae-private-epsilon-1.0", "vae-private-small", "vae-private-n-4000",
             "vae-private-small-epsilon-2.0", "diffusion-plain-init", "gan-published-plain", "mine", "gan-vmf-plain",
             "gan-vmf-private-epsilon_c-5.0", "gan-vmf-private-d_out-4", "gan-plain-tiny", "gan-vmf-plain-tiny"]  # fmt: skip
    assert core(cells) == [
        "vae-plain",
        "vae-clipped",
        "vae-private-small",
        "gan-published-plain",
        "mine",
        "gan-vmf-plain",
    ]
    assert mapped(cells) == ["vae-plain", "gan-published-plain", "mine", "gan-vmf-plain"]
    assert conditional(cells) == ["gan-vmf-plain"]
    assert [c for c in cells if is_tiny(c)] == ["gan-plain-tiny", "gan-vmf-plain-tiny"]


@pytest.mark.parametrize(
    ("cell", "parts", "without"),
    [
        ("gan-private", ("gan", "", False, "private", ""), "gan-private"),
        ("gan-published-plain", ("gan", "", True, "plain", ""), "gan-published-plain"),
        ("vae-sample-plain-long", ("vae", "sample", False, "plain", "long"), "vae-plain-long"),
        ("vae-attributes-gaussian-private", ("vae", "attributes-gaussian", False, "private", ""), "vae-private"),
        ("vae-vmf-private-d_out-4", ("vae", "vmf", False, "private", "d_out-4"), "vae-private-d_out-4"),
    ],
)
def test_the_name_of_a_cell_says_what_it_is(cell: str, parts: tuple[Any, ...], without: str) -> None:
    name = parsed(cell)
    assert name is not None and tuple(name) == parts and name.unconditional == without
    assert parsed("real") is None and parsed("mine-private") is None and parsed("gan-secret-private") is None
