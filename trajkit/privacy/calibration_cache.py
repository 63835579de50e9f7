"""Calibrated noise on disk, one small JSON file for each question, so that a study asks the accountants once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from trajkit.yamlio import private_mark


def folder() -> Path:
    """Return ``$TRAJKIT_CACHE/calibration``, or ``.cache/calibration`` beside the package; not created here."""
    root = os.environ.get("TRAJKIT_CACHE")
    return (Path(root) if root else Path(__file__).resolve().parents[2] / ".cache") / "calibration"


def read(question: dict[str, Any]) -> dict[str, Any] | None:
    """Return the stored answer to ``question``, or None. A damaged entry is named on stderr and ignored."""
    path = _path(question)
    try:
        entry = json.loads(path.read_text())
        if entry["question"] != question:
            raise ValueError("it answers another question")
        return dict(entry["answer"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        report_damage(question, str(error))
        return None


def report_damage(question: dict[str, Any], why: str) -> None:
    """Say on stderr that the entry for ``question`` is ignored and will be replaced."""
    print(f"calibration cache: {_path(question)} is ignored and computed anew ({why})", file=sys.stderr)


def write(question: dict[str, Any], answer: dict[str, Any]) -> None:
    """Store ``answer``, atomically. A folder that cannot be written costs time, not results: named on stderr."""
    path = _path(question)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        private_mark(path.parent, "sampling rates follow from the sizes of data sets: nothing here may leave")
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump({"question": question, "answer": answer}, file, indent=2)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        print(f"calibration cache: {path} was not written ({error}); the next call computes anew", file=sys.stderr)


def _path(question: dict[str, Any]) -> Path:
    text = json.dumps(question, sort_keys=True)
    return folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
