"""Toy sets shared by the tests: a small public box around Porto, smooth random walks in it; and what hangs on an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from trajkit.geo import Box, project, unproject
from trajkit.trajectories import Meta, Trajectories

BOX = Box(-8.72, 41.10, -8.50, 41.24)
META = Meta("toy", "EPSG:32629", BOX)
ORIGIN = project(np.array([[-8.61, 41.17]]), META.crs)[0]


def walks(n: int, length: int, seed: int, *, meta: Meta = META) -> Trajectories:
    """``n`` smooth walks of ``length`` points inside the box; no time."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-0.5, 0.5, (n, 1, 2))
    heading = np.cumsum(rng.normal(0, 0.3, (n, length)), axis=1) + rng.uniform(0, 2 * np.pi, (n, 1))
    steps = rng.lognormal(0, 0.5, (n, 1, 1)) * 0.8 / length * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    return Trajectories.from_fixed(meta.box.clip(meta.box.from_unit(start + np.cumsum(steps, axis=1))), meta=meta)


def from_metres(xy: list[list[tuple[float, float]]]) -> Trajectories:
    """Trajectories of equal length from metres east and north of the middle of the box, so that answers can be worked out."""
    array = np.array(xy, dtype=np.float64)
    lonlat = unproject(array.reshape(-1, 2) + ORIGIN, META.crs).reshape(array.shape)
    return Trajectories.from_fixed(lonlat, meta=META)


def reached(thing: Any, seen: set[int]) -> Iterator[Any]:
    """Everything that hangs on ``thing``, to look for what must not: attributes, items, entries, and the arrays behind views."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    inner: list[Any] = []
    if isinstance(thing, dict):
        inner = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set)):
        inner = list(thing)
    elif hasattr(thing, "__dict__"):
        inner = list(vars(thing).values())
    if is_dataclass(thing) and not isinstance(thing, type):
        inner += [getattr(thing, f.name) for f in fields(thing)]
    if isinstance(thing, np.ndarray) and thing.base is not None:
        inner.append(thing.base)
    for x in inner:
        yield from reached(x, seen)
