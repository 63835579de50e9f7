"""The von Mises-Fisher mechanism: a random direction around a unit vector, pure epsilon-DP on the whole sphere.

The density of the output x for the input u is C exp(kappa <u, x>), and C does not depend on u. So the log ratio for two
inputs is kappa <u - u', x>, at most kappa |u - u'|, which is 2 kappa for opposite inputs and attained there: kappa =
epsilon / 2 is epsilon-DP and tight. (kappa = epsilon is epsilon times the chord, a weaker, metric promise; Weggenmann,
Kerschbaum 2021.) Only the direction is released: normalise the rows first, and drop their length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from trajkit.errors import ParameterError
from trajkit.privacy import release_checks
from trajkit.privacy.ledger import check_epsilon

UNIT_SLACK = 1e-6
MAX_KAPPA = 1e6  # beyond it the cosine is 1 to six digits and no promise is left


@dataclass(frozen=True)
class VonMisesFisher:
    """kappa: concentration, above 0; dimension: d >= 2 of the unit vectors [n, d]. Raises ParameterError out of range."""

    kappa: float
    dimension: int
    adjacency = "replace-one"
    numerics = release_checks.IDEALISED

    def __post_init__(self) -> None:
        release_checks.check_positive(self.kappa, "kappa", "the concentration, epsilon / 2")
        release_checks.check_whole(self.dimension, "dimension", 2, "the columns of the unit vectors")
        if self.kappa > MAX_KAPPA:
            raise ParameterError(f"kappa = {self.kappa:g}: above {MAX_KAPPA:g} nothing is protected; take less")

    @classmethod
    def calibrate(cls, epsilon: float, *, dimension: int) -> VonMisesFisher:
        """Return the least noise that is ``epsilon``-DP for any two unit vectors."""
        check_epsilon(epsilon, name="epsilon")
        return cls(epsilon / 2, dimension)

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon``: that of randomised response, the worst mechanism of this pure epsilon."""
        release_checks.check_profile_epsilon(epsilon)
        return release_checks.pure_delta(2 * self.kappa, epsilon)

    def epsilon(self, delta: float = 0.0) -> float:
        """Least epsilon with ``self.delta(epsilon) <= delta``, rounded up; 2 kappa at delta 0."""
        return release_checks.least_epsilon(self.delta, delta, 2 * self.kappa)

    def privacy_ratio(self, angle: float) -> float:
        """Largest log density ratio for two inputs ``angle`` radians apart, in [0, pi]: 2 kappa sin(angle / 2)."""
        if not 0 <= angle <= math.pi:
            raise ParameterError(f"angle = {angle!r}: must be in [0, pi] radians")
        return 2 * self.kappa * math.sin(angle / 2)

    def cosines(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ``n`` cosines between input and output, float64 [n]."""
        return 1 - self._gaps(n, rng)

    def randomise(self, rows: Any, rng: np.random.Generator) -> np.ndarray:
        """Return one random unit vector for each unit vector of ``rows`` [n, d], float64.

        Raises ParameterError for entries that are not finite, for another shape and for rows that are not of length 1
        within 1e-6; a zero row needs a direction that is public and fixed.
        """
        units = self._units(rows)
        gap = self._gaps(len(units), rng)
        side = rng.standard_normal((len(units), self.dimension - 1))
        length = np.linalg.norm(side, axis=1)
        side[length == 0, 0] = 1.0
        side *= (np.sqrt(gap * (2 - gap)) / np.where(length == 0, 1.0, length))[:, None]
        around_first_axis = np.column_stack([1 - gap, side])
        # The reflection along u + s e_1, s the sign of u_1, takes e_1 to -s u, without cancellation.
        sign = np.where(units[:, 0] < 0, -1.0, 1.0)
        mirror = units.copy()
        mirror[:, 0] += sign
        along = (mirror * around_first_axis).sum(axis=1) / (1 + np.abs(units[:, 0]))
        return -sign[:, None] * (around_first_axis - along[:, None] * mirror)

    def mean_cosine(self) -> float:
        """E[cos] = I_{d/2}(kappa) / I_{d/2-1}(kappa)."""
        return self._bessel_ratios[0]

    def variance_cosine(self) -> float:
        """Var[cos] = 1 - A^2 - (d - 1) A / kappa with A the mean, in the form that small kappa does not cancel."""
        mean, following = self._bessel_ratios
        return mean * (1 / self.kappa - (mean - following))

    def expected_cosine(self, rows: Any) -> np.ndarray:
        """The mean cosine for each row of [n, d], [n]; it is the same for all of them."""
        return np.full(len(self._units(rows)), self.mean_cosine())

    def log_normaliser(self) -> float:
        """Logarithm of C, the density's factor with respect to area on the sphere."""
        half = self.dimension / 2
        return -math.log(2) + float(gammaln(half)) - half * math.log(math.pi) - self._log_0f1()

    def acceptance(self) -> float:
        """Probability that the sampler accepts a proposal."""
        b = self._b
        log_1_minus_x0_squared = math.log(4 * b) - 2 * math.log1p(b)
        x0 = (1 - b) / (1 + b)
        return math.exp(self._log_0f1() - self.kappa * x0 - (self.dimension - 1) / 2 * log_1_minus_x0_squared)

    def in_words(self) -> str:
        """One sentence for reports."""
        return (
            f"von Mises-Fisher noise of kappa {self.kappa:.4g} on unit vectors of dimension {self.dimension}, replace-one: "
            f"epsilon {self.epsilon():.4g}, delta 0; {self.numerics}"
        )

    @property
    def _b(self) -> float:
        m = self.dimension - 1
        return m / (2 * self.kappa + math.hypot(2 * self.kappa, m))

    def _gaps(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ``n`` times 1 - cos (Wood 1994), which keeps its digits where the cosine is close to 1.

        With Z from a symmetric Beta law and D = 1 - (1-b) Z, the proposal is 1 - W = 2 b Z / D, and it is accepted with
        log probability kappa (W - x0) + (d-1) log((1+b) / (2 D)), more than 0.65 of the time for all kappa and d. The loop ends
        when all are accepted.
        """
        release_checks.check_generator(rng)
        release_checks.check_whole(n, "n", 0, "the draws")
        b, m = self._b, self.dimension - 1
        found = np.empty(n)
        done = 0
        while done < n:
            z = rng.beta(m / 2, m / 2, size=n - done)
            d = 1 - (1 - b) * z
            log_probability = 2 * self.kappa * b * (1 / (1 + b) - z / d) + m * np.log((1 + b) / (2 * d))
            accepted = log_probability >= -rng.standard_exponential(n - done)
            gaps = (2 * b * z / d)[accepted]
            found[done : done + len(gaps)] = gaps
            done += len(gaps)
        return found

    def _units(self, rows: Any) -> np.ndarray:
        units = release_checks.finite(rows)
        if units.ndim != 2 or units.shape[1] != self.dimension:
            raise ParameterError(f"rows: shape {units.shape}, must be [n, {self.dimension}], one unit vector a record")
        length = np.linalg.norm(units, axis=1)
        bad = np.flatnonzero(np.abs(length - 1) > UNIT_SLACK)
        if len(bad):
            what = f"row {bad[0]} has L2 norm {length[bad[0]]:.6g}, not 1"
            advice = "put a public, fixed direction in place of zero rows" if length[bad[0]] == 0 else "normalise first"
            raise ParameterError(f"rows: {what}; {advice}")
        return units / length[:, None]

    @cached_property
    def _bessel_ratios(self) -> tuple[float, float]:
        """I_{v+1} / I_v at kappa for v = d/2 - 1 and d/2, by the continued fraction from its tail.

        r_v = 1 / (2 (v+1) / kappa + r_{v+1}); each step shrinks an error by r^2, which is below 0.2 for orders above kappa.
        """
        kappa, v = self.kappa, self.dimension / 2 - 1
        steps = math.ceil(kappa) + 60
        order = v + steps
        ratio = kappa / (order + 0.5 + math.hypot(kappa, order + 1.5))  # Amos 1974, good to some digits
        following = ratio
        for step in range(steps, 0, -1):
            following, ratio = ratio, 1 / (2 * (v + step) / kappa + ratio)
        return ratio, following

    def _log_0f1(self) -> float:
        """log of the sum of (kappa^2/4)^k / (k! (d/2)_k), that is of Gamma(d/2) (2/kappa)^(d/2-1) I_{d/2-1}(kappa)."""
        k = np.arange(math.ceil(self.kappa) + 100)
        half = self.dimension / 2
        terms = 2 * k * math.log(self.kappa / 2) - gammaln(k + 1) - (gammaln(half + k) - gammaln(half))
        return float(logsumexp(terms))
