"""Which streets the trips of a set pass, and which of them a release loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

REACH_M = 25.0  # a trip passes the street that is nearest to a place on its way, if it is as near as this
STEP_M = 30.0  # places are looked at this far apart
MOST_PLACES = 300_000
BUSY = 0.005  # a street is busy where at least this share of the real trips passes it
FACTOR = 4.0  # and lost where the share of released trips is smaller by more than this


@dataclass(frozen=True)
class StreetUse:
    """``share`` float64 [s]: share of trips that pass each of `RoadNetwork.streets`; ``off_roads``: share of their way near no street."""

    share: np.ndarray
    off_roads: float


def street_use(trajs: Trajectories, roads: RoadNetwork) -> StreetUse:
    """Look at places along the straight lines between the points of each trip."""
    streets = roads.streets()
    places, trip, metres = _places(trajs)
    tree = shapely.STRtree(shapely.linestrings(streets.reshape(-1, 2, 2)))
    at, street = tree.query_nearest(shapely.points(places), max_distance=REACH_M, all_matches=False)
    passed = np.unique(trip[at] * len(streets) + street) % len(streets)
    share = np.bincount(passed, minlength=len(streets)) / max(len(trajs), 1)
    total = metres.sum()
    return StreetUse(share, float(1 - metres[at].sum() / total) if total > 0 else 0.0)


def _places(trajs: Trajectories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places [k, 2] along the legs, the trip [k] of each, and the metres [k] that each stands for."""
    first = np.flatnonzero(np.diff(trajs.traj_of_point) == 0)
    start, leg = trajs.xy[first], trajs.xy[first + 1] - trajs.xy[first]
    length = np.linalg.norm(leg, axis=1)
    step = max(STEP_M, float(length.sum()) / MOST_PLACES)
    pieces = np.maximum(1, np.ceil(length / step)).astype(np.int64)
    of = np.repeat(np.arange(len(first)), pieces)
    within = np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    places = start[of] + leg[of] * ((within + 0.5) / pieces[of])[:, None]
    return places, trajs.traj_of_point[first][of], (length / pieces)[of]


@dataclass(frozen=True)
class StreetLoss:
    """What a release does to the streets: bool [s] each.

    kept   busy, and about as busy in the release (within a factor of `FACTOR`)
    lost   busy, but the release has less than a quarter of the share, or none
    added  busy in the release alone: the share is more than `FACTOR` times that of the real trips
    """

    kept: np.ndarray
    lost: np.ndarray
    added: np.ndarray

    @property
    def lost_share(self) -> float:
        """Share of the busy streets that are lost; NaN where no street is busy."""
        busy = int(self.kept.sum() + self.lost.sum())
        return float(self.lost.sum() / busy) if busy else float("nan")


def street_loss(real: StreetUse, released: StreetUse) -> StreetLoss:
    """Compare two sets street by street."""
    busy = real.share >= BUSY
    lost = busy & (released.share < real.share / FACTOR)
    return StreetLoss(busy & ~lost, lost, (released.share >= BUSY) & (released.share > real.share * FACTOR))
