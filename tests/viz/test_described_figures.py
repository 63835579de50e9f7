"""Every figure carries a description, and a notebook shows it with the picture."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import trajkit.viz
from trajkit.errors import ParameterError
from trajkit.viz.figures import ALSO_SVG, finished, listed, subplots


def test_a_notebook_gets_picture_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALSO_SVG, raising=False)
    fig, ax = subplots(figsize=(2, 1))
    ax.plot([0, 1])
    bundle, metadata = finished(fig, "A rising line.")._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/plain"} and metadata == {"image/png": {"alt": "A rising line."}}
    assert not plt.get_fignums()
    monkeypatch.setenv(ALSO_SVG, "1")
    first, second = (fig._repr_mimebundle_()[0]["image/svg+xml"] for _ in range(2))
    assert first.lstrip().startswith("<?xml") and "A rising line." in first and "<dc:date>" not in first + second


def test_a_figure_without_words_is_refused() -> None:
    with pytest.raises(ParameterError, match="with a sentence"):
        finished(subplots()[0], " ")
    with pytest.raises(ParameterError, match="made by `subplots`"):
        finished(plt.figure(), "A line.")
    plt.close("all")


def test_names_are_listed_up_to_a_limit() -> None:
    assert listed(["b", "a", "b"]) == "b, a" and listed(range(5), 2) == "0, 1 and 3 more"


@pytest.mark.parametrize("path", sorted(Path(trajkit.viz.__path__[0]).glob("*.py")), ids=lambda p: p.stem)
def test_figures_are_made_the_one_way(path: Path) -> None:
    """No module makes figures by pyplot itself: those would have no description."""
    if path.stem == "figures":
        return
    calls = [ast.unparse(n.func) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    assert not {"plt.subplots", "plt.figure"} & set(calls)
