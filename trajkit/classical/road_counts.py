"""Method "road_counts": noisy trip counts on an adaptive hierarchy, driven on a public road map.

What is private is who goes where, when and which way; where the streets run is public. Looks, pure DP per trajectory (or per user, see
``trips_per_user``), in shares of epsilon given by ``split``:

1. trips between (start, end) cells and hour bands, level by level (`trip_tree`);
2. starts and ends on a fine grid, to place them within a cell of the hierarchy (sensitivity 2);
3. density: a trajectory's points weigh 1 together;
4. habits: histograms of detour, departure hour, speed, and distance from the map, each trajectory in one bin of each.

Route choice is fitted to (3) and (4) (`route_choice`), which is post-processing, and so is the release: trips drawn from the hierarchy,
routed on the map, with places equally spaced in time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator
from scipy.spatial import cKDTree

from trajkit import geo, seeds
from trajkit.baselines import public_meta
from trajkit.classical.adaptive_grid import AdaptiveGrid, density_weights
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub, parts
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.looks import WEIGHT, Looks
from trajkit.classical.road_simulator import chosen_map
from trajkit.classical.route_choice import RouteChoice, fit_choice
from trajkit.classical.trip_habits import (
    USUAL_MPS,
    Habits,
    at_nodes,
    departures_ms,
    drawn_nodes,
    drawn_speeds,
    end_counts,
    hours_of,
    look_at_habits,
)
from trajkit.classical.trip_tree import TripGrid, TripTree, count_trips
from trajkit.errors import DataContractError
from trajkit.grid import Grid
from trajkit.methods import FromList, count_asked, fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.public_map import PublicMap, of_another_year, without_streets
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.route_points import spaced_points, timed_points
from trajkit.routing import Router, Routes
from trajkit.trajectories import Meta, Trajectories

FIT_SOURCES, FIT_TRIPS = 200, 4000
LATTICE_M = 250.0
MOST_OFF_MAP = 0.1
TIMED = ("that the set has times, its time zone, the day and the interval of the released fixes are public",)
OFF_MAP = "many trajectories leave the map: their ways are drawn on it all the same, so this release misplaces them"


class RoadCountsConfig(ClassicalConfig):
    """``map``: "dataset" (its public road network; a lattice where it has none), "lattice", or a file (`public_map.read_map`).

    ``times``: look at hours and speeds as well and release a fix every ``interval_s`` seconds with its time, on the public ``day``, instead of
    ``length`` places; ``bands`` are the parts of the day that trips are counted in then. ``coarse``, ``halvings``: see `TripGrid`. ``fine``:
    cells along each side for starts, ends and density; null: sqrt(noisy trips x epsilon) / 8, 8 to 64 (epsilon per trajectory).
    ``split``: see the module. ``rounds``: of the fit of edge costs. ``removed_streets``: share of the streets that the map is made to lack; ``changed_streets``: share that are not there yet or one-way
    in the map of another year; both for studies of a wrong map.
    """

    map: str = "dataset"
    coarse: int = Field(4, ge=1, le=16)
    halvings: int = Field(3, ge=0, le=6)
    times: bool = False
    bands: int = Field(4, ge=1, le=24)
    interval_s: float = Field(15.0, ge=0.001, allow_inf_nan=False)
    day: str = "2020-01-01"
    fine: int | None = Field(None, ge=1, le=256)
    split: Annotated[tuple[float, float, float, float], FromList] = (0.5, 0.15, 0.25, 0.1)
    rounds: int = Field(6, ge=0, le=50)
    removed_streets: float = Field(0.0, ge=0, lt=1)
    changed_streets: float = Field(0.0, ge=0, lt=1)
    lattice_m: float = Field(LATTICE_M, gt=0, allow_inf_nan=False)

    @field_validator("split")
    @classmethod
    def _positive(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < share < math.inf for share in value):
            raise ValueError(f"split {value}: every look needs a finite share above 0")
        return value

    @field_validator("day")
    @classmethod
    def _date(cls, value: str) -> str:
        date.fromisoformat(value)
        return value


@dataclass(frozen=True)
class RoadModel:
    """What a fit leaves, all of it noisy or public. ``starts``, ``ends``: weights of the map's junctions, float64 [k]."""

    meta: Meta
    router: Router
    trips: TripTree
    starts: np.ndarray
    ends: np.ndarray
    choice: RouteChoice
    habits: Habits
    guarantee: Guarantee
    report: dict[str, Any]


