"""One root seed, and named child streams that do not shift when another one is added.

A stream is named by a path of strings and integers, e.g. ``rng(7, "noise", 3)``. The child seed is the SHA-256 of
the root and the path, so it depends on nothing else: neither on call order nor on other streams.
"""

from __future__ import annotations

import hashlib

import numpy as np

from trajkit.errors import ParameterError

STREAMS = ("data", "split", "init", "sampler", "noise", "sampling", "metrics", "attack")


def child_seed(root: int, *path: str | int) -> int:
    """Return the 63-bit seed of the stream ``path`` under ``root``; its first name must be one of `STREAMS`.

    Raises ParameterError for an unknown stream or a root that is not a non-negative integer.
    """
    if isinstance(root, bool) or not isinstance(root, (int, np.integer)) or root < 0:
        raise ParameterError(
            f"seed must be a non-negative integer, got {root!r}: write it as a plain number in the params file"
        )
    if not path or path[0] not in STREAMS:
        raise ParameterError(f"random stream {path[:1]!r} is unknown: use one of {', '.join(STREAMS)}")
    text = "/".join([str(int(root)), *map(str, path)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def rng(root: int, *path: str | int) -> np.random.Generator:
    """Return a NumPy generator for the stream ``path`` under ``root`` (see `child_seed`)."""
    return np.random.default_rng(child_seed(root, *path))
