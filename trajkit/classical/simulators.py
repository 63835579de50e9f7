"""`Simulator`: a public generator of candidate trajectories, and `PublicPaths`, which knows nothing but the public box.

Private Evolution (`private_evolution`) asks a simulator for random candidates and for variations of those that were voted for. A
simulator never sees a private trajectory; whatever it is made of (a box, a road map) must be public, and ``public`` says so in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

STRAIGHT = 0.3  # share of random trips without a via point
DETOUR = (
    0.35  # standard deviation of a via point about the middle of its trip, as a share of the distance from start to end
)
REDRAW = 0.1  # share of variations in which one of the places is drawn anew

Bounds = tuple[float, float, float, float]


class Candidates(Protocol):
    """What a simulator needs to know of some candidates in order to draw and to vary them. Never changed in place."""

    def __len__(self) -> int: ...

    def take(self, index: np.ndarray) -> Self:
        """Return the candidates at ``index`` (int64 [m], repeats allowed), in that order."""
        ...

    def joined(self, other: Self) -> Self:
        """Return these candidates followed by ``other``."""
        ...

    def points(self, length: int) -> np.ndarray:
        """float64 [n, length, 2]: each candidate in metres of the data set's CRS. Always the same for the same candidates."""
        ...


C = TypeVar("C", bound=Candidates)


class Simulator(Protocol[C]):
    """Draws candidates. Both methods use no randomness but ``rng`` and no data but what ``public`` names."""

    @property
    def public(self) -> str:
        """What it takes as publicly known, in words, for the guarantee."""
        ...

    def random(self, n: int, rng: np.random.Generator) -> C:
        """Return ``n`` candidates that nothing private has chosen."""
        ...

    def vary(self, candidates: C, degree: float, rng: np.random.Generator) -> C:
        """Return one variation of each candidate, whose places have moved by about ``degree`` metres."""
        ...


@dataclass(frozen=True)
class Paths:
    """Trips from ``start`` to ``end``, by way of ``via`` where ``bent`` is true: float64 [n, 2] in metres, bool [n].

    ``via`` is the middle of the trip where it is straight.
    """

    start: np.ndarray
    via: np.ndarray
    end: np.ndarray
    bent: np.ndarray

    def __len__(self) -> int:
        return len(self.bent)

    def take(self, index: np.ndarray) -> Paths:
        """See `Candidates`."""
        return Paths(self.start[index], self.via[index], self.end[index], self.bent[index])

    def joined(self, other: Paths) -> Paths:
        """See `Candidates`."""
        mine, theirs = ((x.start, x.via, x.end, x.bent) for x in (self, other))
        return Paths(*(np.concatenate(pair) for pair in zip(mine, theirs, strict=True)))

    def points(self, length: int) -> np.ndarray:
        """float64 [n, length, 2]: equally spaced along the line, metres; the first point is the start, the last the end."""
        first, second = (np.linalg.norm(b - a, axis=1) for a, b in ((self.start, self.via), (self.via, self.end)))
        whole = first + second
        turn = np.divide(first, whole, out=np.full(len(self), 0.5), where=whole > 0)[:, None]
        along = np.linspace(0.0, 1.0, length)[None, :]
        before = np.divide(along, turn, out=np.ones((len(self), length)), where=turn > 0).clip(0.0, 1.0)[..., None]
        after = np.divide(along - turn, 1 - turn, out=np.zeros_like(along - turn), where=turn < 1)
        after = after.clip(0.0, 1.0)[..., None]
        start, via, end = (x[:, None] for x in (self.start, self.via, self.end))
        return start + before * (via - start) + after * (end - via)


@dataclass(frozen=True)
class PublicPaths:
    """Trips between uniform places of the rectangle ``bounds`` (x_min, y_min, x_max, y_max in metres), straight or with one bend.

    A share `STRAIGHT` goes straight; the others pass a place drawn about the middle of their trip (`DETOUR`). A variation moves each
    place by normal noise of standard deviation ``degree`` metres east and north; in a share `REDRAW` of the variations one of start,
    end and bend is drawn anew (a bend may appear or vanish). Places that would leave the rectangle are reflected at its border.
    """

    bounds: Bounds

    @property
    def public(self) -> str:
        """See `Simulator`."""
        return "the candidates come from uniform places in the public box, joined by straight lines or by one bend"

    def random(self, n: int, rng: np.random.Generator) -> Paths:
        """See `Simulator`."""
        start, end = self._places(n, rng), self._places(n, rng)
        return self._paths(start, self._via(start, end, rng), end, rng.random(n) >= STRAIGHT)

    def vary(self, candidates: Paths, degree: float, rng: np.random.Generator) -> Paths:
        """See `Simulator`."""
        n = len(candidates)
        old = (candidates.start, candidates.via, candidates.end)
        start, via, end = (reflected(x + rng.normal(0.0, degree, (n, 2)), self.bounds) for x in old)
        which = np.where(rng.random(n) < REDRAW, rng.integers(0, 3, n), -1)[:, None]
        start = np.where(which == 0, self._places(n, rng), start)
        end = np.where(which == 1, self._places(n, rng), end)
        via = np.where(which == 2, self._via(start, end, rng), via)
        bent = np.where(which[:, 0] == 2, rng.random(n) >= STRAIGHT, candidates.bent)
        return self._paths(start, via, end, bent)

    def _places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(self.bounds[:2], self.bounds[2:], (n, 2))

    def _via(self, start: np.ndarray, end: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        spread = DETOUR * np.linalg.norm(end - start, axis=1, keepdims=True)
        return (start + end) / 2 + spread * rng.normal(size=start.shape)

    def _paths(self, start: np.ndarray, via: np.ndarray, end: np.ndarray, bent: np.ndarray) -> Paths:
        via = np.where(bent[:, None], via, (start + end) / 2)
        return Paths(start, reflected(via, self.bounds), end, bent)


def reflected(xy: np.ndarray, bounds: Bounds) -> np.ndarray:
    """``xy`` [n, 2] folded back into ``bounds`` at the border, as often as it takes."""
    low = np.array(bounds[:2])
    span = np.array(bounds[2:]) - low
    return low + span - np.abs((xy - low) % (2 * span) - span)
