"""Polylines written as text, ``[[lon,lat],[lon,lat],...]``, read straight from the bytes of an Arrow column.

Mantissa and power of ten are exact for up to 15 digits, so their quotient is the float that `float()` gives. Rows in
another notation (exponents, more digits) go through `json`; whatever that refuses too is malformed.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from numba import njit

OK, MALFORMED, OTHER = 0, 1, 2
MAX_DIGITS = 15
_OPEN, _CLOSE, _COMMA, _MINUS, _DOT, _SPACE, _ZERO = (np.uint8(ord(c)) for c in "[],-. 0")
_POWERS = 10.0 ** np.arange(MAX_DIGITS + 1)


def parse(column: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (lonlat float64 [N, 2], lengths int64 [rows], malformed bool [rows]) of a string column; malformed rows have length 0."""
    column = column.cast(pa.large_string())
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)
    room = _room(data, offsets)
    start = np.concatenate([[0], np.cumsum(room)])
    lonlat = np.empty((start[-1], 2))
    lengths, status = _parse(data, offsets, start, lonlat, _POWERS)
    for row in np.flatnonzero(status == OTHER):
        points = _by_json(column[row].as_py())
        if points is None or len(points) > room[row]:
            status[row] = MALFORMED
        else:
            lonlat[start[row] : start[row] + len(points)] = points
            lengths[row] = len(points)
    if (lengths == room).all():
        return lonlat, lengths, status == MALFORMED
    kept = np.arange(start[-1]) - np.repeat(start[:-1], room) < np.repeat(lengths, room)
    return lonlat[kept], lengths, status == MALFORMED


def _by_json(text: str) -> np.ndarray | None:
    try:
        points = np.array(json.loads(text), dtype=np.float64)
    except (ValueError, TypeError):
        return None
    if points.size == 0:
        return np.empty((0, 2))
    return points if points.ndim == 2 and points.shape[1] == 2 else None


@njit(cache=True)
def _room(data, offsets):  # pragma: no cover - compiled
    """Upper bound of the points in each row: its inner opening brackets."""
    room = np.zeros(len(offsets) - 1, dtype=np.int64)
    for row in range(len(room)):
        for i in range(offsets[row] + 1, offsets[row + 1]):
            if data[i] == _OPEN:
                room[row] += 1
    return room


@njit(cache=True)
def _number(data, i, end, powers):  # pragma: no cover - compiled
    """Read one plain decimal number from ``i``; return (value, next position, OK or OTHER)."""
    negative = i < end and data[i] == _MINUS
    if negative:
        i += 1
    mantissa, digits, decimals, dot = 0, 0, 0, False
    while i < end:
        c = data[i]
        if c == _DOT and not dot:
            dot = True
        elif _ZERO <= c <= _ZERO + 9:
            mantissa = mantissa * 10 + (c - _ZERO)
            digits += 1
            decimals += dot
            if digits > MAX_DIGITS:
                return 0.0, i, OTHER
        else:
            break
        i += 1
    if digits == 0:
        return 0.0, i, OTHER
    value = mantissa / powers[decimals]
    return -value if negative else value, i, OK


@njit(cache=True)
def _blank(data, i, end):  # pragma: no cover - compiled
    while i < end and data[i] == _SPACE:
        i += 1
    return i


@njit(cache=True)
def _expect(data, i, end, wanted):  # pragma: no cover - compiled
    """Skip blanks, one ``wanted`` byte, blanks; return the next position, or -1."""
    i = _blank(data, i, end)
    if i >= end or data[i] != wanted:
        return -1
    return _blank(data, i + 1, end)


@njit(cache=True)
def _row(data, i, end, out, powers):  # pragma: no cover - compiled
    """Read one polyline into ``out``; return its number of points, or -1 where the notation is another one."""
    n = 0
    i = _expect(data, i, end, _OPEN)
    if i >= 0 and i < end and data[i] == _CLOSE:
        return 0 if _blank(data, i + 1, end) == end else -1
    while i >= 0:
        i = _expect(data, i, end, _OPEN)
        for k in range(2):
            if i < 0:
                return -1
            out[n, k], i, status = _number(data, i, end, powers)
            if status != OK:
                return -1
            i = _expect(data, i, end, _COMMA if k == 0 else _CLOSE)
        if i < 0:
            return -1
        n += 1
        if i < end and data[i] == _CLOSE:
            return n if _blank(data, i + 1, end) == end else -1
        i = _expect(data, i, end, _COMMA)
    return -1


@njit(cache=True)
def _parse(data, offsets, start, lonlat, powers):  # pragma: no cover - compiled
    rows = len(offsets) - 1
    lengths = np.zeros(rows, dtype=np.int64)
    status = np.zeros(rows, dtype=np.int64)
    for row in range(rows):
        n = _row(data, offsets[row], offsets[row + 1], lonlat[start[row] : start[row + 1]], powers)
        lengths[row] = max(n, 0)
        status[row] = OK if n >= 0 else OTHER
    return lengths, status
