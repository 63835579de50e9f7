"""A simulated city: people who live, work and go out on a public road map, and the traces of their trips.

The map (`city_map`) is public and the same for every seed. The seed draws the places of work and leisure, the people
(`city_people`) and their trips (`city_trips`): homes, Zipf-like popularity, commuting peaks, lunch and evening leisure,
weekends, shortest-time routes under each person's own view of the roads, fixes every 15 s with 5 m of GPS noise.
People are simulated in blocks of fixed size, each from its own random stream, so that neither the number of workers
nor the number of other people changes anyone's trips.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from trajkit import geo
from trajkit.datasets.city_map import BOX, CRS, TZ, CityMap, build_map
from trajkit.datasets.city_off_roads import leave_roads
from trajkit.datasets.city_people import (
    HOME,
    WORK,
    Moves,
    People,
    Places,
    draw_people,
    draw_places,
    home_weights,
    plan_days,
)
from trajkit.datasets.city_streets import MAP_SEED
from trajkit.datasets.city_trips import GPS_NOISE_M, INTERVAL_S, Network, drive, find_routes, network_of
from trajkit.datasets.registry import DatasetSettings
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.preprocess import DropReport, finish
from trajkit.roads import RoadNetwork
from trajkit.seeds import rng
from trajkit.trajectories import Meta, Trajectories, concatenate_offsets

LOADER_VERSION = 3
START = pd.Timestamp("2024-01-08")
"""The first simulated day, a Monday, in local time."""
MIN_POINTS, MAX_POINTS = 10, 200
BLOCK = 64
DECIMALS = 6


class CitySettings(DatasetSettings):
    """Settings of the simulated city; ``trips`` keeps exactly that many of the simulated trips, by a seeded draw; ``off_roads``: share of the
    people who leave the roads (`city_off_roads`)."""

    people: int = Field(default=700, ge=1, le=999_999)
    days: int = Field(default=14, ge=1, le=366)
    seed: int = Field(default=1, ge=0)
    trips: int | None = Field(default=None, ge=1)
    off_roads: float = Field(default=0.0, ge=0, le=1)


@dataclass(frozen=True)
class City:
    """The traces, the public road network, and the truth beside them.

    truth["people"]  user_id, worker, profile (index of the perturbed road weights), home_lon, home_lat, work_lon, work_lat
    truth["places"]  place_id, kind (work, leisure, station), lon, lat, popularity (sums to 1 within a kind)
    """

    trajectories: Trajectories
    roads: RoadNetwork
    truth: dict[str, pd.DataFrame]

    def to_folder(self, folder: str | Path) -> None:
        """Write trajectories, roads (GeoParquet) and truth as Parquet files, each renamed into place."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.trajectories.to_parquet(folder / "trajectories.parquet")
        _write(folder / "roads.parquet", self.roads.to_geodataframe().to_parquet)
        for name, table in self.truth.items():
            _write(folder / f"truth_{name}.parquet", table.to_parquet)

    @classmethod
    def from_folder(cls, folder: str | Path) -> City:
        """Read what `to_folder` wrote. Raises MissingDataError naming the first absent file."""
        import geopandas

        folder = Path(folder)
        tables = {name: folder / f"truth_{name}.parquet" for name in ("people", "places")}
        for file in (folder / "roads.parquet", *tables.values()):
            if not file.is_file():
                raise MissingDataError(f"{file} does not exist: the folder must hold a city written by City.to_folder")
        roads = RoadNetwork.from_geodataframe(geopandas.read_parquet(folder / "roads.parquet"))
        truth = {name: pd.read_parquet(file) for name, file in tables.items()}
        return cls(Trajectories.from_parquet(folder / "trajectories.parquet"), roads, truth)


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    temporary = path.with_name(path.name + ".part")
    write(temporary)
    temporary.replace(path)


# ---- the data set -----------------------------------------------------------------------------------------------


