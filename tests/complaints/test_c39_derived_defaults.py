"""C39: `scale = 1 / epsilon` in the parameters cell kept the old epsilon: noise for one value, label of another."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.study.notebooks import check_parameters, declared_parameters

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
import zoo

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").rglob("*.ipynb"))


@pytest.mark.parametrize(
    "line", ["scale = 1 / epsilon", "scale = f'{epsilon}'", "import os", "a = b = 1", "epsilon += 1"]
)
def test_anything_but_a_literal_is_refused(tmp_path: Path, line: str) -> None:
    template = zoo.write(tmp_path / "a.ipynb", parameters=f"epsilon = 1.0\n{line}")
    with pytest.raises(ParameterError, match="next cell"):
        check_parameters(template, {"epsilon": 0.1})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_our_notebooks_hold_literals_only(path: Path) -> None:
    assert declared_parameters(path)
    tagged = [c for c in json.loads(path.read_text())["cells"] if "parameters" in c["metadata"].get("tags", [])]
    assert all(isinstance(s, ast.Assign) for s in ast.parse("".join(tagged[0]["source"])).body)
