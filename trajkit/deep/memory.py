"""Keep freed memory: a training step frees and asks for the same large blocks over and over.

By default the C library hands each of them back to the operating system, which must then provide fresh, zeroed pages: on a
CPU that costs a DP-SGD step, with its one gradient a record, half its time.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # names of the GNU C library, malloc.h


def keep_freed_memory() -> bool:
    """Tell the GNU C library to keep freed blocks of up to 1 GiB for this process; return whether it did (elsewhere nothing happens)."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    settings = ((MMAP_THRESHOLD, 1 << 30), (TRIM_THRESHOLD, (1 << 31) - 1), (TOP_PAD, 1 << 26))
    return mallopt is not None and min(mallopt(name, value) for name, value in settings) == 1
