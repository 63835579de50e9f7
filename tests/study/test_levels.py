"""Reports show the levels of metrics in one order: point, trajectory, pattern, road."""

from __future__ import annotations

from pathlib import Path

import made
import matplotlib.pyplot as plt
import pytest

from trajkit.study.ranking import mean_ranks, rank_table
from trajkit.study.ranking_text import answer, comparisons
from trajkit.study.results import StudyResults
from trajkit.study.tables import metric_table
from trajkit.viz.plots import rescaled_dots

LEVELS = ["point", "trajectory", "pattern", "road"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResults:
    cells = {
        **made.baselines(3),
        "vae-plain": {"rescaled": [0.10, 0.11, 0.12], "parameters": {"regime": "plain"}},
        "gan-plain": {"rescaled": [0.30, 0.31, 0.33], "parameters": {"regime": "plain"}},
    }
    return StudyResults(made.study(tmp_path, monkeypatch, cells))


def test_tables_and_figures_keep_the_order(study: StudyResults) -> None:
    assert list(dict.fromkeys(metric_table()["level"])) == LEVELS
    assert list(mean_ranks(rank_table(study.results, comparisons(study))).index.get_level_values("level")) == LEVELS
    figure = rescaled_dots(study.results, test_ratio=study.test_ratio or 0.25, cells=["vae-plain", "gan-plain"])
    assert [ax.get_ylabel() for ax in figure.axes] == [f"{level} level" for level in LEVELS]
    plt.close(figure)


def test_the_text_says_who_leads_on_patterns(study: StudyResults) -> None:
    ahead = study.results["level"].eq("pattern") & study.results["cell"].eq("gan-plain")
    study.results.loc[ahead, ["value", "rescaled"]] = 0.0
    assert "on the pattern level the GAN (mean rank 1.0 against 2.0)" in answer(study)
