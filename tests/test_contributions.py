"""A cap on what one user adds: what stays of a user hangs on nobody else, and one user more moves at most his own m."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import walks

from trajkit.contributions import at_most, kept_by_cap
from trajkit.errors import ParameterError
from trajkit.trajectories import Trajectories


def of_users(sizes: list[int], seed: int = 0) -> Trajectories:
    """Walks of users 0, 1, … with so many each, in random order."""
    user = np.repeat(np.arange(len(sizes)), sizes)
    user = np.random.default_rng(seed).permutation(user)
    return replace(walks(len(user), 4, seed), user=user, user_ids=np.array([f"p{i}" for i in range(len(sizes))]))


def names(trajs: Trajectories, keep: np.ndarray) -> set[str]:
    return set(trajs.traj_ids[keep].astype(str))


SIZES = st.lists(st.integers(1, 7), min_size=2, max_size=5)


@settings(max_examples=60, deadline=None)
@given(sizes=SIZES, most=st.integers(1, 5), seed=st.integers(0, 20))
def test_who_is_added_or_removed_changes_nothing_about_the_others(sizes: list[int], most: int, seed: int) -> None:
    trajs = of_users(sizes, seed)
    gone = seed % len(sizes)
    fewer = trajs.take(trajs.user != gone)
    kept, kept_fewer = at_most(trajs, most, seed), at_most(fewer, most, seed)
    assert names(kept, kept.user != gone) == names(kept_fewer, kept_fewer.user != gone)
    assert len(kept) - len(kept_fewer) == min(sizes[gone], most)  # he adds at most m, and all of them are his
    assert np.bincount(kept.user, minlength=len(sizes)).tolist() == np.minimum(sizes, most).tolist()


@settings(max_examples=30, deadline=None)
@given(sizes=SIZES, most=st.integers(1, 5))
def test_the_counts_of_a_cap_are_what_it_leaves(sizes: list[int], most: int) -> None:
    trajs = of_users(sizes)
    told = kept_by_cap(trajs, most)
    assert told.trajectories == len(at_most(trajs, most, 3)) and told.before == sum(sizes)
    assert (told.users, told.capped_users) == (len(sizes), sum(s > most for s in sizes))
    assert told.share == told.trajectories / told.before


def test_names_and_order_of_users_decide_nothing_and_the_order_stays() -> None:
    trajs = of_users([5, 6])
    kept = at_most(trajs, 2, 4)
    swapped = at_most(
        replace(trajs, user=1 - trajs.user, user_ids=np.array(["x", "y"]), traj_ids=np.array([f"z{i}" for i in range(11)])),
        2, 4,
    )  # fmt: skip
    assert np.array_equal(kept.lonlat, swapped.lonlat)
    positions = [trajs.traj_ids.tolist().index(i) for i in kept.traj_ids]
    assert positions == sorted(positions)


def test_another_seed_keeps_others_and_the_input_stays() -> None:
    trajs = of_users([40])
    before = trajs.fingerprint()
    chosen = {tuple(at_most(trajs, 5, seed).traj_ids.tolist()) for seed in range(5)}
    assert len(chosen) == 5 and trajs.fingerprint() == before
    assert at_most(trajs.take(np.zeros(0, dtype=np.int64)), 3, 0).n_points == 0


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_bound_that_is_none_is_refused(most: object) -> None:
    with pytest.raises(ParameterError, match="trips_per_user"):
        at_most(of_users([2]), most, 0)  # type: ignore[arg-type]
