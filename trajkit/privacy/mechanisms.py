"""Laplace, Gaussian and geometric noise: what they promise, at which scale, and how to add them.

A mechanism is a frozen record of its parameters. ``epsilon(delta)`` and ``delta(epsilon)`` say what one release promises,
``randomise`` makes the release and refuses inputs for which the promise would be void. Row-based mechanisms protect one row
[d] of [n, d], replaced by any other (adjacency replace-one; n is public), so rows of norm C move by up to 2 C. Every row must
depend on one record only. `numerics` is honest about the noise: draws in floating point do not have the law that the proof
assumes (Mironov 2012), so only "exact" mechanisms keep the promise to the letter.

>>> import numpy as np
>>> from trajkit.privacy.mechanisms import row_mechanism
>>> noise = row_mechanism("gaussian", epsilon=20.0, delta=1e-6, norm=1.0, dimension=8)
>>> round(noise.sigma, 4), noise.randomise(np.eye(8), np.random.default_rng(0)).shape
(0.6182, (8, 8))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from trajkit.errors import ParameterError
from trajkit.privacy import expected_cosine, release_checks
from trajkit.privacy.exact_noise import two_sided_geometric
from trajkit.privacy.gdp import gdp_delta
from trajkit.privacy.ledger import check_delta, check_epsilon
from trajkit.privacy.release_checks import check_positive, check_profile_epsilon, least_epsilon, safe_scale, safe_sigma
from trajkit.privacy.vmf import VonMisesFisher

ROW_MECHANISMS = ("laplace", "gaussian", "vmf")
MAX_GEOMETRIC_SCALE = 1e15  # int64 holds 9000 times that


class _AdditiveRows:
    """What Laplace and Gaussian noise share."""

    row_norm: float | None
    norm_order: int
    numerics = release_checks.IDEALISED

    @property
    def adjacency(self) -> str | None:
        """ "replace-one" where rows are bounded by ``row_norm``; else None, as the caller chose the sensitivity."""
        return None if self.row_norm is None else "replace-one"

    def noise(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Noise alone, float64 of ``shape``."""
        raise NotImplementedError

    def randomise(self, values: Any, rng: np.random.Generator) -> np.ndarray:
        """Return ``values`` with noise, float64: rows [n, d] where row_norm is set, else any shape.

        Raises ParameterError for entries that are not finite and for rows longer than row_norm, naming the first one.
        """
        rows = release_checks.rows_within(values, self.row_norm, self.norm_order)
        return rows + self.noise(rows.shape, rng)

    def _of_what(self, sensitivity: float) -> str:
        if self.row_norm is None:
            return f"for L{self.norm_order} sensitivity {sensitivity:.4g}"
        return f"on rows of L{self.norm_order} norm at most {self.row_norm:.4g}, replace-one"


