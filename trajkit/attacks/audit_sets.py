"""The tiny neighbouring data sets of the audits: a public box of 20 km, a few ordinary trajectories in it, canaries, and rows of numbers.

Places are in units of half the box, x and y in [-1, 1] with y north, so that a set is the same in every audit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajkit.errors import ParameterError
from trajkit.geo import Box
from trajkit.preprocess import to_fixed_length
from trajkit.ragged import concatenate_offsets
from trajkit.seeds import rng
from trajkit.trajectories import Meta, Trajectories

META = Meta("audit", "EPSG:32629", Box(-8.74, 41.08, -8.50, 41.26))
CORNER, ZIGZAG = "corner", "zigzag"
CANARIES = (CORNER, ZIGZAG)


def canary(name: str, points: int) -> np.ndarray:
    """float64 [points, 2]: `CORNER` stands in the far corner, `ZIGZAG` jumps between two opposite ones, which nobody drives."""
    if name not in CANARIES:
        raise ParameterError(f"canary = {name!r}: use one of {', '.join(CANARIES)}")
    if name == CORNER:
        return np.ones((points, 2))
    return np.repeat(2.0 * (np.arange(points) % 2)[:, None] - 1, 2, axis=1)


def ordinary(n: int, points: int, *, seed: int) -> np.ndarray:
    """float64 [n, points, 2]: straight ways between two places in the middle of the box."""
    a, b = rng(seed, "data", "audit").uniform(-0.5, 0.5, (2, n, 1, 2))
    return a + (b - a) * np.linspace(0, 1, points)[None, :, None]


def neighbours(others: Sequence[np.ndarray], added: np.ndarray) -> tuple[Trajectories, Trajectories]:
    """The set with the trajectory ``added`` [l, 2], which comes last, and the one without it; every trajectory is its own user's."""
    return built([*others, added]), built(list(others))


def built(ways: Sequence[np.ndarray]) -> Trajectories:
    """Trajectories from ``ways``, each [l, 2], in the public box."""
    offsets = concatenate_offsets(np.array([len(w) for w in ways]))
    lonlat = META.box.clip(META.box.from_unit(np.concatenate(list(ways))))
    return Trajectories.generated(lonlat, offsets, meta=META)


def unit_rows(trajs: Trajectories, points: int) -> np.ndarray:
    """float64 [n, 2 * ``points``]: any trajectories as rows of x and y in [-1, 1] of their own public box, ``points`` points each."""
    return trajs.meta.box.to_unit(to_fixed_length(trajs, length=points)).reshape(len(trajs), -1)
