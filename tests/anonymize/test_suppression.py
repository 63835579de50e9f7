"""Who is missing: exact shares for the holder of the data, rounded ones of large strata for the public."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from anonymity_toys import crowd
from toys import from_metres, walks

from trajkit.anonymize.suppression import FEWEST, STEP, by_person, missing, rounded, shares, travelled_m


def test_travelled_metres() -> None:
    trajs = from_metres([[(0, 0), (300, 400), (300, 0)], [(0, 0), (0, 0), (0, 0)]])
    assert travelled_m(trajs) == pytest.approx([900.0, 0.0], abs=0.01)


def test_shares_of_a_worked_case() -> None:
    trajs = from_metres([[(0, 0), (1, 0)], [(0, 0), (1, 0)], [(0, 0), (1, 0)], [(0, 0), (1, 0)]])
    trajs = replace(trajs, user=np.array([0, 0, 1, 2]), user_ids=np.array(["a", "b", "c", "never here"]))
    found = shares(trajs, np.array([2, 0, 1, 0]))
    assert found == {"trajectories": 0.5, "users": pytest.approx(1 / 3), "points": pytest.approx(5 / 8)}


def test_strata_add_up_and_the_public_sees_only_rounded_shares_of_many() -> None:
    trajs = crowd(120, 0)
    rng = np.random.default_rng(0)
    points = np.where(rng.random(120) < 0.3, 0, trajs.lengths)
    public, exact = missing(trajs, points, k=5)
    assert trajs.t is not None
    divisions = [name for name in exact if name.startswith("by ")]
    assert len(divisions) == 3 and set(divisions) < set(public)
    left_out = 0
    for name in divisions:
        assert sum(row["trajectories"] for row in exact[name].values()) == 120
        gone = sum(row["trajectories"] * row["suppressed"] for row in exact[name].values())
        assert gone == pytest.approx((points == 0).sum())
        for label, row in exact[name].items():
            assert (label in public[name]) == (row["users"] >= FEWEST)
            left_out += label not in public[name]
            if label in public[name]:
                assert round(public[name][label] / STEP, 6) % 1 == 0
    assert left_out > 0
    own = by_person(trajs, points)
    assert [public[w] for w in own] == [rounded(s) for s in own.values()]
    for share in (public["trajectories"], public["users"], public["points"]):
        assert round(share / STEP, 6) % 1 == 0
    assert json.loads(json.dumps(public)) == public
    assert missing(trajs, points, k=10**6)[0]["by length"] == {}


def test_strata_of_parts_are_told_by_points() -> None:
    """Each of 40 trips keeps a quarter of its points, and of short ones nothing is left."""
    trajs = walks(40, 8, 0)
    trajs = replace(trajs, user=np.arange(40), user_ids=np.array([f"u{i}" for i in range(40)]))
    points = np.full(40, 2)
    assert "points, by length" not in missing(trajs, points, k=5)[0]
    public, _ = missing(trajs, points, k=5, parts=True)
    strata = [name for name in public if name.startswith("points, by ")]
    assert len(strata) == 2 and any(public[name] for name in strata)
    for name in strata:
        assert set(public[name].values()) <= {0.75} and set(public[name.removeprefix("points, ")].values()) <= {0.0}


def test_one_person_moves_no_public_share_by_more_than_a_step() -> None:
    few = walks(20 + 99, 6, 0)
    user = np.append(np.arange(20), np.full(99, 3))  # one of twenty has a hundred trajectories
    trajs = replace(few, user=user, user_ids=np.array([f"u{i}" for i in range(20)]))
    points = trajs.lengths.copy()
    lost = np.where(user == 3, 0, points)
    (before, known), (after, exact) = (missing(trajs, p, k=5) for p in (points, lost))
    assert exact["trajectories"] - known["trajectories"] > 0.8
    for name, strata in [("all", {w: before[w] for w in ("trajectories", "users", "points")}), *before.items()]:
        if isinstance(strata, dict):
            now = after if name == "all" else after[name]
            assert all(abs(now[label] - share) <= STEP + 1e-9 for label, share in strata.items())


def test_of_a_small_set_the_public_hears_nothing() -> None:
    public, exact = missing(walks(10, 6, 0), np.zeros(10, dtype=np.int64), k=5)
    assert "trajectories" not in public and exact["trajectories"] == 1.0
