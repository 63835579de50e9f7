"""Lines of a map as bytes: what Python sends and the page unpacks. Also the lines beneath: streets, or a grid in metres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit import geo
from trajkit.geo import Box
from trajkit.ragged import concatenate_offsets
from trajkit.roads import RoadNetwork

MICRO = 1e6
SPACINGS_M = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
MOST_LINES = 12  # of a grid, each way


@dataclass(frozen=True)
class Lines:
    """Lines of one name: degrees [N, 2], int64 offsets [n + 1], seconds [N] where they move."""

    id: str
    lonlat: np.ndarray
    offsets: np.ndarray
    seconds: np.ndarray | None = None

    @property
    def zero_s(self) -> int | None:
        """The first second, from which the others are counted; None where nothing moves."""
        return None if self.seconds is None else int(self.seconds.min(initial=np.iinfo(np.int32).max))

    def header(self) -> dict[str, Any]:
        """What is needed to unpack `packed`."""
        return {
            "id": self.id,
            "lines": len(self.offsets) - 1,
            "points": len(self.lonlat),
            "zero_s": self.zero_s,
        }

    def packed(self) -> bytes:
        """Little-endian int32: points of each line, then longitude and latitude in millionths of a degree (0.1 m), then seconds since `zero_s`."""
        parts = [np.diff(self.offsets), np.rint(self.lonlat * MICRO).ravel()]
        if self.seconds is not None:
            parts.append(self.seconds - self.zero_s)
        return b"".join(p.astype("<i4").tobytes() for p in parts)


def unpack(header: dict[str, Any], packed: bytes) -> list[Lines]:
    """Read back what `Lines.packed` wrote, one after the other; ``header`` is the list ``lines`` of a map's state."""
    values, at, found = np.frombuffer(packed, dtype="<i4"), 0, []
    for h in header["lines"]:
        ends = np.cumsum([h["lines"], 2 * h["points"], h["points"] if h["zero_s"] is not None else 0]) + at
        lonlat = values[ends[0] : ends[1]].reshape(-1, 2) / MICRO
        seconds = values[ends[1] : ends[2]].astype(np.int64) + h["zero_s"] if h["zero_s"] is not None else None
        found.append(Lines(h["id"], lonlat, concatenate_offsets(values[at : ends[0]].astype(np.int64)), seconds))
        at = int(ends[2])
    return found


def beneath(roads: RoadNetwork | None, box: Box, crs: str) -> tuple[Lines, str]:
    """The streets of ``roads``, or without any a grid over ``box``, and a sentence that says which."""
    if roads is not None:
        segments = roads.streets()
        return _straight(
            geo.unproject(segments.reshape(-1, 2), roads.crs)
        ), "grey lines are the streets of the public map"
    x0, y0, x1, y1 = geo.box_xy(box, crs)
    spacing = next((s for s in SPACINGS_M if max(x1 - x0, y1 - y0) / s <= MOST_LINES), SPACINGS_M[-1])
    x, y = (np.arange(np.ceil(a / spacing), b / spacing) * spacing for a, b in ((x0, x1), (y0, y1)))
    up = np.stack([np.stack([x, np.full_like(x, end)], axis=1) for end in (y0, y1)], axis=1)
    across = np.stack([np.stack([np.full_like(y, end), y], axis=1) for end in (x0, x1)], axis=1)
    ends = np.concatenate([up, across]).reshape(-1, 2)
    size = f"{spacing / 1000:g} km" if spacing >= 1000 else f"{spacing} m"
    return _straight(geo.unproject(ends, crs)), f"grey lines are a grid of {size}"


def _straight(ends: np.ndarray) -> Lines:
    """Lines of two points each from their ends [2 n, 2]."""
    return Lines("beneath", ends, np.arange(0, len(ends) + 1, 2, dtype=np.int64))
