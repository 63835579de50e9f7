"""The people of the simulated city: where they live, work and go out, and when they set out.

Places have Zipf-like popularity; a person weighs popularity against distance (a gravity model). Every person has
seven places of their own, addressed by column: `HOME`, `WORK`, four of `LEISURE`, `STATION`. A day is at most six
moves; a move to where the person already is does not happen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.datasets.city_map import CityMap

HOME, WORK, STATION = 0, 1, 6
LEISURE = (2, 3, 4, 5)
N_PLACES = 7
STAY = -1

N_PROFILES = 12
"""Perturbed road weights; each person always drives by one of them."""

KINDS = ("work", "leisure", "station")
COUNTS = {"work": 300, "leisure": 160, "station": 5}
ZIPF = {"work": 0.9, "leisure": 1.0, "station": 1.3}
REACH_M = {"work": 7000.0, "leisure": 4000.0, "station": 5000.0}
HUBS = ((2900.0, 1900.0), (-3100.0, -1400.0), (1500.0, -3500.0))
STATIONS = ((700.0, -250.0), (-2600.0, 1900.0), (3300.0, -900.0), (-600.0, -2500.0), (1300.0, 2500.0))
WORKER_SHARE = 0.72
MIN_DWELL_S = 3600.0
"""Between two departures of one person: longer than any trip of 200 fixes."""


@dataclass(frozen=True)
class Places:
    """Public places: kind, edge, position along the edge (share of its length), popularity within the kind, metres [p, 2]."""

    kind: np.ndarray
    edge: np.ndarray
    along: np.ndarray
    popularity: np.ndarray
    xy: np.ndarray

    def of(self, kind: str) -> np.ndarray:
        """int64: indices of the places of one kind."""
        return np.flatnonzero(self.kind == kind)


@dataclass(frozen=True)
class People:
    """n people. place_edge int64 and place_along float64 [n, 7]; place_xy [n, 7, 2]; leisure_share [n, 4];
    favourites int64 [n, 6] (indices into `Places` of columns 1 to 6); worker bool [n];
    habit_s (own shift of the working day), profile int64 and pace (factor on speed) [n]."""

    place_edge: np.ndarray
    place_along: np.ndarray
    place_xy: np.ndarray
    favourites: np.ndarray
    leisure_share: np.ndarray
    worker: np.ndarray
    habit_s: np.ndarray
    profile: np.ndarray
    pace: np.ndarray

    def __len__(self) -> int:
        return len(self.worker)


@dataclass(frozen=True)
class Moves:
    """Trips to make: person and day index, number within the day, departure (seconds after local midnight), place columns."""

    person: np.ndarray
    day: np.ndarray
    order: np.ndarray
    depart_s: np.ndarray
    origin: np.ndarray
    target: np.ndarray


# ---- places -----------------------------------------------------------------------------------------------------


def _addresses(city: CityMap) -> tuple[np.ndarray, np.ndarray]:
    """Edges with an address (two-way streets, no bridges, no trunk roads) and their middles around the centre [e, 2]."""
    named = (city.twin >= 0) & np.isin(city.roads.road_class, ["residential", "secondary"])
    named[city.bridges] = False
    edges = np.flatnonzero(named)
    return edges, city.roads.node_xy[city.roads.edge_nodes[edges]].mean(axis=1) - city.centre


def position(city: CityMap, edge: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return metres [n, 2] of the points at share ``along`` (at most one half) of three-point edges."""
    first = city.roads.edge_xy[city.roads.edge_offsets[edge]]
    middle = city.roads.edge_xy[city.roads.edge_offsets[edge] + 1]
    return first + (middle - first) * (2 * along)[:, None]


def _near_any(xy: np.ndarray, spots: tuple[tuple[float, float], ...], width: float) -> np.ndarray:
    squared = ((xy[:, None] - np.array(spots)[None]) ** 2).sum(axis=-1)
    return np.exp(-squared / width**2).sum(axis=1)


def draw_places(city: CityMap, random: np.random.Generator) -> Places:
    """Draw where the places of work and leisure are and how popular; stations have fixed sites."""
    edges, middle = _addresses(city)
    r = np.hypot(*middle.T)
    weight = {
        "work": np.exp(-((r / 2400) ** 2)) + 0.5 * _near_any(middle, HUBS, 700) + 0.12,
        "leisure": np.exp(-((r / 2400) ** 2)) + 0.3 * _near_any(middle, HUBS, 600) + 0.15,
    }
    kind, edge, popularity = [], [], []
    for name in KINDS:
        n = COUNTS[name]
        if name == "station":
            chosen = np.hypot(*np.moveaxis(middle[None] - np.array(STATIONS)[:, None], -1, 0)).argmin(axis=1)
        else:
            chosen = random.choice(len(edges), n, replace=False, p=weight[name] / weight[name].sum())
        share = np.arange(1, n + 1) ** -ZIPF[name]
        kind.append(np.full(n, name))
        edge.append(edges[chosen])
        popularity.append(share / share.sum())
    where, along = np.concatenate(edge), random.uniform(0.1, 0.45, sum(COUNTS.values()))
    return Places(np.concatenate(kind), where, along, np.concatenate(popularity), position(city, where, along))


