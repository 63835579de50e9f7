"""Private Evolution (Lin et al. 2023, arXiv:2305.15560) with a simulator (Lin et al. 2025, arXiv:2502.05505) in place of a large model.

A public `simulators.Simulator` draws a population of candidates. In each round every private trajectory votes for the candidate nearest
to it in a public embedding, the histogram of votes gets Gaussian noise (`evolution_votes.NoisyVotes`), and candidates drawn by their
noisy votes stay, with variations of them in the places of the others. The population of the last round is released in proportion to its
noisy votes. Only the noisy votes depend on private data; every candidate has noise, also those that nobody votes for.

Differences from the paper: winners are drawn evenly spaced (systematic resampling) instead of independently, which loses fewer of
them by chance; a winner stays itself once, as in the text version (Xie et al. 2024, arXiv:2403.01749); the population that is released
has been voted on, instead of being varied once more without a vote, and each release varies it a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from trajkit import seeds
from trajkit.baselines import public_meta
from trajkit.classical.cleaning import SOUND, checked_training_set, norm_sub, shares_of
from trajkit.classical.config import ClassicalConfig
from trajkit.classical.evolution_votes import Embedding, NoisyVotes, votes
from trajkit.classical.road_simulator import RoadSimulator, chosen_map
from trajkit.classical.simulators import Bounds, Candidates, PublicPaths, Simulator
from trajkit.geo import box_xy, unproject
from trajkit.methods import count_asked, fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Meta, Trajectories

RANKS = 40  # noisy votes of a round are reported at so many ranks


class PrivateEvolutionConfig(ClassicalConfig):
    """``epsilon``, ``delta``: what all rounds together promise. All numbers are public; the defaults did well on 16,000 trips of a
    simulated city (seed 1001, which no study uses) at epsilon 1, 3 and 10.

    ``delta`` is a fixed number, since the usual n^-1.1 would make n public; lower it for sets of 100,000 trajectories and more.
    ``rounds``: histograms of votes. ``population``: candidates in each; where far fewer than sigma trajectories come to a candidate
    (the guarantee states sigma), most votes are noise, and a smaller population does better. ``variations``: candidates that take the
    places of each draw of a winner beside the winner itself. ``degree``: how far the first variations move places, as a share of the
    longer side of the box; each round moves them ``shrink`` times as far as the one before, and so does each release. ``threshold``:
    standard deviations of the noise that are taken off the noisy votes before winners are drawn. ``embedding_points``, ``end_weight``:
    see `Embedding`. ``map``: null draws candidates in the empty box (`PublicPaths`), "dataset" on the data set's public road network (a
    lattice of ``lattice_m`` where it has none), "lattice", or a map file (`road_simulator.RoadSimulator`).
    """

    delta: float = Field(1e-5, gt=0, lt=1)
    rounds: int = Field(4, ge=1, le=1000)
    population: int = Field(3000, ge=2)
    variations: int = Field(2, ge=1)
    degree: float = Field(0.1, gt=0, le=1)
    shrink: float = Field(0.6, gt=0, le=1)
    threshold: float = Field(1.0, ge=0, allow_inf_nan=False)
    embedding_points: int = Field(12, ge=2)
    end_weight: float = Field(2.0, gt=0, allow_inf_nan=False)
    map: str | None = None
    lattice_m: float = Field(250.0, gt=0, allow_inf_nan=False)


@dataclass(frozen=True)
class EvolutionModel:
    """What a fit leaves: public candidates that noisy votes have chosen, and the ``shares`` [population] that the last ones give them."""

    meta: Meta
    simulator: Simulator[Any]
    population: Candidates
    shares: np.ndarray
    degree: float
    guarantee: Guarantee
    report: dict[str, Any]


class PrivateEvolution:
    """See the module. ``simulator``: a public generator of candidates in metres of the data's CRS; None takes `PublicPaths` in the box."""

    Config = PrivateEvolutionConfig
    TEMPLATE = "method-private_evolution"

    def __init__(self, config: PrivateEvolutionConfig, simulator: Simulator[Any] | None = None) -> None:
        self.config, self.simulator = config, simulator

    def fit(self, train: Trajectories, *, seed: int, roads: RoadNetwork | None = None) -> PrivateEvolution:
        """Let ``train`` vote in every round and keep the last population. ``roads``: the data set's public road network.

        Raises DataContractError for a bad or an empty set, and what `public_map.read_map` raises for a map that cannot be read.
        """
        c = self.config
        checked_training_set(train)
        bounds = box_xy(train.meta.box, train.meta.crs)
        simulator = self.simulator or self._generator(train.meta, bounds, roads)
        embedding = Embedding(bounds, c.embedding_points, c.end_weight)
        account = NoisyVotes(c.epsilon, c.delta, c.rounds, seed=seed, source=c.noise, records=c.trips_per_user)
        rng = seeds.rng(seed, "init", "private_evolution")
        private = embedding.of(c.seen(train, seed))
        population, chosen, noisy, rows = simulator.random(c.population, rng), np.zeros(0), np.zeros(0), []
        for turn in range(c.rounds):
            degree = embedding.longer_side * c.degree * c.shrink**turn
            if turn:
                population = evolved(population, chosen, simulator, c.variations, degree, rng)
            noisy = account.take(votes(private, embedding.of_points(population.points(c.embedding_points))))
            chosen = np.maximum(noisy - c.threshold * account.sigma, 0.0)
            rows.append(_round(turn, degree, noisy, chosen))
        self.model_ = EvolutionModel(
            meta=public_meta(train.meta),
            simulator=simulator,
            population=population,
            shares=shares_of(norm_sub(noisy)),
            degree=degree * c.shrink,
            guarantee=account.guarantee(public=(SOUND, *self._public(simulator))),
            report={"sigma": account.sigma, "rounds": rows},
        )
        return self

    def _generator(self, meta: Meta, bounds: Bounds, roads: RoadNetwork | None) -> Simulator[Any]:
        c = self.config
        if c.map is None:
            return PublicPaths(bounds)
        return RoadSimulator(chosen_map(c.map, meta, roads, lattice_m=c.lattice_m))

    def _public(self, simulator: Simulator[Any]) -> tuple[str, ...]:
        c = self.config
        return (
            simulator.public,
            f"the embedding ({c.embedding_points} points), the {c.rounds} rounds, the population of {c.population} and all other parameters "
            "are public, delta among them, which does not follow from the number of trajectories",
        )

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` variations of candidates of the last population, ``length`` points each, in the box; only the model is read."""
        model: EvolutionModel = fitted_attribute(self, "model_")
        number = count_asked(n)
        rng = seeds.rng(seed, "sampling", "private_evolution")
        drawn = rng.permutation(systematic(model.shares, number, rng))
        varied = model.simulator.vary(model.population.take(drawn), model.degree, rng)
        xy = varied.points(self.config.length)
        lonlat = model.meta.box.clip(unproject(xy.reshape(-1, 2), model.meta.crs)).reshape(xy.shape)
        return Release(Trajectories.from_fixed(lonlat, meta=model.meta), model.guarantee, dict(model.report))


def evolved(
    population: Any,
    weights: np.ndarray,
    simulator: Simulator[Any],
    variations: int,
    degree: float,
    rng: np.random.Generator,
) -> Any:
    """Return the next population, of the same size: winners once each, and variations of them by ``degree`` metres.

    ``weights`` [m], non-negative: noisy votes. Every draw of a winner is worth 1 + ``variations`` places, of which the winner itself
    takes one, once; where all weights are 0, all candidates are as likely.
    """
    size = len(weights)
    drawn = rng.permutation(systematic(weights, max(1, size // (1 + variations)), rng))  # so that no place is favoured
    winners = np.unique(drawn)
    parents = drawn[np.arange(size - len(winners)) % len(drawn)]
    return population.take(winners).joined(simulator.vary(population.take(parents), degree, rng))


def systematic(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """int64 [n], rising: places drawn in proportion to ``weights`` [m], each floor or ceiling of its expected number of times."""
    rising = np.cumsum(shares_of(weights))
    at = np.searchsorted(rising, (np.arange(n) + rng.random()) / n * rising[-1], side="right")
    return np.minimum(at, len(weights) - 1)


def _round(turn: int, degree: float, noisy: np.ndarray, chosen: np.ndarray) -> dict[str, Any]:
    """What a reader wants to know of a round, all of it from noisy votes: the votes at `RANKS` ranks, largest first."""
    ranks = np.unique(np.rint(np.geomspace(1, len(noisy), RANKS)).astype(int))
    falling = np.sort(noisy)[::-1]
    return {
        "round": turn + 1,
        "degree of variation in m": degree if turn else None,
        "sum of noisy votes": float(noisy.sum()),
        "above the threshold": int((chosen > 0).sum()),
        "rank": ranks.tolist(),
        "noisy votes": falling[ranks - 1].tolist(),
    }
