"""Planar Laplace noise on single points: geo-indistinguishability (Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, doi 10.1145/2508859.2516735).

What is promised: of two places d metres apart, no printed point is more than exp(epsilon d) times likelier from one than from the other.
That is per point. The points of a trajectory are perturbed each on its own, and probabilities multiply: of two trajectories of m points
whose points lie at most d apart, one printed trajectory may be exp(m epsilon d) times likelier from one than from the other. Epsilon per
metre therefore grows with the number of points, and points that are near to each other give each other away: see
`trajkit.attacks.reconstruction`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajkit import seeds
from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.privacy.guarantee import Guarantee, no_guarantee
from trajkit.trajectories import Trajectories


@dataclass(frozen=True)
class PlanarLaplace:
    """Noise of density (epsilon^2 / 2 pi) exp(-epsilon r) about each point, ``epsilon_per_m`` in 1 / metre. Raises ParameterError unless positive."""

    epsilon_per_m: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon_per_m) and self.epsilon_per_m > 0):
            raise ParameterError(f"epsilon_per_m = {self.epsilon_per_m!r}: must be a positive number, 1 / metres")

    @classmethod
    def within(cls, epsilon: float, radius_m: float) -> PlanarLaplace:
        """The noise under which places within ``radius_m`` metres have the ratio exp(``epsilon``) at most."""
        if not (np.isfinite(radius_m) and radius_m > 0):
            raise ParameterError(f"radius_m = {radius_m!r}: must be a positive number of metres")
        return cls(epsilon / radius_m)

    @property
    def mean_m(self) -> float:
        """Mean distance of a printed point from the true one: 2 / epsilon."""
        return 2 / self.epsilon_per_m

    @property
    def variance_m2(self) -> float:
        """Variance of the noise along one axis: 3 / epsilon^2 (its mean squared distance is 6 / epsilon^2)."""
        return 3 / self.epsilon_per_m**2

    def noise(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """float64 [n, 2], metres: a uniform direction, and a distance of density epsilon^2 r exp(-epsilon r), a gamma law of shape 2."""
        angle = rng.uniform(0, 2 * np.pi, n)
        return rng.gamma(2.0, 1 / self.epsilon_per_m, n)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def log_ratio(self, distance_m: float, points: int = 1) -> float:
        """Largest log-ratio of the probabilities of one output from two inputs of ``points`` points, each at most ``distance_m`` apart."""
        return self.epsilon_per_m * distance_m * points

    def perturbed(self, trajs: Trajectories, *, seed: int) -> Trajectories:
        """``trajs`` with noise on each point, moved into the public box where it leaves it (post-processing); times stay as they are."""
        xy = trajs.xy + self.noise(trajs.n_points, seeds.rng(seed, "noise", "planar-laplace"))
        return replace(trajs, lonlat=trajs.meta.box.clip(unproject(xy, trajs.meta.crs)))

    def guarantee(self, trajs: Trajectories) -> Guarantee:
        """The record of such a release: no guarantee for trajectories or users, and in words what holds per point.

        The longest trajectory is not named, as its length is not public.
        """
        return no_guarantee(
            f"geo-indistinguishability of {self.epsilon_per_m:g} per metre holds for single points; a trajectory of m points has m times that, "
            "so that it is no promise for trajectories or users, and times are released as they are",
            unit="point",
            mechanism=f"planar Laplace noise on each point, on average {self.mean_m:.0f} m",
            assumptions=(
                "an adversary who joins the points of a trajectory (a speed limit, a road map) reconstructs it to less than the noise",
                f"points moved back into the public box ({trajs.meta.dataset}) were moved after the noise",
            ),
        )
