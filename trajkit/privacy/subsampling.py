"""What a release promises when it is made from m of n records, drawn uniformly without replacement, replace-one.

Balle, Barthe, Gaboardi 2018 (arXiv:1807.01647), Theorem 9: an (epsilon, delta)-DP release of the subset is
(ln(1 + (m/n)(e^epsilon - 1)), (m/n) delta)-DP for all n records, as long as nobody learns which were drawn; m and n are
public constants. It is tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy.release_checks import check_profile_epsilon, check_spent_delta, check_whole

COMPOSITIONS = ("inside", "outside")


def amplify(epsilon: float, delta: float, *, m: int, n: int) -> tuple[float, float]:
    """Return (epsilon, delta) for all ``n`` records of a release that is (``epsilon``, ``delta``)-DP for the ``m`` drawn.

    Raises ParameterError for values out of range.
    """
    _check(epsilon, delta, m, n)
    if m == n:
        return epsilon, delta
    q = m / n
    if epsilon < 30:
        return math.log1p(q * math.expm1(epsilon)), q * delta
    return epsilon + math.log(q + (1 - q) * math.exp(-epsilon)), q * delta


def base_budget(epsilon: float, delta: float, *, m: int, n: int) -> tuple[float, float]:
    """Return the (epsilon, delta) that the release of the ``m`` drawn records may spend, the inverse of `amplify`.

    Raises ParameterError for values out of range, PrivacyAccountingError where ``delta`` n / m reaches 1: a release that
    shows a few records as they are would meet such a target, so it asks for no noise and protects nobody who is drawn.
    """
    _check(epsilon, delta, m, n)
    if m == n:
        return epsilon, delta
    base_delta = delta / (m / n)
    if base_delta >= 1:
        raise PrivacyAccountingError(
            f"delta = {delta:g}: times n / m it is {base_delta:.4g}, which asks for no noise at all with m = {m} of n = {n}; "
            "take a smaller delta or a larger m"
        )
    if epsilon < 1:
        return math.log1p(math.expm1(epsilon) * (n / m)), base_delta
    return epsilon + math.log(n / m - (n / m - 1) * math.exp(-epsilon)), base_delta


@dataclass(frozen=True)
class Subsampled:
    """How a subset was drawn and used; `spend` is the only way to a figure, so that the conditions cannot be forgotten.

    m of n records, uniformly without replacement; secret_indices: nobody who sees the release learns which were drawn;
    releases: how often noise was added, each time anew (new noise on the same rows is another release); composition:
    "inside" if all releases come from one subset, "outside" if each has a fresh one. "inside" is never the smaller figure.
    Raises ParameterError for values out of range.
    """

    m: int
    n: int
    secret_indices: bool
    releases: int = 1
    composition: Literal["inside", "outside"] = "inside"

    def __post_init__(self) -> None:
        _check_sizes(self.m, self.n)
        check_whole(self.releases, "releases", 1, "how often noise was added")
        if not isinstance(self.secret_indices, bool):
            raise ParameterError(f"secret_indices = {self.secret_indices!r}: say True or False")
        if self.composition not in COMPOSITIONS:
            raise ParameterError(f"composition = {self.composition!r}: use one of {', '.join(COMPOSITIONS)}")

    def spend(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return (epsilon, delta) for all n records when each release is (``epsilon``, ``delta``)-DP for the m drawn.

        From one subset the k releases add up first and are amplified once; from k fresh subsets each is amplified, then
        they add up. Raises ParameterError for values out of range, PrivacyAccountingError where the indices are not secret
        (m < n) or the deltas add up to 1 or more.
        """
        if self.m < self.n and not self.secret_indices:
            raise PrivacyAccountingError(
                f"secret_indices = False: whoever knows which {self.m} of {self.n} records were drawn gets no less from the "
                "release than without sampling; keep the indices secret, or report the budget without amplification (m = n)"
            )
        k = self.releases
        if self.composition == "inside":
            _check_total(k * delta)
            return amplify(k * epsilon, k * delta, m=self.m, n=self.n)
        once_epsilon, once_delta = amplify(epsilon, delta, m=self.m, n=self.n)
        _check_total(k * once_delta)
        return k * once_epsilon, k * once_delta


def _check(epsilon: Any, delta: Any, m: Any, n: Any) -> None:
    check_profile_epsilon(epsilon)
    check_spent_delta(delta)
    _check_sizes(m, n)


def _check_sizes(m: Any, n: Any) -> None:
    check_whole(m, "m", 1, "the records drawn")
    check_whole(n, "n", 1, "all records")
    if m > n:
        raise ParameterError(f"m = {m}: cannot draw more than n = {n} records without replacement")


def _check_total(delta: float) -> None:
    if delta >= 1:
        raise PrivacyAccountingError(
            f"delta of all releases adds up to {delta:.4g}: no promise is left; make fewer releases"
        )
