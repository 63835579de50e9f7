"""Map matching by a hidden Markov model (Newson and Krumm 2009, doi 10.1145/1653771.1653818) on a public road network.

States of a point are places on the roads about it; the emission falls with the distance, the transition with how much the way between
two places is longer or shorter than the straight line. Where a cell was released, the cell is the uncertainty: all roads that cross it
are equally likely, and between two cells the shorter way is (a cell's centre is no place where anybody was, so there is no line to
compare with). The most likely sequence of states is found by Viterbi's algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from trajkit.attacks import hmm_kernels as kernels
from trajkit.attacks.route_table import route_table
from trajkit.attacks.street_sequences import Streets
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import MethodConfig
from trajkit.public_map import street_of
from trajkit.ragged import concatenate_offsets
from trajkit.roads import RoadNetwork
from trajkit.routing import Router
from trajkit.segment_index import SegmentIndex, build_index, polyline_lengths


class MatchSettings(MethodConfig):
    """The model; all are public numbers.

    sigma_m     error of a released point, metres (one axis); beyond the border of a cell the same
    radius_m    how far from a point, or from the border of its cell, roads are looked for
    candidates  most places on roads that are kept for a point
    beta_m      mean difference, in metres, of the way between two places from the straight line; half the sides of their cells are added
    reach_m     longest way between two points that is looked at; farther ones are joined by the shortest way and counted as breaks
    u_turn_m    what a turn on the spot counts, metres
    """

    sigma_m: float = Field(8.0, gt=0, allow_inf_nan=False)
    radius_m: float = Field(60.0, gt=0, allow_inf_nan=False)
    candidates: int = Field(48, ge=1)
    beta_m: float = Field(20.0, gt=0, allow_inf_nan=False)
    reach_m: float = Field(2000.0, gt=0, allow_inf_nan=False)
    u_turn_m: float = Field(100.0, ge=0, allow_inf_nan=False)


@dataclass(frozen=True)
class Matched:
    """``streets`` of n trajectories; ``xy`` float64 [N, 2]: the place on them of each point (metres, the point itself where it has none).

    found   bool [N]: the point has roads about it
    breaks  int64 [n]: neighbouring points between which no way within reach leads
    """

    streets: Streets
    xy: np.ndarray
    found: np.ndarray
    breaks: np.ndarray


class Matcher:
    """Matches many sets on one ``network``; the table of ways is made once. ``settings``: `MatchSettings`."""

    def __init__(self, network: RoadNetwork, settings: MatchSettings) -> None:
        self.network, self.settings = network, settings
        self._table = route_table(network, settings.reach_m)
        self._street = street_of(network)
        self._router = Router(network)
        self._indexes: dict[float, SegmentIndex] = {}

    def match(self, xy: np.ndarray, offsets: np.ndarray, half_m: np.ndarray | float = 0.0) -> Matched:
        """Match points [N, 2] (metres of the network's CRS) of n trajectories (offsets [n + 1]).

        half_m: half the side of the square about each point that was released in its place (one number or [N]); 0: the point itself.
        Raises DataContractError for coordinates that are not finite,
        ParameterError for half sides that do not fit.
        """
        xy = np.ascontiguousarray(xy, dtype=np.float64)
        if not np.isfinite(xy).all():
            raise DataContractError("map matching: some coordinates are not finite: drop those points first")
        half = np.asarray(half_m, dtype=np.float64)
        if half.shape not in ((), (len(xy),)) or not (np.isfinite(half) & (half >= 0)).all():
            raise ParameterError("half_m must be one number of metres of at least 0, or one for each point")
        half = np.broadcast_to(half, (len(xy),)).copy()
        network, s = self.network, self.settings
        tail, head = (np.ascontiguousarray(c) for c in network.edge_nodes.T)
        edge, along, place, cost, begin = self._candidates(xy, half)
        chosen, breaks = kernels.viterbi(
            xy, offsets, half, edge, along, cost, begin, tail, head, network.length_m, self._street, self._table,
            s.beta_m, s.u_turn_m, 2 * s.sigma_m,
        )  # fmt: skip
        found = chosen >= 0
        streets = self._driven(chosen, offsets, edge, along, half, tail, head)
        at = xy.copy()
        at[found] = place[chosen[found]]
        return Matched(streets, at, found, breaks)

    def _candidates(self, xy: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, ...]:
        """Edge, metres along it, place [C, 2], emission cost of each candidate, and where those of each point begin [N + 1]."""
        network, s = self.network, self.settings
        widest = float(half.max()) * 2**0.5 if len(half) else 0.0
        reach = s.radius_m + widest
        if reach not in self._indexes:
            self._indexes[reach] = build_index(network.segments(), reach)
        pieces = np.diff(network.edge_offsets) - 1
        owner = np.repeat(np.arange(len(network)), pieces)
        segments = self._indexes[reach].segments
        metres = np.hypot(segments[:, 2] - segments[:, 0], segments[:, 3] - segments[:, 1])
        before = np.concatenate([[0.0], np.cumsum(metres)])[:-1]
        before -= np.repeat(before[concatenate_offsets(pieces)[:-1]], pieces)
        drawn = polyline_lengths(network.edge_xy, network.edge_offsets)
        scale = np.divide(network.length_m, drawn, out=np.ones(len(drawn)), where=drawn > 0)
        return kernels.near(xy, half, self._indexes[reach], owner, before, scale, s.radius_m, s.sigma_m, s.candidates)

    def _driven(
        self, chosen: np.ndarray, offsets: np.ndarray, edge: np.ndarray, along: np.ndarray, half: np.ndarray,
        tail: np.ndarray, head: np.ndarray,
    ) -> Streets:  # fmt: skip
        """The edges between the chosen candidates; what is out of the table's reach is joined by the shortest way where there is one."""
        back = 2 * self.settings.sigma_m
        kinds, a, b = kernels.hops(chosen, offsets, edge, along, half, back, tail, head, self._table)
        far = np.flatnonzero(kinds == kernels.FAR)
        routes = self._router.routes(head[edge[a[far]]], tail[edge[b[far]]], self.network.length_m)
        number = np.full(len(kinds), -1, dtype=np.int64)
        number[far] = np.arange(len(far))
        hop_offsets = concatenate_offsets(np.bincount(_owner(offsets)[_points(chosen)], minlength=len(offsets) - 1))
        return Streets(
            *kernels.expand(
                kinds, a, b, number, hop_offsets, edge, along, tail, head, self.network.length_m, self._table,
                routes.edges, routes.offsets,
            )
        )  # fmt: skip


def _owner(offsets: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _points(chosen: np.ndarray) -> np.ndarray:
    return np.flatnonzero(chosen >= 0)
