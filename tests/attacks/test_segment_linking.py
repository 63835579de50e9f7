"""Parts of trips joined again: everything found where trips are cut and nothing else done, a guess on noise, rules by hand, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import META, from_metres

from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.segment_linking import Links, SegmentLinking, _near, groups_of, link_parts, segment_linking
from trajkit.datasets.city import simulate
from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.trajectories import Trajectories


def named(trajs: Trajectories) -> Trajectories:
    """Every trajectory a user of its own."""
    ids = np.array([f"x{i}" for i in range(len(trajs))])
    return replace(trajs, user=np.arange(len(trajs)), user_ids=ids, traj_ids=ids)


def cut(trajs: Trajectories, every: int) -> tuple[Trajectories, Origin]:
    """Parts of ``every`` points with names of their own, in random order."""
    first = np.concatenate([np.arange(a, b, every) for a, b in zip(trajs.starts, trajs.ends + 1, strict=True)])
    ids = np.array([f"x{i}" for i in range(len(first))])
    offsets = np.append(first, trajs.n_points)
    parts = replace(trajs, offsets=offsets, user=np.arange(len(first)), user_ids=ids, traj_ids=ids)
    order = np.random.default_rng(0).permutation(len(first))
    return parts.take(order), Origin.one_each(trajs.traj_of_point[first][order])


@pytest.fixture(scope="module")
def trips() -> Trajectories:
    return simulate(people=60, days=2, seed=2).trajectories


def linked(raw: Trajectories, released: Trajectories, origin: Origin, **settings: object) -> SegmentLinking:
    found = segment_linking(raw, released, origin, seed=0, **settings)
    assert isinstance(found, SegmentLinking)
    return found


def test_trips_that_were_only_cut_are_joined_again(trips: Trajectories) -> None:
    parts, origin = cut(trips, 12)
    found = linked(trips, parts, origin, gap_s=60.0)
    assert found.parts == len(parts) and found.people == 60 and found.suppressed == 0
    assert found.precision is not None and found.precision > 0.95 and found.recall > 0.95
    assert found.guess_precision < 0.8 * found.precision and found.guess_recall < 0.8 * found.recall
    assert found.precision_interval is not None and found.precision_interval[0] < found.precision < 1
    assert found.chain > 5 and found.by_name == 0 and 0.95 * found.correct < found.same_trip <= found.correct
    frame = found.to_frame()
    assert len(frame) == 1 and {"precision_lower", "recall_upper", "guess_precision"} <= set(frame)


def test_noise_leaves_a_guess(trips: Trajectories) -> None:
    """Where places are drawn anew, ends and beginnings that lie near each other do so by chance."""
    parts, origin = cut(trips, 12)
    xy = np.random.default_rng(3).uniform(0, 8000, (parts.n_points, 2)) + trips.xy.min(axis=0)
    noise = replace(parts, lonlat=unproject(xy, parts.meta.crs))
    found = linked(trips, noise, origin, gap_s=600.0, near_m=1000.0)
    assert found.precision is not None and abs(found.precision - found.guess_precision) < 0.1
    assert found.recall < 0.2


def test_printed_names_link_without_any_attack(trips: Trajectories) -> None:
    found = linked(trips, trips, Origin.one_each(np.arange(len(trips))), gap_s=12 * 3600.0)
    assert found.by_name == 1.0
    assert linked(trips, named(trips), Origin.one_each(np.arange(len(trips))), gap_s=12 * 3600.0).by_name == 0.0


def row(*xt: tuple[float, float, float]) -> Trajectories:
    """Parts from x to x' (metres) that begin at t seconds and take 60 each."""
    trajs = named(from_metres([[(a, 0.0), (b, 0.0)] for a, b, _ in xt]))
    t = np.concatenate([[1000 * t, 1000 * (t + 60)] for _, _, t in xt]).astype(np.int64)
    return replace(trajs, t=t)


def test_the_nearest_beginning_is_taken_each_once() -> None:
    """0 ends at 100; 1 begins there, 2 begins 50 m on, 3 begins at the place but too late; 4 ends 20 m off the begin of 1."""
    parts = row((0, 100, 0), (100, 200, 70), (150, 250, 70), (100, 0, 900), (500, 120, 0))
    links = link_parts(parts, seed=0, gap_s=300.0, near_m=100.0)
    assert sorted(zip(links.first.tolist(), links.second.tolist(), strict=True)) == [(0, 1), (4, 2)]
    assert link_parts(parts, seed=0, gap_s=900.0, near_m=10.0).second.tolist() == [1]
    assert len(link_parts(parts, seed=0, gap_s=5.0, near_m=100.0).first) == 0
    assert len(link_parts(parts, seed=0, gap_s=300.0, near_m=15.0).first) == 1
    fast = link_parts(parts, seed=0, gap_s=300.0, near_m=15.0, speed_mps=3.0)
    assert len(fast.first) == 2, "30 m more after 10 s"
    groups = groups_of(links, 5)
    assert groups[0] == groups[1] and groups[4] == groups[2] and len(np.unique(groups)) == 3


