"""A panel whose answers take seconds: they are computed beside it and kept, and until then it says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import ipywidgets as widgets

from trajkit.errors import ParameterError, TrajkitError
from trajkit.explore.panel import Panel
from trajkit.explore.work import Step, Steps, Work, at_once
from trajkit.study.runner import in_one_line
from trajkit.viz.pictures import View

REST_S = 1.5  # what comes later waits until no control has moved for so long, as it would slow the next answer down


class OnDemandPanel(Panel):
    """A subclass says which answer the controls want (`wanted`), how it is computed in pieces (`answering`), and draws (`views_of`).

    ``known``: answers by their key, or the sentence that says why there is none. Without widgets an answer is computed at once.
    """

    label: ClassVar[str] = "Compute"

    def __init__(self, controls: Mapping[str, widgets.ValueWidget], *, interactive: bool | None) -> None:
        self.known: dict[Any, Any] = {}
        self._busy, self._lock, self._moved = False, threading.Lock(), 0.0
        self.work = Work(self._steps, label=self.label)
        super().__init__(controls, self.views_of, interactive=interactive, before=(self.work.box(),))

    def wanted(self) -> Any:
        """Key of the answer that the controls ask for; may raise ParameterError, which the panel shows."""
        raise NotImplementedError

    def later(self) -> Iterator[Any]:
        """Keys of answers to compute when what is wanted is known."""
        return iter(())

    def answering(self, key: Any) -> Generator[Step, None, Any]:
        """Compute an answer, with a `Step` before each piece."""
        raise NotImplementedError

    def named(self, key: Any) -> str:
        """What is being computed, in a few words."""
        raise NotImplementedError

    def views_of(self, **chosen: Any) -> Sequence[View]:
        """The views; asks `answer`."""
        raise NotImplementedError

    def answer(self, key: Any) -> Any:
        """The answer, or a sentence where there is none; None while it is being computed."""
        if self.interactive:
            if key not in self.known:
                self._want()
            return self.known.get(key)
        return at_once(self.answering(key))

    def redraw(self) -> None:
        """Draw again, and remember when."""
        super().redraw()
        self._moved = time.monotonic()

    def box(self) -> widgets.Widget:
        """The panel; what comes later is being computed meanwhile."""
        shown = super().box()
        self._want()
        return shown

    def _want(self) -> None:
        """Have the work running: it looks for what is wanted until that is known."""
        with self._lock:
            busy, self._busy = self._busy, True
        if not busy:
            self.work.wait()  # it has nothing left to do
            self.work.begin()

    def _steps(self) -> Steps:
        self._busy = True  # also where the button was pressed
        try:
            while (key := self._next()) is not None:
                yield from self._answered(key)
        finally:
            self._busy = False

    def _answered(self, key: Any) -> Steps:
        pieces = self.answering(key)
        try:
            while True:
                try:
                    what, share = next(pieces)
                except StopIteration as end:
                    self.known[key] = end.value
                    break
                yield f"{self.named(key)}: {what}", share
                now = self._now()
                if now not in (None, key) and now not in self.known:
                    return  # something else is more urgent
                if now != key:
                    time.sleep(max(0.0, self._moved + REST_S - time.monotonic()))
        except TrajkitError as error:
            self.known[key] = in_one_line(error)
        if self._now() == key:
            self.redraw()

    def _now(self) -> Any:
        try:
            return self.wanted()
        except ParameterError:  # the panel says so
            return None

    def _next(self) -> Any:
        """What to compute next; where there is nothing, the work counts as ended from here on."""
        with self._lock:
            now = self._now()
            found = None
            if now is not None:
                found = now if now not in self.known else next((k for k in self.later() if k not in self.known), None)
            self._busy = found is not None
            return found
