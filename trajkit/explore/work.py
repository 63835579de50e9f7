"""Long work beside a panel: a thread that reports how far it is and can be stopped between its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from html import escape
from typing import Any

import ipywidgets as widgets

from trajkit.study.runner import in_one_line

Step = tuple[str, float]  # what is about to be done, and the share (0 to 1) that is done by now
Steps = Generator[Step, None, None]


def at_once(pieces: Generator[Step, None, Any]) -> Any:
    """What work in pieces returns, all of it done now."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


class Work:
    """A button that starts work, its bar, and Cancel. The kernel stays free: other controls answer meanwhile.

    steps   called at the start; yields a `Step` before each piece of work, which is where Cancel takes effect
    label   text of the button
    done    called in the thread after the last step, and after Cancel too (what was finished by then stays)
    """

    def __init__(self, steps: Callable[[], Steps], *, label: str, done: Callable[[], None] | None = None) -> None:
        self._steps, self._done = steps, done
        self._stop, self._thread = threading.Event(), threading.Thread()
        self.start = widgets.Button(description=label, layout=widgets.Layout(width="auto"))
        self.cancel = widgets.Button(description="Cancel", disabled=True)
        self.bar = widgets.FloatProgress(min=0, max=1, description="progress")
        self.status = widgets.HTML()
        self.start.on_click(lambda _: self.begin())
        self.cancel.on_click(lambda _: self.stop())

    def box(self) -> widgets.Widget:
        """The buttons, the bar and the line that says what is being done."""
        return widgets.HBox([self.start, self.cancel, self.bar, self.status])

    @property
    def running(self) -> bool:
        """Whether the thread works."""
        return self._thread.is_alive()

    def begin(self) -> None:
        """Start, unless it runs already."""
        if self.running:
            return
        self._stop.clear()
        self.start.disabled, self.cancel.disabled = True, False
        self._thread = threading.Thread(target=self._work, daemon=True, name=f"work: {self.start.description}")
        self._thread.start()

    def stop(self) -> None:
        """Ask it to stop: it does before its next step."""
        self._stop.set()
        self._say("stopping after this step")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, at most ``seconds``."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        ending = "done"
        try:
            ending = self._walk()
            if self._done is not None:
                self._done()
        except Exception as error:
            ending = in_one_line(error)
        finally:
            self.start.disabled, self.cancel.disabled = False, True
            self._say(ending)

    def _walk(self) -> str:
        steps = self._steps()
        for what, share in steps:
            if self._stop.is_set():
                steps.close()
                return "cancelled; what was finished stays"
            self.bar.value = share
            self._say(what)
        self.bar.value = 1.0
        return "done"

    def _say(self, text: str) -> None:
        self.status.value = f'<span role="status">{escape(text)}</span>'
