"""Studies: params to runs, runs to reports. Notebooks import what they need from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trajkit.study.run import Run, open_run

__all__ = ["Run", "open_run"]


def __getattr__(name: str) -> Any:
    """Import `Run` when it is asked for: what only starts, counts or watches runs needs none of what they are made with."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trajkit.study import run

    return getattr(run, name)
