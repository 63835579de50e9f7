"""C36: the file behind a published table could not be made again by anyone. A figure whose run is not complete does not appear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trajkit.privacy.guarantee import no_guarantee
from trajkit.study import results
from trajkit.study.results import StudyResults

VALUES = {"real": 0.1, "uniform": 0.6, "plain": 0.2}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "OUTPUTS", tmp_path)
    planned = []
    for cell, value in VALUES.items():
        folder = tmp_path / "runs" / f"id-{cell}"
        folder.mkdir(parents=True)
        row = {"metric": "JSD", "level": "point", "value": value, "unit": "bits", "direction": "lower is better"}
        (folder / "metrics.json").write_text(json.dumps({"n_train": 8, "n_test": 2, "results": [row]}))
        (folder / "guarantee.json").write_text(no_guarantee("a test").to_json())
        (folder / "manifest.json").write_text("{}")
        method = cell if cell != "plain" else "diffusion"
        config = {"method": method, "fold": 0, "seed": 0, "train_size": None, "parameters": {}, "dataset_settings": {}}
        planned.append({"run_id": f"id-{cell}", "cell": cell, "replicate": 0, "vary": "fold", "config": config})
    (tmp_path / "plan.json").write_text(json.dumps({"runs": planned, "private": False, "allow_raw": False}))
    return tmp_path


def test_every_row_names_its_run_and_is_rescaled_between_floor_and_ceiling(study: Path) -> None:
    table = StudyResults(study).results.set_index("cell")
    assert table["run_id"].to_dict() == {c: f"id-{c}" for c in VALUES}
    assert table["rescaled"].to_dict() == pytest.approx({"real": 0.0, "uniform": 1.0, "plain": 0.2})


def test_without_its_manifest_a_run_is_a_hole_and_no_number(study: Path) -> None:
    (study / "runs" / "id-plain" / "manifest.json").unlink()
    found = StudyResults(study)
    assert set(found.results["cell"]) == {"real", "uniform"}
    assert found.holes()["cell"].tolist() == ["plain"]


def test_without_its_floor_a_value_has_no_rescaled_one(study: Path) -> None:
    (study / "runs" / "id-real" / "manifest.json").unlink()
    assert StudyResults(study).results["rescaled"].isna().all()
