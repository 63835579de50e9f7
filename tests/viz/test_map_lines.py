"""Lines go into bytes and come back; streets and grids lie where they should."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from toys import META

from trajkit import geo
from trajkit.public_map import lattice
from trajkit.viz.map_lines import Lines, beneath, unpack


@given(st.lists(st.integers(2, 6), max_size=5), st.booleans(), st.integers(0, 2**31))
def test_what_is_packed_comes_back(lengths: list[int], timed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    seconds = rng.integers(1_200_000_000, 1_900_000_000, n) if timed else None
    sent = [
        Lines("a", rng.uniform(-90, 90, (n, 2)), offsets, seconds),
        Lines("b", rng.uniform(-90, 90, (4, 2)), np.array([0, 4])),
    ]
    header = {"lines": [part.header() for part in sent]}
    for back, part in zip(unpack(header, b"".join(p.packed() for p in sent)), sent, strict=True):
        assert back.id == part.id and (back.offsets == part.offsets).all()
        assert np.abs(back.lonlat - part.lonlat).max(initial=0) <= 0.51e-6
        assert (back.seconds is None) == (part.seconds is None)
        assert back.seconds is None or (back.seconds == part.seconds).all()


def test_a_round_trip_stays_a_line_that_ends_where_it_began() -> None:
    loop = np.array([[-8.6, 41.1], [-8.6, 41.2], [-8.5, 41.2], [-8.6, 41.1]])
    (back,) = unpack(
        {"lines": [Lines("a", loop, np.array([0, 4])).header()]}, Lines("a", loop, np.array([0, 4])).packed()
    )
    assert (back.lonlat[0] == back.lonlat[-1]).all() and len(back.offsets) == 2


def test_streets_lie_beneath_each_once() -> None:
    roads = lattice(META.box, META.crs, 2000.0).network
    lines, said = beneath(roads, META.box, META.crs)
    assert said == "grey lines are the streets of the public map"
    assert len(lines.offsets) - 1 == len(roads) / 2
    assert np.allclose(geo.project(lines.lonlat, META.crs).reshape(-1, 4), roads.streets(), atol=0.01)


def test_without_streets_a_grid_of_round_metres_lies_beneath() -> None:
    lines, said = beneath(None, META.box, META.crs)
    xy = geo.project(lines.lonlat, META.crs).reshape(-1, 2, 2)
    upright = np.abs(xy[:, 0, 0] - xy[:, 1, 0]) < 1
    assert said == "grey lines are a grid of 2 km"
    assert np.abs(xy[upright, 0, 0] / 2000 - np.rint(xy[upright, 0, 0] / 2000)).max() < 1e-5
    assert 4 <= upright.sum() <= 12 and 4 <= (~upright).sum() <= 12
