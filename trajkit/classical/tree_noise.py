"""Noise and thresholds of a noisy prefix tree, and how large noise alone makes it.

A kept node has ``children x P[noise >= threshold]`` children that exist by noise alone, on average, and they breed: above one
the tree grows without bound. The published threshold, two standard deviations of the noise, is above one for more than 33
symbols (30 a node for 1,012); `subcritical_threshold` keeps it at half a child.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from trajkit.errors import ParameterError
from trajkit.privacy.exact_noise import Bits, one_sided_geometric, tail_binomial, tail_probability
from trajkit.privacy.mechanisms import Geometric, Laplace

MOST_NODES = 3_000_000
FALSE_CHILDREN = 0.5  # children by noise alone that a kept node has, on average, at the subcritical threshold

Threshold = Literal["subcritical", "published"] | float


class TreeNoise(Protocol):
    """Where the noise of a tree comes from. Children of a level are numbered 0 … universe - 1, siblings side by side."""

    @property
    def threshold(self) -> float:
        """A child is kept where its noisy count is at least this."""
        ...

    def noisy(self, level: int, keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Noisy counts of the visited children ``keys`` (rising), whose true ``counts`` are above 0."""
        ...

    def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys (rising) and noisy counts of the unvisited children whose noise reaches the threshold."""
        ...


@dataclass(frozen=True)
class LevelNoise:
    """Independent noise of one scale on every count, exact for `Geometric`; bits from ``rng``, or the operating system's (None)."""

    noise: Geometric | Laplace
    threshold: float
    rng: np.random.Generator | None

    def __post_init__(self) -> None:
        exact = isinstance(self.noise, Geometric)
        if not self.threshold > 0 or (exact and (self.threshold != int(self.threshold) or not self.noise.exact)):  # type: ignore[union-attr]
            raise ParameterError(
                f"threshold = {self.threshold:g}: must be above 0, and with geometric noise whole and the noise exact, or visited "
                "and unvisited children would be held to different ones; use chosen_threshold"
            )

    def noisy(self, level: int, keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See `TreeNoise`."""
        if isinstance(self.noise, Geometric):
            return counts + self.noise.noise(len(counts), self.rng)
        return counts + self.noise.noise(len(counts), self._floats)

    def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `TreeNoise`. Raises ParameterError where more would pass than a tree may have nodes."""
        empty = universe - len(visited)
        expected = universe * false_share(self.noise, self.threshold)  # not of ``empty``, which is a true count
        if expected > 2 * MOST_NODES:
            raise ParameterError(too_large(expected, self.threshold))
        if isinstance(self.noise, Geometric):
            scale = Fraction(self.noise.scale)
            k = tail_binomial(empty, int(self.threshold), scale, self.rng)
            over = one_sided_geometric(scale, k, self.rng)
        else:
            k = int(self._floats.binomial(empty, false_share(self.noise, self.threshold)))
            over = self._floats.exponential(self.noise.scale, size=k)
        place = Bits(self.rng).distinct(empty, k)
        # the place-th unvisited key: as many visited keys lie before it as have at most `place` unvisited ones before them
        keys = place + np.searchsorted(visited - np.arange(len(visited)), place, side="right")
        return keys, over + (int(self.threshold) if isinstance(self.noise, Geometric) else self.threshold)

    @property
    def _floats(self) -> np.random.Generator:
        return np.random.default_rng() if self.rng is None else self.rng


def false_share(noise: Geometric | Laplace, threshold: float) -> float:
    """P[noise >= threshold], threshold above 0: the share of empty children that pass."""
    if isinstance(noise, Geometric):
        return tail_probability(math.ceil(threshold), noise.scale)
    return 0.5 * math.exp(-threshold / noise.scale)


def published_threshold(noise: Geometric | Laplace) -> float:
    """2 sqrt(2) times the scale (Chen et al., IV-A): two standard deviations of Laplace noise; whole for geometric noise."""
    threshold = 2 * math.sqrt(2) * noise.scale
    return float(math.ceil(threshold)) if isinstance(noise, Geometric) else threshold


def subcritical_threshold(noise: Geometric | Laplace, children: int) -> float:
    """Least threshold at which a node has half a child by noise alone on average: scale x ln(children), for Laplace noise."""
    share = FALSE_CHILDREN / children
    if isinstance(noise, Laplace):
        return max(noise.scale * math.log(0.5 / share), np.finfo(float).tiny)
    threshold = max(1, math.ceil(-noise.scale * math.log(share * (1 + math.exp(-1 / noise.scale)))))
    while false_share(noise, threshold) > share:  # rounding
        threshold += 1
    return float(threshold)


def chosen_threshold(threshold: Threshold, noise: Geometric | Laplace, children: int) -> float:
    """The number that ``threshold`` stands for. Raises ParameterError unless it is above 0 (and finite)."""
    if threshold == "published":
        return published_threshold(noise)
    if threshold == "subcritical":
        return subcritical_threshold(noise, children)
    value = float(threshold)
    if not 0 < value < math.inf:
        raise ParameterError(f"threshold = {threshold}: must be above 0, or nearly every empty node is kept")
    return float(math.ceil(value)) if isinstance(noise, Geometric) else value


def expected_nodes(children: int, height: int, share: float) -> float:
    """Nodes that the tree of an empty data set has on average: the sum of r^i, r = children x share, over the levels."""
    r = children * share
    if r == 0 or r == 1:
        return r * height
    grown = height * math.log(r)
    return r * math.expm1(grown) / (r - 1) if grown < 700 else math.inf


def check_size(children: int, height: int, share: float, threshold: float) -> float:
    """Return `expected_nodes`. Raises ParameterError where the tree would have more than `MOST_NODES` by noise alone."""
    nodes = expected_nodes(children, height, share)
    if nodes > MOST_NODES:
        raise ParameterError(
            f"threshold {threshold:.4g}: each kept node has {children * share:.3g} children by noise alone on average, and they have "
            f"as many again, so a tree of height {height} is expected to have {nodes:.3g} nodes for an empty data set (at most "
            f"{MOST_NODES:,} are allowed). Use threshold subcritical, fewer symbols (a coarser grid), or a smaller height. "
            "Expanding only visited nodes would be small and not private"
        )
    return nodes


def too_large(nodes: float, threshold: float) -> str:
    return (
        f"threshold {threshold:.4g}: about {nodes:.3g} nodes would be kept at one level by noise alone (at most {MOST_NODES:,} are "
        "allowed): use threshold subcritical, fewer symbols, or a smaller height"
    )
