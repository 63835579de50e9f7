"""Whom released trajectories came from: private, and known to the one who audits, never to the adversary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit.errors import ParameterError


@dataclass(frozen=True)
class Origin:
    """Pairs (``released`` int64 [m], ``source`` int64 [m]): released trajectory and a raw one that it stands for.

    A released trajectory may stand for several raw ones (a class published once); a raw one that is in no pair was suppressed.
    """

    released: np.ndarray
    source: np.ndarray

    @classmethod
    def one_each(cls, source: np.ndarray) -> Origin:
        """Released trajectory i was made from raw trajectory ``source[i]``."""
        source = np.asarray(source, dtype=np.int64)
        return cls(np.arange(len(source)), source)

    def check(self, n_released: int, n_raw: int) -> Origin:
        """Return self, or raise ParameterError where a pair names a trajectory that does not exist, or a released one came from nobody."""
        for name, index, n in (("released", self.released, n_released), ("source", self.source, n_raw)):
            if len(index) != len(self.released) or (len(index) and not (index.min() >= 0 and index.max() < n)):
                raise ParameterError(
                    f"origin: {name} must hold one index in 0 … {n - 1} for each pair; it has {len(index)} of them"
                )
        orphans = n_released - len(np.unique(self.released))
        if orphans:
            raise ParameterError(
                f"origin: {orphans} released trajectories came from nobody: give a source for each, "
                "or compare with people held out (nearest_advantage) where trajectories are synthetic"
            )
        return self
