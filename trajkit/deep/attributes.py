"""The eight attributes of a trip that DiffTraj conditions on (Zhu et al. 2023), in stated units, scaled by public ranges.

| column | attribute | unit and recipe |
|---|---|---|
| 0 | departure_slot | 0 to 287: which five minutes of the local day (time zone of the data set) the first fix falls into |
| 1 | length_m | metres: sum of the haversine distances between consecutive fixes |
| 2 | duration_s | seconds between first and last fix |
| 3 | points | number of fixes |
| 4 | mean_step_m | length_m / (points - 1); 0 for a single fix |
| 5 | mean_speed_mps | length_m / duration_s; 0 where the duration is 0 |
| 6, 7 | start_cell, end_cell | row * 12 + column on a grid of 12 x 12 cells over the public box in degrees, rows from south, columns from west |

The published recipe scales columns 1 to 5 by mean and standard deviation over the data, which gives a little of the data away. Here
each has a public range, log(1 + x / unit) of which is mapped to [-1, 1]; values beyond it are clamped. `decode` inverts `encode`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from trajkit.errors import DataContractError
from trajkit.geo import haversine_m
from trajkit.trajectories import Trajectories

NAMES = (
    *("departure_slot", "length_m", "duration_s", "points"),
    *("mean_step_m", "mean_speed_mps", "start_cell", "end_cell"),
)
SLOTS, SIDE = 288, 12
CELLS = SIDE * SIDE
FEATURES = 11  # columns of `features`
CONTINUOUS, IDS = slice(1, 6), (0, 6, 7)
# column -> (unit of the logarithm, public upper end); the lower end is 0
RANGES = {1: (100.0, 200_000.0), 2: (30.0, 86_400.0), 3: (10.0, 10_000.0), 4: (10.0, 20_000.0), 5: (1.0, 60.0)}
_UNIT = np.array([RANGES[c][0] for c in range(1, 6)])
_TOP = np.log1p(np.array([RANGES[c][1] for c in range(1, 6)]) / _UNIT)


def trip_attributes(trajs: Trajectories) -> np.ndarray:
    """float64 [n, 8]: the attributes of each trajectory, see the table above.

    Raises DataContractError for a set without times: departure, duration and speed cannot be made up.
    """
    if trajs.t is None:
        raise DataContractError(
            f"{trajs.meta.dataset} has no times, so its trips have no departure, duration or speed: condition on "
            "`type: sample` instead of attributes, or load the set with its times"
        )
    first, last = trajs.offsets[:-1], trajs.offsets[1:] - 1
    steps = np.zeros(trajs.n_points)
    steps[1:] = haversine_m(trajs.lonlat[:-1], trajs.lonlat[1:])
    steps[first] = 0.0
    length = np.bincount(trajs.traj_of_point, weights=steps, minlength=len(trajs))
    duration = (trajs.t[last] - trajs.t[first]) / 1000.0
    points = trajs.lengths.astype(np.float64)
    departure = pd.to_datetime(trajs.t[first], unit="ms", utc=True).tz_convert(trajs.meta.tz)
    return np.column_stack(
        [
            departure.hour * 12 + departure.minute // 5,
            length,
            duration,
            points,
            length / np.maximum(points - 1, 1),
            np.divide(length, duration, out=np.zeros_like(length), where=duration > 0),
            _cells(trajs, trajs.lonlat[first]),
            _cells(trajs, trajs.lonlat[last]),
        ]
    ).astype(np.float64)


def encode(attributes: np.ndarray) -> np.ndarray:
    """float64 [n, 8]: columns 1 to 5 on [-1, 1] by their public ranges, the ids as they are."""
    out = attributes.astype(np.float64)
    scaled = 2 * np.log1p(np.maximum(attributes[:, CONTINUOUS], 0) / _UNIT) / _TOP - 1
    out[:, CONTINUOUS] = np.clip(scaled, -1.0, 1.0)
    return out


def decode(encoded: np.ndarray) -> np.ndarray:
    """Inverse of `encode` within the public ranges: float64 [n, 8] in the units of the table."""
    out = encoded.astype(np.float64)
    out[:, CONTINUOUS] = np.expm1((encoded[:, CONTINUOUS] + 1) / 2 * _TOP) * _UNIT
    return out


def features(encoded: np.ndarray) -> np.ndarray:
    """float64 [n, 11] in [-1, 1], to be compressed: the slot as a point on a circle, the five scaled numbers, cells by column and row."""
    angle = 2 * np.pi * (encoded[:, 0] + 0.5) / SLOTS
    places = [2 * (part + 0.5) / SIDE - 1 for c in (6, 7) for part in (encoded[:, c] % SIDE, encoded[:, c] // SIDE)]
    return np.column_stack([np.cos(angle), np.sin(angle), encoded[:, CONTINUOUS], *places])


def _cells(trajs: Trajectories, lonlat: np.ndarray) -> np.ndarray:
    column, row = np.clip(((trajs.meta.box.to_unit(lonlat) + 1) / 2 * SIDE).astype(int), 0, SIDE - 1).T
    return row * SIDE + column
