"""`Panel`: controls, and what they show. One function draws everything, so that all views change together.

    def draw(epsilon: float, unit: str) -> list[View]: ...

    Panel({"epsilon": FloatSlider(description="epsilon"), "unit": Dropdown(description="unit", ...)}, draw)

As the last line of a cell it shows itself: with widgets where somebody sits in front of it (`trajkit.viz.live`), else the
views of the controls' first values.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import ipywidgets as widgets

from trajkit.study.runner import in_one_line
from trajkit.viz.live import is_live
from trajkit.viz.pictures import DRAWING, View, as_html

BESIDE_LABEL = "230px"  # the track of a slider and its value


class Panel:
    """Controls wired to ``draw``.

    controls     name -> widget; each needs a description, by which people (and tests) find it
    draw         called with the value of each control by its name; returns the views in their order
    interactive  None: see `trajkit.viz.live.is_live`
    before, also widgets above and below the views that are not drawn by ``draw``: the bar of some work, a map; shown only when interactive

    after        called with the values when the views have changed, to change a widget in ``also``; only when interactive

    An error in ``draw`` is shown as a sentence above the views, which stay as they were; without widgets it is raised.
    """

    def __init__(
        self, controls: Mapping[str, widgets.ValueWidget], draw: Callable[..., Sequence[View]], *,
        interactive: bool | None = None, before: Sequence[widgets.Widget] = (), also: Sequence[widgets.Widget] = (),
        after: Callable[..., None] | None = None,
    ) -> None:  # fmt: skip
        self.controls, self.draw, self.before, self.also = dict(controls), draw, tuple(before), tuple(also)
        self.after, self.interactive = after, is_live(interactive)
        self.message = widgets.HTML()
        self.views = widgets.HTML()
        self._paused = False
        for control in self.controls.values():
            control.style.description_width = "initial"  # a label is never cut off
            control.layout.width = f"calc({len(control.description)}ch + {BESIDE_LABEL})"  # and leaves room to drag
            control.observe(self._changed, names="value")

    @property
    def values(self) -> dict[str, Any]:
        """Name of each control -> its value."""
        return {name: control.value for name, control in self.controls.items()}

    def shown(self) -> Sequence[View]:
        """What ``draw`` shows for the controls as they are."""
        with DRAWING:
            return self.draw(**self.values)

    def redraw(self) -> None:
        """Draw again; what goes wrong becomes a sentence in the panel."""
        try:
            with DRAWING:
                self.views.value = as_html(self.shown())
                if self.after is not None:
                    self.after(**self.values)
        except Exception as error:
            self.message.value = f'<p role="alert" style="color: #a33b00">{escape(in_one_line(error))}</p>'
            return
        self.message.value = ""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Change several controls, or what they offer, and draw once at the end."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before
        self._changed()

    def box(self) -> widgets.Widget:
        """The panel as one widget, drawn."""
        self.redraw()
        gc.collect()
        gc.freeze()  # else a slider waits a tenth of a second now and then while all that is loaded is looked through
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        return widgets.VBox(
            [widgets.Box(list(self.controls.values()), layout=row), *self.before, self.message, self.views, *self.also]
        )

    def _changed(self, _change: object = None) -> None:
        if self.interactive and not self._paused:
            self.redraw()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if self.interactive:
            display(self.box())
            return
        for view in self.shown():
            view.display()
