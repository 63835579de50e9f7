"""Figures that carry their description: notebooks, reports and saved files have it beside the picture."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from trajkit.errors import ParameterError

ALSO_SVG = "TRAJKIT_SVG"  # set to 1 by what executes a report: its figures are kept as SVG too


class DescribedFigure(Figure):
    """A figure with ``alt``, the sentence that says what it shows to those who do not see it. A notebook shows it with its description."""

    alt = ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
        from IPython.core.pylabtools import print_figure

        png = print_figure(self, fmt="png", bbox_inches="tight", base64=True)
        bundle = {"image/png": png, "text/plain": self.alt}
        if os.environ.get(ALSO_SVG) == "1":
            # no date in it: the same figure is the same file
            metadata = {"Date": None, "Title": self.alt.partition(".")[0], "Description": self.alt}
            bundle["image/svg+xml"] = print_figure(self, fmt="svg", bbox_inches="tight", metadata=metadata)
        return bundle, {"image/png": {"alt": self.alt}}


def subplots(*args: Any, **kwargs: Any) -> tuple[DescribedFigure, Any]:
    """`matplotlib.pyplot.subplots` for a figure that `finished` describes."""
    return plt.subplots(*args, FigureClass=DescribedFigure, **kwargs)  # type: ignore[return-value]


def finished(fig: Figure, alt: str) -> DescribedFigure:
    """Close the figure, so that a notebook shows it once, give it its description, and return it.

    Raises ParameterError without a description, or for a figure that `subplots` did not make.
    """
    plt.close(fig)
    if not isinstance(fig, DescribedFigure) or not alt.strip():
        raise ParameterError(
            "a figure is made by `subplots` of trajkit.viz.figures and finished with a sentence on what it shows"
        )
    fig.alt = alt
    return fig


def listed(names: Any, most: int = 12) -> str:
    """Names for a description: "a, b and 3 more"."""
    known = list(dict.fromkeys(map(str, names)))
    more = len(known) - most
    return ", ".join(known[:most]) + (f" and {more} more" if more > 0 else "")
