"""`RoadSimulator`: trips on a public road map as candidates of Private Evolution, and which map a method draws on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from trajkit import seeds
from trajkit.errors import ParameterError
from trajkit.geo import box_xy
from trajkit.public_map import PublicMap, from_network, lattice, read_map, within
from trajkit.roads import RoadNetwork
from trajkit.route_points import spaced_points
from trajkit.routing import Router
from trajkit.trajectories import Meta

LEAST_JUNCTIONS = 2
PROFILES = 4
SPREAD = 0.25
REDRAW = 0.1  # share of variations in which one end is drawn anew, and in which another opinion of the roads is


def chosen_map(name: str, meta: Meta, roads: RoadNetwork | None, *, lattice_m: float) -> PublicMap:
    """The public map that ``name`` stands for, cut to the box: "dataset" (``roads``, a lattice where there are none), "lattice", or a file.

    Raises ParameterError for a map in another CRS or with hardly a junction in the box, and what `read_map` raises.
    """
    if name == "lattice" or (name == "dataset" and roads is None):
        found = lattice(meta.box, meta.crs, lattice_m)
    elif name == "dataset":
        assert roads is not None
        found = from_network(roads, f"the road network that comes with data set {meta.dataset}")
    else:
        found = read_map(name, meta.crs)
    if found.crs != meta.crs:
        raise ParameterError(
            f"the map is in {found.crs}, the data set in {meta.crs}: read the map in the CRS of the set"
        )
    x0, y0, x1, y1 = box_xy(meta.box, meta.crs)
    xy = found.network.node_xy
    inside = np.asarray(np.logical_and(xy >= [x0, y0], xy <= [x1, y1]).all(axis=1))
    if inside.sum() < LEAST_JUNCTIONS:
        raise ParameterError(
            f"the map ({found.source}) has {inside.sum()} of its {len(xy)} junctions in the box of {meta.dataset}: trips cannot be "
            "drawn on it, so give a map of this place, or map: lattice"
        )
    return found if inside.all() else within(found, inside)


@dataclass(frozen=True)
class RoadTrips:
    """Trips from junction ``source`` [n] to ``target`` [n], each by the opinion ``profile`` [n] of what the roads cost."""

    simulator: RoadSimulator = field(repr=False)
    source: np.ndarray
    target: np.ndarray
    profile: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def take(self, index: np.ndarray) -> Self:
        """See `simulators.Candidates`."""
        return replace(self, source=self.source[index], target=self.target[index], profile=self.profile[index])

    def joined(self, other: Self) -> Self:
        """See `simulators.Candidates`."""
        return replace(
            self,
            source=np.concatenate([self.source, other.source]),
            target=np.concatenate([self.target, other.target]),
            profile=np.concatenate([self.profile, other.profile]),
        )

    def points(self, length: int) -> np.ndarray:
        """float64 [n, length, 2] metres, equally spaced in time."""
        s = self.simulator
        routes = s.router.routes_under(self.source, self.target, s.costs, self.profile)
        return spaced_points(s.router.network, routes, length, by="seconds")


class RoadSimulator:
    """Trips between uniform junctions of ``public_map``, by one of `PROFILES` fixed opinions of the roads."""

    def __init__(self, public_map: PublicMap) -> None:
        self.map, self.router = public_map, Router(public_map.network)
        rng = seeds.rng(0, "data", "road_simulator")  # public: the same for every data set and seed
        base = public_map.network.travel_time_s
        self.costs = base * rng.lognormal(0.0, SPREAD, (PROFILES, len(base)))

    @property
    def public(self) -> str:
        """See `simulators.Simulator`."""
        return self.map.describe()

    def random(self, n: int, rng: np.random.Generator) -> RoadTrips:
        """See `simulators.Simulator`."""
        source, target = rng.choice(self.router.strong_nodes, (2, n))
        return RoadTrips(self, source, target, rng.integers(0, PROFILES, n))

    def vary(self, candidates: RoadTrips, degree: float, rng: np.random.Generator) -> RoadTrips:
        """See `simulators.Simulator`: each end moves to the junction nearest to a place about ``degree`` metres away."""
        n, xy = len(candidates), self.router.network.node_xy
        ends = np.stack([candidates.source, candidates.target])
        moved = xy[ends] + rng.normal(0, degree / np.sqrt(2), (2, n, 2))
        found = self.router.nodes_near(moved.reshape(-1, 2))[0].reshape(2, n)
        anew = np.flatnonzero(rng.random(n) < REDRAW)
        found[rng.integers(0, 2, len(anew)), anew] = rng.choice(self.router.strong_nodes, len(anew))
        other = rng.random(n) < REDRAW
        profile = np.where(other, rng.integers(0, PROFILES, n), candidates.profile)
        return RoadTrips(self, found[0], found[1], profile)
