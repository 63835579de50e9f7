"""The static twin of a map: the same trajectories in the same colours, a panel a set, for paper and for where no map can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from trajkit import geo
from trajkit.geo import Box, box_xy
from trajkit.viz.colours import ROAD
from trajkit.viz.map_lines import Lines
from trajkit.viz.map_sets import MapSet
from trajkit.viz.plots import frame, row_of_panels

DPI = 150
HEXAGONS = 40  # across a panel


def twin(sets: Sequence[MapSet], beneath: Lines, box: Box, notes: Sequence[str], layers: Sequence[str]) -> Figure:
    """Draw each set over ``beneath`` in kilometres, as hexagons where they are the only layer; the notes stand below."""
    crs = sets[0].trajs.meta.crs
    fig, axes = row_of_panels(len(sets))
    bounds = box_xy(box, crs)
    grey = np.split(geo.project(beneath.lonlat, crs) / 1000, beneath.offsets[1:-1])
    for ax, s in zip(axes, sets, strict=True):
        frame(ax, s.name, bounds)
        ax.title.set_color(s.colour)
        ax.title.set_fontweight("bold")
        ax.add_collection(LineCollection(grey, colors=ROAD, linewidths=0.3, zorder=0, rasterized=True))
        if not len(s.trajs):
            continue
        xy = geo.project(s.trajs.lonlat, crs) / 1000
        if set(layers) == {"hexagons"}:
            x0, y0, x1, y1 = (b / 1000 for b in bounds)
            shades = LinearSegmentedColormap.from_list(s.name, ["#ffffff", s.colour])
            ax.hexbin(
                *xy.T,
                gridsize=HEXAGONS,
                extent=(x0, x1, y0, y1),
                cmap=shades,
                bins="log",
                mincnt=1,
            )
        else:
            lines = np.split(xy, s.trajs.offsets[1:-1])
            alpha = min(0.6, max(0.12, 150 / len(lines)))
            ax.add_collection(LineCollection(lines, colors=s.colour, linewidths=0.5, alpha=alpha, rasterized=True))
    if notes:
        fig.supxlabel("\n".join(notes), fontsize=7, ha="left", x=0.02)
    return fig


def save_twin(fig: Figure, path: Path, alt: str) -> list[Path]:
    """Write the figure beside ``path`` as PNG and SVG (its lines as a picture in it, they are many), each with the alternative text, and return their paths."""
    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    fig.savefig(files[0], dpi=DPI, metadata={"Description": alt})
    fig.savefig(files[1], format="svg", dpi=DPI, metadata={"Title": "map", "Description": alt, "Date": None})
    return files
