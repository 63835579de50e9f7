"""Road fidelity: how much of what is released lies off the road network. Only the released set is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from trajkit.metrics.comparison import Comparison
from trajkit.trajectories import Trajectories, concatenate_offsets

if TYPE_CHECKING:
    from trajkit.roads import RoadNetwork


def off_road_points(c: Comparison) -> float:
    """Share of released points further than ``road_distance_m`` from every road."""
    return float(_off_road(c, c.released.xy).mean())


def off_road_length(c: Comparison) -> float:
    """Share of released length further than ``road_distance_m`` from every road; of points where nothing moves."""
    places, metres = places_along(c.released, step_m=c.settings.road_step_m, limit=c.settings.road_places)
    if not metres.sum() > 0:
        return off_road_points(c)
    off = _off_road(c, places)
    return min(1.0, float(metres[off].sum() / metres.sum()))


def places_along(trajs: Trajectories, *, step_m: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Midpoints (metres [k, 2]) of equal pieces of each trajectory's line, and the metres [k] that each stands for.

    Pieces are at most ``step_m`` long, or longer where that would make many more than ``limit`` of them in all.
    """
    xy = trajs.xy
    leg = np.zeros(len(xy))
    leg[1:] = np.linalg.norm(np.diff(xy, axis=0), axis=1)
    leg[trajs.starts] = 0.0
    along = np.cumsum(leg)
    length = along[trajs.ends] - along[trajs.starts]
    step = max(step_m, length.sum() / limit)
    pieces = np.ceil(length / step).astype(np.int64)
    metres = np.repeat(length / np.maximum(pieces, 1), pieces)
    local = np.arange(pieces.sum()) - np.repeat(concatenate_offsets(pieces)[:-1], pieces)
    at = np.repeat(along[trajs.starts], pieces) + (local + 0.5) * metres
    return np.column_stack([np.interp(at, along, xy[:, 0]), np.interp(at, along, xy[:, 1])]), metres


def _off_road(c: Comparison, xy: np.ndarray) -> np.ndarray:
    roads = cast("RoadNetwork", c.roads)  # `evaluate` computes road metrics only where there is one
    return ~roads.near(xy, c.settings.road_distance_m)
