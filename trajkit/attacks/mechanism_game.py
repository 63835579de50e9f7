"""The noise mechanisms of the kit, each on the two inputs that are worst for it: does one release spend what it claims?

The subjects are the mechanisms that make a condition private (`trajkit.privacy.mechanisms`, `trajkit.privacy.vmf`) and the geometric noise
of the classical counts, at their own calibration. A record is a row of ``dimension`` numbers and is replaced by its opposite, so that it
moves as far as it can: along one axis for L1 (`Laplace`), along the diagonal for L2 (`Gaussian`) and on the sphere (VMF); a count moves
by 1. The score orders releases as the exact likelihood ratio of the two inputs does, so by Neyman and Pearson no other score sees more.
Laplace and geometric noise lose all of epsilon in half of their draws, so that the bound comes close to the claim. Gaussian and VMF noise
lose it in the tail only, once in 1 / delta draws or towards one direction: there the bound stays far below the claim at any budget that is
affordable, and what is tested sharply is the claimed curve, the mechanism's own delta(epsilon) at every epsilon. That of VMF is the curve
of randomised response, an upper bound: in 64 dimensions, where directions are all but orthogonal, 100,000 draws miss the flaws below.

Flaws: `TWICE`, noise for twice the epsilon that is claimed; `METRIC` (VMF only), the concentration kappa = epsilon of the metric form in
place of epsilon / 2, which is the same noise reached by a known mistake (design, section 3).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit.attacks.audit_bounds import CURVE_POINTS, Curve, audit
from trajkit.attacks.verdict import SOUND, Verdict, judged
from trajkit.attacks.watched import check_flaw
from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Geometric, row_mechanism
from trajkit.privacy.release_checks import check_whole
from trajkit.privacy.vmf import VonMisesFisher
from trajkit.seeds import rng

TWICE, METRIC = "noise for twice the epsilon", "kappa = epsilon"
FLAWS = (TWICE, METRIC)
SCORE = "log-likelihood ratio"
DELTA, NORM = 1e-6, 1.0  # of Gaussian noise; all rows are of this norm


@dataclass(frozen=True)
class _Worst:
    """``calibrated`` at an epsilon; the worst input and its neighbour [dimension] (or a count [1]); ``score`` of releases [n, dimension]."""

    calibrated: Callable[[float], Any]
    inputs: tuple[np.ndarray, np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]
    delta: float = 0.0


def _additive(kind: str, dimension: int) -> _Worst:
    """Laplace: the log ratio is that of the one coordinate that moves, 2 x / scale held between its ends. Gaussian: along the diagonal."""
    laplace = kind == "laplace"
    axis = np.eye(dimension)[0] if laplace else np.full(dimension, 1 / math.sqrt(dimension))
    delta = None if laplace else DELTA

    def score(found: np.ndarray) -> np.ndarray:
        return np.clip(found[:, 0], -NORM, NORM) if laplace else found @ axis

    return _Worst(
        lambda epsilon: row_mechanism(kind, epsilon=epsilon, delta=delta, norm=NORM, dimension=dimension),
        (NORM * axis, -NORM * axis),
        score,
        delta or 0.0,
    )


def _sphere(dimension: int) -> _Worst:
    axis = np.full(dimension, 1 / math.sqrt(dimension))
    return _Worst(
        lambda epsilon: VonMisesFisher.calibrate(epsilon, dimension=dimension),
        (axis, -axis),
        lambda found: found @ axis,
    )


def _count(exact: bool) -> _Worst:
    return _Worst(
        lambda epsilon: Geometric.calibrate(epsilon, sensitivity=1, exact=exact),
        (np.array([1]), np.array([0])),
        lambda found: np.clip(found[:, 0], 0, 1).astype(
            np.float64
        ),  # the ratio is one above 0, and another one up to it
    )


MECHANISMS: dict[str, Callable[[int], _Worst]] = {
    "laplace": lambda dimension: _additive("laplace", dimension),
    "gaussian": lambda dimension: _additive("gaussian", dimension),
    "vmf": _sphere,
    "geometric": lambda dimension: _count(exact=False),
    "exact geometric": lambda dimension: _count(exact=True),
}


def mechanism_game(
    mechanism: str,
    *,
    epsilon: float = 1.0,
    dimension: int = 8,
    releases: int = 100_000,
    seed: int,
    flaw: str = SOUND,
    level: float = 0.95,
) -> Verdict:
    """Audit ``mechanism``, one of `MECHANISMS`, claimed at ``epsilon``, by ``releases`` draws on each of its two worst inputs.

    Gaussian noise is claimed at delta 1e-6, the others at 0; ``dimension`` is that of the rows (counts have none). Raises ParameterError
    for what is unknown, a flaw that the mechanism cannot have, and as `audit` does.
    """
    started = time.monotonic()
    a, b, curve, delta = drawn_scores(
        mechanism, epsilon=epsilon, dimension=dimension, releases=releases, seed=seed, flaw=flaw
    )
    found = audit({SCORE: (a, b)}, delta=delta, level=level, curve=curve)
    rows = "" if mechanism.endswith("geometric") else f", dimension {dimension}"
    seconds = time.monotonic() - started
    return judged(
        found, subject=f"{mechanism}{rows}, {flaw}", test="mechanism", claimed_epsilon=float(epsilon), seconds=seconds
    )


def drawn_scores(
    mechanism: str, *, epsilon: float, dimension: int, releases: int, seed: int, flaw: str = SOUND
) -> tuple[np.ndarray, np.ndarray, Curve, float]:
    """Scores [releases] with and without, the claimed curve, and the delta of the claim. Errors as those of `mechanism_game`."""
    _check(mechanism, flaw, releases)
    check_whole(dimension, "dimension", 2, "the columns of the rows")
    worst = MECHANISMS[mechanism](dimension)
    claimed = worst.calibrated(epsilon)
    used = claimed if flaw == SOUND else worst.calibrated(2 * epsilon)
    if flaw == METRIC:
        used = VonMisesFisher(epsilon, dimension)
    a, b = (
        worst.score(
            used.randomise(np.tile(row, (releases, 1)), rng(seed, "attack", "mechanism", mechanism, flaw, name))
        )
        for name, row in zip(("with", "without"), worst.inputs, strict=True)
    )
    at = np.linspace(0.0, epsilon, CURVE_POINTS)
    return a, b, Curve(tuple(map(float, at)), tuple(float(claimed.delta(e)) for e in at)), worst.delta


def mechanism_table(
    *, epsilon: float = 1.0, dimension: int = 8, releases: int = 100_000, seed: int, level: float = 0.95
) -> tuple[Verdict, ...]:
    """Every mechanism as it is, and with the flaw that it may have: each mechanism twice."""
    return tuple(
        mechanism_game(name, epsilon=epsilon, dimension=dimension, releases=releases, seed=seed, flaw=flaw, level=level)
        for name in MECHANISMS
        for flaw in (SOUND, METRIC if name == "vmf" else TWICE)
    )


def _check(mechanism: str, flaw: str, releases: int) -> None:
    if mechanism not in MECHANISMS:
        raise ParameterError(f"mechanism = {mechanism!r}: use one of {', '.join(MECHANISMS)}")
    check_flaw(flaw, FLAWS)
    if flaw == METRIC and mechanism != "vmf":
        raise ParameterError(f"flaw = {flaw!r}: {mechanism} has no kappa; use {TWICE!r}")
    check_whole(releases, "releases", 4, "draws in each world")
