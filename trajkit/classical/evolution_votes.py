"""Votes for candidates: the public embedding, who is nearest, and `NoisyVotes`, the only way Private Evolution sees a vote.

Each trajectory votes for one candidate, whatever the others do, so that one more or one less changes one entry of the histogram by 1:
L2 sensitivity 1, add-remove; a user of at most m trajectories changes it by at most m, where all vote alike. With Gaussian noise of
standard deviation sigma a round is 1/sigma-GDP (m/sigma), and T rounds, each free to depend on the noisy votes before it, are together
exactly mu-GDP with mu = sqrt(T) / sigma (m sqrt(T) / sigma; Dong, Roth, Su 2022, Corollary 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree

from trajkit import seeds
from trajkit.classical.looks import ADJACENCY, KEYED, SECRET_SEED, shared_assumptions, unit_of
from trajkit.classical.simulators import Bounds
from trajkit.errors import PrivacyAccountingError
from trajkit.geo import project
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED, TRAINING, Guarantee, Part
from trajkit.privacy.mechanisms import Gaussian
from trajkit.trajectories import Trajectories

REPLACING = "who replaces one {} by another takes votes from some entries of each round and adds them to others: under replace-one mu is sqrt(2) times as large"


@dataclass(frozen=True)
class Embedding:
    """Public map of trajectories to vectors, in which L2 distance decides who is nearest.

    A trajectory becomes ``points`` points, equally spaced in its point index (`preprocess.to_fixed_length`, the rule by which releases
    are judged); coordinates count in longer sides of ``bounds``, the public box in metres; the first and the last point weigh
    ``end_weight`` times as much as each of the others in the squared distance.
    """

    bounds: Bounds
    points: int
    end_weight: float

    def of_points(self, xy: np.ndarray) -> np.ndarray:
        """float64 [n, 2 * points] of ``xy`` [n, points, 2] in metres."""
        low = np.array(self.bounds[:2])
        weights = np.ones((self.points, 1))
        weights[[0, -1]] = math.sqrt(self.end_weight)
        return ((xy - low) / self.longer_side * weights).reshape(len(xy), 2 * self.points)

    def of(self, trajs: Trajectories) -> np.ndarray:
        """float64 [n, 2 * points] of private trajectories; a row depends on its own trajectory only."""
        lonlat = to_fixed_length(trajs, length=self.points)
        return self.of_points(project(lonlat.reshape(-1, 2), trajs.meta.crs).reshape(lonlat.shape))

    @property
    def longer_side(self) -> float:
        """Metres."""
        x0, y0, x1, y1 = self.bounds
        return max(x1 - x0, y1 - y0)


def votes(private: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """int64 [m]: rows of ``private`` [n, d] by the row of ``candidates`` [m, d] that is nearest to them, in embedded space.

    The tree is built from the candidates alone and asked for one row after the other, so that no row decides how a tie of another one
    ends; a product of matrices, whose rounding may depend on their shape, would not promise that.
    """
    _, nearest = cKDTree(candidates).query(private)
    return np.bincount(nearest, minlength=len(candidates)).astype(np.int64)


class NoisyVotes:
    """The account of one fit: noise for ``rounds`` histograms that together are (``epsilon``, ``delta``)-DP, and no more of them.

    ``records``: votes that one user has at most in a round, which the caller must enforce; then the unit is the user.
    """

    def __init__(
        self, epsilon: float, delta: float, rounds: int, *, seed: int, source: Literal["seeded", "os"] = "seeded",
        records: int | None = None,
    ) -> None:  # fmt: skip
        self.most = float(records or 1)
        whole = Gaussian.calibrate(epsilon, delta, l2_sensitivity=self.most * math.sqrt(rounds))
        self.epsilon, self.delta, self.rounds, self.source, self.records = epsilon, delta, rounds, source, records
        self.mechanism = Gaussian(whole.sigma, self.most)
        self.rng = np.random.default_rng() if source == "os" else seeds.rng(seed, "noise", "private_evolution")
        self.taken = 0

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of each entry, in trajectories."""
        return self.mechanism.sigma

    def take(self, exact: np.ndarray) -> np.ndarray:
        """Return the histogram ``exact`` [m] with noise on every entry, float64. Raises PrivacyAccountingError after the last round."""
        if self.taken >= self.rounds:
            raise PrivacyAccountingError(
                f"all {self.rounds} rounds of votes are taken: the noise was made for no more, so declare more rounds"
            )
        self.taken += 1
        return self.mechanism.randomise(exact, self.rng)

    def guarantee(self, *, public: tuple[str, ...]) -> Guarantee:
        """The guarantee of the rounds that were taken. ``public``: what the method takes as publicly known, in words."""
        mu = self.most * math.sqrt(self.taken) / self.sigma
        whole = Gaussian(self.sigma, self.most * math.sqrt(self.taken))
        # calibration has verified that delta is enough at the declared epsilon, so that the smaller of the two holds
        spent = min(self.epsilon, whole.epsilon(self.delta))
        words = (
            f"Private Evolution: Gaussian noise of standard deviation {self.sigma:.4g} on the votes of {self.taken} adaptive round(s), "
            f"L2 sensitivity {self.most:g} each: together {mu:.4g}-GDP"
        )
        details = {"rounds": self.taken, "sigma": self.sigma, "l2_sensitivity": self.most, "mu": mu}
        seeded = self.source == "seeded"
        return Guarantee(
            holds=True,
            kind="dp",
            epsilon=spent,
            delta=self.delta,
            unit=unit_of(self.records),
            adjacency=ADJACENCY,
            mechanism=words,
            accountant="exact Gaussian profile of mu = sensitivity x sqrt(rounds) / sigma",
            parts=(Part(TRAINING, words, spent, self.delta, details),),
            rng=RNG_SEEDED if seeded else RNG_OS,
            numerics=self.mechanism.numerics,
            assumptions=(
                *shared_assumptions(self.records, REPLACING),
                *public,
                SECRET_SEED if seeded else KEYED.format(noise="Gaussian"),
            ),
        )
