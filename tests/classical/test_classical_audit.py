"""Black-box audits of the classical methods on a universe of four cells: an attacker who knows all but one trajectory.

Each look in turn gets nearly all of the budget, so that the attack on it has power: the claim must survive, and the same attack on
the same method with half the noise must refute it. Seeds are fixed and bounds hold at level 0.99.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from toys import META, from_metres

from trajkit.attacks.threshold_audit import epsilon_lower_bound
from trajkit.classical import looks as looks_module
from trajkit.classical import privtrace
from trajkit.classical.looks import Looks
from trajkit.geo import box_xy
from trajkit.methods import make_method, method_class
from trajkit.privacy.mechanisms import Geometric

EPSILON = 1.0
FITS = 350
MORE_FITS = {  # where less is to be seen in one fit
    "privtrace, density": 600,
    "privtrace, first order": 1000,
    "privtrace, second order": 600,
    "adatrace, density": 600,
    "adatrace, ends": 600,
}
LOW, HIGH = -3000.0, 3000.0
OTHERS = [[(LOW, LOW), (LOW, LOW + 10)], [(LOW, LOW), (HIGH, LOW)]]
TARGET = [(HIGH, HIGH), (LOW, HIGH)]  # known to be there or not: crosses cells that nobody else is in
STAYS = [(HIGH, HIGH), (HIGH, HIGH + 10)]  # never leaves its cell: one second-order transition of full weight


class HalfTheNoise(Geometric):
    """The bug to be caught."""

    @classmethod
    def calibrate(cls, epsilon: float, *, sensitivity: int, exact: bool = False) -> Geometric:
        return Geometric.calibrate(2 * epsilon, sensitivity=sensitivity, exact=exact)


def focused(k: int, looks: int) -> list[float]:
    return [0.98 if i == k else 0.02 / (looks - 1) for i in range(looks)]


COARSE = {"trips": 2, "per_cell": 1e9, "per_coarse_cell": 1e9}
CASES: dict[str, tuple[str, dict[str, Any], list[tuple[float, float]]]] = {
    "flat": ("flat", {"cells": 2}, TARGET),
    "privtrace, density": ("privtrace", {**COARSE, "split": focused(0, 3)}, STAYS),
    "privtrace, first order": ("privtrace", {**COARSE, "split": focused(1, 3)}, STAYS),
    "privtrace, second order": ("privtrace", {**COARSE, "split": focused(2, 3)}, STAYS),
    "privtrace, number": ("privtrace", {"per_cell": 1e9, "per_coarse_cell": 1e9, "count_share": 0.98}, TARGET),
    "adatrace, number": ("adatrace", {"per_cell": 1e9, "per_coarse_cell": 1e9, "split": focused(0, 6)}, TARGET),
    "adatrace, density": ("adatrace", {**COARSE, "split": focused(1, 6)}, STAYS),
    "adatrace, mobility": ("adatrace", {**COARSE, "split": focused(2, 6)}, TARGET),
    "adatrace, trips": ("adatrace", {**COARSE, "split": focused(3, 6)}, TARGET),
    "adatrace, ends": ("adatrace", {**COARSE, "split": focused(4, 6)}, TARGET),
    "adatrace, lengths": ("adatrace", {**COARSE, "split": focused(5, 6)}, TARGET),
}


class Transcript:
    """Every noisy vector that a fit sees, with the exact one, which the attacker knows for either of the two sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exact: list[np.ndarray] = []
        self.noisy: list[np.ndarray] = []
        self.scale: list[float] = []
        take = Looks.counts

        def spy(looks: Looks, what: str, values: np.ndarray, *, epsilon: Any, sensitivity: int = 1) -> np.ndarray:
            found = take(looks, what, values, epsilon=epsilon, sensitivity=sensitivity)
            self.exact.append(np.array(values))
            self.noisy.append(found)
            self.scale.append(looks.taken[-1].scale)
            return found

        monkeypatch.setattr(Looks, "counts", spy)

    def fit(self, name: str, parameters: dict[str, Any], trajs: Any, seed: int) -> None:
        for record in (self.exact, self.noisy, self.scale):
            record.clear()
        make_method(name, epsilon=EPSILON, length=2, **parameters).fit(trajs, seed=seed)