def load_city(settings: CitySettings) -> Trajectories:
    """Return the simulated trips, all of them or exactly ``settings.trips``.

    Raises DataContractError where fewer trips than that were simulated.
    """
    trajs = simulate(people=settings.people, days=settings.days, seed=settings.seed).trajectories
    if settings.off_roads:
        trajs = leave_roads(trajs, share=settings.off_roads, seed=settings.seed)
    return trajs if settings.trips is None else draw_trips(trajs, n=settings.trips, seed=settings.seed)


def roads_of_city(settings: CitySettings) -> RoadNetwork:
    """Return the city's roads: one public map, whatever the settings."""
    del settings
    return build_map().roads


def draw_trips(trajs: Trajectories, *, n: int, seed: int) -> Trajectories:
    """Keep ``n`` trips drawn without replacement, in their order. Raises DataContractError where there are fewer."""
    if n > len(trajs):
        raise DataContractError(
            f"{trajs.meta.dataset}: {len(trajs):,} trips were simulated, fewer than the {n:,} asked for: "
            "raise people or days (a person makes about two trips a day)"
        )
    kept = np.sort(rng(seed, "data", "city", "draw").permutation(len(trajs))[:n])
    after = trajs.take(kept)
    gone = (len(trajs) - n, trajs.n_points - after.n_points)
    return finish(trajs, after, "draw_trips", {"trips": n, "seed": seed}, {"not drawn": gone})[0]


