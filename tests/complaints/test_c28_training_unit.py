"""A training's guarantee says that it protects one trajectory, also where one person has ten of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from deep_toys import TINY_CONFIG, toy_trajectories

from trajkit.methods import make_method


def test_c28_one_user_with_ten_trips_gets_a_trajectory_level_guarantee_that_says_so() -> None:
    train = toy_trajectories(40)
    one = np.maximum(np.arange(40) - 9, 0)
    train = replace(train, user=one, user_ids=train.user_ids[:31])
    guarantee = (
        make_method("diffusion", **TINY_CONFIG, regime="private", noise_multiplier=2.0).fit(train, seed=0).guarantee_
    )  # type: ignore[attr-defined]
    assert guarantee.unit == "trajectory" and "per trajectory" in guarantee.in_words()
    assert any("a person with several of them is protected less" in a for a in guarantee.assumptions)
