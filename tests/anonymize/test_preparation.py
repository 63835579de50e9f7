"""The pipeline before anonymization: silences and stays are cut out, and the private map still leads to the trajectories that came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from anonymity_toys import apart
from toys import META, ORIGIN, walks

from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.release import HIDDEN
from trajkit.trajectories import Trajectories, make

METHODS: dict[str, dict[str, Any]] = {
    "k_anonymity": {"cells_m": [500.0], "minutes": [None], "suppression_budget": 1.0},
    "k_delta": {"interval_s": None, "length": 8},
    "cloaking": {"minutes": None},
    "lkc": {"cells_m": 500.0},
}
NIGHT = 1_383_004_800  # 29 October 2013, 0:00 UTC


def commuters(n: int) -> Trajectories:
    """``n`` people sleep at 0 m, walk to 3 km in ten minutes, and after two silent hours go on to 6 km."""
    fixes = []
    for _ in range(n):
        places = [*[(0, 300 * i) for i in range(24)], *[(300 * i, 7200 + 60 * i) for i in range(11)]]
        places += [(3000 + 300 * i, 15_600 + 60 * i) for i in range(11)]
        lonlat = unproject(ORIGIN + np.array([[x, 0.0] for x, _ in places]), META.crs)
        fixes.append([(*p, NIGHT + t) for p, (_, t) in zip(lonlat.tolist(), places, strict=True)])
    return apart(make(*fixes, meta=META))


@pytest.mark.parametrize("method", METHODS)
def test_silences_and_homes_are_cut_out_and_the_map_leads_back(method: str) -> None:
    train = commuters(4)
    whole, cut = (
        make_method(method, k=3, **METHODS[method], **more).fit(train, seed=0)
        for more in ({}, {"gap_s": 3600.0, "stays": "home"})
    )
    before, after = (m.release(None, seed=0) for m in (whole, cut))
    home = unproject(ORIGIN[None], META.crs)[0]
    near = [np.hypot(*((r.trajectories.lonlat - home) * [84_000, 111_000]).T).min() for r in (before, after)]
    assert near[0] < near[1] > 299 or method == "cloaking"
    assert len(after.trajectories) == 2 * len(before.trajectories) == 8  # two parts each
    assert np.bincount(cut.origin_).tolist() == [2, 2, 2, 2]  # type: ignore[attr-defined]
    assert [s["step"] for s in after.report[HIDDEN]["preparation"]] == ["split_at_gaps", "suppress_stays"]
    assert before.report[HIDDEN]["preparation"] == []


def test_stays_need_times() -> None:
    with pytest.raises(ParameterError, match="no times"):
        make_method("k_anonymity", stays="home").fit(walks(5, 8, 0), seed=0)
