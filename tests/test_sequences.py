"""Sequences: slicing, merging and the contract."""

from __future__ import annotations

import numpy as np
import pytest
from toys import META, walks

from trajkit import geo
from trajkit.errors import DataContractError, ParameterError
from trajkit.grid import Grid
from trajkit.sequences import Sequences, cell_sequences

ROWS = [[0, 0, 1], [], [2, 1, 1, 2], [2]]


def test_pieces() -> None:
    s = Sequences.of(ROWS, n_symbols=3)
    assert s.to_lists() == ROWS and len(s) == 4
    assert s.merged().to_lists() == [[0, 1], [], [2, 1, 2], [2]]
    assert s.truncated(2).to_lists() == [[0, 0], [], [2, 1], [2]]
    assert s.take(np.array([3, 0])).to_lists() == [[2], [0, 0, 1]]
    assert s.take(s.lengths > 2).to_lists() == [ROWS[0], ROWS[2]]


def test_times_are_kept_and_must_not_fall() -> None:
    s = Sequences(
        np.array([0, 0, 1], dtype=np.int32), np.array([0, 3]), 2, np.array([0, 1, 1], dtype=np.int32), 2
    ).check()
    assert s.merged().to_lists() == [[0, 0, 1]] and s.truncated(1).times.tolist() == [0]  # type: ignore[union-attr]
    with pytest.raises(DataContractError, match="sequence 0: its times decrease"):
        Sequences(s.symbols, s.offsets, 2, np.array([1, 0, 1], dtype=np.int32), 2).check()


def test_refusals_name_the_sequence() -> None:
    with pytest.raises(DataContractError, match="sequence 1: symbol 5"):
        Sequences.of([[0], [5]], n_symbols=3)
    with pytest.raises(ParameterError, match="universe of 0"):
        Sequences.of([], n_symbols=0)


def test_cells_of_trajectories() -> None:
    trajs = walks(5, 8, 0)
    grid = Grid(geo.box_xy(META.box, META.crs), 4, 4)
    s = cell_sequences(trajs, grid, merge=False)
    assert np.array_equal(s.symbols, grid.cell_of(trajs.xy)) and np.array_equal(s.offsets, trajs.offsets)
    merged = cell_sequences(trajs, grid)
    assert all((np.diff(row) != 0).all() for row in merged.to_lists())
