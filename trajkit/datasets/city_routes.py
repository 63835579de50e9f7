"""The streets that people of the simulated city really drove: the truth for those who rebuild them from what was released.

Routes are drawn before anything else that is random about a trip, so they can be found again from the same settings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from trajkit.datasets.city import BLOCK, _plan, _trip_ids
from trajkit.datasets.city_map import build_map
from trajkit.datasets.city_people import draw_people, plan_days
from trajkit.datasets.city_trips import find_routes
from trajkit.errors import DataContractError
from trajkit.ragged import ragged_rows
from trajkit.seeds import rng
from trajkit.trajectories import Trajectories

TAIL_M = 400.0  # more than anybody drives in the 15 s between the last fix and the arrival


def true_streets(trajs: Trajectories) -> tuple[np.ndarray, np.ndarray]:
    """Return int64 edges [h] of the city's roads and offsets [n + 1]: what each trip of ``trajs`` drove between its first and last fix.

    ``trajs`` is what `city.simulate` or the data set "city" gave, or trips taken from it, not left off the roads. The end is where the last
    fix lies, up to the noise of the fixes. Raises DataContractError for trajectories that are not of the simulated city.
    """
    if not known_to_city(trajs):
        raise DataContractError(
            f"{trajs.meta.dataset} is not the simulated city with all its people on the roads: only there are the streets known"
        )
    people, days, seed = (int(city_settings(trajs)[name]) for name in ("people", "days", "seed"))
    hops, begin, count, ids = _all_routes(people, days, seed)
    order = np.argsort(ids, kind="stable")
    names = trajs.traj_ids.astype(ids.dtype)
    at = np.minimum(np.searchsorted(ids[order], names), len(ids) - 1)
    if len(names) and not (ids[order[at]] == names).all():
        bad = names[ids[order[at]] != names][0]
        raise DataContractError(f"trip {bad} is not one that these people made: give trips under their own ids")
    row = order[at]
    roads = build_map().roads
    stop = _stops(trajs.xy[trajs.ends], hops, begin[row], count[row], roads.edge_xy, roads.edge_offsets, TAIL_M)
    bounds = np.column_stack([begin[row], begin[row] + stop]).ravel()
    rows, offsets = ragged_rows(np.append(bounds, len(hops)), 2 * np.arange(len(row)))
    return hops[rows], offsets


def known_to_city(trajs: Trajectories) -> bool:
    """Whether ``trajs`` are trips of the simulated city with all its people on the roads, so that its streets and homes are the truth."""
    steps = [s["step"] for s in trajs.meta.steps]
    return trajs.meta.dataset == "city" and "simulate" in steps and "leave_roads" not in steps


def city_settings(trajs: Trajectories) -> dict[str, Any]:
    """What the city of ``trajs`` was simulated with."""
    return dict(next(s["settings"] for s in trajs.meta.steps if s["step"] == "simulate"))


def _all_routes(people: int, days: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Edges [h]; begin, count and id of each move of everybody, in `city`'s own order of draws."""
    plan = _plan(days, seed)
    hops, begin, count, ids, used = [], [], [], [], 0
    for block in range(-(-people // BLOCK)):
        random = rng(seed, "data", "city", "block", block)
        residents = draw_people(plan.city, plan.places, plan.homes, BLOCK, random)
        moves = plan_days(residents, plan.weekdays, random)
        routes = find_routes(plan.city, plan.network, residents, moves)
        hops.append(routes.hops)
        begin.append(routes.begin + used)
        count.append(routes.count)
        ids.append(_trip_ids(block * BLOCK + moves.person, moves))
        used += len(routes.hops)
    return np.concatenate(hops), np.concatenate(begin), np.concatenate(count), np.concatenate(ids)


@njit(cache=True)
def _stops(last_xy, hops, begin, count, edge_xy, edge_offsets, tail):  # pragma: no cover - compiled
    """int64 [n]: how many edges of each route were driven up to its last fix [n, 2]: up to the edge nearest to it among the last ones."""
    out = np.empty(len(begin), dtype=np.int64)
    for i in range(len(begin)):
        best, left, h = np.inf, tail, count[i] - 1
        out[i] = count[i]
        while h >= 0 and left > 0:
            e = hops[begin[i] + h]
            for v in range(edge_offsets[e], edge_offsets[e + 1] - 1):
                x0, y0 = edge_xy[v]
                dx, dy = edge_xy[v + 1, 0] - x0, edge_xy[v + 1, 1] - y0
                px, py = last_xy[i, 0] - x0, last_xy[i, 1] - y0
                norm = dx * dx + dy * dy
                w = 0.0
                if norm > 0:
                    w = min(1.0, max(0.0, (px * dx + py * dy) / norm))
                d = np.hypot(px - w * dx, py - w * dy)
                if d < best:
                    best = d
                    out[i] = h + 1
                left -= np.sqrt(norm)
            h -= 1
    return out
