"""What happened and what it cost, as frozen records; the arithmetic between the two is in `accounting`.

A field of a record never changes its meaning; a mechanism that needs another meaning gets a class of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from trajkit.errors import ParameterError
from trajkit.privacy.guarantee import ADJACENCIES, UNITS

POISSON = "poisson"


@dataclass(frozen=True)
class DpSgd:
    """DP-SGD as it was run: ``steps`` noisy updates of a sum of clipped gradients.

    sample_rate: expected batch / n, in (0, 1]; noise_multiplier: standard deviation of the noise over the clip norm
    (0 means no noise); steps: noisy updates, those of empty batches included; sampling: how batches are drawn, of which
    only "poisson" (every record by its own coin, anew in each step) has an accountant; record: what is drawn and clipped
    as one, "trajectory" or, where one example holds all of a person's data, "user".
    Raises ParameterError for a value out of range.
    """

    sample_rate: float
    noise_multiplier: float
    steps: int
    sampling: str = POISSON
    record: str = "trajectory"

    def __post_init__(self) -> None:
        check_sample_rate(self.sample_rate)
        check_steps(self.steps, least=0)
        if not (_is_number(self.noise_multiplier) and 0 <= self.noise_multiplier < math.inf):
            raise ParameterError(
                f"noise_multiplier = {self.noise_multiplier!r}: must be a finite number of at least 0 "
                "(noise standard deviation over clip norm; 0 means no noise)"
            )
        if not (isinstance(self.sampling, str) and self.sampling):
            raise ParameterError(f"sampling = {self.sampling!r}: name how batches are drawn, for example {POISSON!r}")
        check_unit(self.record, name="record")


@dataclass(frozen=True)
class Spent:
    """Privacy spent: never a bare epsilon, always with what it means and who says so.

    epsilon is the reported value (``math.inf``: no promise); prv_upper, pld and rdp are each accountant's own figure, None
    where that accountant was not asked. is_bound_only marks an epsilon that is only the loose RDP bound.
    max_records_per_user is set where record-level noise was converted to unit "user".
    """

    epsilon: float
    delta: float
    unit: str
    adjacency: str
    accountant: str
    prv_upper: float | None = None
    pld: float | None = None
    rdp: float | None = None
    is_bound_only: bool = False
    max_records_per_user: int | None = None

    def in_words(self) -> str:
        """One sentence for reports and notebooks."""
        most = self.max_records_per_user
        cap = f" (at most {most} {'record' if most == 1 else 'records'} each)" if most else ""
        loose = "; loose upper bound only" if self.is_bound_only else ""
        return (
            f"epsilon {self.epsilon:.4g} at delta {self.delta:.3g} per {self.unit}{cap}, {self.adjacency}, "
            f"by {self.accountant}{loose}"
        )


@dataclass(frozen=True)
class Calibration:
    """A noise multiplier and what it spends; ``spent.epsilon`` never exceeds the target it was asked for."""

    noise_multiplier: float
    spent: Spent


def check_sample_rate(sample_rate: Any) -> None:
    """Raise ParameterError unless ``sample_rate`` is a number in (0, 1]."""
    if not (_is_number(sample_rate) and 0 < sample_rate <= 1):
        raise ParameterError(f"sample_rate = {sample_rate!r}: must be a number in (0, 1], the expected batch over n")


def check_steps(steps: Any, *, least: int) -> None:
    """Raise ParameterError unless ``steps`` is a whole number of at least ``least``."""
    if not (_is_whole(steps) and steps >= least):
        raise ParameterError(f"steps = {steps!r}: must be a whole number of at least {least}, the noisy updates")


def check_delta(delta: Any) -> None:
    """Raise ParameterError unless ``delta`` is a number in (0, 1)."""
    if not (_is_number(delta) and 0 < delta < 1):
        raise ParameterError(f"delta = {delta!r}: must be a number in (0, 1), usually below 1/n; see delta_for(n)")


def check_epsilon(epsilon: Any, *, name: str) -> None:
    """Raise ParameterError unless ``epsilon`` is a finite number above 0."""
    if not (_is_number(epsilon) and 0 < epsilon < math.inf):
        raise ParameterError(
            f"{name} = {epsilon!r}: must be a finite number above 0; for a run without noise leave the private regime out"
        )


def check_unit(unit: Any, *, name: str = "unit") -> None:
    """Raise ParameterError unless ``unit`` is a known unit of privacy."""
    if unit not in UNITS:
        raise ParameterError(f"{name} = {unit!r}: say what is protected as a whole, one of {', '.join(UNITS)}")


def check_adjacency(adjacency: Any) -> None:
    """Raise ParameterError unless ``adjacency`` is a known neighbouring relation."""
    if adjacency not in ADJACENCIES:
        raise ParameterError(f"adjacency = {adjacency!r}: use one of {', '.join(ADJACENCIES)}")


def check_n(n: Any) -> None:
    """Raise ParameterError unless ``n`` is a whole number of at least 2."""
    if not (_is_whole(n) and n >= 2):
        raise ParameterError(f"n = {n!r}: must be a whole number of at least 2, the training records")


def check_cap(cap: Any) -> None:
    """Raise ParameterError unless ``cap`` is a whole number of at least 1."""
    if not (_is_whole(cap) and cap >= 1):
        raise ParameterError(
            f"max_records_per_user = {cap!r}: must be a whole number of at least 1, a public cap that was enforced"
        )


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral)
