"""Where a release loses streets: the road map with the busy streets that are kept, lost and added."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajkit.viz.colours import BLUE, INK, ROAD, VERMILION

SIZE = (6.4, 6.4)
MARGIN_M = 200.0  # around the outermost streets
KINDS = (("kept", INK, 1.3), ("added", BLUE, 1.6), ("lost", VERMILION, 2.4))


def street_map(streets: np.ndarray, kinds: dict[str, np.ndarray], *, title: str) -> Figure:
    """Draw the ``streets`` [s, 4] (metres), those in ``kinds`` (kept, added, lost: bool [s]) in colour; lost ones on top and widest."""
    fig = Figure(figsize=SIZE)
    ax = fig.add_axes((0.02, 0.06, 0.96, 0.89))
    pieces(ax, streets, ROAD, 0.5)
    for name, colour, width in KINDS:
        pieces(ax, streets[kinds[name]], colour, width)
    ends = streets.reshape(-1, 2)
    framed(ax, (*(ends.min(axis=0) - MARGIN_M), *(ends.max(axis=0) + MARGIN_M)))
    ax.set_title(title, fontsize=10)
    handles = [
        Line2D([], [], color=c, lw=w + 1.5, label=f"{name} ({int(kinds[name].sum()):,})") for name, c, w in KINDS
    ]
    handles.append(Line2D([], [], color=ROAD, lw=2, label="other streets"))
    fig.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=9)
    return fig


def pieces(ax: Axes, streets: np.ndarray, colour: str, width: float) -> None:
    """Draw straight pieces [s, 4] (metres) as one line with gaps: much faster than a line each."""
    points = np.full((len(streets), 3, 2), np.nan)
    points[:, :2] = streets.reshape(-1, 2, 2) / 1000
    ax.plot(*points.reshape(-1, 2).T, color=colour, lw=width, solid_capstyle="round")


def framed(ax: Axes, bounds: tuple[float, float, float, float]) -> None:
    """A map of ``bounds`` (x0, y0, x1, y1 in metres): equal scales, no ticks, a bar of a round number of kilometres."""
    x0, y0, x1, y1 = (b / 1000 for b in bounds)
    ax.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal", xticks=[], yticks=[])
    long = _round_km((x1 - x0) / 4)
    x, y = x0 + (x1 - x0) * 0.03, y0 + (y1 - y0) * 0.03
    ax.plot([x, x + long], [y, y], color=INK, lw=3, solid_capstyle="butt")
    ax.text(x + long / 2, y + (y1 - y0) * 0.012, f"{long:g} km", ha="center", va="bottom", fontsize=9)


def _round_km(most: float) -> float:
    base = 10.0 ** np.floor(np.log10(most))
    return float(next(m for m in (5, 2, 1) if m * base <= most) * base)
