"""The attack by known points: it finds everybody where nothing protects, nobody beyond 1/k where k people share each class, and it
finds them again where exact times are kept. Reference values, brute force, knowledge with errors and from elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_labels import anonymous, brute_success, labels_of, lists, town
from toys import META, ORIGIN, from_metres

from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.knowledge import believed, known_labels
from trajkit.attacks.origin import Origin
from trajkit.attacks.reidentification import KnownElsewhere, Reidentification, reidentification
from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories, concatenate_offsets


@pytest.mark.shared
def test_the_reference_values(shared) -> None:  # type: ignore[no-untyped-def]
    case = json.loads((shared / "reference" / "trajectory_anonymity.json").read_text())["cases"][0]
    rows, expected = case["inputs"]["rows"], case["expected"]
    raw = labels_of(*([(ord(text[0]), int(text[1:])) for text in row["signature"]] for row in rows))
    kept = np.flatnonzero(["|".join(row["signature"]) in expected["released_by_user_count"] for row in rows])
    found = reidentification(
        raw, np.array([row["user"] for row in rows]), raw.take(kept), Origin.one_each(kept),
        seed=0, p=(1, 2, 3), exact=True, target="trajectory", k=case["inputs"]["k"],
    )  # fmt: skip
    assert 1 - len(kept) / len(rows) == expected["suppressed_fraction_by_user_count"]
    for at, e in zip(found.by_p, expected["reid"], strict=True):
        assert (at.p, at.targets) == (e["p"], e["trajectories"])
        assert at.success == pytest.approx(e["success_probability"], abs=case["tolerance"]["abs"])
        assert at.one_class == pytest.approx(
            e["fraction_isolating_one_class_seed_metric"], abs=case["tolerance"]["abs"]
        )
        assert found.bound == e["bound_1_over_k"] >= at.success


@pytest.mark.parametrize("target", ["user", "trajectory"])
@pytest.mark.parametrize(
    ("n", "people", "cells", "k"), [(40, 12, 3, 2), (150, 60, 4, 3), (300, 300, 3, 2), (30, 10, 3, 9)]
)
def test_exact_agrees_with_brute_force(target: str, n: int, people: int, cells: int, k: int) -> None:
    raw, user = town(n, people, seed=n, cells=cells, bins=1, longest=4)
    released, origin = anonymous(raw, user, k)
    found = reidentification(raw, user, released, origin, seed=0, p=(1, 2, 3), exact=True, target=target, k=k)
    for at in found.by_p:
        expected = brute_success(raw, user, released, origin, at.p, target)
        assert (at.success, at.one_class) == pytest.approx(expected, abs=1e-12)
        assert at.success <= found.bound  # type: ignore[operator]


def test_finds_every_target_in_an_unprotected_release() -> None:
    """Each of 200 people has a place of their own beside shared ones: whoever knows all five points of a record names its owner."""
    rng = np.random.default_rng(0)
    raw = labels_of(*([(c, 0) for c in rng.permutation(20)[:4].tolist()] + [(100 + u, 0)] for u in range(200)))
    order = rng.permutation(200)
    found = reidentification(raw, np.arange(200), raw.take(order), Origin.one_each(order), seed=0, p=(1, 5))
    assert found.by_p[1].success == 1.0 and found.by_p[1].certain == 1.0 and found.by_p[1].suppressed == 0
    assert found.by_p[1].persons_matching == (1.0,) * 5
    assert found.by_p[0].success < 1.0 and found.baseline == 1 / 200


def test_one_class_published_once_is_shared_by_its_people() -> None:
    raw = labels_of(*[[(1, 0), (2, 0)]] * 4, [(1, 0), (3, 0)])
    released, origin = labels_of([(1, 0), (2, 0)]), Origin(np.zeros(4, dtype=int), np.arange(4))
    found = reidentification(raw, np.arange(5), released, origin, seed=0, p=(1, 2), exact=True)
    assert found.by_p[1].success == pytest.approx(4 / 5 / 4) and found.by_p[1].one_class == pytest.approx(4 / 5)
    assert found.by_p[1].no_match == pytest.approx(1 / 5) and found.by_p[1].suppressed == 1


@pytest.mark.parametrize("k", [2, 3, 5])
def test_where_k_users_share_each_class_success_is_at_most_one_over_k(k: int) -> None:
    """A random town, and groups of exactly k users on routes of their own, where knowing three points reaches the bound itself."""
    raw, user = town(3000, 400, seed=k, cells=5, bins=1, longest=4)
    found = reidentification(raw, user, *anonymous(raw, user, k), seed=0, k=k, target="trajectory", exact=True)
    assert len(found.by_p) >= 3 and all(0 <= at.success <= 1 / k for at in found.by_p)
    assert found.by_p[0].success > 0
    routes = labels_of(*[[(g, 0), (g + 1, 0), (g + 2, 0)] for g in range(30) for _ in range(k)])
    users = np.arange(30 * k)
    tight = reidentification(routes, users, *anonymous(routes, users, k), seed=0, k=k)
    assert tight.by_p[0].success < 1 / k and tight.by_p[2].success == pytest.approx(1 / k)
    assert tight.by_p[2].one_class == 1.0 and tight.by_p[2].certain == 0.0


def test_counting_trajectories_instead_of_users_protects_nobody() -> None:
    commuter = labels_of(*[[(50, 0), (51, 0), (52, 0)]] * 5)
    released, origin = anonymous(commuter, np.arange(5), 5)  # five trajectories taken for five people
    found = reidentification(commuter, np.zeros(5, dtype=int), released, origin, seed=0, k=5, target="trajectory")
    assert found.by_p[0].success == 1.0


# ---- on points ----------------------------------------------------------------------------------------------------

CELLS, BINS = SquareCells(500.0), TimeBins(60)
K = 4


def commuters(n: int = 40, seed: int = 0) -> Trajectories:
    """``n`` people in groups of 4 on one route each of 5 fixes in 5 cells, within an hour, each at a minute and a metre of their own."""
    rng = np.random.default_rng(seed)
    route = np.floor(ORIGIN / 500) * 500 + 250 + 500 * np.stack([np.arange(5), np.zeros(5)], axis=1)
    xy = route[None] + np.repeat(np.arange(n // K), K)[:, None, None] * np.array([0.0, 500.0]) % 5000
    start = 8 * 3_600_000 + 1000 * rng.permutation(np.arange(0, 2400, 60))[:n]
    t = start[:, None] + np.arange(5) * 240_000
    names = np.array([f"u{i}" for i in range(n)])
    points = unproject((xy + rng.uniform(-100, 100, xy.shape)).reshape(-1, 2), META.crs)
    return Trajectories(points, concatenate_offsets(np.full(n, 5)), t.reshape(-1), np.arange(n), names, names, META)


def generalized(raw: Trajectories, *, exact_times: bool) -> Trajectories:
    """Every fix at the centre of its cell, at the middle of its hour or, by mistake, at its own time."""
    t = raw.t if exact_times else raw.t // 3_600_000 * 3_600_000 + 1_800_000 + np.tile(np.arange(5), len(raw))  # type: ignore[operator]
    return replace(raw, lonlat=unproject((np.floor(raw.xy / 500) + 0.5) * 500, META.crs), t=t)


def attacked(raw: Trajectories, released: Trajectories, bins: TimeBins, **more: Any) -> Reidentification:
    labels, shown = (signatures(x, CELLS, bins) for x in (raw, released))
    return reidentification(labels, raw.user, shown, Origin.one_each(np.arange(len(raw))), seed=0, k=K, **more)


def test_exact_times_beside_generalized_places_single_everybody_out_again() -> None:
    raw = commuters()
    assert len({tuple(path) for path in lists(signatures(raw, CELLS, BINS))}) == 10
    held = attacked(raw, generalized(raw, exact_times=False), BINS)
    assert all(0 < at.success <= 1 / K and at.certain == 0 for at in held.by_p)
    leaked = attacked(raw, generalized(raw, exact_times=True), TimeBins(1, of="absolute"))
    assert all(at.success == 1.0 and at.certain == 1.0 for at in leaked.by_p)
    space = attacked(raw, generalized(raw, exact_times=True), TimeBins(1, of="absolute"), space_only=True)
    assert space.space_only and all(0 < at.success <= 1 / K for at in space.by_p)


def test_errors_in_what_is_known_cost_success() -> None:
    raw = commuters()
    shown, origin = signatures(raw, CELLS, TimeBins(1)), Origin.one_each(np.arange(len(raw)))

    def success(**errors: float) -> float:
        true, known = known_labels(raw, believed(raw, seed=1, **errors), CELLS, TimeBins(1), seed=1)
        return reidentification(true, raw.user, shown, origin, seed=0, p=(3,), known=known).by_p[0].success

    assert success() == 1.0
    assert success(sigma_m=5.0) > 0.9
    assert success(sigma_m=400.0) < 0.5 and success(sigma_s=120.0) < 0.5


def test_known_labels_are_the_true_ones_where_nothing_is_wrong() -> None:
    raw = commuters()
    true, known = known_labels(raw, believed(raw, seed=0), CELLS, BINS, seed=0)
    assert np.array_equal(true.cells, known.cells) and np.array_equal(true.bins, known.bins)
    with pytest.raises(ParameterError, match="point by point"):
        known_labels(raw, raw.take(np.arange(3)), CELLS, BINS, seed=0)


def test_points_known_are_moved_to_the_nearest_road() -> None:
    raw = from_metres([[(0.0, 30.0), (100.0, -20.0), (200.0, 500.0)]])
    ends = np.array([[-1000.0, 0.0], [1000.0, 0.0]]) + ORIGIN
    road = RoadNetwork(
        ends, np.array([1, 2]), np.array([[0, 1]]), np.array([2000.0]), np.array([10.0]), np.array(["street"]),
        np.array([False]), ends, np.array([0, 2]), META.crs,
    )  # fmt: skip
    moved = believed(raw, seed=0, roads=road, within_m=100.0).xy - ORIGIN
    assert moved == pytest.approx(np.array([[0.0, 0.0], [100.0, 0.0], [200.0, 500.0]]), abs=1e-3)
    assert raw.xy[0, 1] - ORIGIN[1] == pytest.approx(30.0, abs=1e-3)


def test_what_is_known_from_another_day() -> None:
    """Two days alike for a and b, another for c; d is not in the raw data, so nobody to attack."""
    raw = labels_of([(1, 0), (2, 0)], [(3, 0), (4, 0)], [(5, 0), (6, 0)])
    day_2 = KnownElsewhere(
        labels_of([(1, 0), (2, 0)], [(3, 0), (4, 0)], [(1, 0), (2, 0)], [(5, 0), (6, 0)]),
        np.array(["a", "b", "c", "d"]),
    )
    found = reidentification(
        raw, np.array(["a", "b", "c"]), raw, Origin.one_each(np.arange(3)), seed=0, p=(1, 2), exact=True, known=day_2
    )
    assert found.by_p[1].targets == 3 and found.by_p[1].success == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="set target to user"):
        reidentification(
            raw, np.arange(3), raw, Origin.one_each(np.arange(3)), seed=0, known=day_2, target="trajectory"
        )


def test_an_empty_release_gives_nothing_away() -> None:
    raw, user = town(20, 5, seed=0)
    found = reidentification(raw, user, labels_of(), Origin.one_each(np.zeros(0)), seed=0, p=(1,))
    assert (found.by_p[0].success, found.by_p[0].no_match, found.baseline) == (0.0, 1.0, 0.0)
    assert found.by_p[0].persons_matching is None and found.by_p[0].suppressed == found.by_p[0].targets
    assert len(found.to_frame()) == 1


def test_same_seed_same_answer_and_intervals_hold_the_figure() -> None:
    raw, user = town(600, 150, seed=1, cells=6)
    released, origin = anonymous(raw, user, 2)
    a, b, other = (reidentification(raw, user, released, origin, seed=s, targets=100, k=2) for s in (1, 1, 2))
    assert a == b and a != other
    table = a.to_frame()
    assert ((table["success_lower"] <= table["success"]) & (table["success"] <= table["success_upper"])).all()
    assert ((table["certain_lower"] <= table["certain"]) & (table["certain"] <= table["certain_upper"])).all()
    assert (table["bound"] == 0.5).all()


@pytest.mark.parametrize(
    ("origin", "change", "match"),
    [
        (Origin.one_each(np.arange(3)), {"k": 1}, "at least 2"),
        (Origin.one_each(np.arange(3)), {"p": (3, 1)}, "rising"),
        (Origin.one_each(np.array([0, 1, 7])), {}, "one index in 0"),
        (Origin.one_each(np.arange(2)), {}, "came from nobody"),
        (Origin(np.arange(3), np.arange(2)), {}, "for each pair"),
        (Origin.one_each(np.arange(3)), {"known": labels_of([(1, 0)])}, "known_labels"),
    ],
)
def test_bad_input_says_what_is_wrong(origin: Origin, change: dict[str, Any], match: str) -> None:
    raw = labels_of([(1, 0)], [(2, 0)], [(3, 0)])
    with pytest.raises(ParameterError, match=match):
        reidentification(raw, np.arange(3), raw, origin, seed=0, **change)


@pytest.mark.parametrize(
    ("change", "match"),
    [({"sigma_m": -1.0}, "sigma_m"), ({"sigma_s": 3.0}, "no times"), ({"sigma_m": np.nan}, "sigma_m")],
)
def test_bad_errors_say_what_is_wrong(change: dict[str, float], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        believed(from_metres([[(0.0, 0.0), (1.0, 0.0)]]), seed=0, **change)