@dataclass(frozen=True)
class RoadLooks:
    """Everything that is known about the data: noisy trips, starts and ends ``places`` [2, cells] and ``density`` [cells] on the ``fine`` grid
    with the standard deviation of its ``noise``, and habits."""

    trips: TripTree
    fine: Grid
    places: np.ndarray
    density: np.ndarray
    noise: float
    habits: Habits


def take_looks(trajs: Trajectories, router: Router, looks: Looks, config: RoadCountsConfig) -> RoadLooks:
    """Take every look of the module's list; nothing else of the method sees ``trajs``."""
    shares = parts(looks.budget, config.split)
    bounds = geo.box_xy(trajs.meta.box, trajs.meta.crs)
    grid = TripGrid(bounds, config.coarse, config.halvings, config.bands if config.times else 1)
    starts, ends = trajs.xy[trajs.starts], trajs.xy[trajs.ends]
    trips = count_trips(grid, starts, ends, hours_of(trajs) if config.times else None, looks, epsilon=shares[0])
    side = config.fine or int(np.clip(np.sqrt(max(trips.total, 1.0) * config.epsilon_each) / 8, 8, 64))
    fine = Grid(bounds, side, side)
    places = looks.counts("starts and ends", end_counts(fine, starts, ends), epsilon=shares[1], sensitivity=2)
    density = looks.weights("density", density_weights(trajs, AdaptiveGrid.uniform(bounds, side)), epsilon=shares[2])
    noise = np.sqrt(2) * looks.taken[-1].scale / WEIGHT
    return RoadLooks(
        trips, fine, places, density, float(noise), look_at_habits(trajs, router, looks, shares[3], times=config.times)
    )


