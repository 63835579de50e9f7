"""Whom released trajectories came from: private, and known to the one who audits, never to the adversary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajkit.errors import ParameterError


@dataclass(frozen=True)
class Origin:
    """Pairs (``released`` int64 [m], ``source`` int64 [m]): released trajectory and a raw one that it stands for.

    A released trajectory may stand for several raw ones (a class published once); a raw one that is in no pair was suppressed.
    ``made`` int64: released trajectories that a generator made, marked as such in the release, so that they are nobody's and in no pair.
    """

    released: np.ndarray
    source: np.ndarray
    made: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def one_each(cls, source: np.ndarray) -> Origin:
        """Released trajectory i was made from raw trajectory ``source[i]``."""
        source = np.asarray(source, dtype=np.int64)
        return cls(np.arange(len(source)), source)

    @classmethod
    def of_rows(cls, source: np.ndarray) -> Origin:
        """As `one_each`, but where ``source[i]`` is negative released trajectory i is ``made``: it is nobody's."""
        source = np.asarray(source, dtype=np.int64)
        real = np.flatnonzero(source >= 0)
        return cls(real, source[real], np.flatnonzero(source < 0))

    def of_people(self, released: Any) -> tuple[Any, Origin]:
        """``released`` (trajectories or signatures) without those that were ``made``, and the map of what is left.

        An adversary reads the mark as everybody does and sets them aside: left in, they would only stand in his way.
        """
        if not len(self.made):
            return released, self
        kept = np.setdiff1d(np.arange(len(released)), self.made)
        return released.take(kept), Origin(np.searchsorted(kept, self.released), self.source)

    @classmethod
    def behind(cls, released: Any, source: np.ndarray) -> tuple[Any, Origin | None]:
        """What of ``released`` was made from somebody's trajectories, and its map; all of it and None where a generator made all of it."""
        whole = cls.of_rows(source)
        return (released, None) if len(whole.made) == len(released) > 0 else whole.of_people(released)

    def check(self, n_released: int, n_raw: int) -> Origin:
        """Return self, or raise ParameterError where a pair names a trajectory that does not exist, or a released one came from nobody."""
        for name, index, n in (("released", self.released, n_released), ("source", self.source, n_raw)):
            if len(index) != len(self.released) or (len(index) and not (index.min() >= 0 and index.max() < n)):
                raise ParameterError(
                    f"origin: {name} must hold one index in 0 … {n - 1} for each pair; it has {len(index)} of them"
                )
        if len(self.made) and not (
            self.made.min() >= 0 and self.made.max() < n_released and not np.isin(self.made, self.released).any()
        ):
            raise ParameterError(
                f"origin: made must hold released trajectories (0 … {n_released - 1}) that are in no pair"
            )
        orphans = n_released - len(np.unique(self.released)) - len(np.unique(self.made))
        if orphans:
            raise ParameterError(
                f"origin: {orphans} released trajectories came from nobody: give a source for each, "
                "or compare with people held out (nearest_advantage) where trajectories are synthetic"
            )
        return self
