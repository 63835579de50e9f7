"""What a map draws: whole trajectories sampled by a seed, without ids, after the check that none of them is raw and private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajkit import seeds
from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.geo import Box
from trajkit.privacy.guarantee import RNG_SEEDED
from trajkit.release import Release
from trajkit.trajectories import Trajectories
from trajkit.viz.colours import LINES

LINE_POINTS = 2  # fewest points of a line


@dataclass(frozen=True)
class MapSet:
    """One set as it is drawn: its name, its sample in random order (ids and users are never read from it), its colour ``#rrggbb``."""

    name: str
    trajs: Trajectories
    colour: str


def chosen_sets(
    sets: Mapping[str, Trajectories | Release | None], *, rows: int, seed: int, allow_raw: bool
) -> tuple[list[MapSet], list[str]]:
    """Sample up to ``rows`` trajectories of each set, and say in notes what is not shown or must not be passed on.

    A set that is None is named as not shown. Raises ParameterError for no set, too many or ``rows`` below 1, and
    PrivacyAccountingError for raw private data without ``allow_raw``.
    """
    there = {name: s for name, s in sets.items() if s is not None}
    notes = [f"{name} is not shown: private data" for name, s in sets.items() if s is None]
    if not there or len(there) > len(LINES):
        raise ParameterError(f"a map shows 1 to {len(LINES)} sets, got {len(there)}: draw several maps")
    if rows < 1:
        raise ParameterError(f"rows is the most trajectories shown of each set, at least 1, got {rows}")
    chosen = []
    for (name, given), colour in zip(there.items(), LINES, strict=False):
        notes += _may_be_shown(name, given, allow_raw)
        trajs = given.trajectories if isinstance(given, Release) else given
        drawn, said = _sample(name, trajs, rows, seed)
        chosen.append(MapSet(name, drawn, colour))
        notes += said
    return chosen, notes


def _may_be_shown(name: str, given: Trajectories | Release, allow_raw: bool) -> list[str]:
    """Notes on a set that may be shown. A release counts by its guarantee; all else that is private counts as raw, also what an attack rebuilt."""
    trajs = given.trajectories if isinstance(given, Release) else given
    if trajs.meta.visibility == "public":
        return []
    if isinstance(given, Release) and given.guarantee.holds:
        repeatable = given.guarantee.rng == RNG_SEEDED
        return [f"{name}: its noise can be repeated, so this map is to look at, not to pass on"] if repeatable else []
    if allow_raw:
        return [f"{name} shows private data that no guarantee covers: do not pass this map on"]
    if isinstance(given, Release):
        why = f"its release has no guarantee that holds ({given.guarantee.reason})"
        repair = "show a release whose guarantee holds"
    else:
        why = f"they are trajectories of {trajs.meta.dataset}, a private data set, without the guarantee of a release"
        repair = "pass the whole Release (not its trajectories alone)"
    raise PrivacyAccountingError(
        f"set {name!r} may not be drawn: {why}. Do one of these: {repair}; declare the data set public if everybody may see it; "
        "or, to look at it alone, call trip_map(..., allow_raw=True) and keep the map to yourself"
    )


def _sample(name: str, trajs: Trajectories, rows: int, seed: int) -> tuple[Trajectories, list[str]]:
    lines = np.flatnonzero(trajs.lengths >= LINE_POINTS)
    index = seeds.rng(seed, "sampling", "map").permutation(len(lines))[:rows]
    notes = []
    if len(lines) < len(trajs):
        notes.append(
            f"{name}: {len(trajs) - len(lines):,} of {len(trajs):,} trajectories have one point and are not drawn"
        )
    if len(index) < len(lines):
        notes.append(
            f"{name}: {len(index):,} of {len(lines):,} trajectories are shown, drawn at random with seed {seed}"
        )
    if not len(lines):
        notes.append(f"{name} is empty: nothing is drawn")
    return trajs.take(lines[index]), notes


def view_box(sets: Sequence[MapSet]) -> Box:
    """The smallest box around the public boxes of the sets: what a map shows at first."""
    boxes = [s.trajs.meta.box for s in sets]
    return Box(
        min(b.lon_min for b in boxes),
        min(b.lat_min for b in boxes),
        max(b.lon_max for b in boxes),
        max(b.lat_max for b in boxes),
    )
