"""Steps between raw records and a study: each returns the new set and a `DropReport` that accounts for every row.

The reports of a chain are kept in ``meta.steps`` and printed by every study.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numba import njit

from trajkit.errors import DataContractError, ParameterError
from trajkit.trajectories import Trajectories, concatenate_offsets

PREPROCESS_VERSION = 1  # part of every cache key: raise it when a step's result changes
DUPLICATE_POLICIES = ("first", "mean", "error")
POSITIONS = ("mean", "first")
NAMED = 10


@dataclass(frozen=True)
class DropReport:
    """What one step did. ``dropped`` maps a reason to [trajectories, points]; merged or split rows are reasons too.

    points_in = points_out + sum of dropped points; trajectories_in + created = trajectories_out + dropped trajectories.
    ``found`` counts what was noticed and kept; ``named`` lists the first ids behind a reason (public sets only).
    """

    step: str
    settings: dict[str, Any]
    trajectories_in: int
    trajectories_out: int
    points_in: int
    points_out: int
    dropped: dict[str, list[int]] = field(default_factory=dict)
    created: int = 0
    found: dict[str, int] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        gone = np.array(list(self.dropped.values()) or [[0, 0]]).sum(axis=0)
        if (
            self.trajectories_in + self.created != self.trajectories_out + gone[0]
            or self.points_in != self.points_out + gone[1]
        ):
            raise DataContractError(f"step {self.step!r} lost rows without reporting them: {asdict(self)}")

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON."""
        return asdict(self)


def finish(
    before: Trajectories,
    after: Trajectories,
    step: str,
    settings: dict[str, Any],
    dropped: dict[str, tuple[int, int]],
    **extra: Any,
) -> tuple[Trajectories, DropReport]:
    """Write the report of a step and append it to the result's ``meta.steps`` (zero rows are left out)."""
    report = DropReport(
        step,
        settings,
        len(before),
        len(after),
        before.n_points,
        after.n_points,
        {reason: [int(a), int(b)] for reason, (a, b) in dropped.items() if a or b},
        **extra,
    )
    return after.with_meta(steps=(*before.meta.steps, report.as_dict())), report


def _keep_points(trajs: Trajectories, keep: np.ndarray) -> Trajectories:
    """Drop points; trajectories that lose all of theirs disappear."""
    lengths = np.bincount(trajs.traj_of_point[keep], minlength=len(trajs))
    alive = lengths > 0
    return replace(
        trajs,
        lonlat=trajs.lonlat[keep],
        offsets=concatenate_offsets(lengths[alive]),
        t=None if trajs.t is None else trajs.t[keep],
        user=trajs.user[alive],
        traj_ids=trajs.traj_ids[alive],
    )


def filter_box(trajs: Trajectories, *, drop: str = "points") -> tuple[Trajectories, DropReport]:
    """Keep what lies in the public box; ``drop`` is "points" (GeoLife, SoK) or "trajectories" (any point outside: Porto)."""
    inside = trajs.meta.box.contains(trajs.lonlat)
    if trajs.n_points and inside.mean() < 0.5 and trajs.meta.box.contains(trajs.lonlat[:, ::-1]).mean() > 0.5:
        raise DataContractError(
            f"{trajs.meta.dataset}: {1 - inside.mean():.0%} of the points lie outside the box and latitude and longitude look swapped: exchange the two columns"
        )
    if trajs.n_points and not inside.any():
        raise DataContractError(
            f"{trajs.meta.dataset}: every point lies outside the box {tuple(asdict(trajs.meta.box).values())} "
            "(lon_min, lat_min, lon_max, lat_max): declare the box of this data, in degrees"
        )
    if drop == "points":
        after = _keep_points(trajs, inside)
        reasons = {"point outside the box": (len(trajs) - len(after), int((~inside).sum()))}
    elif drop == "trajectories":
        bad = np.zeros(len(trajs), dtype=bool)
        bad[trajs.traj_of_point[~inside]] = True
        after = trajs.take(~bad)
        reasons = {"trajectory with a point outside the box": (int(bad.sum()), int(trajs.lengths[bad].sum()))}
    else:
        raise ParameterError(f"drop={drop!r} is unknown: use points or trajectories")
    return finish(trajs, after, "filter_box", {"drop": drop, **asdict(trajs.meta.box)}, reasons)


