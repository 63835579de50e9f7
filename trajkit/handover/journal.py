"""An append-only file of JSON lines that a crash can cut off but not spoil: what is written is on the disk before a call returns."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from trajkit.errors import PrivacyAccountingError

TORN = "torn"


def append_lines(path: Path, events: list[dict[str, Any]]) -> None:
    """Append one line an event, after a mark where a crash had cut the last one off. The caller holds the lock."""
    old = path.read_bytes() if path.is_file() else b""
    cut_off = bool(old) and not old.endswith(b"\n")
    events = [{"event": TORN}, *events] if cut_off else events
    text = ("\n" if cut_off else "") + "".join(json.dumps(e) + "\n" for e in events)
    write_flushed(path, text.encode(), os.O_APPEND)
    flush(path.parent)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal. One that a crash cut off is left out: nothing had been let go on.

    Raises PrivacyAccountingError for any other damage.
    """
    found: list[dict[str, Any]] = []
    raw = path.read_bytes().split(b"\n")
    for i, line in enumerate(raw):
        if not line:
            continue
        try:
            found.append(json.loads(line))
        except ValueError:
            last = i == len(raw) - 1
            marked = not last and raw[i + 1].startswith(json.dumps({"event": TORN}).encode())
            if not (last or marked):
                raise PrivacyAccountingError(
                    f"{path}, line {i + 1} is damaged, so what was spent is not known: restore the ledger from a copy"
                ) from None
    return found


def write_flushed(path: Path, data: bytes, mode: int) -> None:
    """Write all of ``data`` and flush it to the disk."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | mode, 0o600)
    try:
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    finally:
        os.close(file)


def flush(path: Path) -> None:
    """Flush a file or the names in a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
