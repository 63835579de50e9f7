"""Cells and counts against NumPy, and what happens on borders and outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.grid import OUTSIDE, Grid

GRID = Grid((0.0, 0.0, 4.0, 2.0), 4, 2)


def test_cells_by_hand():
    points = np.array([[0.0, 0.0], [3.9, 0.1], [0.5, 1.5], [4.0, 2.0], [-0.1, 1.0], [1.0, 2.1], [np.nan, 1.0]])
    assert GRID.cell_of(points).tolist() == [0, 3, 4, 7, OUTSIDE, OUTSIDE, OUTSIDE]
    assert GRID.counts(points).tolist() == [1, 0, 0, 1, 1, 0, 0, 1]


@given(seed=st.integers(0, 10_000), nx=st.integers(1, 20), ny=st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_counts_agree_with_histogram2d(seed, nx, ny):
    grid = Grid((0.0, 0.0, 1.0, 1.0), nx, ny)
    xy = np.random.default_rng(seed).uniform(-0.2, 1.2, (300, 2))
    expected = np.histogram2d(xy[:, 1], xy[:, 0], bins=(ny, nx), range=((0, 1), (0, 1)))[0]
    assert grid.counts(xy).tolist() == expected.ravel().astype(int).tolist()
    inside = grid.cell_of(xy)
    assert np.bincount(inside[inside >= 0], minlength=grid.n_cells).tolist() == grid.counts(xy).tolist()


def test_a_centre_lies_in_its_own_cell():
    cells = np.arange(GRID.n_cells)
    assert GRID.cell_of(GRID.centres(cells)).tolist() == cells.tolist()
    assert GRID.centres(np.array([0, 7])) == pytest.approx(np.array([[0.5, 0.5], [3.5, 1.5]]))


def test_no_points():
    assert GRID.counts(np.empty((0, 2))).sum() == 0
    assert GRID.cell_of(np.empty((0, 2))).shape == (0,)
