"""Linkage by nearest neighbour: distances by brute force, everybody found in raw releases, ties shared, members against people held out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from toys import META, from_metres, walks

from trajkit.attacks.knowledge import believed
from trajkit.attacks.nearest_neighbour import effective, nearest_advantage, nearest_linkage
from trajkit.attacks.origin import Origin
from trajkit.attacks.path_distance import Rule, nearest_paths, paths_of
from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.trajectories import Trajectories


def named(trajs: Trajectories, prefix: str, *, timed: bool = False) -> Trajectories:
    names = np.array([f"{prefix}{i}" for i in range(len(trajs))])
    t = 60_000 * (np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)) if timed else None
    return replace(trajs, user=np.arange(len(trajs)), user_ids=names, traj_ids=names, t=t)


def nudged(trajs: Trajectories, sigma_m: float, seed: int) -> Trajectories:
    rng = np.random.default_rng(seed)
    return replace(trajs, lonlat=unproject(trajs.xy + rng.normal(0, sigma_m, trajs.xy.shape), META.crs))


@pytest.mark.parametrize("worst", [True, False])
@pytest.mark.parametrize("timed", [True, False])
def test_distances_by_brute_force(worst: bool, timed: bool) -> None:
    released = named(walks(60, 12, seed=0), "r", timed=True)
    rng = np.random.default_rng(1)
    known = released.xy[rng.integers(0, released.n_points, (40, 3))] + rng.normal(0, 300, (40, 3, 2))
    when = rng.integers(-120_000, 900_000, (40, 3))
    speed = 7.0
    each = np.empty((40, 3, 60))
    for r in range(60):
        part = slice(released.offsets[r], released.offsets[r + 1])
        path, t = released.xy[part], released.t[part]  # type: ignore[index]
        if timed:
            at = np.stack([np.interp(when, t, path[:, d]) for d in (0, 1)], axis=-1)
            wait = speed * np.maximum(0, np.maximum(t[0] - when, when - t[-1])) / 1000
            each[:, :, r] = np.hypot(np.linalg.norm(known - at, axis=-1), wait)
        else:
            each[:, :, r] = shapely.distance(shapely.linestrings(path), shapely.points(known))
    expected = (each.max(axis=1) if worst else each.mean(axis=1)).min(axis=1)
    none = np.zeros(0, dtype=np.int64)
    nobody = np.zeros(41, dtype=np.int64), none, np.zeros(61, dtype=np.int64), none
    best, ties, success = nearest_paths(
        known, when, paths_of(released, timed=timed), Rule(worst, timed, speed), *nobody
    )
    assert best == pytest.approx(expected, abs=1e-6)
    assert (ties == 1).all() and not success.any()


@pytest.mark.parametrize("space_only", [True, False])
@pytest.mark.parametrize("distance", ["max", "mean"])
def test_finds_everybody_where_raw_data_is_released(space_only: bool, distance: str) -> None:
    raw = named(walks(80, 15, seed=2), "u", timed=True)
    order = np.random.default_rng(0).permutation(80)
    found = nearest_linkage(
        raw, raw.take(order), Origin.one_each(order), seed=0, p=(3, 4), space_only=space_only, distance=distance
    )
    assert all(at.success == 1.0 and at.median_m == pytest.approx(0, abs=1e-6) for at in found.by_p)
    assert found.baseline == 1 / 80 and found.by_p[0].success_interval[0] > 0.8


def test_times_tell_apart_what_space_does_not() -> None:
    """Ten people on one road, a quarter of an hour after each other."""
    one = [(100.0 * i, 0.0) for i in range(8)]
    raw = named(from_metres([one] * 10), "u")
    raw = replace(raw, t=np.tile(np.arange(8) * 60_000, 10) + np.repeat(np.arange(10) * 900_000, 8))
    origin = Origin.one_each(np.arange(10))
    timed = nearest_linkage(raw, raw, origin, seed=0, p=(2,))
    space = nearest_linkage(raw, raw, origin, seed=0, p=(2,), space_only=True)
    assert timed.by_p[0].success == 1.0
    assert space.by_p[0].success == pytest.approx(1 / 10) and space.by_p[0].equally_near == (10.0,) * 5


def test_equal_paths_share_the_guess_and_a_class_shares_it_among_its_people() -> None:
    raw = named(from_metres([[(0.0, 0.0), (500.0, 0.0)]] * 4 + [[(0.0, 3000.0), (500.0, 3000.0)]]), "u")
    copies = nearest_linkage(raw, raw, Origin.one_each(np.arange(5)), seed=0, k=4, p=(2,), space_only=True)
    once = nearest_linkage(
        raw,
        raw.take(np.array([0, 4])),
        Origin(np.array([0, 0, 0, 0, 1]), np.arange(5)),
        seed=0,
        p=(2,),
        space_only=True,
    )
    for found in (copies, once):
        assert found.by_p[0].success == pytest.approx((4 / 4 + 1) / 5)
    assert copies.bound == 1 / 4 and once.bound is None


@pytest.mark.parametrize("target", ["user", "trajectory"])
def test_persons_are_named_not_rows_however_many_rows_one_of_them_has(target: str) -> None:
    """A class of ten rows, nine of them one person's: 1 of 2 people is named, as often as a blind guess among two would."""
    raw = named(from_metres([[(0.0, 0.0), (500.0, 0.0)]] * 10), "u")
    raw = replace(raw, user=np.array([0] * 9 + [1]))
    found = nearest_linkage(
        raw, raw, Origin.one_each(np.arange(10)), seed=0, k=2, p=(2,), space_only=True, target=target
    )
    assert found.by_p[0].success == found.baseline == found.bound == 1 / 2
    assert found.by_p[0].equally_near == (10.0,) * 5


