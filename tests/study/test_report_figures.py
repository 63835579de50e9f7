"""Figures of a report lie beside it as SVG and PNG, and its page says in words what each shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from trajkit.errors import RunFailedError
from trajkit.study.report import to_html
from trajkit.study.report_figures import save_figures
from trajkit.study.runner import execute
from trajkit.viz.figures import ALSO_SVG

DRAW = """from trajkit.viz.figures import finished, subplots
fig, ax = subplots(figsize=(2, 1))
finished(fig, 'One "panel" < two.')"""


def _executed(folder: Path, source: str) -> Path:
    cells = [
        nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_markdown_cell("# Report\n\n## Errors, and ranks!"),
        nbformat.v4.new_code_cell(source),
        nbformat.v4.new_code_cell(source),
        nbformat.v4.new_code_cell("print('end')"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "template.ipynb")
    execute(folder / "template.ipynb", folder / "report.ipynb", {}, "end", environment={ALSO_SVG: "1"})
    return folder / "report.ipynb"


def test_each_figure_is_saved_twice_and_described(tmp_path: Path) -> None:
    book = _executed(tmp_path, DRAW)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.png").write_bytes(b"of an earlier report")
    files = save_figures(book, tmp_path / "figures")
    names = [f"0{n}-errors-and-ranks.{kind}" for n in (1, 2) for kind in ("svg", "png")]
    assert [f.name for f in files] == names and sorted(p.name for p in (tmp_path / "figures").iterdir()) == sorted(
        names
    )
    assert files[1].read_bytes().startswith(b"\x89PNG") and ET.parse(files[0]).getroot().tag.endswith("svg")
    assert "image/svg+xml" not in book.read_text()
    images = BeautifulSoup(to_html(book), "html.parser").find_all("img")
    assert [i["alt"] for i in images] == ['One "panel" < two.'] * 2


def test_a_figure_without_words_stops_the_report(tmp_path: Path) -> None:
    book = _executed(tmp_path, "import matplotlib.pyplot as plt\nplt.plot([0, 1]);")
    with pytest.raises(RunFailedError, match="below 'Errors, and ranks!' has no description"):
        save_figures(book, tmp_path / "figures")
