"""C44: started from another folder, a notebook did not find its data and still reported success."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = "from trajkit.study.folders import OUTPUTS, ROOT; from trajkit.study.params import read_question; print(ROOT, OUTPUTS, read_question('rq1').question)"


def test_paths_come_from_the_package_wherever_one_stands(tmp_path: Path) -> None:
    said = set()
    for folder in (ROOT, ROOT / "notebooks", tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True, env={**os.environ}
        )
        said.add(done.stdout)
    assert said == {f"{ROOT} {ROOT / 'outputs'} rq1\n"}


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks" / "text").glob("*.py")), ids=lambda p: p.stem)
def test_notebooks_swallow_nothing(path: Path) -> None:
    text = path.read_text()
    assert "except" not in text
    assert "os.chdir" not in text and "%cd" not in text
