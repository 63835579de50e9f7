"""l-diversity and t-closeness against reference values and small classes by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from toys import META, ORIGIN, from_metres

from trajkit.anonymize.diversity import diversity, sensitive_place
from trajkit.anonymize.tessellation import SquareCells
from trajkit.errors import DataContractError, ParameterError
from trajkit.trajectories import Trajectories, make


@pytest.mark.shared
def test_agrees_with_the_reference(shared: Path) -> None:
    case = json.loads((shared / "reference" / "trajectory_anonymity.json").read_text())["cases"][0]
    names = case["expected"]["released_by_user_count"]
    signature = ["|".join(row["signature"]) for row in case["inputs"]["rows"]]
    classes = np.array([names.index(s) if s in names else -1 for s in signature])
    found = diversity(classes, np.array([row["sensitive"] for row in case["inputs"]["rows"]]))
    assert len(found.table) == len(names)
    for label, row in found.table.iterrows():
        for column, value in case["expected"]["diversity"]["classes"][names[label]].items():
            assert row[column] == pytest.approx(value, abs=case["tolerance"]["abs"])
    assert found.worst["distinct_l"] == 2 and found.worst["t_variational"] == pytest.approx(0.375)


def test_a_class_by_hand() -> None:
    values = np.array([1, 1, 1, 2, 2, 3, 9, 9, 9, 9])
    found = diversity(np.array([0] * 6 + [1] * 4), values, c=2.0)
    row, other = found.table.loc[0], found.table.loc[1]
    assert (row.trajectories, row.distinct_l, row.max_fraction) == (6, 3, 0.5)
    assert row.entropy_l == pytest.approx(np.exp(0.5 * np.log(2) + np.log(3) / 3 + np.log(6) / 6))
    # 3 < 2 * (3 + 2 + 1), 3 < 2 * (2 + 1), not 3 < 2 * 1
    assert row.recursive_l == 2
    assert (other.distinct_l, other.entropy_l, other.recursive_l, other.max_fraction) == (1, 1.0, 1, 1.0)
    # class law (.5, 1/3, 1/6, 0) against (.3, .2, .1, .4)
    assert row.t_variational == pytest.approx(0.4)
    assert row.t_emd_ordered == pytest.approx((0.2 + 1 / 3 + 0.4) / 3)
    assert found.worst == {
        "distinct_l": 1.0,
        "entropy_l": 1.0,
        "recursive_l": 1.0,
        "max_fraction": 1.0,
        "t_variational": pytest.approx(0.6),
        "t_emd_ordered": pytest.approx((0.3 + 0.5 + 0.6) / 3),
    }


def test_the_order_of_values_is_ones_own() -> None:
    classes, values = np.array([0, 0, 1, 1]), np.array(["low", "low", "high", "middle"])
    by_name = diversity(classes, values).table
    ranked = diversity(classes, values, order=["low", "middle", "high"]).table
    # law of all (.5, .25, .25) in both; class 0 is (1, 0, 0) as ranked, (0, 1, 0) by name (high, low, middle)
    assert ranked.t_emd_ordered[0] == pytest.approx((0.5 + 0.25) / 2)
    assert by_name.t_emd_ordered[0] == pytest.approx((0.25 + 0.25) / 2)
    np.testing.assert_allclose(by_name.t_variational, ranked.t_variational)
    for order in (["low", "high"], ["low", "high", "middle", "low"]):
        with pytest.raises(ParameterError, match="every sensitive value once"):
            diversity(classes, values, order=order)


def test_unreleased_count_for_the_law_of_all_only() -> None:
    values = np.array(["a", "a", "b", "b"])
    assert diversity(np.array([0, 0, -1, -1]), values).worst["t_variational"] == pytest.approx(0.5)
    assert diversity(np.array([0, 0]), values[:2]).worst["t_variational"] == 0.0


@pytest.mark.parametrize("n", [0, 3])
def test_a_release_without_classes_is_legal(n: int) -> None:
    found = diversity(np.full(n, -1), np.arange(n))
    assert len(found.table) == 0 and found.worst == {}


def test_one_value_is_diverse_in_nothing_and_close_in_everything() -> None:
    assert diversity(np.zeros(3, dtype=int), np.array(["home"] * 3)).worst == {
        "distinct_l": 1.0, "entropy_l": 1.0, "recursive_l": 1.0, "max_fraction": 1.0, "t_variational": 0.0, "t_emd_ordered": 0.0,
    }  # fmt: skip


def test_lengths_and_c_are_checked() -> None:
    with pytest.raises(ParameterError, match="2 classes for 3"):
        diversity(np.zeros(2, dtype=int), np.arange(3))
    with pytest.raises(ParameterError, match="c = 0"):
        diversity(np.zeros(2, dtype=int), np.arange(2), c=0)


def test_sensitive_place_is_the_cell_of_an_end() -> None:
    low = np.floor(ORIGIN / 1000) * 1000 - ORIGIN
    path = [(float(low[0] + x), float(low[1] + 500)) for x in (500, 1500, 2500)]
    trajs, cells = from_metres([path, path[::-1]]), SquareCells(1000)
    first, last = cells.cell_of(trajs.xy[[0, 2]])
    assert sensitive_place(trajs, cells).tolist() == [last, first]
    assert sensitive_place(trajs, cells, at="start").tolist() == [first, last]
    with pytest.raises(ParameterError, match="use end or start"):
        sensitive_place(trajs, cells, at="middle")  # type: ignore[arg-type]


def test_a_trajectory_without_points_has_no_place() -> None:
    trajs = make([(-8.6, 41.2)], meta=META)
    empty = Trajectories(
        trajs.lonlat, np.array([0, 1, 1]), None, np.array([0, 0]), trajs.user_ids, np.array(["a", "b"]), META
    )
    with pytest.raises(DataContractError, match="b has no points"):
        sensitive_place(empty, SquareCells(1000))
