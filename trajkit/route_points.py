"""Places along routes: equally spaced ones, and fixes at a steady rate of a car that drives at the edges' speeds.

Trip i starts ``enter_m[i]`` metres along its first edge and stops ``leave_m[i]`` metres along its last (of the edge's
geometry); by default at the junctions. A trip from a junction to itself stays there.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from trajkit.errors import DataContractError, ParameterError
from trajkit.roads import RoadNetwork
from trajkit.routing import Routes
from trajkit.trajectories import concatenate_offsets

MOST_FIXES = 200_000_000
END_TOLERANCE_M = 1e-6


class _Driven(NamedTuple):
    """Metres along each driven edge where the trip comes onto it and where it leaves it, [h] each."""

    enter: np.ndarray
    leave: np.ndarray


def spaced_points(
    network: RoadNetwork,
    routes: Routes,
    length: int,
    *,
    enter_m: np.ndarray | None = None,
    leave_m: np.ndarray | None = None,
    by: Literal["metres", "seconds"] = "metres",
    edge_s: np.ndarray | None = None,
) -> np.ndarray:
    """Return float64 [n, length, 2]: ``length`` places of each trip in metres, equally far apart along its route.

    by: what is equal between neighbouring places, metres of way or seconds, of which ``edge_s`` [m] says how many each edge takes
    (its travel time unless given). Raises ParameterError for a length below 2 or ends off their edges, DataContractError for routes that do not exist.
    """
    if length < 2:
        raise ParameterError(f"a trip needs at least 2 points, not {length!r}: its start and its end")
    driven = _driven(network, routes, enter_m, leave_m)
    measure = driven.leave - driven.enter
    if by == "seconds":
        whole = network.geometry_length_m[routes.edges]
        each = network.travel_time_s if edge_s is None else edge_s
        measure = each[routes.edges] * np.divide(measure, whole, out=np.zeros_like(whole), where=whole > 0)
    step = np.bincount(routes.trip_of_edge, measure, minlength=len(routes)) / (length - 1)
    offsets = np.arange(len(routes) + 1, dtype=np.int64) * length
    return _at(network, routes, driven, measure, step, offsets).reshape(len(routes), length, 2)


def timed_points(
    network: RoadNetwork,
    routes: Routes,
    interval_s: float,
    *,
    depart_ms: np.ndarray | int = 0,
    speed_factor: np.ndarray | float = 1.0,
    enter_m: np.ndarray | None = None,
    leave_m: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return metres float64 [N, 2], milliseconds int64 [N] and offsets int64 [n + 1]: a fix every ``interval_s`` seconds.

    Trip i leaves at ``depart_ms[i]`` and drives each edge at its speed times ``speed_factor[i]`` (one number serves all);
    the last fix is less than an interval before the arrival.
    Raises ParameterError for an interval below a millisecond, factors that are not positive, ends off their edges or more
    than `MOST_FIXES` fixes; DataContractError for routes that do not exist.
    """
    if not (np.isfinite(interval_s) and interval_s >= 0.001):
        raise ParameterError(f"the interval must be at least 0.001 seconds, got {interval_s!r}")
    factor = _one_each("speed_factor", speed_factor, len(routes)).astype(np.float64)
    if not (np.isfinite(factor) & (factor > 0)).all():
        raise ParameterError("speed_factor must be positive numbers: 1 is the edges' own speed")
    depart = _one_each("depart_ms", depart_ms, len(routes)).astype(np.int64)
    driven, whole = _driven(network, routes, enter_m, leave_m), network.geometry_length_m[routes.edges]
    share = np.divide(driven.leave - driven.enter, whole, out=np.zeros_like(whole), where=whole > 0)
    seconds = network.travel_time_s[routes.edges] * share / factor[routes.trip_of_edge]
    fixes = np.bincount(routes.trip_of_edge, seconds, minlength=len(routes)) // interval_s + 1
    if not fixes.sum() <= MOST_FIXES:
        raise ParameterError(
            f"{fixes.sum():.0f} fixes are more than {MOST_FIXES}: take a longer interval or fewer trips"
        )
    offsets = concatenate_offsets(fixes.astype(np.int64))
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    t = np.repeat(depart, np.diff(offsets)) + np.round(number * (interval_s * 1000)).astype(np.int64)
    return _at(network, routes, driven, seconds, np.full(len(routes), float(interval_s)), offsets), t, offsets


def _one_each(name: str, value: np.ndarray | float, n: int) -> np.ndarray:
    found = np.asarray(value)
    if found.shape not in ((), (n,)):
        raise ParameterError(
            f"{name} has shape {found.shape}, but there are {n} routes: give one number, or one for each"
        )
    return np.broadcast_to(found, (n,))


