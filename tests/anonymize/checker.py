"""A second opinion on releases, written apart from the package: lists, dictionaries and the calendar, no arrays."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from pyproj import Transformer

Label = tuple[int, int, int]
Signature = tuple[Label, ...]


def signature(
    lonlat: Sequence[Sequence[float]],
    t: Sequence[int] | None,
    *,
    cell_m: float,
    minutes: int | None,
    of: str,
    tz: str,
    crs: str,
) -> Signature:
    """(column, row, bin) of each fix, repeats in a row merged."""
    project = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform
    out: list[Label] = []
    for i, (lon, lat) in enumerate(lonlat):
        x, y = project(lon, lat)
        bin_ = 0
        if minutes is not None and t is not None:
            when = datetime.fromtimestamp(t[i] / 1000, UTC)
            clock = when.astimezone(ZoneInfo(tz))
            minute = clock.hour * 60 + clock.minute if of == "clock" else t[i] // 60_000
            bin_ = minute // minutes
        label = (math.floor(x / cell_m), math.floor(y / cell_m), bin_)
        if not out or out[-1] != label:
            out.append(label)
    return tuple(out)


def paths(trajs: object, **how: object) -> list[Signature]:
    """The signature of every trajectory of a set."""
    out = []
    offsets = trajs.offsets.tolist()  # type: ignore[attr-defined]
    for a, b in pairwise(offsets):
        t = None if trajs.t is None else trajs.t[a:b].tolist()  # type: ignore[attr-defined]
        out.append(signature(trajs.lonlat[a:b].tolist(), t, **how))  # type: ignore[attr-defined, arg-type]
    return out


def whole_classes(raw: list[Signature], users: list[int], k: int, min_labels: int) -> dict[Signature, int]:
    """Signature -> trajectories, of those that k-anonymity lets out."""
    who: dict[Signature, set[int]] = defaultdict(set)
    count: dict[Signature, int] = defaultdict(int)
    for sig, user in zip(raw, users, strict=True):
        who[sig].add(user)
        count[sig] += 1
    return {sig: count[sig] for sig in count if len(who[sig]) >= k and len(sig) >= min_labels}


def tally(released: list[Signature]) -> dict[Signature, int]:
    """Signature -> trajectories in a release."""
    count: dict[Signature, int] = defaultdict(int)
    for sig in released:
        count[sig] += 1
    return dict(count)


def places_in(part: Signature, path: Signature) -> list[int]:
    """Where ``part`` begins in ``path``."""
    return [i for i in range(len(path) - len(part) + 1) if path[i : i + len(part)] == part]


def users_with(part: Signature, raw: list[Signature], users: list[int]) -> set[int]:
    """Who has ``part`` somewhere."""
    return {user for sig, user in zip(raw, users, strict=True) if places_in(part, sig)}


def cut_by_the_rule(paths: list[str], persons: list[int], k: int, min_labels: int) -> list[tuple[str, int]]:
    """(part, trajectory) of what segment suppression releases, by trying every window of every length."""
    free = [[True] * len(p) for p in paths]
    out: list[tuple[str, int]] = []
    for length in range(max(map(len, paths)), min_labels - 1, -1):
        windows = [
            (i, a, p[a : a + length])
            for i, p in enumerate(paths)
            for a in range(len(p) - length + 1)
            if all(free[i][a : a + length])
        ]
        had = people(windows, persons)
        allowed = {part for part in had if len(had[part]) >= k}
        while True:
            taken, last = [], (-1, -1)
            for i, a, part in windows:
                if part in allowed and (i != last[0] or a >= last[1]):
                    taken.append((i, a, part))
                    last = (i, a + length)
            few = {part for part, who in people(taken, persons).items() if len(who) < k}
            if not few:
                break
            allowed -= few
        for i, a, part in taken:
            free[i][a : a + length] = [False] * length
            out.append((part, i))
    return sorted(out)


def people(windows: list[tuple[int, int, str]], persons: list[int]) -> dict[str, set[int]]:
    """Part -> who has it."""
    who: dict[str, set[int]] = defaultdict(set)
    for i, _, part in windows:
        who[part].add(persons[i])
    return who
