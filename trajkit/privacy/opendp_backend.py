"""Noise that keeps its promise in floating point too, by OpenDP (optional: ``pip install 'trajkit[opendp]'``).

OpenDP draws exact discrete noise on a fine grid and rounds with care, and its own map says what the release spends; the
figures here come from that map, not from the formulas of `mechanisms`. Its randomness is the operating system's and CANNOT be
seeded: a study with OpenDP noise is not reproducible to the digit, so ``randomise`` takes no generator. Expect some 20 us a
value. OpenDP offers no von Mises-Fisher noise.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trajkit.errors import ParameterError
from trajkit.privacy import release_checks
from trajkit.privacy.ledger import check_delta, check_epsilon
from trajkit.privacy.release_checks import check_positive, check_profile_epsilon, check_spent_delta

NEEDED = "OpenDP is not installed, which exact noise on numbers needs: run pip install 'trajkit[opendp]', or take the noise of trajkit.privacy.mechanisms"


def _opendp() -> Any:
    """Import OpenDP when it is first needed. Raises ParameterError where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import opendp.prelude as dp
    except ImportError as error:
        raise ParameterError(f"{NEEDED} ({error})") from error
    dp.enable_features("contrib")
    return dp


class _Backend:
    """What the three share: the release, and the rule that it is not seeded."""

    numerics = release_checks.EXACT
    _measurement: Any

    def _release(self, values: np.ndarray, rng: None) -> np.ndarray:
        if rng is not None:
            raise ParameterError("rng: OpenDP draws from the operating system and cannot be seeded; leave rng out")
        flat = values.ravel().tolist()
        return np.array(self._measurement(flat) if flat else [], dtype=values.dtype).reshape(values.shape)


class _Pure(_Backend):
    """Laplace and geometric noise, whose map gives a pure epsilon."""

    _sensitivity: Any

    @cached_property
    def _pure(self) -> float:
        return float(self._measurement.map(self._sensitivity))

    def epsilon(self, delta: float = 0.0) -> float:
        """Pure epsilon by OpenDP's map, whatever ``delta`` in [0, 1): the map knows no other."""
        check_spent_delta(delta)
        return self._pure

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at ``epsilon`` that follows from the pure epsilon of OpenDP's map."""
        check_profile_epsilon(epsilon)
        return release_checks.pure_delta(self._pure, epsilon)


@dataclass(frozen=True)
class OpenDpLaplace(_Pure):
    """As `mechanisms.Laplace`, exact. scale, l1_sensitivity: in the unit of the values; row_norm: L1 bound of rows or None."""

    scale: float
    l1_sensitivity: float
    row_norm: float | None = None

    def __post_init__(self) -> None:
        check_positive(self.scale, "scale", "the scale b of Laplace noise (standard deviation over sqrt 2)")
        check_positive(self.l1_sensitivity, "l1_sensitivity", "the most that one record moves the values in L1")
        release_checks.check_row_norm(self.row_norm, self.l1_sensitivity, 1)
        _opendp()

    @classmethod
    def calibrate(cls, epsilon: float, *, l1_sensitivity: float) -> OpenDpLaplace:
        """Return noise for which OpenDP's map gives at most ``epsilon``."""
        check_positive(l1_sensitivity, "l1_sensitivity", "the most that one record moves the values in L1")
        scale = release_checks.safe_scale(l1_sensitivity, epsilon)
        return cls(_enough(scale, lambda s: cls(s, l1_sensitivity).epsilon() <= epsilon), l1_sensitivity)

    @classmethod
    def for_rows(cls, epsilon: float, *, norm: float) -> OpenDpLaplace:
        """Return noise for rows [n, d] of L1 norm at most ``norm``, replace-one."""
        check_positive(norm, "norm", "the L1 norm that every row is clipped to")
        return cls(cls.calibrate(epsilon, l1_sensitivity=2 * norm).scale, 2 * norm, norm)

    @property
    def adjacency(self) -> str | None:
        """As in `mechanisms.Laplace`."""
        return None if self.row_norm is None else "replace-one"

    @property
    def _sensitivity(self) -> float:  # type: ignore[override]
        return float(self.l1_sensitivity)

    @cached_property
    def _measurement(self) -> Any:  # type: ignore[override]
        dp = _opendp()
        return dp.m.make_laplace(_floats(dp), dp.l1_distance(T=float), scale=float(self.scale))

    def randomise(self, values: Any, rng: None = None) -> np.ndarray:
        """Return ``values`` with noise, float64. Raises ParameterError as `mechanisms.Laplace` does, and for any ``rng``."""
        return self._release(release_checks.rows_within(values, self.row_norm, 1), rng)

    def in_words(self) -> str:
        """One sentence for reports."""
        return f"OpenDP Laplace noise of scale {self.scale:.4g}: epsilon {self.epsilon():.4g}, delta 0; {self.numerics}"