def resample(trajs: Trajectories, *, interval_s: float, position: str = "mean") -> tuple[Trajectories, DropReport]:
    """Keep one point in each time bin of ``interval_s`` seconds, aligned to the epoch; empty bins stay empty (SoK step 2).

    Its time is the mean over the bin (ms, rounded down); its place the ``mean`` or the ``first`` of the bin. The
    published GeoLife files carry the first. Raises DataContractError without times, ParameterError for bad settings.
    """
    t = _need_time(trajs, "resample")
    if not interval_s > 0:
        raise ParameterError(f"interval_s must be positive, got {interval_s}")
    if position not in POSITIONS:
        raise ParameterError(f"position {position!r} is unknown: use {' or '.join(POSITIONS)}")
    bins = t // int(interval_s * 1000)
    first = np.ones(trajs.n_points, dtype=bool)
    first[1:] = (np.diff(bins) != 0) | (np.diff(trajs.traj_of_point) != 0)
    at = np.flatnonzero(first)
    size = np.diff(np.append(at, trajs.n_points))
    if len(at):
        lonlat = trajs.lonlat[at]
        if position == "mean":
            lonlat = np.add.reduceat(trajs.lonlat, at, axis=0) / size[:, None]
        base = t[at]
        when = base + np.add.reduceat(t - np.repeat(base, size), at) // size
    else:
        lonlat, when = trajs.lonlat, t
    after = replace(
        trajs,
        lonlat=lonlat,
        t=when,
        offsets=concatenate_offsets(np.bincount(trajs.traj_of_point[at], minlength=len(trajs))),
    )
    return finish(
        trajs,
        after,
        "resample",
        {"interval_s": interval_s, "position": position},
        {"merged into a time bin": (0, trajs.n_points - after.n_points)},
    )


def cut_after(trajs: Trajectories, cut: np.ndarray) -> tuple[Trajectories, np.ndarray]:
    """Cut after each point where ``cut`` (bool [N - 1]) says so; parts are named ``<id>_<k>``. Also int64 [p]: the trajectory of each part."""
    starts = np.union1d(trajs.starts, np.flatnonzero(cut) + 1).astype(np.int64)
    parent = trajs.traj_of_point[starts] if len(starts) else starts
    order = np.arange(len(starts)) - np.searchsorted(parent, parent)
    parts = replace(
        trajs,
        offsets=np.append(starts, trajs.n_points).astype(np.int64),
        user=trajs.user[parent],
        traj_ids=np.array([f"{a}_{k}" for a, k in zip(trajs.traj_ids[parent], order, strict=True)], dtype=str),
    )
    return parts, parent


def split_at_gaps(trajs: Trajectories, *, gap_s: float) -> tuple[Trajectories, DropReport]:
    """Cut where two neighbouring fixes are more than ``gap_s`` seconds apart; parts are named ``<id>_<k>`` (SoK step 3)."""
    t = _need_time(trajs, "split_at_gaps")
    after, _ = cut_after(trajs, np.diff(t) > gap_s * 1000)
    return finish(trajs, after, "split_at_gaps", {"gap_s": gap_s}, {}, created=len(after) - len(trajs))


def truncate(trajs: Trajectories, *, max_points: int) -> tuple[Trajectories, DropReport]:
    """Keep the first ``max_points`` points of each trajectory (SoK step 4)."""
    local = np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)
    after = _keep_points(trajs, local < max_points)
    return finish(
        trajs,
        after,
        "truncate",
        {"max_points": max_points},
        {"point past the limit": (0, trajs.n_points - after.n_points)},
    )


def filter_length(
    trajs: Trajectories, *, min_points: int = 1, max_points: int | None = None
) -> tuple[Trajectories, DropReport]:
    """Keep trajectories with at least ``min_points`` and at most ``max_points`` points. Raises DataContractError if none is left."""
    short = trajs.lengths < min_points
    long = trajs.lengths > max_points if max_points is not None else np.zeros(len(trajs), dtype=bool)
    after = trajs.take(~short & ~long)
    if len(trajs) and not len(after):
        raise DataContractError(
            f"{trajs.meta.dataset}: none of the {len(trajs)} trajectories has between {min_points} and {max_points or 'any number of'} points "
            f"(they have {trajs.lengths.min()} to {trajs.lengths.max()}): lower min_points or check the column that names the trajectory"
        )
    reasons = {
        f"shorter than {min_points} points": (int(short.sum()), int(trajs.lengths[short].sum())),
        f"longer than {max_points} points": (int(long.sum()), int(trajs.lengths[long].sum())),
    }
    named = {}
    if trajs.meta.visibility == "public" and short.any():
        named[f"shorter than {min_points} points"] = trajs.traj_ids[short][:NAMED].astype(str).tolist()
    settings = {"min_points": min_points, "max_points": max_points}
    return finish(trajs, after, "filter_length", settings, reasons, named=named)


