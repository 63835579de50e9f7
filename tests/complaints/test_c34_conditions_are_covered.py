"""C34: trips published as synthetic whose conditions are the real trips': sampling from real records is covered or says that it is not."""

from __future__ import annotations

import pytest
from deep_toys import SMALL_CONFIG, toy_trajectories

from trajkit.methods import make_method

MECHANISM = {"mechanism": "laplace", "epsilon": 5.0}
DP_SGD = {"regime": "private", "noise_multiplier": 2.0}


@pytest.mark.parametrize("mechanism", [{}, MECHANISM])
def test_a_release_made_from_real_conditions_holds_only_with_a_mechanism(mechanism: dict[str, object]) -> None:
    model = make_method("vae", **SMALL_CONFIG, **DP_SGD, condition={"type": "sample", **mechanism})
    g = model.fit(toy_trajectories(), seed=0).release(4, seed=0).guarantee
    assert g.holds == bool(mechanism)
    if not g.holds:
        assert "conditioning set is not protected" in str(g.reason)


def test_the_report_says_how_near_a_release_lies_to_its_condition() -> None:
    model = make_method("vae", **SMALL_CONFIG, **DP_SGD, condition={"type": "sample"})
    report = model.fit(toy_trajectories(), seed=0).release(4, seed=0).report
    assert set(report["not covered by the guarantee"]["leak"]) == {"ratio", "found", "chance"}
