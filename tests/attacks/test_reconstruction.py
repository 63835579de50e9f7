"""Planar Laplace noise and what joining points takes back of it: laws, the smoother against linear algebra, the attack, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.reconstruction import FEWEST, ReconstructedBy, Reconstruction, reconstruction
from trajkit.attacks.smoothing import smoothed
from trajkit.attacks.street_countermeasures import as_cells
from trajkit.datasets.city import City, simulate
from trajkit.errors import ParameterError
from trajkit.privacy.planar_laplace import PlanarLaplace
from trajkit.trajectories import Trajectories


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=40, days=2, seed=6)


def attacked(
    city: City, released: Trajectories, **settings: object
) -> tuple[Reconstruction, dict[str, ReconstructedBy]]:
    origin = Origin.one_each(np.arange(len(released)))
    found = reconstruction(city.trajectories, released, origin, seed=0, **settings)  # type: ignore[arg-type]
    assert isinstance(found, Reconstruction)
    return found, {way.way: way for way in found.by_way}


# ---- the noise --------------------------------------------------------------------------------------------------


def test_noise_has_the_planar_law() -> None:
    mechanism = PlanarLaplace(0.02)
    noise = mechanism.noise(40_000, np.random.default_rng(0))
    r, angle = np.hypot(*noise.T), np.arctan2(*noise.T)
    assert kstest(r, gamma(2.0, scale=50.0).cdf).pvalue > 0.001
    assert kstest(angle, "uniform", args=(-np.pi, 2 * np.pi)).pvalue > 0.001
    assert abs(np.corrcoef(r, angle)[0, 1]) < 0.02
    assert r.mean() == pytest.approx(mechanism.mean_m, rel=0.02) and mechanism.mean_m == 100.0
    assert noise.var(axis=0) == pytest.approx([mechanism.variance_m2] * 2, rel=0.05)


def test_the_promise_per_point_and_what_a_trajectory_makes_of_it() -> None:
    """Log-density differs by epsilon times the difference of distances: at most epsilon d, reached behind either place; sums over points."""
    mechanism = PlanarLaplace.within(np.log(4), 200.0)
    a, b = np.zeros(2), np.array([200.0, 0.0])
    z = np.random.default_rng(1).normal(0, 1000, (10_000, 2))
    ratio = mechanism.epsilon_per_m * (np.hypot(*(z - b).T) - np.hypot(*(z - a).T))
    assert np.abs(ratio).max() <= mechanism.log_ratio(200.0) + 1e-9
    behind = mechanism.epsilon_per_m * (np.hypot(*(np.array([-500.0, 0.0]) - b)) - 500.0)
    assert behind == pytest.approx(np.log(4)) == pytest.approx(mechanism.log_ratio(200.0))
    assert mechanism.log_ratio(200.0, points=30) == pytest.approx(30 * np.log(4))


def test_a_release_promises_nothing_for_trajectories(city: City) -> None:
    mechanism = PlanarLaplace(0.02)
    guarantee = mechanism.guarantee(city.trajectories)
    assert not guarantee.holds and guarantee.unit == "point" and "m times" in str(guarantee.reason)
    out = mechanism.perturbed(city.trajectories, seed=1)
    assert out.violations() == [] and np.array_equal(out.t, city.trajectories.t)  # type: ignore[arg-type]
    assert np.array_equal(out.lonlat, mechanism.perturbed(city.trajectories, seed=1).lonlat)
    assert not np.array_equal(out.lonlat, mechanism.perturbed(city.trajectories, seed=2).lonlat)
    assert np.hypot(*(out.xy - city.trajectories.xy).T).mean() == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf, np.nan])
def test_refuses_no_noise(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon_per_m"):
        PlanarLaplace(epsilon)


# ---- the smoother -----------------------------------------------------------------------------------------------


def test_smoother_is_the_best_linear_estimate() -> None:
    """The same Gaussian model written out as one covariance of all places: its conditional mean, for trajectories of 1 to 6 points."""
    rng = np.random.default_rng(2)
    lengths = np.array([6, 1, 3, 2])
    offsets = np.append(0, np.cumsum(lengths))
    xy, q, noise, speed = rng.normal(0, 300, (offsets[-1], 2)), 0.7, 40.0**2, 9.0
    seconds = np.concatenate([np.cumsum(rng.uniform(5, 60, n)) for n in lengths])
    got = smoothed(xy, seconds, offsets, variance_m2=noise, acceleration=q, speed_mps=speed)
    for a, b in pairwise(offsets):
        t = seconds[a:b] - seconds[a]
        s, u = np.minimum(t[:, None], t[None]), np.maximum(t[:, None], t[None])
        wide = 1e12  # nothing is known of the first place but its own printed point
        walk = q * (s**2 * (3 * u - s)) / 6
        prior = walk + speed**2 * np.outer(t, t) + wide
        expected = prior @ np.linalg.solve(prior + noise * np.eye(b - a), xy[a:b])
        assert got[a:b] == pytest.approx(expected, abs=0.5)


def test_smoothing_a_straight_way_takes_most_noise_off() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(100) * 15.0
    true = np.column_stack([8.0 * t, 3.0 * t])
    noisy = true + rng.normal(0, 100, true.shape)
    args = (t, np.array([0, 100]))
    got = smoothed(noisy, *args, variance_m2=1e4, acceleration=1e-4, speed_mps=10.0)
    assert np.hypot(*(got - true).T).mean() < 0.35 * np.hypot(*(noisy - true).T).mean()


# ---- the attack -------------------------------------------------------------------------------------------------


def test_takes_back_much_of_the_noise_and_more_with_roads(city: City) -> None:
    mechanism = PlanarLaplace(0.02)
    released = mechanism.perturbed(city.trajectories, seed=3)
    found, ways = attacked(city, released, noise_m=mechanism.variance_m2**0.5, network=city.roads)
    raw, smooth, roads = ways["as released"], ways["smoothed"], ways["on roads"]
    assert raw.mean_m == pytest.approx(mechanism.mean_m, rel=0.03) and raw.nearer == 0
    assert smooth.mean_m < 0.7 * raw.mean_m and roads.mean_m < 0.9 * smooth.mean_m
    assert smooth.nearer > 0.95 and smooth.found > raw.found + 0.2
    for way in ways.values():
        assert way.mean_m_interval[0] < way.mean_m < way.mean_m_interval[1] < found.guess_m
        assert way.found_interval[0] <= way.found <= way.found_interval[1]
    assert found.targets == len(city.trajectories) and found.suppressed == 0
    assert found.to_frame()["way"].tolist() == ["as released", "smoothed", "on roads"]


def test_of_few_people_the_mean_error_of_others_is_not_known(city: City) -> None:
    mechanism = PlanarLaplace(0.02)
    for people, told in ((1, False), (FEWEST - 1, False), (FEWEST, True)):
        some = city.trajectories.take(city.trajectories.user < people)
        released = mechanism.perturbed(some, seed=3)
        found = reconstruction(
            some, released, Origin.one_each(np.arange(len(some))), seed=0, noise_m=mechanism.variance_m2**0.5
        )
        assert isinstance(found, Reconstruction)
        for way in found.by_way:
            assert (way.mean_m_interval != (0, np.inf)) == told and way.mean_m_interval[
                0
            ] < way.mean_m < way.mean_m_interval[1]


def test_nothing_to_take_back_where_nothing_was_moved(city: City) -> None:
    _, ways = attacked(city, city.trajectories, noise_m=1.0)
    assert ways["as released"].mean_m == 0 and ways["as released"].found == 1.0
    assert ways["smoothed"].mean_m < 5


def test_places_drawn_anew_do_not_come_back(city: City) -> None:
    trajs = city.trajectories
    anew = replace(trajs, lonlat=trajs.lonlat[np.random.default_rng(0).permutation(trajs.n_points)])
    found, ways = attacked(city, anew, noise_m=3000.0)
    assert ways["smoothed"].found < 0.03 and ways["smoothed"].mean_m > 0.8 * found.guess_m


def test_equal_steps_do_for_times(city: City) -> None:
    mechanism = PlanarLaplace(0.02)
    released = mechanism.perturbed(city.trajectories, seed=3)
    known = {"noise_m": mechanism.variance_m2**0.5}
    _, timed = attacked(city, released, **known)
    _, steps = attacked(city, replace(released, t=None), interval_s=15.0, **known)
    assert steps["smoothed"].mean_m == pytest.approx(timed["smoothed"].mean_m)


def test_says_where_there_is_nothing_to_reconstruct(city: City) -> None:
    trajs, nobody = city.trajectories, np.zeros(0, dtype=np.int64)
    each = Origin.one_each(np.arange(len(trajs)))
    for released, origin, reason in (
        (trajs, None, "generated"),
        (trajs.take(nobody), Origin.one_each(nobody), "nothing was released"),
        (as_cells(trajs, 500.0), each, "one for one"),
        (replace(trajs, t=None), each, "no times"),
    ):
        found = reconstruction(trajs, released, origin, seed=0, noise_m=10.0)
        assert isinstance(found, NotPossible) and reason in found.reason


def test_refuses_what_does_not_fit_and_repeats_itself(city: City) -> None:
    trajs = city.trajectories
    each = Origin.one_each(np.arange(len(trajs)))
    with pytest.raises(ParameterError, match="noise_m is missing"):
        reconstruction(trajs, trajs, each, seed=0)
    with pytest.raises(ParameterError, match="radius_m = -1"):
        reconstruction(trajs, trajs, each, seed=0, noise_m=10.0, radius_m=-1)
    with pytest.raises(ParameterError, match="read the roads in its CRS"):
        reconstruction(trajs, trajs.with_meta(crs="EPSG:32629"), each, seed=0, noise_m=10.0, network=city.roads)
    before = trajs.fingerprint()
    one, two = (reconstruction(trajs, trajs, each, seed=5, noise_m=10.0, targets=30) for _ in range(2))
    assert one == two and isinstance(one, Reconstruction) and one.targets == 30 and trajs.fingerprint() == before
