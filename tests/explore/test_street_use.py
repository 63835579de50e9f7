"""Streets that real trips pass and released ones do not are lost; worked out by hand on a cross of four streets."""

from __future__ import annotations

import numpy as np
import pytest
from toys import META, ORIGIN, from_metres

from trajkit.explore.street_use import StreetUse, street_loss, street_use
from trajkit.roads import RoadNetwork

EAST, NORTH, WEST, SOUTH = (1000.0, 0.0), (0.0, 1000.0), (-1000.0, 0.0), (0.0, -1000.0)


def _cross() -> RoadNetwork:
    ends = np.array([(0.0, 0.0), EAST, NORTH, WEST, SOUTH]) + ORIGIN
    nodes = np.array([[0, i] for i in (1, 2, 3, 4)])
    xy = ends[nodes].reshape(-1, 2)
    return RoadNetwork(
        node_xy=ends, node_ids=np.arange(5), edge_nodes=nodes, length_m=np.full(4, 1000.0), speed_mps=np.full(4, 10.0),
        road_class=np.array(["street"] * 4), oneway=np.zeros(4, dtype=bool), edge_xy=xy, edge_offsets=np.arange(0, 9, 2),
        crs=META.crs,
    )  # fmt: skip


def _share(use: StreetUse, towards: tuple[float, float]) -> float:
    streets = _cross().streets() - np.tile(ORIGIN, 2)
    middle = (streets[:, :2] + streets[:, 2:]) / 2
    return float(use.share[np.linalg.norm(middle - np.array(towards) / 2, axis=1).argmin()])


def test_each_trip_counts_once_for_each_street_that_it_passes() -> None:
    trips = from_metres([[WEST, (980.0, 0.0)], [(-900, 5.0), (-100, 5.0)], [(300, 900), (900, 300)], [WEST, WEST]])
    use = street_use(trips, _cross())
    assert _share(use, WEST) == 3 / 4, "the first, the second, and the one that stands still there"
    assert _share(use, EAST) == 1 / 4
    assert _share(use, NORTH) == _share(use, SOUTH) == 0
    assert use.off_roads == pytest.approx(np.hypot(600, 600) / (1980 + 800 + np.hypot(600, 600)), abs=0.01)


def test_lost_kept_and_added() -> None:
    real = street_use(from_metres([[WEST, (-30, 0.0)]] * 3 + [[EAST, (30, 0.0)]]), _cross())
    released = street_use(from_metres([[NORTH, (0.0, 30)]] * 3 + [[EAST, (30, 0.0)]]), _cross())
    loss = street_loss(real, released)
    assert (loss.lost.sum(), loss.kept.sum(), loss.added.sum()) == (1, 1, 1)
    assert loss.lost_share == 0.5
    same = street_loss(real, real)
    assert same.lost_share == 0 and not same.added.any()


def test_no_busy_street_has_no_share() -> None:
    nowhere = StreetUse(np.zeros(4), 0.0)
    assert np.isnan(street_loss(nowhere, nowhere).lost_share)