def home_weights(city: CityMap, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges where people live and the share of the population on each: uneven, thinner outwards."""
    edges, middle = _addresses(city)
    r = np.hypot(*middle.T)
    quarters = 0.25 + _near_any(middle, tuple(map(tuple, random.normal(0, 2300, (14, 2)))), 700)
    weight = city.roads.length_m[edges] * np.exp(-((r / 5500) ** 2)) * quarters * random.lognormal(0, 0.7, len(edges))
    return edges, weight / weight.sum()


# ---- people -----------------------------------------------------------------------------------------------------


def _choose(home: np.ndarray, places: Places, kind: str, draws: int, random: np.random.Generator) -> np.ndarray:
    """int64 [n, draws]: places drawn with probability popularity * exp(-distance from home / reach)."""
    index = places.of(kind)
    distance = np.hypot(*np.moveaxis(home[:, None] - places.xy[index][None], -1, 0))
    weight = np.cumsum(places.popularity[index] * np.exp(-distance / REACH_M[kind]), axis=1)
    u = random.uniform(size=(len(home), draws)) * weight[:, -1:]
    return index[(weight[:, None, :] <= u[..., None]).sum(axis=-1).clip(max=len(index) - 1)]


def draw_people(
    city: CityMap, places: Places, homes: tuple[np.ndarray, np.ndarray], n: int, random: np.random.Generator
) -> People:
    """Draw ``n`` people: a home each, then work, leisure and a station by popularity and distance."""
    edge = random.choice(homes[0], n, p=homes[1])
    along = random.uniform(0.05, 0.48, n)
    home = position(city, edge, along)
    favourites = np.hstack(
        [_choose(home, places, kind, draws, random) for kind, draws in zip(KINDS, (1, 4, 1), strict=True)]
    )
    return People(
        place_edge=np.column_stack([edge, places.edge[favourites]]),
        place_along=np.column_stack([along, places.along[favourites]]),
        place_xy=np.concatenate([home[:, None], places.xy[favourites]], axis=1),
        favourites=favourites,
        leisure_share=random.dirichlet((3.0, 2.0, 1.2, 0.8), n),
        worker=random.uniform(size=n) < WORKER_SHARE,
        habit_s=random.normal(0, 1800, n),
        profile=random.integers(0, N_PROFILES, n),
        pace=random.lognormal(0, 0.06, n),
    )


# ---- days -------------------------------------------------------------------------------------------------------


def _hours(random: np.random.Generator, shape: tuple[int, int], clock: float, spread: float) -> np.ndarray:
    return (clock + spread * random.normal(size=shape)) * 3600.0


def _plan(people: People, working: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Nominal departures (s) and targets (place column or `STAY`), both [n, days, 6]; ``working`` bool [n, days]."""
    shape = working.shape
    chance = lambda p: random.uniform(size=shape) < p  # noqa: E731
    cumulative = np.cumsum(people.leisure_share, axis=1)

    def fun() -> np.ndarray:
        u = random.uniform(size=shape)
        place = LEISURE[0] + (u[..., None] > cumulative[:, None, :3]).sum(axis=-1)
        return np.where(chance(0.10), STATION, place)

    habit = people.habit_s[:, None]
    at_lunch = chance(0.22)
    office = [
        (_hours(random, shape, 8.1, 0.45) + habit, np.full(shape, WORK)),
        (_hours(random, shape, 12.2, 0.25), np.where(at_lunch, fun(), STAY)),
        (_hours(random, shape, 13.3, 0.25), np.where(at_lunch, WORK, STAY)),
        (_hours(random, shape, 17.5, 0.6) + habit, np.where(chance(0.22), fun(), HOME)),
        (_hours(random, shape, 20.0, 0.7), np.where(chance(0.25), fun(), HOME)),
        (_hours(random, shape, 22.7, 0.7), np.full(shape, HOME)),
    ]
    free = [
        (_hours(random, shape, 10.6, 1.1), np.where(chance(0.55), fun(), STAY)),
        (_hours(random, shape, 12.7, 0.8), np.full(shape, HOME)),
        (_hours(random, shape, 15.2, 0.9), np.where(chance(0.5), fun(), STAY)),
        (_hours(random, shape, 17.8, 0.9), np.full(shape, HOME)),
        (_hours(random, shape, 20.0, 0.6), np.where(chance(0.35), fun(), STAY)),
        (_hours(random, shape, 23.1, 0.8), np.full(shape, HOME)),
    ]
    pairs = [(np.where(working, a, c), np.where(working, b, d)) for (a, b), (c, d) in zip(office, free, strict=True)]
    return np.stack([p[0] for p in pairs], axis=-1), np.stack([p[1] for p in pairs], axis=-1)


def plan_days(people: People, weekdays: np.ndarray, random: np.random.Generator) -> Moves:
    """Return every move of ``people`` over days whose weekday (0 = Monday) is given, by person, day and time.

    Everyone starts the day at home and ends it there; two departures of a person are an hour apart at least.
    """
    n, days = len(people), len(weekdays)
    working = people.worker[:, None] & (weekdays < 5)[None] & (random.uniform(size=(n, days)) < 0.93)
    nominal, target = _plan(people, working, random)
    here = np.full((n, days), HOME)
    free_at = np.full((n, days), 5 * 3600.0)
    origin = np.empty_like(target)
    happens = np.empty(target.shape, dtype=bool)
    depart = np.empty_like(nominal)
    for k in range(target.shape[-1]):
        goes = (target[..., k] != STAY) & (target[..., k] != here)
        depart[..., k] = np.round(np.maximum(nominal[..., k], free_at))
        origin[..., k], happens[..., k] = here, goes
        here = np.where(goes, target[..., k], here)
        free_at = np.where(goes, depart[..., k] + MIN_DWELL_S, free_at)
    person, day, slot = np.nonzero(happens)
    return Moves(person, day, slot, depart[happens], origin[happens], target[happens])
