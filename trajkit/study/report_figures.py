"""The figures of an executed report, each as SVG and PNG in a folder of their own, for papers and slides."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from trajkit.errors import RunFailedError
from trajkit.study.notebooks import read_notebook

PNG, SVG = "image/png", "image/svg+xml"


def save_figures(notebook: Path, folder: Path) -> list[Path]:
    """Write each figure of ``notebook`` into ``folder`` (emptied first), named by its place and the heading above it; return the files.

    The notebook keeps the PNG only. Raises RunFailedError for a figure without description or without SVG.
    """
    book = read_notebook(notebook)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    files: list[Path] = []
    for number, (heading, output) in enumerate(_figures(book), start=1):
        if not output.metadata.get(PNG, {}).get("alt") or SVG not in output.data:
            raise RunFailedError(
                f"{notebook.name}: the figure below {heading!r} has no description or no SVG: make it by trajkit.viz.figures"
            )
        stem = folder / f"{number:02d}-{_slug(heading)}"
        files += [stem.with_suffix(".svg"), stem.with_suffix(".png")]
        files[-2].write_text(output.data.pop(SVG))
        files[-1].write_bytes(base64.b64decode(output.data[PNG]))
    nbformat.write(book, notebook)
    return files


def _figures(book: Any) -> Iterator[tuple[str, Any]]:
    """Each output that holds a picture, with the last heading before it."""
    heading = "figure"
    for cell in book.cells:
        if cell.cell_type == "markdown":
            found = re.findall(r"^#+ +(.+)$", cell.source, flags=re.MULTILINE)
            heading = found[-1] if found else heading
            continue
        for output in cell.get("outputs", []):
            if PNG in output.get("data", {}):
                yield heading, output


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "figure"
