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

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, field_validator
from scipy.spatial import cKDTree

from trajkit import geo, seeds
from trajkit.baselines import public_meta
from trajkit.classical.adaptive_grid import AdaptiveGrid, density_weights
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub, parts
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.looks import WEIGHT, Looks
from trajkit.classical.route_choice import RouteChoice, fit_choice
from trajkit.classical.trip_habits import Habits, at_nodes, capped, drawn_nodes, end_counts, hours_of, look_at_habits
from trajkit.classical.trip_tree import TripGrid, TripTree, count_trips
from trajkit.grid import Grid
from trajkit.methods import count_asked, fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.public_map import PublicMap, read_map
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.route_points import spaced_points
from trajkit.routing import Router
from trajkit.trajectories import Meta, Trajectories

FIT_SOURCES, FIT_TRIPS = 200, 4000
LATTICE_M = 250.0
MOST_OFF_MAP = 0.1
OFF_MAP = "many trajectories leave the map: their ways are drawn on it all the same, so this release misplaces them"


class RoadCountsConfig(ClassicalConfig):
    """``map``: "dataset" (its public road network; a lattice where it has none), "lattice", or a file (`public_map.read_map`).

    ``coarse``, ``halvings``: see `TripGrid`; ``bands``: of the day, 1 looks at no times. ``fine``: cells along each side for starts, ends and density;
    null: sqrt(noisy trips x epsilon) / 8, 8 to 64. ``split``: see the module. ``trips_per_user``: bounds what a user adds, and makes the user the
    unit of privacy. ``rounds``: of the fit of edge costs.
    """

    map: str = "dataset"
    coarse: int = Field(4, ge=1, le=16)
    halvings: int = Field(3, ge=0, le=6)
    bands: int = Field(4, ge=1, le=24)
    fine: int | None = Field(None, ge=1, le=256)
    split: tuple[float, float, float, float] = (0.5, 0.15, 0.25, 0.1)
    trips_per_user: int | None = Field(None, ge=1)
    rounds: int = Field(6, ge=0, le=50)
    lattice_m: float = Field(LATTICE_M, gt=0, allow_inf_nan=False)

    @field_validator("split", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("split")
    @classmethod
    def _positive(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if min(value) <= 0:
            raise ValueError(f"split {value}: every look needs a share above 0")
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
    guarantee: Guarantee
    report: dict[str, Any]


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
        public = self._map(train.meta, roads)
        router = Router(public.network)
        looks = Looks(c.epsilon, seed=seed, stream="road_counts", source=c.noise, records=c.trips_per_user)
        seen = train if c.trips_per_user is None else capped(train, c.trips_per_user, seed)
        shares = parts(looks.budget, c.split)
        bounds = geo.box_xy(train.meta.box, train.meta.crs)
        grid = TripGrid(bounds, c.coarse, c.halvings, c.bands if seen.t is not None else 1)
        starts, ends = seen.xy[seen.starts], seen.xy[seen.ends]
        trips = count_trips(grid, starts, ends, hours_of(seen), looks, epsilon=shares[0])
        fine = Grid(bounds, *[self._fine(trips.total)] * 2)
        places = looks.counts("starts and ends", end_counts(fine, starts, ends), epsilon=shares[1], sensitivity=2)
        density = looks.weights(
            "density", density_weights(seen, AdaptiveGrid.uniform(bounds, fine.nx)), epsilon=shares[2]
        )
        scale = looks.taken[-1].scale / WEIGHT
        habits = look_at_habits(seen, router, looks, shares[3])
        weights = [at_nodes(router, fine, norm_sub(x)) for x in places]
        choice = self._choice(router, trips, weights, fine, density, np.sqrt(2) * scale, habits, seed)
        self.model_ = RoadModel(
            meta=public_meta(train.meta),
            router=router,
            trips=trips,
            starts=weights[0],
            ends=weights[1],
            choice=choice,
            guarantee=looks.guarantee("road_counts", public=[SOUND, public.describe()]),
            report=_report(public, trips, fine, choice, habits),
        )
        return self

    def _map(self, meta: Meta, roads: RoadNetwork | None) -> PublicMap:
        c = self.config
        if c.map == "lattice" or (c.map == "dataset" and roads is None):
            return PublicMap.lattice(meta.box, meta.crs, spacing_m=c.lattice_m)
        if c.map == "dataset":
            assert roads is not None
            return PublicMap.from_network(roads, source=f"the road network that comes with data set {meta.dataset}")
        return read_map(c.map, meta.crs)

    def _fine(self, trips: float) -> int:
        """Cells along each side of the fine grid: from the config, or from the noisy number of trips."""
        if self.config.fine is not None:
            return self.config.fine
        return int(np.clip(np.sqrt(max(trips, 1.0) * self.config.epsilon) / 8, 8, 64))

    def _choice(
        self,
        router: Router,
        trips: TripTree,
        weights: list[np.ndarray],
        fine: Grid,
        density: np.ndarray,
        noise: float,
        habits: Habits,
        seed: int,
    ) -> RouteChoice:
        """Route choice fitted to a sample of trips that share few starts, since a start's shortest-path tree is what costs time."""
        rng = seeds.rng(seed, "sampling", "road_counts", "fit")
        rectangles, _ = trips.draw(FIT_TRIPS, rng)
        nodes = [drawn_nodes(router, rectangles[:, i], w, rng) for i, w in enumerate(weights)]
        few = rng.choice(nodes[0], size=min(FIT_SOURCES, len(nodes[0])), replace=False)
        _, nearest = cKDTree(router.network.node_xy[few]).query(router.network.node_xy[nodes[0]])
        shared = few[nearest]
        return fit_choice(
            router, shared, nodes[1], grid=fine, density=density, noise=noise, detour_counts=habits.detour,
            rounds=self.config.rounds, seed=seeds.child_seed(seed, "sampling", "road_counts", "choice"),
        )  # fmt: skip

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trips of ``length`` places on the map, equally spaced in time; only the model is read."""
        model: RoadModel = fitted_attribute(self, "model_")
        number, network = count_asked(n), model.router.network
        rng = seeds.rng(seed, "sampling", "road_counts")
        rectangles, _ = model.trips.draw(number, rng)
        starts, ends = (
            drawn_nodes(model.router, rectangles[:, i], w, rng) for i, w in enumerate((model.starts, model.ends))
        )
        routes = model.router.routes(starts, ends, model.choice.cost, spread=model.choice.spread, random=rng)
        xy = spaced_points(network, routes, self.config.length, by="seconds")
        lonlat = model.meta.box.clip(geo.unproject(xy.reshape(-1, 2), model.meta.crs)).reshape(number, -1, 2)
        return Release(Trajectories.from_fixed(lonlat, meta=model.meta), model.guarantee, dict(model.report))


def _report(public: PublicMap, trips: TripTree, fine: Grid, choice: RouteChoice, habits: Habits) -> dict[str, Any]:
    """What a reader wants to know, all of it from noisy or public numbers."""
    return {
        "map": public.describe(),
        "junctions": len(public.network.node_xy),
        "trips by the tree": trips.total,
        "nodes per level": np.diff(trips.tree.level).tolist(),
        "fine grid": fine.nx,
        "spread of opinions": choice.spread,
        "misfit of the density, by round": [round(m, 4) for m in choice.misfit],
        "share of trajectories off the map (noisy)": habits.off_map_share,
        **({"warning": OFF_MAP} if habits.off_map_share > MOST_OFF_MAP else {}),
    }