def scores(case: str, transcript: Transcript, *, seed: int) -> tuple[list[float], list[float]]:
    """Log-likelihood ratio of the whole transcript, of fits without the target and with it."""
    name, parameters, target = CASES[case]
    without, whole = from_metres(OTHERS), from_metres([*OTHERS, target])
    exact = []
    for trajs in (without, whole):
        transcript.fit(name, parameters, trajs, seed)
        exact.append([*transcript.exact])

    def ratio() -> float:
        rows = zip(transcript.noisy, *exact, transcript.scale, strict=True)
        return float(sum((np.abs(z - a) - np.abs(z - b)).sum() / scale for z, a, b, scale in rows))

    found: tuple[list[float], list[float]] = ([], [])
    for i in range(MORE_FITS.get(case, FITS)):
        for trajs, list_ in zip((without, whole), found, strict=True):
            transcript.fit(name, parameters, trajs, seed + 2 * i + (trajs is whole))
            list_.append(ratio())
    return found


@pytest.fixture
def transcript(monkeypatch: pytest.MonkeyPatch) -> Transcript:
    """Without checks and what follows the noise, which take most of the time and tell an attacker nothing more."""
    box = box_xy(META.box, META.crs)
    for name in ("privtrace", "adatrace", "flat"):
        cls = method_class(name)
        module = sys.modules[cls.__module__]
        monkeypatch.setattr(cls, "_model", lambda self, *parts: parts, raising=False)
        monkeypatch.setattr(module, "box_xy", lambda *_: box)
        monkeypatch.setattr(module, "checked_training_set", lambda train: train)
    monkeypatch.setattr(privtrace, "guideposts", lambda grid, first, epsilon: np.ones(grid.n_cells, dtype=bool))
    return Transcript(monkeypatch)


@pytest.mark.parametrize("case", CASES)
def test_the_claim_survives_and_half_the_noise_does_not(
    case: str, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = epsilon_lower_bound(*scores(case, transcript, seed=10_000), delta=0.0)
    monkeypatch.setattr(looks_module, "Geometric", HalfTheNoise)
    broken = epsilon_lower_bound(*scores(case, transcript, seed=20_000), delta=0.0)
    print(case, honest.epsilon, broken.epsilon)
    assert honest.epsilon <= EPSILON < broken.epsilon


@pytest.mark.parametrize("name", ["privtrace", "adatrace"])
def test_all_looks_together_keep_the_claim(name: str, transcript: Transcript) -> None:
    """The published shares: the transcript of all looks at once."""
    CASES["all"] = (name, COARSE, TARGET)
    assert epsilon_lower_bound(*scores("all", transcript, seed=30_000), delta=0.0).epsilon <= EPSILON


def test_the_published_support_of_transitions_gives_a_trajectory_away(transcript: Transcript) -> None:
    """What variant published says of itself is so: an edge that somebody took is known from one that nobody took."""
    parameters = {"variant": "published", "per_cell": 1e9, "per_coarse_cell": 1e9}

    def transitions_seen(trajs: Any, seed: int) -> float:
        parts: Any = make_method("privtrace", epsilon=0.1, length=2, **parameters).fit(trajs, seed=seed)
        return float((parts.model_[3] != 0).sum())

    corners = [[(LOW, LOW), (HIGH, HIGH)], [(HIGH, HIGH), (LOW, LOW)]]  # so the box is the same
    without, whole = from_metres(corners), from_metres([*corners, [(HIGH, LOW), (LOW, HIGH)]])
    a, b = ([transitions_seen(t, seed) for seed in range(60)] for t in (without, whole))
    assert epsilon_lower_bound(a, b, delta=0.0).epsilon > 1.0


def test_the_published_variant_claims_nothing() -> None:
    method = make_method("privtrace", variant="published", epsilon=0.1).fit(from_metres(OTHERS), seed=0)
    guarantee = method.release(1, seed=0).guarantee
    assert not guarantee.holds and "exact" in str(guarantee.reason)
