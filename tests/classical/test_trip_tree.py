"""Trips as sequences of a noisy tree: coding and decoding, fanouts, what one trip can change, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.classical.looks import Looks
from trajkit.classical.prefix_tree import build_tree
from trajkit.classical.tree_noise import LevelNoise
from trajkit.classical.trip_tree import TripGrid, count_trips
from trajkit.errors import DataContractError, ParameterError
from trajkit.privacy.mechanisms import Geometric
from trajkit.sequences import Sequences

BOUNDS = (0.0, 0.0, 800.0, 400.0)
RNG = np.random.default_rng


def places(n: int, seed: int) -> np.ndarray:
    return RNG(seed).random((n, 2)) * [800.0, 400.0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(0, 3), st.sampled_from([1, 4]), st.integers(0, 10**6))
def test_a_whole_sequence_names_the_finest_cells_and_the_band(
    coarse: int, halvings: int, bands: int, seed: int
) -> None:
    grid = TripGrid(BOUNDS, coarse, halvings, bands)
    starts, ends, hours = places(30, seed), places(30, seed + 1), RNG(seed).random(30) * 24
    sequences = grid.sequences(starts, ends, hours).check()
    assert (sequences.lengths == len(grid.fanouts)).all()
    assert (sequences.symbols.reshape(30, -1).max(axis=0) < grid.fanouts).all()
    rectangles, band = grid.decoded(sequences)
    for i, xy in enumerate((starts, ends)):
        low, high = rectangles[:, i, :2], rectangles[:, i, 2:]
        assert (low <= xy + 1e-9).all() and (xy <= high + 1e-9).all()
        assert high - low == pytest.approx(np.broadcast_to([800 / grid.side, 400 / grid.side], (30, 2)))
    assert (band == ((hours / 24 * bands).astype(int) if bands > 1 else -1)).all()


def test_a_beginning_names_larger_cells_around_the_finest() -> None:
    grid = TripGrid(BOUNDS, 2, 3, 1)
    sequences = grid.sequences(places(20, 0), places(20, 1), None)
    whole, _ = grid.decoded(sequences)
    for depth in (1, 2, 3):
        rectangles, band = grid.decoded(sequences.truncated(depth))
        assert (rectangles[..., :2] <= whole[..., :2] + 1e-9).all() and (
            rectangles[..., 2:] >= whole[..., 2:] - 1e-9
        ).all()
        assert (
            rectangles[0, 0, 2] - rectangles[0, 0, 0] == pytest.approx(800 / (2 << (depth - 1))) and (band == -1).all()
        )


def test_points_beyond_the_box_belong_to_the_nearest_cell() -> None:
    grid = TripGrid(BOUNDS, 2, 1, 1)
    assert grid.places(np.array([[-5.0, 500.0], [900.0, -1.0]])).tolist() == [[0, 3], [3, 0]]


def test_with_hardly_any_noise_the_tree_holds_every_trip() -> None:
    grid, n = TripGrid(BOUNDS, 2, 2, 4), 200
    looks = Looks(1e5, seed=0, stream="test")
    found = count_trips(grid, places(n, 0), places(n, 1), RNG(2).random(n) * 24, looks, epsilon=looks.budget)
    assert found.total == pytest.approx(n) and looks.left == 0 and looks.taken[0].times == 4
    rectangles, band = found.draw(500, RNG(3))
    assert rectangles.shape == (500, 2, 4) and set(band) <= set(range(4))


def test_a_tree_of_nothing_draws_over_the_whole_box() -> None:
    looks = Looks(0.01, seed=0, stream="test")
    found = count_trips(TripGrid(BOUNDS, 4, 2), places(3, 0), places(3, 1), None, looks, epsilon=looks.budget)
    if found.total == 0:
        rectangles, _ = found.draw(2, RNG(0))
        assert rectangles[0, 0].tolist() == list(BOUNDS)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_one_trip_changes_one_count_a_level_by_one(n: int, seed: int) -> None:
    grid = TripGrid(BOUNDS, 2, 1, 4)
    starts, ends, hours = places(n, seed), places(n, seed + 1), RNG(seed).random(n) * 24

    def counts(keep: np.ndarray) -> list[dict[int, int]]:
        seen: list[dict[int, int]] = []

        class All:
            threshold = 0.5

            def noisy(self, level: int, keys: np.ndarray, true: np.ndarray) -> np.ndarray:
                seen.append(dict(zip(keys.tolist(), true.tolist(), strict=True)))
                return true.astype(float)

            def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                empty = np.setdiff1d(np.arange(universe), visited)
                return empty, np.ones(len(empty))

        sequences = grid.sequences(starts[keep], ends[keep], hours[keep])
        build_tree(sequences, height=3, noise=All(), fanouts=grid.fanouts)
        return seen

    everybody = np.arange(n)
    for a, b in zip(counts(everybody), counts(everybody[1:]), strict=True):
        assert sum(abs(a.get(k, 0) - b.get(k, 0)) for k in {*a, *b}) == 1


def test_fanouts_and_noises_are_one_a_level() -> None:
    noise = LevelNoise(Geometric(1.0, 1, exact=True), 1.0, RNG(0))
    sequences = Sequences.of([[3, 1], [0, 0]], n_symbols=4)
    tree, _ = build_tree(sequences, height=2, noise=[noise, noise], fanouts=[4, 2])
    assert tree.height == 2 and (tree.symbol[tree.depth == 2] < 2).all()
    with pytest.raises(ParameterError, match="one a level"):
        build_tree(sequences, height=2, noise=[noise], fanouts=[4, 2])
    with pytest.raises(DataContractError, match="level 1 has symbols beyond its fanout 2"):
        build_tree(sequences, height=2, noise=noise, fanouts=[2, 2])
