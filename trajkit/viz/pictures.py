"""What a panel shows: pictures with a description, and pieces of text, as HTML for a widget or as outputs of a notebook."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trajkit.errors import ParameterError

DPI = 100  # a figure of 6 inches is 600 pixels wide at 100 % zoom, text of 9 points is 12.5 pixels high
DRAWING = threading.RLock()  # matplotlib keeps state that two threads must not change at once
TIGHT = {"compress_level": 1}  # three times as fast to write as the default, a tenth larger


@dataclass(frozen=True)
class Picture:
    """A figure and ``alt``, the sentence that says what it shows to who does not see it. Raises ParameterError without one."""

    figure: Figure
    alt: str

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ParameterError("a picture needs a description (alt): say what it shows")

    @cached_property
    def png(self) -> bytes:
        """PNG at `DPI`, made once."""
        with DRAWING:
            buffer = io.BytesIO()
            FigureCanvasAgg(self.figure)
            self.figure.savefig(buffer, format="png", dpi=DPI, pil_kwargs=TIGHT)
        return buffer.getvalue()

    def html(self) -> str:
        """An ``<img>`` with the picture inside."""
        data = base64.b64encode(self.png).decode()
        return f'<img alt="{escape(self.alt)}" src="data:image/png;base64,{data}" style="max-width: 100%">'

    def display(self) -> None:
        """Show as an output of the cell that runs; its description goes with it."""
        from IPython.display import display

        bundle = {"image/png": base64.b64encode(self.png).decode(), "text/plain": self.alt}
        display(bundle, metadata={"image/png": {"alt": self.alt}}, raw=True)


@dataclass(frozen=True)
class Text:
    """A piece of HTML, made by the kit (what comes from data must be escaped); a ``wide`` one has a row to itself."""

    source: str
    wide: bool = False

    def html(self) -> str:
        """The piece itself."""
        return f'<div style="max-width: 60em">{self.source}</div>'

    def display(self) -> None:
        """Show as an output of the cell that runs."""
        from IPython.display import HTML, display

        display(HTML(self.html()))


View = Picture | Text


def sentence(text: str) -> Text:
    """Plain text as one paragraph, in a row to itself."""
    return Text(f"<p>{escape(text)}</p>", wide=True)


def table(frame: pd.DataFrame, *, caption: str = "", digits: int = 3) -> Text:
    """A table; floats with ``digits`` significant digits, missing values empty."""
    html = frame.to_html(border=0, na_rep="", float_format=lambda v: f"{v:.{digits}g}", justify="left")
    title = f"<p><b>{escape(caption)}</b></p>" if caption else ""
    return Text(title + html)


def as_html(views: Sequence[View]) -> str:
    """The views side by side where there is room, else below each other."""
    wide = ' style="flex-basis: 100%"'
    boxes = "".join(f"<div{wide if isinstance(view, Text) and view.wide else ''}>{view.html()}</div>" for view in views)
    return f'<div style="display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start">{boxes}</div>'
