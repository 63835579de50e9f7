"""``trips_per_user`` makes the user the unit of every classical method: what a whole user moves is what the noise is made for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from toys import walks

from trajkit.classical import prefix_method, privtrace
from trajkit.classical.evolution_votes import NoisyVotes
from trajkit.classical.looks import Looks
from trajkit.errors import ParameterError
from trajkit.methods import make_method, method_class
from trajkit.trajectories import Trajectories

TINY: dict[str, dict[str, Any]] = {
    "prefix_tree": {"cells": 2, "height": 2},
    "privtrace": {"per_cell": 1e9},
    "adatrace": {"per_cell": 1e9},
    "flat": {"cells": 3},
    "road_counts": {"lattice_m": 3000.0, "coarse": 2, "halvings": 1, "rounds": 1},
    "private_evolution": {"population": 40, "rounds": 2},
}
MOST = 3


def frequent_users() -> Trajectories:
    """21 walks: user 0 made nine, user 1 one, user 2 two, user 3 nine; the nine of user 0 follow one way."""
    trajs = walks(21, 12, 0)
    lonlat = trajs.lonlat.reshape(21, 12, 2).copy()
    lonlat[:9] = lonlat[0] + np.linspace(0, 1e-6, 9)[:, None, None]  # as bad as it gets: all of his count in one place
    user = np.repeat([0, 1, 2, 3], [9, 1, 2, 9])
    return replace(
        trajs,
        lonlat=trajs.meta.box.clip(lonlat.reshape(-1, 2)),
        user=user,
        user_ids=np.array(["often", "once", "twice", "also often"]),
    )


@pytest.mark.parametrize("name", TINY)
def test_c28_the_unit_is_the_user_and_the_assumptions_say_why(name: str) -> None:
    trajs = frequent_users()
    g = (
        make_method(name, **TINY[name], length=4, epsilon=20.0, trips_per_user=MOST)
        .fit(trajs, seed=0)
        .release(1, seed=0)
    )
    found = g.guarantee
    assert found.holds and found.unit == "user" and "per user" in found.in_words() and found.epsilon <= 20.0
    words = " ".join(found.assumptions)
    assert f"at most {MOST} trajectories of a user are looked at" in words and "one user id is one person" in words
    assert "a person with several of them is protected less" not in words and "replaces one trajectory" not in words


@pytest.mark.parametrize("name", TINY)
def test_without_a_bound_it_is_the_trajectory(name: str) -> None:
    found = make_method(name, **TINY[name], length=4, epsilon=20.0).fit(frequent_users(), seed=0).release(1, seed=0)
    assert found.guarantee.unit == "trajectory"
    assert any("a person with several of them is protected less" in a for a in found.guarantee.assumptions)


@pytest.mark.parametrize("name", ["flat", "privtrace", "adatrace", "road_counts"])
def test_no_user_moves_a_look_by_more_than_its_noise_is_made_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privtrace, "guideposts", lambda grid, first, epsilon: np.ones(grid.n_cells, dtype=bool))
    seen: list[tuple[str, np.ndarray, int]] = []
    take = Looks.counts

    def spy(self: Looks, what: str, values: np.ndarray, *, epsilon: Fraction, sensitivity: int = 1) -> np.ndarray:
        out = take(self, what, values, epsilon=epsilon, sensitivity=sensitivity)
        assert self.taken[-1].sensitivity == MOST * sensitivity
        seen.append((what, np.array(values), self.taken[-1].sensitivity))
        return out

    monkeypatch.setattr(Looks, "counts", spy)
    trajs = frequent_users()
    most_moved = 0.0
    for gone in range(4):
        seen.clear()
        # so large an epsilon that the noisy number of trajectories, and with it the grid, is the true one
        fit = {**TINY[name], "length": 4, "epsilon": 1e6, "trips_per_user": MOST}
        if name == "road_counts":
            fit["fine"] = 4
        make_method(name, **fit).fit(trajs, seed=0)
        full = list(seen)
        seen.clear()
        make_method(name, **fit).fit(trajs.take(trajs.user != gone), seed=0)
        for (what, a, sensitivity), (_, b, _) in zip(full, seen, strict=True):
            moved = np.abs(a - b).sum()
            assert moved <= sensitivity, (what, gone)
            most_moved = max(most_moved, moved / sensitivity)
    assert most_moved > 0.99  # and it is needed: a user with MOST alike trajectories moves a look by all of it


def test_no_user_moves_votes_by_more_than_their_noise_is_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    votes: list[np.ndarray] = []
    take = NoisyVotes.take
    monkeypatch.setattr(NoisyVotes, "take", lambda self, exact: (votes.append(exact), take(self, exact))[1])
    trajs = frequent_users()
    first, moved = {}, []
    for gone in (None, 0, 1, 2, 3):
        votes.clear()
        left = trajs if gone is None else trajs.take(trajs.user != gone)
        make_method("private_evolution", population=40, rounds=1, length=4, trips_per_user=MOST).fit(left, seed=0)
        first[gone] = votes[0]
        moved.append(float(np.linalg.norm(first[None] - first[gone])))
    assert max(moved) == MOST and moved[1] == MOST  # the user whose trips are all alike
    one, many = (NoisyVotes(1.0, 1e-5, 4, seed=0, records=m).sigma for m in (None, 5))
    assert many == pytest.approx(5 * one)


def test_the_tree_is_built_of_a_users_first_trips_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[int, int | None]] = []
    publish = prefix_method.publish_tree

    def spy(sequences: Any, **options: Any) -> Any:
        got.append((len(sequences), options["records"]))
        return publish(sequences, **options)

    monkeypatch.setattr(prefix_method, "publish_tree", spy)
    method = make_method("prefix_tree", **TINY["prefix_tree"], length=4, epsilon=20.0, trips_per_user=MOST)
    looks = method.fit(frequent_users(), seed=0).guarantee_.parts[0].details["looks"]  # type: ignore[attr-defined]
    assert got == [(3 + 1 + 2 + 3, MOST)] and [k["sensitivity"] for k in looks] == [MOST]


def test_noise_grows_with_the_bound_and_a_bound_of_one_costs_nothing_more() -> None:
    trajs, scale = frequent_users(), {}
    for most in (None, 1, 4):
        made = make_method("flat", cells=3, length=4, epsilon=1.0, trips_per_user=most).fit(trajs, seed=0)
        scale[most] = made.release(1, seed=0).guarantee.parts[0].details["looks"][0]["scale"]
    assert scale[1] == scale[None] and scale[4] == pytest.approx(4 * scale[1], rel=0.01)


def test_a_bound_decides_how_fine_a_look_is() -> None:
    config = method_class("adatrace").Config(epsilon=2.0, trips_per_user=4)
    assert config.epsilon_each == 0.5 and method_class("adatrace").Config(epsilon=2.0).epsilon_each == 2.0


def test_the_published_variant_has_no_bound_to_state() -> None:
    with pytest.raises(ParameterError, match="trips_per_user bounds what a user adds"):
        make_method("privtrace", variant="published", trips_per_user=2)
    with pytest.raises(ParameterError, match="trips_per_user"):
        make_method("flat", trips_per_user=0)