def test_errors_in_what_is_known_cost_success_and_suppressed_people_are_never_found() -> None:
    raw = named(walks(100, 15, seed=4), "u")
    kept = np.arange(0, 100, 2)
    released, origin = nudged(raw.take(kept), 20.0, seed=5), Origin.one_each(kept)
    sure = nearest_linkage(raw, released, origin, seed=0, p=(4,), space_only=True).by_p[0]
    assert sure.suppressed == 50 and 0.4 < sure.success <= 0.5
    known = believed(raw, seed=0, sigma_m=3000.0)
    vague = nearest_linkage(raw, released, origin, seed=0, known=known, p=(4,), space_only=True).by_p[0]
    assert vague.success < 0.3


def test_users_are_found_by_any_of_their_trajectories() -> None:
    raw = named(walks(40, 10, seed=6), "u")
    raw = replace(raw, user=np.arange(40) // 4)
    found = nearest_linkage(raw, raw, Origin.one_each(np.arange(40)), seed=0, p=(1,), space_only=True)
    assert found.by_p[0].targets == 10 and found.by_p[0].success > 0.9
    assert found.baseline == 1 / 10


def test_a_release_that_copies_its_members_gives_them_away_and_a_blind_one_does_not() -> None:
    people = walks(400, 12, seed=7)
    members, others = named(people.take(np.arange(200)), "m"), named(people.take(np.arange(200, 400)), "o")
    copied = nearest_advantage(
        members, others, nudged(members, 10.0, seed=8), seed=0, p=(1, 4), space_only=True, radius_m=50.0
    )
    at = copied.by_p[1]
    assert at.auc_interval[0] > 0.5 and at.advantage > 0.3
    assert at.member_hits_interval[0] > at.other_hits_interval[1]
    blind = nearest_advantage(members, others, named(walks(200, 12, seed=9), "s"), seed=0, p=(1, 4), space_only=True)
    for at in blind.by_p:
        assert at.auc_interval[0] < 0.5 < at.auc_interval[1] and abs(at.advantage) < 0.1
        assert at.member_hits == pytest.approx(at.other_hits, abs=0.15)


def test_repeats_of_people_do_not_make_an_interval_narrower() -> None:
    """Thirty equal trips a person say no more than one: the intervals are those of one trip each."""
    people = walks(60, 8, seed=3)
    sides = [named(people.take(np.arange(0, 60, 2)), "m"), named(people.take(np.arange(1, 60, 2)), "o")]
    often = []
    for side in sides:
        many = side.take(np.repeat(np.arange(30), 30))
        often.append(replace(many, traj_ids=np.array([f"{i}" for i in range(900)])))
    blind = named(walks(20, 8, seed=4), "s")
    settings: dict[str, Any] = {"seed": 0, "p": (8,), "space_only": True, "target": "trajectory", "targets": None}
    once, again = (nearest_advantage(a, b, blind, **settings).by_p[0] for a, b in (sides, often))
    for what in ("auc_interval", "member_hits_interval", "other_hits_interval"):
        assert getattr(again, what) == pytest.approx(getattr(once, what))
    assert effective(np.array([0, 0, 0, 1])) == 1 and effective(np.arange(7)) == 7


def test_short_records_apart_same_seed_same_answer_and_tables() -> None:
    raw = named(from_metres([[(0.0, 0.0), (500.0, 0.0)]] * 4), "u")
    found = nearest_linkage(raw, raw, Origin.one_each(np.arange(4)), seed=0, p=(1, 3), space_only=True)
    assert [at.p for at in found.by_p] == [1] and found.no_target == (3,)
    raw = named(walks(100, 6, seed=1), "u")
    a, b, other = (
        nearest_linkage(
            raw, nudged(raw, 500.0, 3), Origin.one_each(np.arange(100)), seed=s, targets=40, space_only=True
        )
        for s in (1, 1, 2)
    )
    assert a == b and a != other and a.by_p[0].targets == 40
    assert a.to_frame().notna().all().all() and len(a.to_frame()) == 4
    advantage = nearest_advantage(raw, named(walks(50, 3, seed=2), "o"), raw, seed=0, p=(1, 4), space_only=True)
    assert advantage.no_target == (4,) and advantage.to_frame().notna().all().all()


def test_the_auc_counts_pairs() -> None:
    members = named(from_metres([[(0.0, 0.0)] * 2, [(0.0, 300.0)] * 2, [(0.0, 10.0)] * 2]), "m")
    others = named(from_metres([[(0.0, 100.0)] * 2, [(0.0, 300.0)] * 2]), "o")
    line = named(from_metres([[(-50.0, 0.0), (50.0, 0.0)]]), "s")
    at = nearest_advantage(members, others, line, seed=0, p=(1,), space_only=True, radius_m=150.0).by_p[0]
    assert at.auc == pytest.approx((2 + 0.5 + 2) / 6, abs=1e-9)
    assert (at.member_hits, at.other_hits) == (pytest.approx(2 / 3), 1 / 2)
    assert at.member_median_m == pytest.approx(10.0, abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"distance": "min"}, "distance"),
        ({"exact": True}, "exact"),
        ({"radius_m": 0.0}, "radius_m"),
        ({}, "times on both sides"),
        ({"k": 5, "space_only": True, "p": (1, 1)}, "rising"),
    ],
)
def test_bad_settings_say_what_is_wrong(settings: dict[str, Any], match: str) -> None:
    raw = named(walks(5, 4, seed=0), "u")
    with pytest.raises(ParameterError, match=match):
        nearest_linkage(raw, raw, Origin.one_each(np.arange(5)), seed=0, **settings)


def test_bad_input_says_what_is_wrong() -> None:
    raw = named(walks(5, 4, seed=0), "u")
    with pytest.raises(ParameterError, match="came from nobody"):
        nearest_linkage(raw, raw, Origin.one_each(np.arange(3)), seed=0, space_only=True)
    with pytest.raises(ParameterError, match="both members and held out"):
        nearest_advantage(raw, raw, raw, seed=0, space_only=True)
    with pytest.raises(ParameterError, match="release is empty"):
        nearest_linkage(raw, raw.take(np.zeros(0, dtype=int)), Origin.one_each(np.zeros(0)), seed=0, space_only=True)
    with pytest.raises(ParameterError, match="point by point"):
        nearest_linkage(raw, raw, Origin.one_each(np.arange(5)), seed=0, known=raw.take(np.arange(2)), space_only=True)
