"""Pattern-level metrics on toys whose answer is worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import BOX, META, walks

from trajkit.metrics import MetricSettings, evaluate
from trajkit.metrics.comparison import Comparison
from trajkit.metrics.pattern import cell_queries
from trajkit.trajectories import Trajectories


def on_cells(rows: list[list[int]], cells: int = 2) -> Trajectories:
    """Trajectories through the middles of cells (row by row from the south-west) of cells x cells over the box."""
    at = np.array(rows)
    unit = (np.stack([at % cells, at // cells], axis=-1) + 0.5) / cells * 2 - 1
    return Trajectories.from_fixed(BOX.from_unit(unit), meta=META)


def values(real: Trajectories, released: Trajectories, **settings: float) -> dict[str, float]:
    made = MetricSettings(pattern_cells=2, **settings)  # type: ignore[arg-type]
    return {r.metric: r.value for r in evaluate(real, released, settings=made, seed=0, names=["CQ", "FP"])}


def by_hand(real: Trajectories, released: Trajectories, errors: dict[int, float], **settings: float) -> float:
    """Mean of the ``errors`` of the cells that the seeded queries of one cell ask for."""
    made = MetricSettings(pattern_cells=2, cq_length=1, **settings)  # type: ignore[arg-type]
    asked = cell_queries(Comparison.of(real, released, settings=made, seed=0))
    assert len(asked) == 2_000 and set(asked.symbols.tolist()) == set(errors)
    return float(np.mean([errors[s] for s in asked.symbols.tolist()]))


def test_count_query_error_by_hand() -> None:
    """Shares of cells 0, 1, 2: 1, 1/2, 1/2 in the real set and 1, 1, 0 in the released one; nobody asks for cell 3."""
    real, released = on_cells([[0, 1], [0, 2]]), on_cells([[1, 0]] * 3)
    expected = by_hand(real, released, {0: 0.0, 1: 1.0, 2: 1.0})
    assert values(real, released, cq_length=1)["CQ"] == pytest.approx(expected) and 0.45 < expected < 0.55


def test_sanity_bounds_the_error_of_rare_sets() -> None:
    """Shares of cells 0 and 3: 0.8 and 0.2 against 1 and 0."""
    real, released = on_cells([[0, 0]] * 4 + [[3, 3]]), on_cells([[0, 0]] * 2)
    for sanity, errors in ((0.1, {0: 0.25, 3: 1.0}), (0.5, {0: 0.25, 3: 0.4})):
        expected = by_hand(real, released, errors, cq_sanity=sanity)
        assert values(real, released, cq_length=1, cq_sanity=sanity)["CQ"] == pytest.approx(expected)


def test_staying_in_one_place_is_no_good_release() -> None:
    real = walks(100, 20, 0)
    stay = replace(real, lonlat=np.tile(real.lonlat[10], (real.n_points, 1)))
    settings = MetricSettings()
    found = [
        {r.metric: r.value for r in evaluate(real, s, settings=settings, seed=0, names=["CQ", "FP"])}
        for s in (walks(100, 20, 1), stay)
    ]
    assert found[1]["CQ"] > 0.8 > found[0]["CQ"] and found[1]["FP"] == 1.0 > found[0]["FP"]


def test_order_matters_for_patterns_and_not_for_queries() -> None:
    real, released = on_cells([[0, 1, 3]] * 4), on_cells([[3, 1, 0]] * 2)
    assert values(real, released) == {"CQ": 0.0, "FP": 1.0}


def test_pattern_mismatch_by_hand() -> None:
    real, released = on_cells([[0, 0, 1, 3]] * 3), on_cells([[2, 0, 1, 1], [2, 2, 0, 1], [0, 1, 3, 3]])
    assert values(real, released, fp_top=1)["FP"] == 0.0  # 01 on both sides
    # real: 01, 013, 03, 13; released: 01 (support 3), then 20, 201, 21 (2)
    assert values(real, released, fp_top=4)["FP"] == 0.75


def test_trajectories_that_stay_in_one_cell_have_no_pattern() -> None:
    stay, go = on_cells([[0, 0]] * 3), on_cells([[0, 1]] * 3)
    assert values(stay, stay)["FP"] == 0.0
    assert values(stay, go)["FP"] == values(go, stay)["FP"] == 1.0


def test_a_grid_of_one_cell_has_shorter_queries() -> None:
    a, b = walks(4, 5, 0), walks(4, 5, 1)
    found = evaluate(a, b, settings=MetricSettings(pattern_cells=1), seed=0, names=["CQ", "FP"])
    assert [r.value for r in found] == [0.0, 0.0]


def test_sizes_of_the_sets_do_not_matter() -> None:
    a = walks(30, 10, 0)
    twice = replace(a.take(np.tile(np.arange(30), 2)), traj_ids=np.arange(60).astype(str))
    assert values(a, twice) == {"CQ": 0.0, "FP": 0.0}
