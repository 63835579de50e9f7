"""Miniature notebooks, each standing for one situation."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

SENTINEL = "all done"
PARAMETERS = "epsilon = 1.0\nname = 'x'\nsize = None"


def write(path: Path, *cells: str, parameters: str | None = PARAMETERS, end: bool = True) -> Path:
    """Write a notebook: a parameters cell (None: untagged), the given code cells, and a last cell that prints the sentinel."""
    made = [new_code_cell(parameters or PARAMETERS, metadata={"tags": ["parameters"]} if parameters else {})]
    made += [new_code_cell(source) for source in cells]
    if end:
        made.append(new_code_cell(f"print({SENTINEL!r})"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=made, metadata={"kernelspec": kernel}), path)
    return path
