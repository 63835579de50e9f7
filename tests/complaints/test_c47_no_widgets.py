"""C47: widgets in notebooks that run without a person show as text or hang."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trajkit.study.notebooks import read_notebook
from trajkit.study.runner import execute

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem.startswith(("rq", "method"))], ids=lambda p: p.stem)
def test_notebooks_that_run_alone_hold_no_widgets(path: Path) -> None:
    source = path.read_text()
    assert "ipywidgets" not in source and "interact(" not in source and "KeplerGl" not in source


@pytest.mark.parametrize(
    ("name", "parameters", "pictures"),
    [
        ("explore-data", {"dataset_settings": {"people": 60, "days": 2, "seed": 0}}, 4),
        ("explore-runs", {"profile": "smoke", "epsilon": 10.0}, 5),
        ("index", {}, 0),
    ],
    ids=["data", "runs", "index"],
)
def test_explore_notebooks_show_figures_where_nobody_looks(
    name: str, parameters: dict[str, Any], pictures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAJKIT_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("JPY_SESSION_NAME", "as if a live notebook had started it")
    target = tmp_path / "executed.ipynb"
    execute(ROOT / "notebooks" / f"{name}.ipynb", target, parameters, "")
    outputs = [o for c in read_notebook(target).cells if c.cell_type == "code" for o in c.outputs]
    shown = [o for o in outputs if "image/png" in o.get("data", {})]
    assert len(shown) == pictures and all(o.metadata["image/png"]["alt"] for o in shown)
    assert not any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in outputs)
    assert "error" not in {o.output_type for o in outputs}
