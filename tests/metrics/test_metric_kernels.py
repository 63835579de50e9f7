"""Every compiled distance against an independent library on random input, and against answers worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import similaritymeasures
from dtaidistance import dtw_ndim
from scipy.spatial.distance import directed_hausdorff, pdist

from trajkit.errors import DataContractError
from trajkit.geo import haversine_m
from trajkit.grid import Grid
from trajkit.metrics import kernels

SHAPES = [(1, 1, 1), (3, 7, 7), (16, 5, 9), (17, 12, 4), (40, 30, 30)]


def random_pairs(n: int, length: int, other: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n * 1000 + length)
    return rng.normal(size=(n, length, 2)).cumsum(axis=1) * 100, rng.normal(size=(n, other, 2)).cumsum(axis=1) * 100


@pytest.mark.parametrize("shape", SHAPES)
def test_dtw_is_dtaidistance_with_euclidean_inner_distance(shape: tuple[int, int, int]) -> None:
    a, b = random_pairs(*shape)
    expected = [dtw_ndim.distance_fast(x, y, inner_dist="euclidean") for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(kernels.dtw(a, b), expected, rtol=1e-12)


def test_dtw_is_similaritymeasures_sum_of_distances() -> None:
    a, b = random_pairs(5, 12, 9)
    expected = [similaritymeasures.dtw(x, y)[0] for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(kernels.dtw(a, b), expected, rtol=1e-12)


def test_dtw_by_hand_sums_distances_not_squares() -> None:
    # (0,0),(3,0) against (0,4),(3,4): two steps of 4 m; squares would give 32, their root 5.66
    assert kernels.dtw(np.array([[[0.0, 0], [3, 0]]]), np.array([[[0.0, 4], [3, 4]]]))[0] == 8.0
    # a point that waits costs nothing: 0,0,0,5 against 0,5,5,5 on a line
    a = np.array([[[0.0, 0], [0, 0], [0, 0], [5, 0]]])
    b = np.array([[[0.0, 0], [5, 0], [5, 0], [5, 0]]])
    assert kernels.dtw(a, b)[0] == 0.0


@pytest.mark.parametrize("shape", SHAPES)
def test_hausdorff_is_the_larger_of_scipys_two(shape: tuple[int, int, int]) -> None:
    a, b = random_pairs(*shape)
    expected = [max(directed_hausdorff(x, y)[0], directed_hausdorff(y, x)[0]) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(kernels.hausdorff(a, b), expected, rtol=1e-12)


def test_hausdorff_by_hand_is_symmetric() -> None:
    one, two = np.array([[[0.0, 0], [0, 0]]]), np.array([[[0.0, 0], [3, 4]]])
    assert kernels.hausdorff(one, two)[0] == kernels.hausdorff(two, one)[0] == 5.0


def test_no_pairs_give_no_distances() -> None:
    assert kernels.dtw(np.zeros((0, 3, 2)), np.zeros((0, 3, 2))).shape == (0,)


@pytest.mark.parametrize("kernel", [kernels.dtw, kernels.hausdorff])
@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 0, 2), (3, 3, 3), (3, 2)])
def test_pairs_of_wrong_shape_are_refused(kernel, shape) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataContractError, match="pairs need shapes"):
        kernel(np.zeros((3, 3, 2)), np.zeros(shape))


@pytest.mark.parametrize("spread_deg", [1e-6, 0.1, 4.0, 60.0, 180.0])
def test_haversine_matrix_is_the_mean_haversine_distance(spread_deg: float) -> None:
    """From a few centimetres (rounding of unit vectors) past the limit of the series to the antipodes."""
    rng = np.random.default_rng(3)
    a = np.array([10.0, 0.0]) + rng.uniform(-1, 1, (4, 6, 2)) * spread_deg * [1, 0.5]
    b = np.array([10.0, 0.0]) + rng.uniform(-1, 1, (300, 6, 2)) * spread_deg * [1, 0.5]
    expected = haversine_m(a[:, None], b[None]).mean(axis=2)
    np.testing.assert_allclose(kernels.haversine_matrix(a, b), expected, rtol=1e-11, atol=2e-8)


def test_haversine_matrix_just_inside_and_outside_the_series() -> None:
    for degrees in (11.4, 11.5):  # 2 asin(0.1) is 11.48 degrees
        a, b = np.array([[[0.0, 0.0]]]), np.array([[[degrees, 0.0]]])
        assert kernels.haversine_matrix(a, b)[0, 0] == pytest.approx(haversine_m(a, b)[0, 0], rel=1e-13)


def test_haversine_matrix_of_equal_points_is_exactly_zero_and_half_way_round_is_pi() -> None:
    a, b = np.array([[[0.0, 0.0]]]), np.array([[[180.0, 0.0]]])
    assert kernels.haversine_matrix(a, a)[0, 0] == 0.0
    assert kernels.haversine_matrix(a, b)[0, 0] == pytest.approx(np.pi * 6_371_008.8, rel=1e-12)


@pytest.mark.parametrize("b", [np.zeros((2, 4, 2)), np.zeros((2, 3, 3)), np.zeros((2, 3))])
def test_haversine_matrix_refuses_unequal_lengths(b: np.ndarray) -> None:
    with pytest.raises(DataContractError, match="same length"):
        kernels.haversine_matrix(np.zeros((2, 3, 2)), b)


def ragged() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 3, 10, 40])
    return np.array([-8.6, 41.1]) + rng.normal(0, 0.02, (40, 2)), offsets


def test_path_lengths_are_sums_of_haversine_steps() -> None:
    lonlat, offsets = ragged()
    expected = [haversine_m(lonlat[a : b - 1], lonlat[a + 1 : b]).sum() for a, b in pairwise(offsets)]
    np.testing.assert_allclose(kernels.path_lengths(lonlat, offsets), expected, rtol=1e-12)
    assert kernels.path_lengths(lonlat, offsets)[0] == 0.0


def test_diameters_are_the_largest_pairwise_distances() -> None:
    lonlat, offsets = ragged()
    xy = lonlat * 1e5
    expected = [pdist(xy[a:b]).max(initial=0.0) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(kernels.diameters(xy, offsets), expected, rtol=1e-12)


def test_diameter_by_hand_is_not_the_distance_of_the_ends() -> None:
    xy = np.array([[0.0, 0], [3, 4], [1, 0]])
    assert kernels.diameters(xy, np.array([0, 3]))[0] == 5.0


def test_rectangles_are_closed_below_and_open_above() -> None:
    xy = np.array([[0.0, 0], [1, 1], [2, 2], [1, 2]])
    rectangles = np.array([[0.0, 0, 2, 2], [1.0, 1, 3, 3], [5.0, 5, 6, 6]])
    assert kernels.counts_in_rectangles(xy, rectangles).tolist() == [2, 3, 0]


def test_grid_counts_agree_with_numpys_histogram() -> None:
    rng = np.random.default_rng(4)
    xy = rng.normal(0.5, 0.4, (10_000, 2))
    expected, _, _ = np.histogram2d(xy[:, 1], xy[:, 0], bins=64, range=[[0, 1], [0, 1]])
    np.testing.assert_array_equal(Grid((0.0, 0.0, 1.0, 1.0), 64, 64).counts(xy), expected.ravel())
