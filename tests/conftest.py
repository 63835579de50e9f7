"""Fixtures shared by all tests: no network beyond loopback, one thread, the real excerpts where they exist."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRAJKIT_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the real excerpts and reference values; the test skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"the real excerpts are not here ({SHARED}); set TRAJKIT_SHARED to their folder")
    return SHARED


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing at run time may touch the network: connections beyond loopback fail (complaint C15)."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if host not in ("127.0.0.1", "::1", "localhost", "local"):
            raise OSError(f"test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_widget_left() -> Iterator[None]:
    """Widgets are kept by ipywidgets until they are closed."""
    yield
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()
