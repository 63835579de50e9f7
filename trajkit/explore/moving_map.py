"""The kepler.gl map below a panel: it shows other trips in one message when the panel changes."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from trajkit.errors import MissingDataError
from trajkit.viz.maps import Sets, trip_map
from trajkit.viz.pictures import sentence

ROWS = 300  # trips of each set: more make the browser slow while a slider moves


class MovingMap:
    """``box`` is empty until `show` is called; where the map cannot be made it says why."""

    def __init__(self) -> None:
        self.box = widgets.VBox([])
        self._widget: Any = None

    def show(self, sets: Sets, **settings: Any) -> None:
        """Show ``sets``; ``settings`` are those of `trajkit.viz.maps.trip_map`. Raises what it raises; then no earlier map stays."""
        try:
            new = trip_map(sets, rows=ROWS, **settings)
        except Exception:
            self.box.children, self._widget = (), None
            raise
        if self._widget is not None:
            self._widget.show(new)
            return
        try:
            self._widget = new.widget()
        except MissingDataError as error:
            self.box.children = (widgets.HTML(sentence(f"The moving map is not possible here: {error}").html()),)
            return
        self.box.children = (self._widget,)
