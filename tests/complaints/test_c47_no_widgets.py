"""C47: widgets in notebooks that run without a person show as text or hang."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem.startswith(("rq", "method"))], ids=lambda p: p.stem)
def test_notebooks_that_run_alone_hold_no_widgets(path: Path) -> None:
    source = path.read_text()
    assert "ipywidgets" not in source and "interact(" not in source and "KeplerGl" not in source
