"""Point-level metrics against scipy and POT on random input, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import ot
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance
from toys import META, ORIGIN, from_metres, walks

from trajkit.geo import box_xy, unproject
from trajkit.metrics import MetricSettings, evaluate, point
from trajkit.metrics.comparison import Comparison
from trajkit.trajectories import Trajectories

SETTINGS = MetricSettings()


def compare(real: Trajectories, released: Trajectories, **settings: Any) -> Comparison:
    return Comparison.of(real, released, settings=MetricSettings(**settings), seed=0)


def cell_centres(cells: list[tuple[int, int]], n: int) -> Trajectories:
    """One-point trajectories at the centres of (column, row) cells of an n x n grid over the box."""
    x0, y0, x1, y1 = box_xy(META.box, META.crs)
    xy = np.array([(x0 + (c + 0.5) * (x1 - x0) / n, y0 + (r + 0.5) * (y1 - y0) / n) for c, r in cells])
    return Trajectories.from_fixed(unproject(xy, META.crs)[:, None], meta=META)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (6, 4), (100, 100), (97, 40)])
def test_wasserstein_1d_is_scipys(n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    u, v = rng.normal(size=n), rng.gamma(2, size=m)
    assert point.wasserstein_1d(u, v) == pytest.approx(wasserstein_distance(u, v), rel=1e-12)
    assert point.wasserstein_1d(u, v, p=2) == pytest.approx(float(ot.wasserstein_1d(u, v, p=2)), rel=1e-12)


def test_wasserstein_1d_by_hand() -> None:
    # halves of the mass of {0} move 1 and 3: mean 2, mean of squares 5
    assert point.wasserstein_1d(np.array([0.0]), np.array([3.0, 1.0])) == 2.0
    assert point.wasserstein_1d(np.array([0.0]), np.array([3.0, 1.0]), p=2) == 5.0


@pytest.mark.parametrize(("n", "m"), [(500, 500), (500, 333)])
def test_sliced_wasserstein_is_pots_with_the_same_projections(n: int, m: int) -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random((n, 2)) + 4e6, rng.random((m, 2)) ** 1.3 + 4e6
    angle = rng.uniform(0, np.pi, 20)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    expected = ot.sliced_wasserstein_distance(a, b, projections=directions.T, p=2)
    assert point.sliced_wasserstein(a, b, directions) == pytest.approx(expected, rel=1e-5)


def test_sliced_wasserstein_by_hand() -> None:
    # a shift by (3, 4): 3 along x, 4 along y, root mean square of the two is 3.5355
    a = np.random.default_rng(0).random((50, 2))
    assert point.sliced_wasserstein(a, a + np.array([3, 4]), np.eye(2)) == pytest.approx(
        np.sqrt((9 + 16) / 2), rel=1e-6
    )


def test_swd_of_a_shift_is_the_shift_in_box_sides() -> None:
    """Over equally spaced directions the mean of (shift . direction)² is half the squared shift."""
    x0, y0, x1, y1 = box_xy(META.box, META.crs)
    shift = np.array([0.03 * (x1 - x0), 0.04 * (y1 - y0)])
    path = [[(0.0, 0.0), (100.0, 50.0), (200.0, -70.0)]]
    moved = [[tuple(np.array(p) + shift) for p in path[0]]]
    assert point.swd(compare(from_metres(path), from_metres(moved))) == pytest.approx(0.05 / np.sqrt(2), rel=1e-5)


def test_jensen_shannon_is_scipys_squared() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 200), rng.integers(0, 3, 200)
    assert point.jensen_shannon(a, b) == pytest.approx(jensenshannon(a, b, base=2) ** 2, rel=1e-12)


def test_jensen_shannon_by_hand() -> None:
    # p = (1, 0), q = (1/2, 1/2), middle (3/4, 1/4): (log2(4/3) + log2(2/3)/2 + log2(2)/2) / 2 = 0.311278
    assert point.jensen_shannon(np.array([7, 0]), np.array([2, 2])) == pytest.approx(0.3112781245, rel=1e-9)
    assert point.jensen_shannon(np.array([1, 0]), np.array([0, 4])) == 1.0
    assert point.jensen_shannon(np.array([1, 3]), np.array([2, 6])) == 0.0


def test_jsd_counts_the_outside_as_a_cell() -> None:
    inside = from_metres([[(0.0, 0.0), (0.0, 0.0)]])
    half_out = from_metres([[(0.0, 0.0), (0.0, 50_000.0)]])
    c = compare(inside, half_out)
    assert c.outside == (0, 1)
    assert point.jsd(c) == pytest.approx(0.3112781245, rel=1e-9)


def test_densest_leaves_out_empty_cells_and_breaks_ties_by_id() -> None:
    assert point.densest(np.array([0, 2, 5, 2, 0]), 2).tolist() == [2, 1]
    assert point.densest(np.array([0, 2, 5, 2, 0]), 5).tolist() == [2, 1, 3]


def test_hotspots_by_hand() -> None:
    """Two of three cells agree: Dice 2/3; the odd ones are 3 and 2 columns from the nearest other hotspot."""
    real = cell_centres([(10, 10), (11, 10), (14, 10)], 64)
    released = cell_centres([(10, 10), (11, 10), (12, 10)], 64)
    c = compare(real, released)
    width = (c.bounds[2] - c.bounds[0]) / 64
    assert point.hs(c) == pytest.approx(1 / 3)
    assert point.hsd(c) == pytest.approx(2 * width, rel=1e-9)


def test_queries_have_a_ninth_of_the_box_and_lie_in_it() -> None:
    c = compare(walks(2, 5, 0), walks(2, 5, 1))
    q, (x0, y0, x1, y1) = point.queries(c), c.bounds
    assert q.shape == (200, 4)
    np.testing.assert_allclose((q[:, 2] - q[:, 0]) * (q[:, 3] - q[:, 1]), (x1 - x0) * (y1 - y0) / 9, rtol=1e-9)
    assert (q[:, :2] >= [x0, y0]).all() and (q[:, 2:] <= np.array([x1, y1]) * (1 + 1e-12)).all()
    assert np.ptp(q[:, 0]) > 0.6 * (x1 - x0) / 1.5


def test_range_queries_by_hand() -> None:
    """One query that is the whole box: all real points in it, half of the released, so the error is 1/2."""
    inside = from_metres([[(0.0, 0.0), (10.0, 0.0)]])
    half_out = from_metres([[(0.0, 0.0), (0.0, 50_000.0)]])
    assert point.rq(compare(inside, half_out, rq_side=1.0, rq_queries=1)) == pytest.approx(0.5)
    # the other way round the error is relative to a half
    assert point.rq(compare(half_out, inside, rq_side=1.0, rq_queries=1)) == pytest.approx(1.0)


def test_the_sanity_bound_keeps_empty_queries_finite() -> None:
    """Real points all in one place, released all in another: |0 - 1| / 0.01 = 100 in queries of the other, 1 in queries of the one."""
    c = compare(cell_centres([(10, 10)] * 4, 64), cell_centres([(50, 50)] * 4, 64), rq_side=0.1, rq_queries=2000)
    q = point.queries(c)
    far = ((q[:, 0] <= c.released.xy[0, 0]) & (c.released.xy[0, 0] < q[:, 2])) & (
        (q[:, 1] <= c.released.xy[0, 1]) & (c.released.xy[0, 1] < q[:, 3])
    )
    near = ((q[:, 0] <= c.real.xy[0, 0]) & (c.real.xy[0, 0] < q[:, 2])) & (
        (q[:, 1] <= c.real.xy[0, 1]) & (c.real.xy[0, 1] < q[:, 3])
    )
    assert far.any() and near.any()
    assert point.rq(c) == pytest.approx((100 * far.sum() + near.sum()) / 2000)


def test_swd_draws_the_same_points_of_equal_sets() -> None:
    a = walks(30, 20, 0)
    (result,) = evaluate(a, a, settings=MetricSettings(n_points_swd=100), seed=5, names=["SWD"])
    assert result.value == 0.0


def test_origin_is_in_the_box() -> None:
    assert META.box.contains(unproject(ORIGIN[None], META.crs)).all()
