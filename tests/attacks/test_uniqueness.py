"""Unicity: the reference values, brute force on random towns, rare and common labels alike, and short records counted apart."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from made_labels import brute_uniqueness, labels_of, town

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.uniqueness import uniqueness
from trajkit.errors import ParameterError


def reference_town(case: dict[str, Any]) -> tuple[Signatures, np.ndarray]:
    rows = case["inputs"]["rows"]
    labels = labels_of(*([(ord(text[0]), int(text[1:])) for text in row["signature"]] for row in rows))
    return labels, np.array([row["user"] for row in rows])


@pytest.mark.shared
def test_the_reference_values(shared) -> None:  # type: ignore[no-untyped-def]
    case = json.loads((shared / "reference" / "trajectory_anonymity.json").read_text())["cases"][0]
    labels, user = reference_town(case)
    expected, tolerance = case["expected"]["unicity"], case["tolerance"]["abs"]
    found = uniqueness(labels, user, seed=0, p=tuple(e["p"] for e in expected), exact=True)
    assert len(found.by_p) == len(expected) == 3
    for at, e in zip(found.by_p, expected, strict=True):
        assert (at.p, at.targets) == (e["p"], e["users_with_enough_points"])
        assert at.unicity == pytest.approx(e["unicity"], abs=tolerance)
        assert at.guess_success == pytest.approx(e["expected_guess_success"], abs=tolerance)
        assert at.unicity_interval is None


@pytest.mark.parametrize("target", ["user", "trajectory"])
@pytest.mark.parametrize(("n", "people", "cells"), [(25, 8, 6), (60, 60, 4), (300, 90, 30), (400, 400, 12)])
def test_exact_agrees_with_brute_force(target: str, n: int, people: int, cells: int) -> None:
    """The larger towns have labels common enough for rows of bits, the smaller ones lists alone."""
    labels, user = town(n, people, seed=n, cells=cells)
    found = uniqueness(labels, user, seed=0, p=(1, 2, 3), exact=True, target=target)
    for at in found.by_p:
        targets, unicity, guess = brute_uniqueness(labels, user, at.p, target)
        assert (at.targets, at.unicity, at.guess_success) == pytest.approx((targets, unicity, guess), abs=1e-12)


@pytest.mark.parametrize(("n", "people", "cells"), [(200, 200, 12), (3000, 3000, 5), (3000, 700, 5)])
def test_drawn_points_agree_with_all_combinations(n: int, people: int, cells: int) -> None:
    """Means over 40 seeds lie close to the exact figure: 40 draws of each target, 5 standard errors at most 0.02."""
    labels, user = town(n, people, seed=5, cells=cells, longest=6)
    exact = uniqueness(labels, user, seed=0, exact=True, target="trajectory")
    drawn = [uniqueness(labels, user, seed=s, target="trajectory") for s in range(40)]
    for c, at in enumerate(exact.by_p):
        assert np.mean([d.by_p[c].unicity for d in drawn]) == pytest.approx(at.unicity, abs=0.02)
        assert np.mean([d.by_p[c].guess_success for d in drawn]) == pytest.approx(at.guess_success, abs=0.02)
        inside = [d.by_p[c].unicity_interval[0] <= at.unicity <= d.by_p[c].unicity_interval[1] for d in drawn]  # type: ignore[index]
        assert np.mean(inside) >= 0.9


def test_more_points_never_match_more_people() -> None:
    labels, user = town(3000, 200, seed=3, cells=20, longest=8)
    found = uniqueness(labels, user, seed=1)
    same = [at for at in found.by_p if at.targets == found.by_p[0].targets]
    assert len(same) >= 2
    assert all(b.guess_success >= a.guess_success for a, b in pairwise(same))


def test_short_records_are_counted_apart_and_p_is_never_lowered() -> None:
    """Complaint C16: users with 2 and with 5 points, p = 4."""
    labels = labels_of([(c, 0) for c in range(5)], [(7, 0), (8, 0)], [(c, 0) for c in (0, 1, 2, 3, 9)])
    at_1, at_4 = uniqueness(labels, np.array(["a", "b", "c"]), seed=0, p=(1, 4), exact=True).by_p
    assert (at_1.targets, at_1.too_few) == (3, 0)
    assert (at_4.targets, at_4.too_few) == (2, 1)
    assert at_4.unicity == pytest.approx(4 / 5)  # of five combinations each, only 0, 1, 2, 3 is shared
    none = uniqueness(labels, np.array(["a", "b", "c"]), seed=0, p=(1, 9))
    assert [at.p for at in none.by_p] == [1] and none.no_target == (9,)


def test_ones_own_other_trajectories_hide_nobody() -> None:
    labels = labels_of(*[[(1, 0), (2, 0)]] * 3, [(3, 0), (4, 0)], [(3, 0), (4, 0)])
    found = uniqueness(labels, np.array(["a", "a", "a", "b", "c"]), seed=0, p=(2,), target="trajectory")
    assert found.by_p[0].unicity == pytest.approx(3 / 5)
    assert found.by_p[0].guess_success == pytest.approx((3 + 2 * 0.5) / 5)


def test_same_seed_same_answer_and_the_input_stays() -> None:
    labels, user = town(300, 100, seed=2, cells=8)
    before = [a.copy() for a in (labels.cells, labels.bins, labels.offsets, user)]
    a, b, other = (uniqueness(labels, user, seed=s, targets=60) for s in (4, 4, 5))
    assert a == b and a != other
    assert a.by_p[0].targets + a.by_p[0].too_few == 60
    for x, y in zip(before, (labels.cells, labels.bins, labels.offsets, user), strict=True):
        assert np.array_equal(x, y)


def test_the_table_has_a_row_for_each_p() -> None:
    labels, user = town(100, 50, seed=2)
    table = uniqueness(labels, user, seed=0, p=(1, 2)).to_frame()
    assert table["p"].tolist() == [1, 2] and (table["baseline"] == 1 / len(np.unique(user))).all()
    assert ((table["unicity_lower"] <= table["unicity"]) & (table["unicity"] <= table["unicity_upper"])).all()
    assert table.notna().all().all() and (table["persons_matching_q05"] >= 1).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"p": (2, 1)}, "rising"),
        ({"p": ()}, "rising"),
        ({"p": (0, 1)}, "at least 1"),
        ({"targets": 0}, "targets"),
        ({"level": 1.0}, "level"),
        ({"target": "person"}, "target"),
        ({"points": 4}, "known here"),
    ],
)
def test_bad_settings_say_what_is_wrong(change: dict[str, Any], match: str) -> None:
    labels, user = town(5, 3, seed=0)
    with pytest.raises(ParameterError, match=match):
        uniqueness(labels, user, seed=0, **change)


def test_bad_input_says_what_is_wrong() -> None:
    labels, user = town(5, 3, seed=0)
    with pytest.raises(ParameterError, match="one name for each"):
        uniqueness(labels, user[:3], seed=0)
    with pytest.raises(ParameterError, match="nobody to attack"):
        uniqueness(labels_of(), np.zeros(0, dtype=int), seed=0)
    long = labels_of(*[[(c, 0) for c in range(200)]] * 3)
    with pytest.raises(ParameterError, match="combinations"):
        uniqueness(long, np.arange(3), seed=0, exact=True)
