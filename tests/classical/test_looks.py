"""The account of looks: what is claimed is the sum of what was taken, and no more can be taken than was declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trajkit.classical.looks import WEIGHT, Looks
from trajkit.errors import PrivacyAccountingError


def test_the_guarantee_is_the_sum_of_the_looks() -> None:
    looks = Looks(1.0, seed=0, stream="test")
    looks.counts("cells", np.zeros(5, dtype=np.int64), epsilon=looks.budget / 5)
    assert looks.guarantee("toy", public=()).epsilon == pytest.approx(0.2)
    looks.weights("transitions", np.array([WEIGHT, 0]), epsilon=looks.left)
    g = looks.guarantee("toy", public=("n is public",))
    assert g.holds and g.epsilon == 1.0 and g.delta == 0 and g.numerics == "exact" and "n is public" in g.assumptions
    assert "cells: epsilon 0.2" in g.parts[0].mechanism and len(g.parts[0].details["looks"]) == 2


def test_thirds_and_tenths_add_up_and_nothing_is_left_over_for_more() -> None:
    looks = Looks(0.1, seed=0, stream="test")
    for i in range(3):
        looks.counts(f"level {i}", np.arange(3), epsilon=looks.budget / 3)
    assert looks.left == 0
    with pytest.raises(PrivacyAccountingError, match="one more"):
        looks.counts("one more", np.arange(3), epsilon=Fraction(1, 10**9))


def test_noise_grows_with_the_sensitivity_and_falls_with_epsilon() -> None:
    def spread(epsilon: float, sensitivity: int) -> float:
        looks = Looks(epsilon, seed=1, stream="test")
        return float(
            looks.counts("x", np.zeros(4000, dtype=np.int64), epsilon=looks.budget, sensitivity=sensitivity).std()
        )

    assert spread(1.0, 1) < spread(0.5, 1) < spread(0.5, 4)


@pytest.mark.parametrize("mechanism", ["geometric", "laplace"])
def test_seeded_noise_repeats_and_the_systems_does_not(mechanism: str) -> None:
    def drawn(source: str) -> list[float]:
        looks = Looks(0.5, seed=3, stream="test", source=source, mechanism=mechanism)  # type: ignore[arg-type]
        return looks.counts("x", np.zeros(50, dtype=np.int64), epsilon=looks.budget).tolist()

    assert drawn("seeded") == drawn("seeded") and drawn("os") != drawn("os")
    g = Looks(0.5, seed=3, stream="test", source="os", mechanism=mechanism).guarantee("toy", public=())  # type: ignore[arg-type]
    assert g.rng == "os entropy" and (g.numerics == "exact") is (mechanism == "geometric")
