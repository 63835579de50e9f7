"""Whether somebody sits in front of this kernel: only then are there widgets, else each panel shows figures.

Nothing tells a kernel who its reader is, but those who start one for a person leave a trace in its environment: Jupyter
Server (JupyterLab, Notebook) sets ``JPY_SESSION_NAME``, Voila sets ``SERVER_SOFTWARE`` to ``voila/...``. papermill, nbclient
and nbconvert set neither. A trace counts only where the parent process was not itself started with the same value: else it
is inherited, as by a papermill that a cell of a live notebook calls. ``TRAJKIT_LIVE`` (1 or 0) overrides all of this; the kit's
runner of notebooks sets it to 0.
"""

from __future__ import annotations

import os

import psutil

from trajkit.errors import ParameterError

LIVE = "TRAJKIT_LIVE"


def is_live(interactive: bool | None = None) -> bool:
    """Return ``interactive`` where it is given, else whether this kernel was started by JupyterLab or Voila.

    Raises ParameterError where the environment variable ``TRAJKIT_LIVE`` is neither 1 nor 0.
    """
    if interactive is not None:
        return interactive
    told = os.environ.get(LIVE, "")
    if told not in ("", "0", "1"):
        raise ParameterError(f"{LIVE} is {told!r}: set it to 1 (widgets) or 0 (figures), or leave it unset")
    if told:
        return told == "1"
    return _in_kernel() and (bool(_own("JPY_SESSION_NAME")) or _own("SERVER_SOFTWARE").startswith("voila/"))


def _in_kernel() -> bool:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def _own(name: str) -> str:
    """The environment variable, or "" where it is unset or the parent process was started with the same value."""
    value = os.environ.get(name, "")
    return "" if value and value == _parents().get(name) else value


def _parents() -> dict[str, str]:
    try:
        parent = psutil.Process(os.getpid()).parent()
        return parent.environ() if parent is not None else {}
    except psutil.Error:  # another user's process: it cannot be asked
        return {}
