"""Where trips start and end: the trip distribution of PrivTrace from the starts and ends of a noisy first-order model."""

from __future__ import annotations

import numpy as np

from trajkit.classical.cleaning import shares_of

ROUNDS = 25  # of proportional fitting, for each decay that is tried
TRIES = 24  # of bisection
STEEPEST = 8.0  # decay per hop, beyond which nothing but trips within a cell are left


def gravity(starts: np.ndarray, ends: np.ndarray, lengths: np.ndarray, total: float) -> np.ndarray:
    """float64 [S, S]: expected trips from each start to each end cell, ``total`` in all if that can be had.

    ``starts`` and ``ends`` [S], non-negative: sums of 1 / ``lengths`` over the trips that start, end in a cell, since that is how a
    trip of that many transitions (``lengths`` [S, S], public) was counted. Among all non-negative tables with these sums it is
    the one of largest entropy whose total is ``total``: start factor x end factor x exp(-decay x length), the decay found by
    bisection, the factors by proportional fitting.

    PrivTrace finds its table by a convex program over shortest paths between all pairs. Many tables have the sums it asks
    for, and the solver's choice among them is arbitrary; here the choice is stated, and takes no solver.
    """
    starts, ends = shares_of(starts) * starts.sum(), shares_of(ends) * starts.sum()
    if total <= 0 or starts.sum() <= 0:
        return np.full(lengths.shape, 1 / lengths.size)
    low, high = 0.0, STEEPEST
    for _ in range(TRIES):
        decay = (low + high) / 2
        trips = _fitted(starts, ends, np.exp(-decay * (lengths - lengths.min()))) * lengths
        low, high = (decay, high) if trips.sum() > total else (low, decay)
    return trips


def _fitted(starts: np.ndarray, ends: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """``kernel`` with rows and columns scaled to the given sums (Sinkhorn); a row that nothing reaches stays 0."""
    right = np.ones(len(ends))
    for _ in range(ROUNDS):
        left = starts / np.maximum(kernel @ right, 1e-300)
        right = ends / np.maximum(left @ kernel, 1e-300)
    return left[:, None] * kernel * right


def drawn_pairs(trips: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """int64 [n] twice: start and end of ``n`` trips drawn in proportion to ``trips`` [S, T]."""
    rising = np.cumsum(trips.ravel())
    at = np.searchsorted(rising, rng.random(n) * rising[-1], side="right")
    return np.divmod(np.minimum(at, trips.size - 1), trips.shape[1])
