"""What may be done with noisy counts: nothing here sees the data, so nothing here costs privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from trajkit.errors import DataContractError
from trajkit.trajectories import Trajectories

SOUND = "that the training set is not empty and keeps the contract is public: fit refuses any other, without noise"


def norm_sub(noisy: np.ndarray, total: float | None = None) -> np.ndarray:
    """Non-negative values nearest to ``noisy`` in L2 whose sum is ``total`` (their own sum unless given, at least 0).

    The same number is taken from every entry, what falls below zero becomes zero (projection onto a simplex): small entries, which
    are mostly noise, vanish, and the total, which many entries know well, is kept.
    """
    values = np.asarray(noisy, dtype=np.float64).ravel()
    total = float(values.sum()) if total is None else total
    if total <= 0 or not len(values):
        return np.zeros(np.shape(noisy))
    falling = np.sort(values)[::-1]
    shift = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.maximum(values - shift[np.flatnonzero(falling > shift)[-1]], 0.0).reshape(np.shape(noisy))


def shares_of(weights: np.ndarray) -> np.ndarray:
    """``weights`` scaled to sum 1; equal shares where they are all 0."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(weights.shape, 1 / weights.size)


def parts(budget: Fraction, shares: tuple[float, ...]) -> list[Fraction]:
    """``budget`` cut in proportion to ``shares``, exactly: the parts add up to it."""
    exact = [Fraction(s) for s in shares]
    return [budget * s / sum(exact) for s in exact]


def checked_training_set(train: Trajectories) -> Trajectories:
    """Return ``train``. Raises DataContractError where it breaks the contract or is empty."""
    train.check()
    if len(train) == 0:
        raise DataContractError(
            f"{train.meta.dataset}: no trajectory to train on; counts of nothing are noise alone, so give a fold with data"
        )
    return train
