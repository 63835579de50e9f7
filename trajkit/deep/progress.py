"""Progress of a training: a bar in notebooks and terminals, one plain line now and then in log files."""

from __future__ import annotations

import sys
import time
from types import TracebackType

LINE_EVERY_S = 30.0


class Progress:
    """Counts steps and examples; shows loss, examples/s and time left. Silent when ``show`` is false."""

    def __init__(self, total: int, *, done: int = 0, show: bool) -> None:
        self.total, self.done, self.examples = total, done, 0
        self.start = self.last = time.monotonic()
        self.first = done
        self.bar = None
        self.lines = show
        if show and (sys.stderr.isatty() or _in_notebook()):
            from tqdm.auto import tqdm

            self.bar = tqdm(total=total, initial=done, unit="step", desc="training", mininterval=0.5, leave=True)
            self.lines = False

    def advance(self, examples: int, loss: float) -> None:
        """One more step over ``examples`` records with mean ``loss``."""
        self.done += 1
        self.examples += examples
        now = time.monotonic()
        rate = self.examples / max(now - self.start, 1e-9)
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {loss:.4f}, {rate:,.0f} examples/s", refresh=False)
            self.bar.update()
        elif self.lines and (now - self.last > LINE_EVERY_S or self.done == self.total):
            self.last = now
            left = (now - self.start) / (self.done - self.first) * (self.total - self.done)
            print(
                f"training step {self.done}/{self.total}, loss {loss:.4f}, {rate:,.0f} examples/s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"