@dataclass(frozen=True)
class Laplace(_AdditiveRows):
    """Independent Laplace(scale) noise on every coordinate: epsilon = l1_sensitivity / scale, pure.

    scale, l1_sensitivity: in the unit of the values. row_norm: bound on the L1 norm of every row, None for values whose
    sensitivity the caller vouches for (a bound in L2 would cost another sqrt(d)). ``delta(epsilon)`` is exact: a shift by
    all of l1_sensitivity in one coordinate is the worst one. For noise with a log-concave density the trade-off functions
    chain along shifts, T_s1 chained with T_s2 being T_(s1+s2), as threshold tests are optimal; and by the hybrid argument
    (move one coordinate after the other) the trade-off of a shift that is split over coordinates lies above that chain.
    Raises ParameterError for values out of range and a sensitivity below 2 row_norm.
    """

    scale: float
    l1_sensitivity: float
    row_norm: float | None = None
    norm_order = 1

    def __post_init__(self) -> None:
        check_positive(self.scale, "scale", "the scale b of Laplace noise (standard deviation over sqrt 2)")
        check_positive(self.l1_sensitivity, "l1_sensitivity", "the most that one record moves the values in L1")
        release_checks.check_row_norm(self.row_norm, self.l1_sensitivity, 1)

    @classmethod
    def calibrate(cls, epsilon: float, *, l1_sensitivity: float) -> Laplace:
        """Return the least noise that is ``epsilon``-DP."""
        check_positive(l1_sensitivity, "l1_sensitivity", "the most that one record moves the values in L1")
        return cls(safe_scale(l1_sensitivity, epsilon), l1_sensitivity)

    @classmethod
    def for_rows(cls, epsilon: float, *, norm: float) -> Laplace:
        """Return the least noise for rows [n, d] of L1 norm at most ``norm``, replace-one: sensitivity 2 ``norm``."""
        check_positive(norm, "norm", "the L1 norm that every row is clipped to")
        return cls(safe_scale(2 * norm, epsilon), 2 * norm, norm)

    def delta(self, epsilon: float) -> float:
        """Exact delta at ``epsilon``: 1 - exp((epsilon - l1_sensitivity / scale) / 2), 0 beyond the pure epsilon."""
        check_profile_epsilon(epsilon)
        return max(0.0, -math.expm1(min(0.0, epsilon - self.l1_sensitivity / self.scale) / 2))

    def epsilon(self, delta: float = 0.0) -> float:
        """Least epsilon at ``delta``, rounded up."""
        return least_epsilon(self.delta, delta, self.l1_sensitivity / self.scale)

    def noise(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Noise alone, float64 of ``shape``."""
        release_checks.check_generator(rng)
        return rng.laplace(scale=self.scale, size=shape)

    def expected_cosine(self, rows: Any) -> np.ndarray:
        """Mean cosine between each row of [n, d] and its noisy version, [n]."""
        return expected_cosine.laplace_expected_cosine(rows, self.scale)

    def in_words(self) -> str:
        """One sentence for reports."""
        what = self._of_what(self.l1_sensitivity)
        return f"Laplace noise of scale {self.scale:.4g} {what}: epsilon {self.epsilon():.4g}, delta 0; {self.numerics}"


@dataclass(frozen=True)
class Gaussian(_AdditiveRows):
    """Independent N(0, sigma^2) noise on every coordinate, by its exact profile (Balle, Wang 2018, Theorem 8).

    sigma, l2_sensitivity: in the unit of the values. row_norm: bound on the L2 norm of every row, None for values whose
    sensitivity the caller vouches for. There is no pure epsilon: ``epsilon()`` is infinite.
    Raises ParameterError for values out of range and a sensitivity below 2 row_norm.
    """

    sigma: float
    l2_sensitivity: float
    row_norm: float | None = None
    norm_order = 2

    def __post_init__(self) -> None:
        check_positive(self.sigma, "sigma", "the standard deviation of the noise")
        check_positive(self.l2_sensitivity, "l2_sensitivity", "the most that one record moves the values in L2")
        release_checks.check_row_norm(self.row_norm, self.l2_sensitivity, 2)

    @classmethod
    def calibrate(cls, epsilon: float, delta: float, *, l2_sensitivity: float) -> Gaussian:
        """Return the least noise that is (``epsilon``, ``delta``)-DP, the safe end of a bisection on the exact profile."""
        check_positive(l2_sensitivity, "l2_sensitivity", "the most that one record moves the values in L2")
        return cls(safe_sigma(l2_sensitivity, epsilon, delta), l2_sensitivity)

    @classmethod
    def for_rows(cls, epsilon: float, delta: float, *, norm: float) -> Gaussian:
        """Return the least noise for rows [n, d] of L2 norm at most ``norm``, replace-one: sensitivity 2 ``norm``."""
        check_positive(norm, "norm", "the L2 norm that every row is clipped to")
        return cls(safe_sigma(2 * norm, epsilon, delta), 2 * norm, norm)

    @staticmethod
    def classical_sigma(epsilon: float, delta: float, l2_sensitivity: float) -> float:
        """sqrt(2 ln(1.25/delta)) l2_sensitivity / epsilon, for comparison. Raises ParameterError for epsilon > 1.

        Its proof (Dwork, Roth 2014, Theorem A.1) needs epsilon below 1, beyond that it can be too little noise.
        """
        check_epsilon(epsilon, name="epsilon")
        check_delta(delta)
        if epsilon > 1:
            raise ParameterError(
                f"epsilon = {epsilon:g}: the classical formula is proved for epsilon up to 1 only; use calibrate"
            )
        return math.sqrt(2 * math.log(1.25 / delta)) * l2_sensitivity / epsilon

    def delta(self, epsilon: float) -> float:
        """Exact delta at ``epsilon``."""
        check_profile_epsilon(epsilon)
        return gdp_delta(self.l2_sensitivity / self.sigma, epsilon)

    def epsilon(self, delta: float = 0.0) -> float:
        """Least epsilon at ``delta``, rounded up; infinite at delta 0."""
        return math.inf if delta == 0 else least_epsilon(self.delta, delta, 1.0)

    def noise(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Noise alone, float64 of ``shape``."""
        release_checks.check_generator(rng)
        return rng.normal(scale=self.sigma, size=shape)

    def expected_cosine(self, rows: Any) -> np.ndarray:
        """Mean cosine between each row of [n, d] and its noisy version, [n]."""
        return expected_cosine.gaussian_expected_cosine(rows, self.sigma)

    def in_words(self) -> str:
        """One sentence for reports, with epsilon at one delta as an example."""
        what, shown = self._of_what(self.l2_sensitivity), self.epsilon(1e-6)
        return (
            f"Gaussian noise of standard deviation {self.sigma:.4g} {what}: epsilon {shown:.4g} at delta 1e-06; "
            f"{self.numerics}"
        )


@dataclass(frozen=True)
class Geometric:
    """Two-sided geometric noise on whole numbers, P(k) proportional to exp(-|k| / scale): epsilon = sensitivity / scale.

    sensitivity: the most that one record moves the counts in L1, under the adjacency that the caller chose (adjacency is
    None). exact: draw by `exact_noise`, without floating point; the scale is then the rational number that the float is.
    ``delta(epsilon)`` is exact, by the argument of `Laplace`, whose noise this is on whole numbers.
    Raises ParameterError for values out of range.
    """

    scale: float
    sensitivity: int
    exact: bool = False
    adjacency = None

    def __post_init__(self) -> None:
        check_positive(self.scale, "scale", "the scale of the noise")
        release_checks.check_whole(
            self.sensitivity, "sensitivity", 1, "the most that one record moves the counts in L1"
        )
        if self.scale > MAX_GEOMETRIC_SCALE:
            raise ParameterError(f"scale = {self.scale:g}: above {MAX_GEOMETRIC_SCALE:g}, int64 could overflow")

    @classmethod
    def calibrate(cls, epsilon: float, *, sensitivity: int, exact: bool = False) -> Geometric:
        """Return the least noise that is ``epsilon``-DP."""
        release_checks.check_whole(sensitivity, "sensitivity", 1, "the most that one record moves the counts in L1")
        return cls(safe_scale(float(sensitivity), epsilon), int(sensitivity), exact)

    @property
    def numerics(self) -> str:
        """ "exact" or "idealised floating point"."""
        return release_checks.EXACT if self.exact else release_checks.IDEALISED

    def delta(self, epsilon: float) -> float:
        """Exact delta at ``epsilon``: the best test says "moved" above t, the last integer where the ratio beats e^epsilon."""
        check_profile_epsilon(epsilon)
        k, b = self.sensitivity, self.scale
        if epsilon >= k / b:
            return 0.0
        t = max(0, math.ceil((k - epsilon * b) / 2) - 1)
        a = math.exp(-1 / b)
        return max(0.0, -math.expm1(min(0.0, epsilon - (k - t) / b)) - a * math.expm1(-t / b)) / (1 + a)

    def epsilon(self, delta: float = 0.0) -> float:
        """Least epsilon at ``delta``, rounded up."""
        return least_epsilon(self.delta, delta, self.sensitivity / self.scale)

    def noise(self, shape: int | tuple[int, ...], rng: np.random.Generator | None) -> np.ndarray:
        """Noise alone, int64 of ``shape``. ``rng`` None: bits of the operating system, for exact noise only."""
        if self.exact:
            if rng is not None:
                release_checks.check_generator(rng)
            size = int(np.prod(shape))
            return two_sided_geometric(Fraction(self.scale), size, rng).reshape(shape)
        if rng is None:
            raise ParameterError("rng = None: only exact noise takes the operating system's bits; set exact=True")
        release_checks.check_generator(rng)
        p = -math.expm1(-1 / self.scale)
        return rng.geometric(p, size=shape) - rng.geometric(p, size=shape)

    def randomise(self, values: Any, rng: np.random.Generator | None) -> np.ndarray:
        """Return whole numbers of any shape with noise, int64. Raises ParameterError for values that are not whole."""
        whole = release_checks.whole_numbers(values)
        return whole + self.noise(whole.shape, rng)

    def in_words(self) -> str:
        """One sentence for reports."""
        return (
            f"two-sided geometric noise of scale {self.scale:.4g} for sensitivity {self.sensitivity}: "
            f"epsilon {self.epsilon():.4g}, delta 0; {self.numerics}"
        )


def row_mechanism(
    kind: str, *, epsilon: float, delta: float | None, norm: float, dimension: int
) -> Laplace | Gaussian | VonMisesFisher:
    """Return the least noise of ``kind`` "laplace", "gaussian" or "vmf" for rows [n, dimension], replace-one.

    norm: bound on the L1 (laplace) or L2 (gaussian) norm of the rows; "vmf" works on unit vectors, to which it does not
    matter. delta: in (0, 1) for "gaussian", None for the others, which are pure. Raises ParameterError.
    """
    if kind not in ROW_MECHANISMS:
        raise ParameterError(f"kind = {kind!r}: use one of {', '.join(ROW_MECHANISMS)}")
    release_checks.check_whole(dimension, "dimension", 1, "the columns of the rows")
    check_positive(norm, "norm", "the norm that every row is clipped to")
    if kind == "gaussian":
        check_delta(delta)
        return Gaussian.for_rows(epsilon, float(delta), norm=norm)  # type: ignore[arg-type]
    if delta is not None:
        raise ParameterError(f"delta = {delta!r}: {kind} noise is pure, so leave delta out (None)")
    return (
        Laplace.for_rows(epsilon, norm=norm)
        if kind == "laplace"
        else VonMisesFisher.calibrate(epsilon, dimension=dimension)
    )