@dataclass(frozen=True)
class OpenDpGaussian(_Backend):
    """As `mechanisms.Gaussian`, exact in its draws but LOOSER in its account.

    OpenDP's map gives zero-concentrated DP, rho = (l2_sensitivity / sigma)^2 / 2, and epsilon at a delta by conversion,
    which is above the exact profile of the same noise (11.7 for 10 or so); ``calibrate`` therefore adds more noise.
    """

    sigma: float
    l2_sensitivity: float
    row_norm: float | None = None

    def __post_init__(self) -> None:
        check_positive(self.sigma, "sigma", "the standard deviation of the noise")
        check_positive(self.l2_sensitivity, "l2_sensitivity", "the most that one record moves the values in L2")
        release_checks.check_row_norm(self.row_norm, self.l2_sensitivity, 2)
        _opendp()

    @classmethod
    def calibrate(cls, epsilon: float, delta: float, *, l2_sensitivity: float) -> OpenDpGaussian:
        """Return the least noise for which OpenDP's map gives at most ``epsilon`` at ``delta``."""
        check_epsilon(epsilon, name="epsilon")
        check_delta(delta)
        check_positive(l2_sensitivity, "l2_sensitivity", "the most that one record moves the values in L2")
        start = release_checks.safe_sigma(l2_sensitivity, epsilon, delta)
        return cls(_enough(start, lambda s: cls(s, l2_sensitivity).epsilon(delta) <= epsilon), l2_sensitivity)

    @classmethod
    def for_rows(cls, epsilon: float, delta: float, *, norm: float) -> OpenDpGaussian:
        """Return noise for rows [n, d] of L2 norm at most ``norm``, replace-one."""
        check_positive(norm, "norm", "the L2 norm that every row is clipped to")
        return cls(cls.calibrate(epsilon, delta, l2_sensitivity=2 * norm).sigma, 2 * norm, norm)

    @property
    def adjacency(self) -> str | None:
        """As in `mechanisms.Gaussian`."""
        return None if self.row_norm is None else "replace-one"

    @cached_property
    def _measurement(self) -> Any:  # type: ignore[override]
        dp = _opendp()
        return dp.m.make_gaussian(_floats(dp), dp.l2_distance(T=float), scale=float(self.sigma))

    @cached_property
    def _profile(self) -> Any:
        return _opendp().c.make_zCDP_to_approxDP(self._measurement).map(float(self.l2_sensitivity))

    def epsilon(self, delta: float = 0.0) -> float:
        """Epsilon at ``delta`` by OpenDP's conversion; infinite at delta 0."""
        check_spent_delta(delta)
        return math.inf if delta == 0 else float(self._profile.epsilon(float(delta)))

    def delta(self, epsilon: float) -> float:
        """Delta at ``epsilon`` by OpenDP's conversion."""
        check_profile_epsilon(epsilon)
        return float(self._profile.delta(float(epsilon)))

    def randomise(self, values: Any, rng: None = None) -> np.ndarray:
        """Return ``values`` with noise, float64. Raises ParameterError as `mechanisms.Gaussian` does, and for any ``rng``."""
        return self._release(release_checks.rows_within(values, self.row_norm, 2), rng)

    def in_words(self) -> str:
        """One sentence for reports, with epsilon at one delta as an example."""
        shown = self.epsilon(1e-6)
        return (
            f"OpenDP Gaussian noise of standard deviation {self.sigma:.4g}: epsilon {shown:.4g} at delta 1e-06; "
            f"{self.numerics}"
        )


@dataclass(frozen=True)
class OpenDpGeometric(_Pure):
    """As `mechanisms.Geometric` with exact=True, by OpenDP. scale; sensitivity: whole, in L1, adjacency the caller's."""

    scale: float
    sensitivity: int
    adjacency = None

    def __post_init__(self) -> None:
        check_positive(self.scale, "scale", "the scale of the noise")
        release_checks.check_whole(
            self.sensitivity, "sensitivity", 1, "the most that one record moves the counts in L1"
        )
        _opendp()

    @classmethod
    def calibrate(cls, epsilon: float, *, sensitivity: int) -> OpenDpGeometric:
        """Return noise for which OpenDP's map gives at most ``epsilon``."""
        release_checks.check_whole(sensitivity, "sensitivity", 1, "the most that one record moves the counts in L1")
        scale = release_checks.safe_scale(float(sensitivity), epsilon)
        return cls(_enough(scale, lambda s: cls(s, sensitivity).epsilon() <= epsilon), sensitivity)

    @property
    def _sensitivity(self) -> int:  # type: ignore[override]
        return int(self.sensitivity)

    @cached_property
    def _measurement(self) -> Any:  # type: ignore[override]
        dp = _opendp()
        whole = dp.vector_domain(dp.atom_domain(T="i64"))
        return dp.m.make_geometric(whole, dp.l1_distance(T="i64"), scale=float(self.scale))

    def randomise(self, values: Any, rng: None = None) -> np.ndarray:
        """Return whole numbers with noise, int64. Raises ParameterError for values that are not whole, and for any ``rng``."""
        return self._release(release_checks.whole_numbers(values), rng)

    def in_words(self) -> str:
        """One sentence for reports."""
        return (
            f"OpenDP geometric noise of scale {self.scale:.4g}: epsilon {self.epsilon():.4g}, delta 0; {self.numerics}"
        )


def _floats(dp: Any) -> Any:
    return dp.vector_domain(dp.atom_domain(T=float, nan=False))


def _enough(start: float, holds: Callable[[float], bool]) -> float:
    """Least scale that holds, searched upwards from one that is too small or just enough."""
    if holds(start):
        return start
    high = start * (1 + 1e-15)
    step = 1e-15
    while not holds(high):
        step *= 4
        high = start * (1 + step)
    return release_checks.least_that(holds, start, high)
