"""What an adversary holds of a target: true points of a raw record, or the same with errors, or moved onto the roads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajkit import geo, seeds
from trajkit.anonymize.signatures import Signatures, signatures
from trajkit.anonymize.tessellation import Tessellation
from trajkit.anonymize.time_bins import TimeBins
from trajkit.errors import ParameterError
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories


def believed(
    raw: Trajectories,
    *,
    seed: int,
    sigma_m: float = 0.0,
    sigma_s: float = 0.0,
    roads: RoadNetwork | None = None,
    within_m: float = 100.0,
) -> Trajectories:
    """Every raw point as the adversary knows it: normal errors of ``sigma_m`` in x and in y and of ``sigma_s`` in time, then
    moved to the nearest road, where one lies ``within_m``; points farther from any road stay. Order of points is kept, so times
    need not rise. Raises ParameterError for negative errors, or an error in time of a set without times.
    """
    if not (np.isfinite([sigma_m, sigma_s]).all() and min(sigma_m, sigma_s) >= 0):
        raise ParameterError(f"sigma_m = {sigma_m!r}, sigma_s = {sigma_s!r}: must be numbers of at least 0")
    if sigma_s and raw.t is None:
        raise ParameterError(f"sigma_s = {sigma_s!r}: this data set has no times, so they cannot be known with errors")
    if not (sigma_m or sigma_s or roads):
        return raw
    rng = seeds.rng(seed, "attack", "errors")
    xy = raw.xy + sigma_m * rng.standard_normal(raw.xy.shape)
    t = None if raw.t is None else raw.t + np.round(1000 * sigma_s * rng.standard_normal(len(xy))).astype(np.int64)
    if roads is not None:
        xy = _on_roads(xy, roads, within_m)
    return replace(raw, lonlat=geo.unproject(xy, raw.meta.crs), t=t)


def known_labels(
    raw: Trajectories, known: Trajectories, cells: Tessellation, bins: TimeBins, *, seed: int
) -> tuple[Signatures, Signatures]:
    """The true signatures of ``raw``, and beside each label the one that the adversary believes (``known`` from `believed`).

    A label may stand for several fixes one after the other; one of them, drawn at random, is the one that is known.
    Raises ParameterError where the two sets differ in shape.
    """
    if not np.array_equal(raw.offsets, known.offsets):
        raise ParameterError("known must hold the same trajectories point by point as raw: make it with `believed`")
    true = signatures(raw, cells, bins)
    c, b = cells.cell_of(raw.xy), bins.bin_of(raw.t, raw.n_points)
    fresh = np.ones(len(c), dtype=bool)
    fresh[1:] = (c[1:] != c[:-1]) | (b[1:] != b[:-1]) | (np.diff(raw.traj_of_point) != 0)
    first = np.flatnonzero(fresh)
    if len(first) != len(true.cells):
        raise ParameterError("signatures no longer merge consecutive repeats alone: the known labels cannot be placed")
    size = np.diff(np.append(first, len(c)))
    at = first + (seeds.rng(seed, "attack", "which fix").random(len(first)) * size).astype(np.int64)
    c, b = cells.cell_of(known.xy), bins.bin_of(known.t, known.n_points)
    return true, Signatures(c[at], b[at], true.offsets)


def _on_roads(xy: np.ndarray, roads: RoadNetwork, within_m: float) -> np.ndarray:
    """Points [N, 2] moved to the nearest place on a road that is at most ``within_m`` away."""
    import shapely

    if not (np.isfinite(within_m) and within_m > 0):
        raise ParameterError(f"within_m = {within_m!r}: must be a positive number of metres")
    lines = shapely.linestrings(roads.streets().reshape(-1, 2, 2))
    points = shapely.points(xy)
    which, line = shapely.STRtree(lines).query_nearest(points, max_distance=within_m, all_matches=False)
    along = shapely.line_locate_point(lines[line], points[which])
    out = xy.copy()
    out[which] = shapely.get_coordinates(shapely.line_interpolate_point(lines[line], along))
    return out