class RoadCounts:
    """See the module."""

    Config = RoadCountsConfig
    TEMPLATE = "method-road_counts"

    def __init__(self, config: RoadCountsConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int, roads: RoadNetwork | None = None) -> RoadCounts:
        """Look at ``train`` with noise and fit route choice on the map. ``roads``: the data set's public road network.

        Raises DataContractError for a bad or empty set or a map elsewhere, ParameterError for a map that cannot be read.
        """
        c = self.config
        checked_training_set(train)
        if c.times and train.t is None:
            raise DataContractError(f"{train.meta.dataset} has no times, so none can be released: leave times out")
        public = chosen_map(c.map, train.meta, roads, lattice_m=c.lattice_m)
        if c.removed_streets > 0:
            public = without_streets(public, c.removed_streets, seeds.rng(0, "data", "removed_streets"))
        if c.changed_streets > 0:
            public = of_another_year(public, c.changed_streets, seeds.rng(0, "data", "changed_streets"))
        router = Router(public.network)
        looks = Looks(c.epsilon, seed=seed, stream="road_counts", source=c.noise, records=c.trips_per_user)
        taken = take_looks(c.seen(train, seed), router, looks, c)
        weights = [at_nodes(router, taken.fine, norm_sub(x)) for x in taken.places]
        choice = self._choice(router, taken, weights, seed)
        self.model_ = RoadModel(
            meta=public_meta(train.meta),
            router=router,
            trips=taken.trips,
            starts=weights[0],
            ends=weights[1],
            choice=choice,
            habits=taken.habits,
            guarantee=looks.guarantee("road_counts", public=[SOUND, public.describe(), *(TIMED if c.times else ())]),
            report=_report(public, taken, choice),
        )
        return self

    def _choice(self, router: Router, taken: RoadLooks, weights: list[np.ndarray], seed: int) -> RouteChoice:
        """Route choice fitted to a sample of trips that share few starts, since a start's shortest-path tree is what costs time."""
        rng = seeds.rng(seed, "sampling", "road_counts", "fit")
        rectangles, _ = taken.trips.draw(FIT_TRIPS, rng)
        nodes = [drawn_nodes(router, rectangles[:, i], w, rng) for i, w in enumerate(weights)]
        few = rng.choice(nodes[0], size=min(FIT_SOURCES, len(nodes[0])), replace=False)
        _, nearest = cKDTree(router.network.node_xy[few]).query(router.network.node_xy[nodes[0]])
        shared = few[nearest]
        return fit_choice(
            router, shared, nodes[1], grid=taken.fine, density=taken.density, noise=taken.noise, detour_counts=taken.habits.detour,
            rounds=self.config.rounds, seed=seeds.child_seed(seed, "sampling", "road_counts", "choice"),
        )  # fmt: skip

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trips on the map: ``length`` places each, equally spaced in time, or timed fixes; only the model is read."""
        model: RoadModel = fitted_attribute(self, "model_")
        number = count_asked(n)
        rng = seeds.rng(seed, "sampling", "road_counts")
        rectangles, band = model.trips.draw(number, rng)
        starts, ends = (
            drawn_nodes(model.router, rectangles[:, i], w, rng) for i, w in enumerate((model.starts, model.ends))
        )
        routes = model.router.routes(starts, ends, model.choice.cost, spread=model.choice.spread, random=rng)
        trajs = self._timed(model, routes, band, rng) if self.config.times else self._spaced(model, routes)
        return Release(trajs, model.guarantee, dict(model.report))

    def _spaced(self, model: RoadModel, routes: Routes) -> Trajectories:
        xy = spaced_points(model.router.network, routes, self.config.length, by="seconds", edge_s=model.choice.pace)
        lonlat = model.meta.box.clip(geo.unproject(xy.reshape(-1, 2), model.meta.crs)).reshape(len(routes), -1, 2)
        return Trajectories.from_fixed(lonlat, meta=model.meta)

    def _timed(self, model: RoadModel, routes: Routes, band: np.ndarray, rng: np.random.Generator) -> Trajectories:
        """A fix every ``interval_s`` seconds, departures and speeds drawn from the noisy histograms."""
        c, network = self.config, model.router.network
        depart = departures_ms(model.habits.hour, band, c.bands, c.day, model.meta.tz, rng)
        metres, seconds = routes.total(network.length_m), routes.total(network.travel_time_s)
        usual = np.divide(metres, seconds, out=np.full(len(routes), USUAL_MPS), where=seconds > 0)
        factor = drawn_speeds(model.habits.speed, len(routes), rng) / usual
        xy, t, offsets = timed_points(network, routes, c.interval_s, depart_ms=depart, speed_factor=factor)
        lonlat = model.meta.box.clip(geo.unproject(xy, model.meta.crs))
        return Trajectories.generated(lonlat, offsets, meta=model.meta, t=t)


def _report(public: PublicMap, taken: RoadLooks, choice: RouteChoice) -> dict[str, Any]:
    """What a reader wants to know, all of it from noisy or public numbers."""
    off = taken.habits.off_map_share
    return {
        "map": public.describe(),
        "trips by the tree": taken.trips.total,
        "nodes per level": np.diff(taken.trips.tree.level).tolist(),
        "fine grid": taken.fine.nx,
        "spread of opinions": choice.spread,
        "misfit of the density, by round": [round(m, 4) for m in choice.misfit],
        "share of trajectories off the map (noisy)": off,
        **({"warning": OFF_MAP} if off > MOST_OFF_MAP else {}),
    }
