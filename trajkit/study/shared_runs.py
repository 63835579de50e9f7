"""Runs that came from elsewhere: copied or mounted, a complete one is used as it is; any other is named, set aside and done again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from trajkit.errors import MissingDataError
from trajkit.study.folders import OUTPUTS
from trajkit.study.manifest import LOG, MANIFEST, state_of, why_unusable
from trajkit.yamlio import write_text

_BOOK = OUTPUTS / "locks" / "checked.json"


def set_aside_unusable(folders: Iterable[Path]) -> list[str]:
    """Move every folder that may not be used here to ``outputs/aside/``; return a sentence for each.

    That is: one whose manifest names other versions of what decides the result, or files that are missing or changed; and one without a
    manifest that was begun on another machine. Files are read once; after that their size and time are enough.
    """
    known: dict[str, str] = json.loads(_BOOK.read_text()) if _BOOK.is_file() else {}
    before, said = dict(known), []
    for folder in dict.fromkeys(folders):
        if not folder.is_dir():
            continue
        why = _why_incomplete(folder)
        if (folder / MANIFEST).is_file():
            state = state_of(folder)
            if known.get(folder.name) == state:
                continue
            why = why_unusable(folder)
            if not why:
                known[folder.name] = state
        if why:
            known.pop(folder.name, None)
            said.append(f"{folder.name} is not used: {why}; it is done again, the old one is in {_move(folder)}")
    if known != before:
        write_text(_BOOK, json.dumps(known))
    return said


def _why_incomplete(folder: Path) -> str:
    """Why a folder without a manifest is not gone on from: it was begun elsewhere, so a file in it may be cut short."""
    begun_here = any((OUTPUTS / "locks" / f"{prefix}{folder.name}.lock").exists() for prefix in ("", "audit-"))
    own = {"params.yaml", "PRIVATE", LOG}
    begun = any(p.name not in own and not p.name.startswith(".") for p in folder.iterdir())
    return "it is incomplete and was begun on another machine" if begun and not begun_here else ""


def _move(folder: Path) -> Path:
    aside = OUTPUTS / "aside"
    try:
        aside.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(p.suffix[1:]) for p in aside.glob(f"{folder.name}.*")), default=0)
        target = aside / f"{folder.name}.{number}"
        folder.rename(target)
    except OSError as error:
        raise MissingDataError(
            f"{folder} may not be used here and cannot be moved to {aside} ({error.strerror}): make outputs/runs writable, or copy it"
        ) from error
    return target
