"""What releases of one data set add up to: (epsilon, delta) by unit of privacy, under basic composition, and the cap on it.

Basic composition (Dwork et al. 2006): releases that are (e_i, d_i)-DP are together (sum e_i, sum d_i)-DP, whatever their mechanisms and
also where a later one was chosen after a look at an earlier one. It is not the tightest sum; no other is used here.

Units are different promises. A release that protects single trajectories protects a user with at most m of them m times as weakly
(`privacy.user_level.group_privacy`); without a bound m there is no finite figure for him. One that protects users protects a single
trajectory too: take the user out, put him back without it, which is two steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from trajkit.errors import ParameterError
from trajkit.privacy.user_level import group_privacy

COUNTED_UNITS = ("trajectory", "user")
SLACK = 1e-9  # relative, what adding up decimal fractions as floats may be off by
COMPOSITION = "basic composition: epsilons and deltas are added"
USER_TO_TRAJECTORY = 2
DELTA_CAP = 1e-4  # of all releases together, where the owner names none


@dataclass(frozen=True)
class Spend:
    """(``epsilon``, ``delta``) of one ``unit`` ("trajectory" or "user"), add-remove. Infinite where nothing bounds it."""

    epsilon: float
    delta: float
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in COUNTED_UNITS:
            raise ParameterError(f"unit {self.unit!r}: budgets are counted by {' or '.join(COUNTED_UNITS)}")
        if not (self.epsilon >= 0 and self.delta >= 0):
            raise ParameterError(f"epsilon {self.epsilon}, delta {self.delta}: must be at least 0")

    def in_words(self) -> str:
        """Epsilon, delta and unit."""
        if math.isinf(self.epsilon):
            return f"unbounded per {self.unit}"
        return f"epsilon {self.epsilon:.6g}, delta {self.delta:.3g} per {self.unit}"


@dataclass(frozen=True)
class Cap:
    """The most that all releases of a data set may spend together, in one unit."""

    epsilon: float
    delta: float
    unit: str

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 <= self.delta < 1) or self.unit not in COUNTED_UNITS:
            raise ParameterError(
                f"cap epsilon {self.epsilon}, delta {self.delta}, unit {self.unit!r}: epsilon must be finite and above 0, delta in [0, 1), "
                f"the unit {' or '.join(COUNTED_UNITS)}"
            )

    def allows(self, total: Spend) -> bool:
        """Whether ``total``, of the same unit, stays within the cap."""
        return total.epsilon <= self.epsilon * (1 + SLACK) and total.delta <= self.delta * (1 + SLACK)

    def exceeds(self, other: Cap) -> bool:
        """Whether this cap lets through what ``other`` would not."""
        return self.unit != other.unit or self.epsilon > other.epsilon or self.delta > other.delta

    def in_words(self) -> str:
        """Epsilon, delta and unit."""
        return f"epsilon {self.epsilon:.6g}, delta {self.delta:.3g} per {self.unit}"


@dataclass(frozen=True)
class Asked:
    """A cap as it is asked for: what is None stays as it was; on first use delta is `DELTA_CAP` and the unit that of the release."""

    epsilon: float | None = None
    delta: float | None = None
    unit: str | None = None

    def settled(self, before: Cap | None, unit: str) -> Cap:
        """The whole cap. Raises ParameterError where there is none yet and none is named."""
        epsilon = self.epsilon if self.epsilon is not None or before is None else before.epsilon
        if epsilon is None:
            raise ParameterError(
                "this data has no cap in the ledger yet: say how much all of its releases may spend together (CAP=4, say)"
            )
        delta = self.delta if self.delta is not None else before.delta if before else DELTA_CAP
        return Cap(epsilon, delta, self.unit or (before.unit if before else unit))


def converted(spend: Spend, unit: str, most_trips: int | None) -> Spend:
    """What ``spend`` promises to a ``unit``; ``most_trips``: the most trajectories of a user, None where nothing bounds them."""
    if spend.unit == unit or spend.epsilon == 0 == spend.delta:
        return Spend(spend.epsilon, spend.delta, unit)
    many = most_trips if unit == "user" else USER_TO_TRAJECTORY
    if many is None or spend.epsilon == 0:
        return Spend(math.inf, 1.0, unit)
    epsilon, delta = group_privacy(spend.epsilon, spend.delta, many)
    return Spend(epsilon, min(delta, 1.0), unit)


def total(spends: Iterable[Spend], unit: str, most_trips: int | None) -> Spend:
    """All of them together in one unit, each converted and then added (`COMPOSITION`)."""
    each = [converted(s, unit, most_trips) for s in spends]
    return Spend(math.fsum(s.epsilon for s in each), min(math.fsum(s.delta for s in each), 1.0), unit)


def own_total(spends: Iterable[Spend], unit: str) -> Spend:
    """The sum of those of one unit alone."""
    return total([s for s in spends if s.unit == unit], unit, None)
