"""Cells: public anchors, labels that name one place, centres that lie in their cell."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from toys import META, ORIGIN

from trajkit.anonymize.quad_cells import QuadCells
from trajkit.anonymize.tessellation import HexCells, SquareCells
from trajkit.errors import ParameterError
from trajkit.geo import unproject


def points(n: int, seed: int = 0, spread: float = 4000.0) -> np.ndarray:
    return ORIGIN + np.random.default_rng(seed).normal(0, spread, (n, 2))


def test_squares_are_anchored_at_a_public_constant() -> None:
    cells = SquareCells(500.0)
    xy = np.concatenate([points(1000), -points(1000), [[0.0, 0.0], [-0.001, 499.999]]])
    labels = cells.cell_of(xy)
    assert labels.dtype == np.int64
    centres = cells.centres(labels)
    assert (np.abs(centres - xy) <= 250.0).all()
    assert np.allclose((centres / 500.0) % 1.0, 0.5)
    assert (cells.cell_of(centres) == labels).all()
    assert (SquareCells(500.0).cell_of(xy[:10]) == labels[:10]).all()  # whoever else is there


@pytest.fixture
def h3() -> Any:
    return pytest.importorskip("h3", reason="the optional package h3 is not installed")


def test_hexagons_are_those_of_h3(h3: Any) -> None:
    cells, xy = HexCells(8, META.crs), points(2000)
    labels = cells.cell_of(xy)
    lon, lat = unproject(xy, META.crs).T
    assert labels.tolist() == [int(h3.latlng_to_cell(a, b, 8), 16) for a, b in zip(lat, lon, strict=False)][: len(xy)]
    centres = cells.centres(labels)
    assert (cells.cell_of(centres) == labels).all()
    assert np.hypot(*(centres - xy).T).max() < 700.0
    assert cells.area_m2 == pytest.approx(h3.average_hexagon_area(8, unit="m^2"), rel=0.05)
    assert cells.cell_of(xy[:0]).shape == (0,) and cells.centres(labels[:0]).shape == (0, 2)


def test_a_resolution_that_h3_has_not_is_refused() -> None:
    with pytest.raises(ParameterError, match="between 0"):
        HexCells(16, META.crs)


def test_without_h3_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "h3"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(ParameterError, match=r"pip install trajkit\[h3\]"):
        HexCells(8, META.crs)


def leaves_by_hand(
    xy: np.ndarray, person: np.ndarray, size: float, depth: int, k: int
) -> dict[tuple[int, int, int], set[int]]:
    """Leaves (level, column, row) that hold points, by recursion over lists."""
    leaves: dict[tuple[int, int, int], set[int]] = {}

    def square(level: int, i: int) -> tuple[int, int, int]:
        side = size * 2 ** (depth - level)
        return level, int(np.floor(xy[i, 0] / side)), int(np.floor(xy[i, 1] / side))

    def visit(level: int, members: list[int]) -> None:
        children: dict[tuple[int, int, int], list[int]] = {}
        if level < depth:
            for i in members:
                children.setdefault(square(level + 1, i), []).append(i)
        if children and all(len({person[i] for i in c}) >= k for c in children.values()):
            for c in children.values():
                visit(level + 1, c)
        else:
            leaves[square(level, members[0])] = set(members)

    roots: dict[tuple[int, int, int], list[int]] = {}
    for i in range(len(xy)):
        roots.setdefault(square(0, i), []).append(i)
    for members in roots.values():
        visit(0, members)
    return leaves


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_a_square_is_split_while_every_child_with_anyone_in_it_holds_k_persons(k: int, sign: int) -> None:
    rng = np.random.default_rng(k)
    xy = sign * np.concatenate([points(400, 1, 300.0), points(400, 2, 1500.0)])
    person = rng.integers(0, 60, len(xy))
    cells = QuadCells.built(xy, person, size_m=250.0, depth=5, k=k)
    labels = cells.cell_of(xy)
    expected = leaves_by_hand(xy, person, 250.0, 5, k)
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}
    assert found == {frozenset(members) for members in expected.values()}
    assert len({level for level, _, _ in expected}) > 1
    side = {frozenset(m): 250.0 * 2 ** (5 - level) for (level, _, _), m in expected.items()}
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        centre = cells.centres(labels[members[:1]])[0]
        half = side[frozenset(members.tolist())] / 2
        assert np.allclose(centre / half % 2, 1) and (np.abs(xy[members] - centre) <= half).all()
    assert (cells.cell_of(cells.centres(labels)) == labels).all()


def test_adaptive_labels_name_the_same_square_in_every_tree() -> None:
    xy, person = points(5000, 3, 1500.0), np.arange(5000)
    loose, strict = (QuadCells.built(xy, person, size_m=250.0, depth=3, k=k) for k in (2, 200))
    shared = np.intersect1d(loose.cell_of(xy), strict.cell_of(xy))
    assert (loose.centres(shared) == strict.centres(shared)).all()
    assert 0 < len(shared) < len(np.unique(loose.cell_of(xy)))
    nobody = QuadCells.built(xy[:0], person[:0], size_m=250.0, depth=3, k=5)
    assert (np.unique(nobody.cell_of(xy)) >> 58 == 0).all()
    with pytest.raises(ParameterError, match="depth 13"):
        QuadCells.built(xy, person, size_m=250.0, depth=13, k=5)
