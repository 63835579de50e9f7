"""Requests to stop: a scheduler says by a signal that time is up or the machine is wanted; a trainer then writes its checkpoint and ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# SIGUSR1 is Slurm's warning (--signal), SIGTERM the last one before the kill; Windows has no SIGUSR1
SIGNALS = tuple(getattr(signal, name) for name in ("SIGUSR1", "SIGTERM") if hasattr(signal, name))


class StopRequest:
    """``asked`` turns true when one of `SIGNALS` arrives."""

    asked = False

    def ask(self, *_: Any) -> None:
        """Note the request; fits as a signal handler."""
        self.asked = True


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Note `SIGNALS` instead of dying of them; outside the main thread, which gets no signals, nothing changes."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {s: signal.signal(s, request.ask) for s in SIGNALS}
    try:
        yield request
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