def test_a_part_that_begins_before_the_end_follows_only_if_bins_overlap() -> None:
    parts = row((0, 100, 0), (100, 200, 30))
    assert len(link_parts(parts, seed=0, gap_s=300.0).first) == 0
    assert link_parts(parts, seed=0, gap_s=300.0, overlap_s=60.0).first.tolist() == [0]


def test_shared_cells_and_bins_link_and_equal_parts_share_the_chance(trips: Trajectories) -> None:
    """Four people alike: each end is joined to one of four beginnings, so about a quarter of the links are right, whatever the seed."""
    cells, bins = SquareCells(500.0), TimeBins(60, "absolute")
    one = row(*[(0, 400, 0)] * 4, *[(400, 900, 120)] * 4)
    sig = signatures(one, cells, bins)
    assert len(np.unique(sig.cells)) > 1
    raw = replace(one, user=np.tile(np.arange(4), 2), user_ids=one.user_ids[:4])
    released = replace(one, lonlat=unproject(cells.centres(cells.cell_of(one.xy)), META.crs))
    origin, right = Origin.one_each(np.arange(8)), []
    for seed in range(60):
        found = segment_linking(raw, released, origin, seed=seed, near_m=1.0, gap_s=3600.0)
        assert isinstance(found, SegmentLinking) and found.links == 4 and found.guess_recall == 0.25
        right.append(found.correct)
    assert 0.5 < np.mean(right) < 1.5, "one of four on average"


def test_places_alone_say_less(trips: Trajectories) -> None:
    parts, origin = cut(trips, 12)
    timed = linked(trips, parts, origin, gap_s=60.0)
    space = linked(trips, replace(parts, t=None), origin, space_only=True, near_m=100.0)
    assert space.precision is not None and timed.precision is not None
    assert space.guess_precision < space.precision < timed.precision


def test_same_seed_same_links_and_inputs_stay(trips: Trajectories) -> None:
    parts, origin = cut(trips, 20)
    before = parts.fingerprint()
    assert linked(trips, parts, origin) == linked(trips, parts, origin)
    assert parts.fingerprint() == before
    assert all(isinstance(x, np.ndarray) for x in Links(*link_parts(parts, seed=3)))


def test_says_where_there_is_nothing_to_link(trips: Trajectories) -> None:
    each, nobody = Origin.one_each(np.arange(len(trips))), np.zeros(0, dtype=np.int64)
    lone = trips.take(np.unique(trips.user, return_index=True)[1])
    for raw, released, origin, reason in (
        (trips, trips, None, "generated"),
        (trips, replace(trips, t=None), each, "no times"),
        (trips, trips.take(nobody), Origin.one_each(nobody), "nothing was released"),
        (lone, lone, Origin.one_each(np.arange(len(lone))), "nobody has two"),
    ):
        found = segment_linking(raw, released, origin, seed=0)
        assert isinstance(found, NotPossible) and reason in found.reason


def test_no_link_has_no_precision(trips: Trajectories) -> None:
    parts, origin = cut(trips, 12)
    found = linked(trips, parts, origin, near_m=1e-6)
    assert found.links == 0 and found.precision is None and found.recall == 0.0
    assert found.to_frame()["precision_lower"].isna().all()


def test_refuses_what_does_not_fit(trips: Trajectories) -> None:
    each = Origin.one_each(np.arange(len(trips)))
    with pytest.raises(ParameterError, match="near_m = 0"):
        segment_linking(trips, trips, each, seed=0, near_m=0)
    with pytest.raises(ParameterError, match="one index"):
        segment_linking(trips, trips, Origin.one_each(np.arange(len(trips)) + 1), seed=0)
    twice = Origin(np.append(each.released, 0), np.append(each.source, 1))
    with pytest.raises(ParameterError, match="several sources"):
        segment_linking(trips, trips, twice, seed=0)
    with pytest.raises(ParameterError, match="set space_only"):
        link_parts(replace(trips, t=None), seed=0)


@pytest.mark.parametrize("within", [0.3, 7.3, 500.0])
def test_no_pair_within_reach_is_missed(within: float) -> None:
    random = np.random.default_rng(0)
    for corner in (0.0, -3.3, -1e6, 4.5e6):
        for steps in (1, 3):  # on the borders of squares, and exactly within reach of each other
            ends, begins = (corner + random.integers(-9, 9, (60, 2)) * within / steps for _ in range(2))
            order, low, high = _near(ends, begins, within)
            found = [np.concatenate([order[a:b] for a, b in zip(*x, strict=True)]) for x in zip(low, high, strict=True)]
            for end, near in zip(ends, found, strict=True):
                assert len(np.unique(near)) == len(near), "each once"
                assert set(np.flatnonzero(np.hypot(*(begins - end).T) <= within)) <= set(near)
