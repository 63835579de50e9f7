"""Distances in a group and smallest discs: reference cases, and search over all pairs and triples."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from trajkit.anonymize.discs import disc_centres, k_delta_audit, smallest_disc
from trajkit.errors import ParameterError


@pytest.mark.shared
def test_reference_cases(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "trajectory_anonymity.json").read_text())["cases"]
    cases = [case for case in cases if case["inputs"]["kind"] == "k_delta"]
    assert len(cases) == 3
    for case in cases:
        expected, close = case["expected"], case["tolerance"]["abs"]
        delta = case["inputs"]["delta"]
        (found,) = k_delta_audit([np.array(case["inputs"]["trajectories"], dtype=np.float64)], delta)
        assert found.members == case["inputs"]["k"]
        assert found.max_pairwise_distance == pytest.approx(expected["max_pairwise_distance"], abs=close)
        assert found.max_enclosing_radius == pytest.approx(expected["max_enclosing_radius"], abs=close)
        assert found.pairwise_colocalised_within_delta is expected["pairwise_colocalised_within_delta"]
        assert found.inside_disc_radius_delta_over_2 is expected["inside_disc_radius_delta_over_2"]
        assert found.inside_disc_radius_delta is expected["inside_disc_radius_delta_seed_reading"]


def _circle(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> tuple[float, float] | None:
    d = 2 * (a[0] * (b[1] - c[1]) + b[0] * (c[1] - a[1]) + c[0] * (a[1] - b[1]))
    if abs(d) < 1e-12:
        return None
    squares = [p[0] ** 2 + p[1] ** 2 for p in (a, b, c)]
    x = (squares[0] * (b[1] - c[1]) + squares[1] * (c[1] - a[1]) + squares[2] * (a[1] - b[1])) / d
    y = (squares[0] * (c[0] - b[0]) + squares[1] * (a[0] - c[0]) + squares[2] * (b[0] - a[0])) / d
    return x, y


def _searched_radius(points: list[tuple[float, ...]]) -> float:
    """Smallest radius over the discs of all pairs and triples that hold every point."""
    if len(points) == 1:
        return 0.0
    centres: list[tuple[float, float] | None] = [
        ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in itertools.combinations(points, 2)
    ]
    centres += [_circle(*three) for three in itertools.combinations(points, 3)]
    return min(max(math.dist(c, p) for p in points) for c in centres if c)


@pytest.mark.parametrize("seed", range(40))
def test_smallest_disc_is_that_of_a_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 100, (rng.integers(1, 9), 2))
    if seed % 4 == 1:
        points = np.round(points, -2)  # many that coincide, on lines and on circles
    if seed % 4 == 2:
        points[:, 1] = 3 * points[:, 0]
    x, y, radius = smallest_disc(points)
    assert radius == pytest.approx(_searched_radius([tuple(p) for p in points]), abs=1e-6)
    assert max(math.dist((x, y), p) for p in points) == pytest.approx(radius, abs=1e-6)


def test_far_from_the_origin_and_almost_the_same_place() -> None:
    points = np.array([[530_000.0, 4_560_000.0], [530_100.0, 4_560_000.0], [530_100.0, 4_560_000.000000001]])
    assert smallest_disc(points)[2] == pytest.approx(50.0, abs=1e-6)
    line = np.column_stack([np.linspace(0, 1e-3, 7), np.zeros(7)]) + np.array([530_000.0, 4_560_000.0])
    assert smallest_disc(line)[2] == pytest.approx(5e-4, rel=1e-5)


def test_pairs_within_delta_fit_the_disc_of_jung_and_not_a_smaller_one() -> None:
    angles = np.radians([90, 210, 330])
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])[:, None] / math.sqrt(3) * 100
    (audit,) = k_delta_audit([triangle], 100.0)
    assert audit.pairwise_colocalised_within_delta and not audit.inside_disc_radius_delta_over_2
    assert audit.max_enclosing_radius == pytest.approx(100 / math.sqrt(3))


def test_the_worst_time_counts_and_groups_stay_apart() -> None:
    near = np.zeros((3, 4, 2))
    far = near.copy()
    far[1, 2] = [30.0, 40.0]
    found = k_delta_audit([near, far, near[:1, :1]], 20.0)
    assert [a.max_pairwise_distance for a in found] == [0.0, 50.0, 0.0]
    assert [a.pairwise_colocalised_within_delta for a in found] == [True, False, True]
    assert found[1].max_enclosing_radius == pytest.approx(25.0)


def test_centres_are_by_time() -> None:
    xy = np.array([[0, 0], [10, 0], [4, 0], [10, 8]], dtype=np.float64)  # two members at two times
    centres = disc_centres(xy, np.array([0, 2]), np.array([2]), np.array([0, 2]))
    assert centres.tolist() == [[2, 0], [10, 4]]


@pytest.mark.parametrize("bad", [np.zeros((3, 2)), np.zeros((2, 3, 3)), np.full((2, 1, 2), np.nan)])
def test_other_shapes_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="group 0"):
        k_delta_audit([bad], 1.0)


def test_a_negative_delta_is_refused_and_no_groups_are_fine() -> None:
    assert k_delta_audit([], 1.0) == []
    with pytest.raises(ParameterError, match="delta"):
        k_delta_audit([], -1.0)
