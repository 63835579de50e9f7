"""Squares of the plane: centres lie in their square, on either side of the origin."""

from __future__ import annotations

import numpy as np

from trajkit.anonymize.tessellation import SquareCells


def test_centres_are_those_of_the_cells_points_lie_in() -> None:
    xy = np.array([[531_234.0, 4_558_001.0], [-531_234.0, -4_558_001.0], [0.0, -0.1], [-0.1, 0.0], [1e9, -1e9]])
    cells = SquareCells(500.0)
    centres = cells.centres(cells.cell_of(xy))
    assert np.abs(centres - xy).max() <= 250
    np.testing.assert_array_equal(cells.cell_of(centres), cells.cell_of(xy))
    assert len(set(cells.cell_of(xy).tolist())) == len(xy)
