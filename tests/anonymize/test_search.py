"""The lattice: which setting is taken, what is reported of it, and which parameters are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from anonymity_toys import crowd, released
from toys import walks

from trajkit.anonymize.search import KAnonymityConfig
from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.release import HIDDEN


def test_the_finest_setting_within_the_budget_is_taken() -> None:
    trajs = crowd(400, 5)
    for order, key in {
        "volume": lambda m, t: (m * m * t, m),
        "cells": lambda m, t: (m, t),
        "minutes": lambda m, t: (t, m),
    }.items():
        report = released(trajs, k=3, order=order, suppression_budget=0.4).report
        rows = report[HIDDEN]["lattice"]
        values = [key(float(r["cells"].split()[1]), r["minutes"] or math.inf) for r in rows]
        assert values == sorted(values) and len(rows) == 20
        ok = [r for r in rows if r["suppressed"]["trajectories"] <= 0.4]
        assert [r["within budget"] for r in rows] == [r in ok for r in rows]
        assert {k: report["setting"][k] for k in ("cells", "minutes")} == {k: ok[0][k] for k in ("cells", "minutes")}
        assert 0 < len(ok) < len(rows) and report["notes"] == []
        for row, shown in zip(rows, report["lattice"], strict=True):
            assert set(shown["suppressed"]) == set(row["suppressed"])
            assert all(round(s * 20, 6) % 1 == 0 for s in shown["suppressed"].values())


def test_where_nothing_meets_the_budget_the_least_suppression_is_taken_and_said() -> None:
    report = released(crowd(100, 5), k=6, suppression_budget=0.0).report
    lost = [row["suppressed"]["trajectories"] for row in report[HIDDEN]["lattice"]]
    chosen = report[HIDDEN]["lattice"][int(np.argmin(lost))]
    assert min(lost) > 0 and not report["within budget"]
    assert "no setting suppresses at most 0% of the trajectories" in report["notes"][0]
    assert (report["setting"]["cells"], report["setting"]["minutes"]) == (chosen["cells"], chosen["minutes"])


def test_sets_without_times_are_tried_without_and_it_is_said() -> None:
    report = released(walks(10, 6, 0), k=2).report
    assert {row["minutes"] for row in report["lattice"]} == {None}
    assert any("no times" in note for note in report["notes"])
    assert not any("no times" in note for note in released(walks(10, 6, 0), k=2, minutes=[None]).report["notes"])


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"minutes": [7]}, "minutes"), ({"cells_m": []}, "cells_m"), ({"cells_m": [0.0]}, "cells_m"), ({"k": 1}, "k"),
        ({"day": "2020-02-31"}, "day"), ({"suppression_budget": 1.5}, "suppression_budget"), ({"resolutions": [16]}, "resolutions"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        make_method("k_anonymity", **parameters)


def test_parameters_survive_a_params_file() -> None:
    config = KAnonymityConfig(minutes=(15, None))
    assert KAnonymityConfig(**json.loads(config.model_dump_json())) == config
