"""C48: cell ids changed with every conversion and tags were lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_every_notebook_has_its_twin() -> None:
    assert {p.stem for p in NOTEBOOKS} == {p.stem for p in (ROOT / "notebooks" / "text").glob("*.py")}


def test_a_sync_keeps_ids_and_tags_and_the_twins_agree(tmp_path: Path) -> None:
    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    before = {p.stem: json.loads(p.read_text())["cells"] for p in NOTEBOOKS}
    for path in sorted((tmp_path / "notebooks" / "text").glob("*.py")):
        path.touch()
        subprocess.run(
            [sys.executable, "-m", "jupytext", "--sync", str(path)], check=True, capture_output=True, cwd=tmp_path
        )
    for name, cells in before.items():
        after = json.loads((tmp_path / "notebooks" / f"{name}.ipynb").read_text())["cells"]
        assert [c["id"] for c in after] == [c["id"] for c in cells], (
            f"{name}: the text twin and the notebook differ: jupytext --sync"
        )
        assert [c["source"] for c in after] == [c["source"] for c in cells], (
            f"{name}: the twins differ: jupytext --sync"
        )
        assert [c["metadata"].get("tags") for c in after] == [c["metadata"].get("tags") for c in cells]
