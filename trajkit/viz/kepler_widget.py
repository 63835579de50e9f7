"""The map as a Jupyter widget.

The module that the browser loads is a few kilobytes, and everything it shows is there when it opens: kepler.gl's own widget is a module of
12 MB that opens empty and is filled later, and both go wrong in JupyterLab when the browser is slow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from trajkit.viz.kepler_bundle import bundle
from trajkit.viz.maps import MapSettings, Sets, TripMap


class KMap(anywidget.AnyWidget):
    """A kepler.gl map. ``state`` JSON text and ``lines`` as `trajkit.viz.maps.TripMap` makes them; ``kepler`` the packed kepler.gl."""

    _esm = (Path(__file__).parent / "kmap.js").read_text(encoding="utf-8")
    lines = traitlets.Bytes(b"").tag(sync=True)
    kepler = traitlets.Bytes(b"").tag(sync=True)
    state = traitlets.Unicode("{}").tag(sync=True)

    def __init__(self, *, settings: MapSettings, **state: Any) -> None:
        self._settings = settings
        super().__init__(**state)

    def update(self, sets: Sets) -> list[str]:
        """Show other sets with the settings of this map, checked in the same way, in one message; return the new notes."""
        new = TripMap(sets, self._settings)
        self.show(new)
        return new.notes

    def show(self, other: TripMap) -> None:
        """Show another map, with its settings, in the place of this one, in one message."""
        self._settings = other.settings
        with self.hold_sync():
            self.kepler = bundle(other.online)
            self.lines = other.lines
            self.state = other.state