def _driven(network: RoadNetwork, routes: Routes, enter_m: np.ndarray | None, leave_m: np.ndarray | None) -> _Driven:
    """Check the routes and their ends; see the module."""
    lost = ~routes.reached
    if lost.any():
        raise DataContractError(
            f"{lost.sum()} of {len(routes)} routes do not exist (the first is {int(np.argmax(lost))}, from node "
            f"{routes.source[lost][0]} to {routes.target[lost][0]}): drop them with routes.take(routes.reached)"
        )
    length = network.geometry_length_m[routes.edges]
    enter = _with_ends("enter_m", enter_m, np.zeros(len(length)), length, routes, routes.offsets[:-1])
    leave = _with_ends("leave_m", leave_m, length, length, routes, routes.offsets[1:] - 1)
    back = leave < enter
    if back.any():
        raise ParameterError(
            f"route {routes.trip_of_edge[back][0]} has one edge and would leave it before it enters: route it round "
            "the block, or let leave_m be at least enter_m"
        )
    return _Driven(enter, leave)


def _with_ends(
    name: str, given: np.ndarray | None, metres: np.ndarray, length: np.ndarray, routes: Routes, hop: np.ndarray
) -> np.ndarray:
    """``metres`` [h] with what is ``given`` for each route put at its entry ``hop`` [n]; routes without edges have none."""
    if given is None:
        return metres
    ends, driving = _one_each(name, given, len(routes)), np.flatnonzero(routes.counts > 0)
    ends, hop = ends[driving], hop[driving]
    off = ~((ends >= 0) & (ends <= length[hop] + END_TOLERANCE_M))
    if off.any():
        i = int(np.argmax(off))
        raise ParameterError(
            f"{name} of route {driving[i]} is {ends[i]}, but its edge is {length[hop[i]]:.1f} m long: "
            "give metres along the edge"
        )
    out = metres.copy()
    out[hop] = np.minimum(ends, length[hop])
    return out


def _at(
    network: RoadNetwork, routes: Routes, driven: _Driven, measure: np.ndarray, step: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Places [N, 2] of trip i at 0, step[i], 2 step[i], … of the ``measure`` [h] (metres, seconds) its edges have."""
    return np.asarray(
        _places(
            routes.edges, routes.offsets, network.node_xy[routes.source], driven.enter, driven.leave, measure, step,
            offsets, network.edge_xy, network.edge_offsets, _vertex_metres(network.edge_xy, network.edge_offsets),
        )
    )  # fmt: skip


# ---- kernels ----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _vertex_metres(xy, offsets):  # pragma: no cover - compiled
    """Metres [p] from the start of its polyline to each vertex."""
    out = np.zeros(len(xy))
    for e in range(len(offsets) - 1):
        for v in range(offsets[e] + 1, offsets[e + 1]):
            out[v] = out[v - 1] + np.hypot(xy[v, 0] - xy[v - 1, 0], xy[v, 1] - xy[v - 1, 1])
    return out


@njit(cache=True, nogil=True)
def _places(
    edges, begin, start_xy, enter, leave, measure, step, offsets, edge_xy, edge_offsets, vertex_m
):  # pragma: no cover - compiled
    """See `_at`; trips without edges stay at ``start_xy``."""
    out = np.empty((offsets[-1], 2))
    for i in range(len(begin) - 1):
        h, passed = begin[i], 0.0
        if h == begin[i + 1]:
            out[offsets[i] : offsets[i + 1]] = start_xy[i]
            continue
        for j in range(offsets[i], offsets[i + 1]):
            now = (j - offsets[i]) * step[i]
            while h < begin[i + 1] - 1 and now > passed + measure[h]:
                passed += measure[h]
                h += 1
            share = 1.0
            if measure[h] > 0.0:
                share = min((now - passed) / measure[h], 1.0)
            metres = enter[h] + share * (leave[h] - enter[h])
            v, last = edge_offsets[edges[h]], edge_offsets[edges[h] + 1] - 1
            while v < last - 1 and vertex_m[v + 1] < metres:
                v += 1
            piece = vertex_m[v + 1] - vertex_m[v]
            s = 0.0
            if piece > 0.0:
                s = min((metres - vertex_m[v]) / piece, 1.0)
            out[j, 0] = edge_xy[v, 0] + s * (edge_xy[v + 1, 0] - edge_xy[v, 0])
            out[j, 1] = edge_xy[v, 1] + s * (edge_xy[v + 1, 1] - edge_xy[v, 1])
    return out
