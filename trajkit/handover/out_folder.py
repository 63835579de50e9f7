"""The folder that is handed over: whether it can be made is asked before anything is spent; it is whole or absent."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from trajkit.errors import ParameterError
from trajkit.handover.journal import flush

TRY = ".try"


def free_folder(out: Path, ledger: Path, data: Path | None) -> Path:
    """``out``, absent or empty, where it can be made; what a killed release left beside it is removed.

    Raises ParameterError where it is neither, where it is no folder of its own (a link, a mount), where nothing can be written beside it, and
    where it, the ``ledger`` and a folder of ``data`` lie in each other: what lies in the data's folder would be taken for data.
    """
    folder = out.expanduser().absolute()
    if folder.is_symlink() or folder.is_mount():
        raise ParameterError(
            f"OUT={out} is a link or a mount, which cannot be put in place in one step: name a new folder"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            f"OUT={out} is not empty: a release is written to a new folder, so that nothing else is in it"
        )
    _apart(folder.resolve(), ledger.resolve(), data)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=TRY, dir=folder.parent):
            pass
    except OSError as error:
        raise ParameterError(
            f"OUT={out} cannot be made ({error.strerror}): name a new folder in one that you may write to"
        ) from error
    for old in folder.parent.glob(f".{folder.name}.*.part"):
        if not _alive(old.name):
            shutil.rmtree(old, ignore_errors=True)
    for old in folder.parent.glob(f".{folder.name}.*{TRY}"):
        with contextlib.suppress(OSError):  # empty ones alone go
            old.rmdir()
    return folder


def into_place(part: Path, folder: Path) -> None:
    """Rename ``part`` to ``folder`` in one step. Raises ParameterError where something else is there."""
    try:
        part.rename(folder)  # an empty folder of that name is replaced
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise ParameterError(
            f"OUT={folder} was filled by something else meanwhile ({error.strerror}); nothing was handed over: name another folder"
        ) from error
    flush(folder.parent)


def _apart(out: Path, ledger: Path, data: Path | None) -> None:
    if ledger == out or out in ledger.parents or ledger in out.parents:
        raise ParameterError(
            f"LEDGER={ledger} lies inside OUT, which is handed over, or OUT inside it: keep them apart"
        )
    if data is None or not data.is_dir():
        return
    for name, folder in (("OUT", out), ("LEDGER", ledger)):
        if data.resolve() in (folder, *folder.parents):
            raise ParameterError(
                f"{name}={folder} lies inside the data, {data}, which would be other data then, with a budget of its own: keep it elsewhere"
            )


def _alive(name: str) -> bool:
    """Whether the process that began the folder ``.<out>.<pid>-<random>.part`` still runs."""
    pid = name.split(".")[-2].partition("-")[0]
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