def duplicate_fixes(trajs: Trajectories, *, policy: str = "first") -> tuple[Trajectories, DropReport]:
    """Resolve fixes of one trajectory at the same time: keep the ``first``, their ``mean`` position, or stop with an ``error``.

    Equal and conflicting positions are counted apart. Raises DataContractError under "error".
    """
    t = _need_time(trajs, "duplicate_fixes")
    if policy not in DUPLICATE_POLICIES:
        raise ParameterError(f"duplicate policy {policy!r} is unknown: use {', '.join(DUPLICATE_POLICIES)}")
    first = np.ones(trajs.n_points, dtype=bool)
    first[1:] = (np.diff(t) != 0) | (np.diff(trajs.traj_of_point) != 0)
    at = np.flatnonzero(first)
    repeat = np.flatnonzero(~first)
    conflict = (
        int((trajs.lonlat[repeat] != trajs.lonlat[at[np.searchsorted(at, repeat) - 1]]).any(axis=1).sum())
        if len(repeat)
        else 0
    )
    if policy == "error" and len(repeat):
        names = trajs.traj_ids[trajs.traj_of_point[repeat[:3]]]
        raise DataContractError(
            f"{len(repeat)} fixes repeat the time of the one before (first in {', '.join(names)}), {conflict} of them at another place: choose policy first or mean"
        )
    after = _keep_points(trajs, first)
    if policy == "mean" and len(at):
        size = np.diff(np.append(at, trajs.n_points))
        after = replace(after, lonlat=np.add.reduceat(trajs.lonlat, at, axis=0) / size[:, None])
    reasons = {"same time, same place": (0, len(repeat) - conflict), "same time, other place": (0, conflict)}
    return finish(trajs, after, "duplicate_fixes", {"policy": policy}, reasons)


def duplicate_trajectories(trajs: Trajectories, *, drop: bool = False) -> tuple[Trajectories, DropReport]:
    """Find trajectories with exactly the same points (and times); count them, and those under another user; drop on request."""
    original = original_of(trajs)
    copies = original != np.arange(len(trajs))
    crossed = int((trajs.user[copies] != trajs.user[original[copies]]).sum())
    found = {"copies of an earlier trajectory": int(copies.sum()), "of them under another user": crossed}
    after = trajs.take(~copies) if drop else trajs
    reasons = {"copy of an earlier trajectory": (int(copies.sum()), int(trajs.lengths[copies].sum()))} if drop else {}
    return finish(trajs, after, "duplicate_trajectories", {"drop": drop}, reasons, found=found)


def original_of(trajs: Trajectories) -> np.ndarray:
    """int64 [n]: the first trajectory with exactly the same points (and times), itself where there is no earlier one."""
    columns = [trajs.lonlat[:, 0], trajs.lonlat[:, 1], *([] if trajs.t is None else [trajs.t])]
    bits = np.column_stack([np.ascontiguousarray(c).view(np.uint64) for c in columns])
    digest = _digests(bits, trajs.offsets)
    _, first, group = np.unique(digest, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[group.ravel()], dtype=np.int64)


@njit(cache=True)
def _digests(bits, offsets):  # pragma: no cover - compiled
    """uint64 [n, 2]: two independent multiply-and-mix hashes of the words [N, k] of each trajectory and its length."""
    out = np.empty((len(offsets) - 1, 2), dtype=np.uint64)
    for i in range(len(offsets) - 1):
        a = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(offsets[i + 1] - offsets[i])
        b = np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(offsets[i + 1] - offsets[i])
        for p in range(offsets[i], offsets[i + 1]):
            for k in range(bits.shape[1]):
                a = (a ^ bits[p, k]) * np.uint64(0xFF51AFD7ED558CCD)
                a ^= a >> np.uint64(33)
                b = (b ^ bits[p, k]) * np.uint64(0xC4CEB9FE1A85EC53)
                b ^= b >> np.uint64(29)
        out[i, 0] = a
        out[i, 1] = b
    return out


def to_fixed_length(trajs: Trajectories, *, length: int) -> np.ndarray:
    """Return degrees [n, length, 2]: each trajectory interpolated linearly over its point index (DiffTraj's rule).

    One-point trajectories repeat their point. Raises ParameterError for length < 2, DataContractError for empty trajectories.
    """
    if length < 2:
        raise ParameterError(f"length must be at least 2, got {length}")
    trajs.check(inside_box=False) if (trajs.lengths < 1).any() else None
    where = np.linspace(0.0, 1.0, length)[None, :] * (trajs.lengths[:, None] - 1)
    low = np.minimum(np.floor(where).astype(np.int64), np.maximum(trajs.lengths[:, None] - 2, 0))
    weight = (where - low)[..., None]
    a = trajs.starts[:, None] + low
    b = np.minimum(a + 1, trajs.ends[:, None])
    return trajs.lonlat[a] * (1 - weight) + trajs.lonlat[b] * weight


def _need_time(trajs: Trajectories, step: str) -> np.ndarray:
    if trajs.t is None:
        raise DataContractError(
            f"{trajs.meta.dataset} has no times, which {step} needs: map a time column, or leave the step out"
        )
    return trajs.t
