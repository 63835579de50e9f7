"""Small generated sets in the file formats of Porto and GeoLife, with their quirks: nobody's movements, for tests and CI.

Trips are seeded random walks between a few busy places, so that a model has something to learn.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd

from trajkit.datasets.registry import dataset
from trajkit.errors import ParameterError
from trajkit.geo import Box
from trajkit.seeds import rng

PORTO_HEADER = (
    "TRIP_ID",
    "CALL_TYPE",
    "ORIGIN_CALL",
    "ORIGIN_STAND",
    "TAXI_ID",
    "TIMESTAMP",
    "DAY_TYPE",
    "MISSING_DATA",
    "POLYLINE",
)
PORTO_QUIRKS = ("empty", "one_point", "flagged", "outside", "malformed", "duplicate_id")
PORTO_START = 1_372_636_800
GEOLIFE_START = 1_224_720_000
PLT_HEADER = (
    "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)
PLACES = 12


def paths(n: int, box: Box, *, lengths: tuple[int, int], random: np.random.Generator) -> list[np.ndarray]:
    """Return ``n`` arrays [m, 2] of degrees inside ``box``: noisy ways between busy places, m uniform in ``lengths``."""
    low, span = np.array([box.lon_min, box.lat_min]), np.array([box.lon_max - box.lon_min, box.lat_max - box.lat_min])
    places = low + span * np.clip(random.normal(0.5, 0.13, (PLACES, 2)), 0.15, 0.85)
    weights = 1.0 / np.arange(1, PLACES + 1)
    out = []
    for _ in range(n):
        a, b = places[random.choice(PLACES, 2, replace=False, p=weights / weights.sum())]
        m = int(random.integers(lengths[0], lengths[1] + 1))
        s = np.linspace(0.0, 1.0, m)[:, None]
        corner = np.array([b[0], a[1]])
        way = np.where(s < 0.5, a + 2 * s * (corner - a), corner + (2 * s - 1) * (b - corner))
        out.append(np.clip(way + random.normal(0, 0.004, (m, 2)) * span, low, low + span).round(6))
    return out


def write_porto_sample(path: str | Path, *, n: int = 400, seed: int = 0) -> Path:
    """Write ``n`` good trips of 10 to 120 points, then one row for each of `PORTO_QUIRKS`, as ``train.csv``; return the path."""
    _positive(n=n)
    random = rng(seed, "data", "porto_sample")
    trips = paths(n + len(PORTO_QUIRKS), dataset("porto").meta.box, lengths=(10, 120), random=random)
    start = PORTO_START + np.sort(random.choice(365 * 86_400, len(trips), replace=False))
    taxi = 20_000_000 + random.integers(1, n // 20 + 3, len(trips))
    rows = [_porto_row(int(start[i]), int(taxi[i]), trip) for i, trip in enumerate(trips)]
    for row, quirk in zip(rows[n:], PORTO_QUIRKS, strict=True):
        _make_odd(row, quirk, good=rows[0])
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([PORTO_HEADER, *(r.values() for r in rows)])
    return _write(Path(path), text.getvalue().encode())


def _porto_row(start: int, taxi: int, trip: np.ndarray) -> dict[str, str]:
    values = [f"{start}6{taxi}", "C", "", "", str(taxi), str(start), "A", "False", _polyline(trip)]
    return dict(zip(PORTO_HEADER, values, strict=True))


def _polyline(trip: np.ndarray) -> str:
    return "[" + ",".join(f"[{lon:.6f},{lat:.6f}]" for lon, lat in trip) + "]"


def _make_odd(row: dict[str, str], quirk: str, *, good: dict[str, str]) -> None:
    """Change ``row`` into one of the oddities of the real file."""
    if quirk == "empty":
        row["POLYLINE"] = "[]"
    elif quirk == "one_point":
        row["POLYLINE"] = "[[-8.618643,41.141412]]"
    elif quirk == "flagged":
        row["MISSING_DATA"] = "True"
    elif quirk == "outside":
        row["POLYLINE"] = "[[-7.540000,41.141412]," + row["POLYLINE"][1:]
    elif quirk == "malformed":
        row["POLYLINE"] = row["POLYLINE"][:-2]
    elif quirk == "duplicate_id":
        row["TRIP_ID"] = good["TRIP_ID"]


def write_geolife_sample(folder: str | Path, *, n_users: int = 8, files_per_user: int = 12, seed: int = 0) -> Path:
    """Write ``Data/NNN/Trajectory/*.plt`` under ``folder`` and return it.

    Odd ones among them: the first file of user 000 also lies under the last user, one file has a latitude of 400, one
    leaves the box, one has no points, one repeats a time stamp; a third of the files has a gap of ten minutes.
    """
    _positive(n_users=n_users, files_per_user=files_per_user)
    folder = Path(folder)
    random = rng(seed, "data", "geolife_sample")
    n = n_users * files_per_user
    walks = paths(n, dataset("geolife").meta.box, lengths=(20, 260), random=random)
    for i, walk in enumerate(walks):
        seconds = GEOLIFE_START + 7_200 * i + np.cumsum(random.integers(1, 6, len(walk)))
        seconds[len(walk) // 2 :] += 600 * (i % 3 == 2)
        if i == 1:
            walk[3, 1] = 400.0
        elif i == 2:
            walk[-5:, 0] = 117.5
        elif i == 3:
            seconds[4] = seconds[5]
        elif i == 4:
            walk, seconds = walk[:0], seconds[:0]
        name = pd.Timestamp(GEOLIFE_START + 7_200 * i, unit="s").strftime("%Y%m%d%H%M%S")
        text = _plt(walk, seconds)
        _write(folder / "Data" / f"{i // files_per_user:03d}" / "Trajectory" / f"{name}.plt", text)
        if i == 0:
            _write(folder / "Data" / f"{n_users - 1:03d}" / "Trajectory" / f"{name}.plt", text)
    return folder


def _plt(walk: np.ndarray, seconds: np.ndarray) -> bytes:
    days = seconds / 86_400 + 25_569
    stamp = pd.to_datetime(seconds, unit="s").strftime("%Y-%m-%d,%H:%M:%S")
    lines = [f"{p[1]:.6f},{p[0]:.6f},0,-777,{d:.10f},{s}\r\n" for p, d, s in zip(walk, days, stamp, strict=True)]
    return (PLT_HEADER + "".join(lines)).encode()


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)
    return path


def _positive(**sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise ParameterError(f"{name} must be at least 1, got {value}")
