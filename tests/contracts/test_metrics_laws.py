"""Laws that every registered metric obeys."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from toys import META, ORIGIN, from_metres, walks

from trajkit.methods import make_method
from trajkit.metrics import METRICS, Metric, MetricSettings, evaluate
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

SETTINGS = MetricSettings(n_points_swd=2_000, jsd_cells=16, te_cells=4, hotspots=20, n_pairs=100)
EVERY = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
N, LENGTH = 150, 20


@lru_cache(maxsize=1)
def roads() -> RoadNetwork:
    """A grid of streets 500 m apart over the middle of the box."""
    at = np.arange(-6000.0, 6001.0, 500.0)
    far = np.full_like(at, 6000.0)
    lines = np.concatenate(
        [np.stack([np.column_stack([at, -far]), np.column_stack([at, far])], axis=1),
         np.stack([np.column_stack([-far, at]), np.column_stack([far, at])], axis=1)]
    )  # fmt: skip
    xy = lines.reshape(-1, 2) + ORIGIN
    m = len(lines)
    return RoadNetwork(
        node_xy=xy,
        node_ids=np.arange(2 * m),
        edge_nodes=np.arange(2 * m, dtype=np.int64).reshape(m, 2),
        length_m=np.full(m, 12_000.0),
        speed_mps=np.full(m, 10.0),
        road_class=np.full(m, "unclassified"),
        oneway=np.zeros(m, dtype=bool),
        edge_xy=xy,
        edge_offsets=np.arange(m + 1, dtype=np.int64) * 2,
        crs=META.crs,
    )


def value(metric: Metric, real: Trajectories, released: Trajectories, *, seed: int = 0) -> float:
    needs = roads() if metric.level == "road" else None
    (result,) = evaluate(real, released, settings=SETTINGS, seed=seed, roads=needs, names=[metric.name])
    return result.value


def noisy(trajs: Trajectories, metres: float) -> Trajectories:
    """Independent noise on every point, the same draw for every size."""
    noise = np.random.default_rng(9).normal(size=trajs.lonlat.shape) * metres / [83_900.0, 111_100.0]
    return replace(trajs, lonlat=trajs.meta.box.clip(trajs.lonlat + noise))


@EVERY
def test_equal_sets_score_the_best_value(metric: Metric) -> None:
    a = walks(N, LENGTH, 0)
    if metric.level == "road":
        assert value(metric, walks(N, LENGTH, 1), a) == value(metric, a, a)  # only the released set counts
    else:
        assert value(metric, a, a) == 0.0


@EVERY
def test_symmetric_where_declared(metric: Metric) -> None:
    a, b = walks(N, LENGTH, 0), walks(N, LENGTH, 1)
    forth, back = value(metric, a, b), value(metric, b, a)
    if metric.symmetric:
        assert forth == pytest.approx(back, rel=1e-9)
    else:
        assert forth != back


@EVERY
def test_grows_with_noise(metric: Metric) -> None:
    """0, 150, 600 and 2,400 m of noise; road shares level off once nothing is left near a road but by chance."""
    a = walks(N, LENGTH, 0)
    if metric.level == "road":  # start from trajectories that follow the streets
        xy = (a.xy - ORIGIN).reshape(N, LENGTH, 2)
        on = np.stack([np.linspace(-4000, 4000, LENGTH) + xy[:, :1, 0] * 0, np.zeros((N, LENGTH))], axis=-1)
        on[:, :, 1] += 500.0 * np.round(xy[:, :1, 1] / 500.0)
        a = from_metres(on.tolist())
        sizes = (0.0, 10.0, 30.0, 120.0)
    else:
        sizes = (0.0, 150.0, 600.0, 2400.0)
    values = [value(metric, a, noisy(a, metres)) for metres in sizes]
    flat = metric.name == "HSD"  # a distance between two cells moves in steps
    assert all(x < y or (flat and x == y) for x, y in pairwise(values)) and values[0] < values[-1], values


@EVERY
def test_order_of_trajectories_does_not_matter(metric: Metric) -> None:
    a, b = walks(N, LENGTH, 0), walks(N, LENGTH, 1)
    turn = np.random.default_rng(0).permutation(N)
    assert value(metric, a.take(turn), b.take(turn[::-1])) == value(metric, a, b)


@EVERY
def test_input_is_left_as_it_is(metric: Metric) -> None:
    a, b = walks(N, LENGTH, 0), walks(N, LENGTH, 1)
    before = a.fingerprint(), b.fingerprint()
    value(metric, a, b)
    assert (a.fingerprint(), b.fingerprint()) == before


@EVERY
def test_same_seed_same_value(metric: Metric) -> None:
    a, b = walks(N, LENGTH, 0), walks(N, LENGTH, 1)
    assert value(metric, a, b, seed=4) == value(metric, a, b, seed=4)


@EVERY
def test_the_number_of_threads_does_not_matter(metric: Metric) -> None:
    a, b = walks(400, 50, 0), walks(300, 50, 1)
    settings = SETTINGS.model_copy(update={"n_points_swd": 50_000})
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            needs = roads() if metric.level == "road" else None
            found += evaluate(a, b, settings=settings, seed=0, roads=needs, names=[metric.name])
    assert found[0] == found[1]


@EVERY
def test_the_ceiling_is_worse_than_the_floor(metric: Metric) -> None:
    """Releases through the same path: other real trajectories score better than the method that knows nothing."""
    real, train = walks(N, LENGTH, 0), walks(N, LENGTH, 1)
    floor, ceiling = (
        value(metric, real, make_method(name, length=LENGTH).fit(train, seed=0).release(N, seed=0).trajectories)
        for name in ("real", metric.ceiling)
    )
    if metric.level == "road":  # walks do not follow the streets, so only the range is known
        assert 0.0 <= floor <= 1.0 and 0.0 <= ceiling <= 1.0
    else:
        assert ceiling > floor
