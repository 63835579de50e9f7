"""`Looks`: the only way a classical synthesizer looks at private counts. It adds the noise and keeps the account.

A look is one vector of whole numbers that one trajectory, added or removed, changes by at most ``sensitivity`` in L1. Looks compose
by addition: what `Looks.guarantee` claims is what was taken, summed up, and `Looks` refuses to take more than was declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from trajkit import seeds
from trajkit.contributions import ONE_PERSON, capped_words
from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED, TRAINING, Guarantee, Part
from trajkit.privacy.mechanisms import Geometric, Laplace
from trajkit.privacy.release_checks import EXACT, IDEALISED

UNIT = "trajectory"
ADJACENCY = "add-remove"
WEIGHT = 1 << 20  # fixed-point units in which fractions of a trajectory are counted
ONE_TRAJECTORY = "one trajectory is protected; a person with several of them is protected less"
SHARED_ASSUMPTIONS = (  # of every method that adds noise to counts of trajectories
    "the box is public and was not computed from the data",
    "hyper-parameters are not accounted: they must be chosen on other data",
    ONE_TRAJECTORY,
)
REPLACING = "who replaces one {} by another moves the counts twice: under replace-one epsilon is twice as large"
ASSUMPTIONS = (*SHARED_ASSUMPTIONS, REPLACING.format(UNIT))
KEYED = "{noise} noise comes from a pseudo-random generator (not cryptographic) keyed with operating-system entropy"
SECRET_SEED = "the noise can be recomputed by whoever knows the seed: no release of this run may leave"


@dataclass(frozen=True)
class Look:
    """Noisy vectors that were taken: what they counted, the epsilon of each, its sensitivity, the scale of its noise, how many."""

    what: str
    epsilon: Fraction
    sensitivity: int
    scale: float
    times: int = 1

    @property
    def spent(self) -> Fraction:
        """Epsilon of all of them."""
        return self.times * self.epsilon

    def in_words(self) -> str:
        """A few words for the composition."""
        times = f"{self.times} x " if self.times > 1 else ""
        return f"{self.what}: {times}epsilon {float(self.epsilon):.4g}, sensitivity {self.sensitivity}, noise of scale {self.scale:.4g}"


class Looks:
    """The account of one fit. ``budget`` is an exact number, so that shares of it add up to it and not to a little more.

    ``records``: trajectories that one user has at most, which the caller must enforce; then the unit is the user, and every look's
    sensitivity is so many times as large. ``mechanism`` "geometric" draws exactly (`trajkit.privacy.exact_noise`), "laplace" in floating point as many papers do.
    """

    def __init__(
        self,
        epsilon: float,
        *,
        seed: int,
        stream: str,
        source: Literal["seeded", "os"] = "seeded",
        mechanism: Literal["geometric", "laplace"] = "geometric",
        records: int | None = None,
    ) -> None:
        self.budget, self.mechanism, self.source = Fraction(epsilon), mechanism, source
        self.rng = None if source == "os" else seeds.rng(seed, "noise", stream)
        self.records = records
        self.taken: list[Look] = []

    @property
    def left(self) -> Fraction:
        """What has not been taken yet."""
        return self.budget - sum((look.spent for look in self.taken), Fraction(0))

    def noise(self, what: str, *, epsilon: Fraction, sensitivity: int = 1, times: int = 1) -> Geometric | Laplace:
        """Charge ``times`` looks of ``epsilon`` each and return their noise, for callers that add it themselves.

        Raises PrivacyAccountingError where they would exceed the budget.
        """
        if epsilon <= 0 or times * epsilon > self.left:
            raise PrivacyAccountingError(
                f"{what} asks for epsilon {float(times * epsilon):.6g}, but of {float(self.budget):.6g} only "
                f"{float(self.left):.6g} is left"
            )
        sensitivity *= self.records or 1
        spent = _down(epsilon)
        noise = (
            Geometric.calibrate(spent, sensitivity=sensitivity, exact=True)
            if self.mechanism == "geometric"
            else Laplace.calibrate(spent, l1_sensitivity=float(sensitivity))
        )
        self.taken.append(Look(what, epsilon, sensitivity, noise.scale, times))
        return noise

    def counts(self, what: str, values: np.ndarray, *, epsilon: Fraction, sensitivity: int = 1) -> np.ndarray:
        """Return ``values`` (whole numbers, any shape) with noise: int64 for geometric noise, float64 for Laplace noise.

        sensitivity: the most that one trajectory changes ``values`` in L1, which the caller must enforce. Every entry must be
        there, the empty ones too.
        """
        noise = self.noise(what, epsilon=epsilon, sensitivity=sensitivity)
        if isinstance(noise, Geometric):
            return noise.randomise(values, self.rng)
        return noise.randomise(values, self.rng or np.random.default_rng())

    def weights(self, what: str, values: np.ndarray, *, epsilon: Fraction) -> np.ndarray:
        """Noisy sums of shares of trajectories, float64: ``values`` in units of 1/`WEIGHT`, at most `WEIGHT` a trajectory in L1."""
        return self.counts(what, values, epsilon=epsilon, sensitivity=WEIGHT) / WEIGHT

    def listed(self) -> list[dict[str, Any]]:
        """What was taken, as plain values."""
        return [asdict(look) | {"epsilon": float(look.epsilon)} for look in self.taken]

    def guarantee(self, method: str, *, public: Sequence[str]) -> Guarantee:
        """The guarantee of everything that was looked at. ``public``: what the method takes as publicly known, in words."""
        spent = float(sum((look.spent for look in self.taken), Fraction(0)))
        name = "two-sided geometric" if self.mechanism == "geometric" else "Laplace"
        looks = "; ".join(look.in_words() for look in self.taken)
        words = f"{method}: {name} noise on counts, sequential composition of {sum(k.times for k in self.taken)} look(s): {looks}"
        details = {"looks": self.listed()}
        rng = RNG_OS if self.source == "os" else RNG_SEEDED
        keyed = [KEYED.format(noise="Laplace")] if self.mechanism == "laplace" else []
        return Guarantee(
            holds=True,
            kind="dp",
            epsilon=spent,
            delta=0.0,
            unit=unit_of(self.records),
            adjacency=ADJACENCY,
            mechanism=words,
            accountant="sum of the looks (pure DP)",
            parts=(Part(TRAINING, words, spent, 0.0, details),),
            rng=rng,
            numerics=EXACT if self.mechanism == "geometric" else IDEALISED,
            assumptions=(
                *shared_assumptions(self.records, REPLACING),
                *public,
                *([SECRET_SEED] if rng == RNG_SEEDED else keyed),
            ),
        )


def unit_of(records: int | None) -> str:
    """The unit of privacy where a user has at most ``records`` trajectories (None: as many as he likes)."""
    return UNIT if records is None else "user"


def shared_assumptions(records: int | None, replacing: str) -> tuple[str, ...]:
    """What every method with noisy counts assumes; ``replacing`` says what replace-one costs, with {} for the unit."""
    if records is None:
        return (*SHARED_ASSUMPTIONS, replacing.format(UNIT))
    public = (a for a in SHARED_ASSUMPTIONS if a != ONE_TRAJECTORY)
    return (*public, replacing.format("user"), capped_words(records), ONE_PERSON)


def _down(epsilon: Fraction) -> float:
    """The largest float at most ``epsilon``."""
    value = float(epsilon)
    return value if Fraction(value) <= epsilon else float(np.nextafter(value, 0.0))
