"""Notebooks load, configure, call, show and explain; logic lives in the package."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").rglob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_thin(path: Path) -> None:
    book = json.loads(path.read_text())
    code = [c for c in book["cells"] if c["cell_type"] == "code"]
    lines = [[x for x in "".join(c["source"]).splitlines() if x.strip()] for c in code]
    assert sum(map(len, lines)) <= 100
    assert max(map(len, lines)) <= 15
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in code), "stored outputs: clear them"
    assert len([c for c in code if "parameters" in c["metadata"].get("tags", [])]) == 1
    headings = [
        x
        for c in book["cells"]
        if c["cell_type"] == "markdown"
        for x in "".join(c["source"]).splitlines()
        if x.startswith("# ")
    ]
    assert len(headings) == 1
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    for cell in code:
        nodes = list(ast.walk(ast.parse("".join(cell["source"]))))
        assert not any(isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Lambda)) for n in nodes)