def simulate(*, people: int, days: int, seed: int, workers: int | None = None) -> City:
    """Simulate ``people`` over ``days`` from Monday `START`; trips are sorted by person and time.

    ``workers`` threads (by default one a core) share the blocks of people and change no result.
    Raises ParameterError for sizes below 1 or a bad seed.
    """
    for name, value in (("people", people), ("days", days), ("workers", 1 if workers is None else workers)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    plan = _plan(int(days), seed)
    blocks = range(-(-people // BLOCK))
    with ThreadPoolExecutor(workers or _cores()) as pool:
        parts = list(pool.map(lambda b: _simulate_block(plan, b, min(BLOCK, people - b * BLOCK)), blocks))
    trajectories = _gather(parts, {"people": people, "days": days, "seed": seed})
    groups = [part.people for part in parts]
    return City(trajectories, plan.city.roads, {"people": _people_table(groups), "places": _places_table(plan.places)})


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Plan:
    """What every block shares."""

    seed: int
    city: CityMap
    network: Network
    places: Places
    homes: tuple[np.ndarray, np.ndarray]
    weekdays: np.ndarray
    midnight_ms: np.ndarray


@dataclass(frozen=True)
class _Block:
    """The trips of one block of people; ``dropped`` maps a reason to (trips, points)."""

    people: People
    lonlat: np.ndarray
    lengths: np.ndarray
    t: np.ndarray
    user: np.ndarray
    traj_ids: np.ndarray
    dropped: dict[str, tuple[int, int]]


def _plan(days: int, seed: int) -> _Plan:
    city = build_map()
    random = rng(seed, "data", "city", "places")
    dates = pd.date_range(START, periods=days)
    noon = (dates + pd.Timedelta(hours=12)).tz_localize(TZ).as_unit("ms").asi8
    places, homes = draw_places(city, random), home_weights(city, random)
    return _Plan(seed, city, network_of(city, seed), places, homes, dates.day_of_week.to_numpy(), noon - 12 * 3_600_000)


def _simulate_block(plan: _Plan, block: int, size: int) -> _Block:
    """Simulate people ``block * BLOCK`` and on. A last, smaller block is the head of the full one, so people do not depend on their number."""
    random = rng(plan.seed, "data", "city", "block", block)
    people = draw_people(plan.city, plan.places, plan.homes, BLOCK, random)
    moves = plan_days(people, plan.weekdays, random)
    routes = find_routes(plan.city, plan.network, people, moves)
    xy, offsets = drive(plan.city, routes, people, moves, random)
    lengths = np.diff(offsets)
    wanted = moves.person < size
    short, long = wanted & (lengths < MIN_POINTS), wanted & (lengths > MAX_POINTS)
    keep = wanted & ~short & ~long
    reasons = {f"shorter than {MIN_POINTS} points": short, f"longer than {MAX_POINTS} points": long}
    start = plan.midnight_ms[moves.day] + (moves.depart_s * 1000).astype(np.int64)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    t = np.repeat(start, lengths) + within * int(INTERVAL_S * 1000)
    point = np.repeat(keep, lengths)
    user = block * BLOCK + moves.person
    return _Block(
        people=_head(people, size),
        lonlat=np.round(geo.unproject(xy[point], CRS), DECIMALS),
        lengths=lengths[keep],
        t=t[point],
        user=user[keep],
        traj_ids=_trip_ids(user, moves)[keep],
        dropped={name: (int(bad.sum()), int(lengths[bad].sum())) for name, bad in reasons.items()},
    )


def _head(people: People, size: int) -> People:
    return People(**{name: values[:size] for name, values in vars(people).items()})


def _user_ids(index: np.ndarray) -> np.ndarray:
    return np.array([f"p{i:06d}" for i in index], dtype="U7")


def _trip_ids(user: np.ndarray, moves: Moves) -> np.ndarray:
    """Person, day and the move's place in the day: p000012-d003-2."""
    rows = zip(user.tolist(), moves.day.tolist(), moves.order.tolist(), strict=True)
    return np.array([f"p{u:06d}-d{d:03d}-{k}" for u, d, k in rows], dtype="U14")


def _gather(parts: list[_Block], settings: dict[str, Any]) -> Trajectories:
    lengths = np.concatenate([p.lengths for p in parts])
    reasons = parts[0].dropped
    dropped = {r: [int(v) for v in np.sum([p.dropped[r] for p in parts], axis=0)] for r in reasons}
    gone, points_gone = np.sum(list(dropped.values()), axis=0)
    report = DropReport(
        "simulate",
        {**settings, "map_seed": MAP_SEED, "interval_s": INTERVAL_S, "gps_noise_m": GPS_NOISE_M},
        len(lengths) + int(gone),
        len(lengths),
        int(lengths.sum() + points_gone),
        int(lengths.sum()),
        {reason: counts for reason, counts in dropped.items() if any(counts)},
    )
    return Trajectories(
        lonlat=np.concatenate([p.lonlat for p in parts]),
        offsets=concatenate_offsets(lengths),
        t=np.concatenate([p.t for p in parts]),
        user=np.concatenate([p.user for p in parts]),
        user_ids=_user_ids(np.arange(settings["people"])),
        traj_ids=np.concatenate([p.traj_ids for p in parts]),
        meta=Meta("city", CRS, BOX, tz=TZ, visibility="public", steps=(asdict(report),)),
    )


def _people_table(groups: list[People]) -> pd.DataFrame:
    place = geo.unproject(np.concatenate([g.place_xy for g in groups]).reshape(-1, 2), CRS).reshape(-1, 7, 2)
    return pd.DataFrame(
        {
            "user_id": _user_ids(np.arange(len(place))),
            "worker": np.concatenate([g.worker for g in groups]),
            "profile": np.concatenate([g.profile for g in groups]),
            "home_lon": place[:, HOME, 0],
            "home_lat": place[:, HOME, 1],
            "work_lon": place[:, WORK, 0],
            "work_lat": place[:, WORK, 1],
        }
    )


def _places_table(places: Places) -> pd.DataFrame:
    lonlat = geo.unproject(places.xy, CRS)
    names = [f"{kind}-{i:03d}" for i, kind in enumerate(places.kind)]
    columns = {"place_id": names, "kind": places.kind, "lon": lonlat[:, 0], "lat": lonlat[:, 1]}
    return pd.DataFrame({**columns, "popularity": places.popularity})
