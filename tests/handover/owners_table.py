"""A private table as an owner has it: commuters along a few ways, ids that can be searched for, counts that are no round numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from toys import META, ORIGIN

from trajkit.geo import unproject

PEOPLE, TRIPS, FIXES = 137, 3, 13
WAYS = 6
OWN_SEED = 987_654_321_012


def written(folder: Path, *, people: int = PEOPLE) -> Path:
    """``owners.csv`` and ``owners.yaml`` in ``folder``; the path of the latter. Every person has `TRIPS` trips on one of `WAYS` ways."""
    rng = np.random.default_rng(5)
    ends = rng.uniform(-5000, 5000, (WAYS, 2, 2))
    way = np.arange(people) % WAYS
    along = np.linspace(0, 1, FIXES)[:, None]
    rows = []
    for person in range(people):
        start, end = ends[way[person]]
        for trip in range(TRIPS):
            xy = start + along * (end - start) + rng.normal(0, 30, (FIXES, 2)) + ORIGIN
            lonlat = unproject(xy, META.crs)
            begun = 1_700_000_000 + person * 131 + trip * 86_400
            for fix, (lon, lat) in enumerate(lonlat):
                rows.append((f"citizen-{person:04d}-qx", f"ride-{person:04d}-{trip}-zz", begun + 20 * fix, lat, lon))
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows, columns=["who", "ride", "when", "lat", "lon"])
    frame.to_csv(folder / "owners.csv", index=False)
    (folder / "owners.yaml").write_text(
        "file: owners.csv\ncolumns: {user: who, traj: ride, lat: lat, lon: lon, t: when}\n"
        "time: {format: unix}\ntz: Europe/Lisbon\nbox: [-8.72, 41.10, -8.50, 41.24]\n"
    )
    return folder / "owners.yaml"
