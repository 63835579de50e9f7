"""A signal to stop, handed on to the kernel that works for this process: the trainer in it writes its checkpoint and ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import psutil

from trajkit.deep.stop import SIGNALS
from trajkit.errors import StoppedError

STOPPED = 75  # exit code "try again": a checkpoint is written, the same command goes on from there


class Stop:
    """Whether this process was asked to stop."""

    asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Signal handler. Without a kernel there is nothing to save: raises StoppedError."""
        self.asked = True
        kernels = [child for child in psutil.Process().children() if _is_kernel(child)]
        for kernel in kernels:
            kernel.send_signal(number)
        if not kernels:
            raise StoppedError("stopped before the notebook began")


@contextmanager
def stop_handed_on() -> Iterator[Stop]:
    """While inside, SIGUSR1 and SIGTERM go to the kernels started by this process. Main thread only, as signals are."""
    stop = Stop()
    before: dict[int, Any] = {s: signal.signal(s, stop) for s in SIGNALS}
    try:
        yield stop
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _is_kernel(process: psutil.Process) -> bool:
    try:
        return any("ipykernel" in word for word in process.cmdline())
    except psutil.Error:
        return False
