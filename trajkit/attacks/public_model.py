"""What a release tells an adversary with a road map about its own places: sizes of cells and regions, and how far points may be off.

All of it is public: the method's parameters, the printed setting, and the printed places themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from trajkit.anonymize.cloaking import CloakingConfig
from trajkit.anonymize.tessellation import EARTH_M2
from trajkit.privacy.planar_laplace import PlanarLaplace
from trajkit.release import Release
from trajkit.trajectories import Trajectories

GPS_M = 5.0
NEXT_TRIP_S, NEXT_TRIP_M = 14 * 3600.0, 200.0  # from an evening to the next morning; where a car is left
NEXT_PART_S, NEXT_PART_M = 1800.0, 500.0
WAIT_MPS = 0.002  # where it is left says more than when
MOST = 200_000_000
ON_CENTRE_M = 0.01  # printed degrees come back to metres with less than a millimetre lost


class PublicModel(NamedTuple):
    """For `map_matching`: its ``settings``, and ``half_m`` [N] where the released squares differ in size (else None)."""

    settings: dict[str, Any]
    half_m: np.ndarray | None


def public_model(method: str, parameters: Mapping[str, Any], release: Release) -> PublicModel:
    """The model for a release of ``method`` (a name of `trajkit.methods.METHODS`) with its full ``parameters`` (``config.model_dump()``).

    Anonymizers that print cells or regions: these. (k,delta): points that are off by the radius of its groups. Others: points as they stand.
    """
    if method in (
        "k_anonymity",
        "escalation",
    ):  # of the latter what was made of true trajectories; made ones are marked
        cut = parameters["suppress"] != "trajectory" or parameters["gap_s"] is not None or parameters["stays"] != "keep"
        settings: dict[str, Any] = {"whole": not cut}
        kind, _, size = str(release.report["setting"]["cells"]).partition(" ")
        if kind == "square":
            return PublicModel({**settings, "cells_m": float(size.split()[0])}, None)
        if kind == "H3":
            half = (EARTH_M2 / (2 + 120 * 7 ** int(size.split()[-1]))) ** 0.5 / 2
        else:  # "adaptive 250 to 1000 m": nobody knows which squares were split, so each is taken for one of the widest
            half = float(size.split()[2]) / 2
        return PublicModel(settings, np.full(release.trajectories.n_points, half))
    if method == "lkc":
        return PublicModel({"whole": False, "cells_m": float(parameters["cells_m"])}, None)
    if method == "cloaking":
        sides = [rung.side_m for rung in CloakingConfig(**parameters).ladder()]
        return PublicModel({"whole": False}, cloak_sides(release.trajectories, sides) / 2)
    if method == "k_delta":
        off = max(float(parameters["delta_m"]), float(parameters["max_radius_m"]))
        about = {"sigma_m": off / 4, "radius_m": off / 2, "beta_m": off / 4, "about_m": off}
        return PublicModel({"whole": False, **about}, None)
    if method == "planar_laplace":
        off = noise_model(method, parameters)
        about = {"sigma_m": off, "radius_m": 3 * off, "beta_m": off, "about_m": 4 * off}
        return PublicModel({"whole": not _cut(parameters), **about}, None)
    return PublicModel({"whole": not _cut(parameters)}, None)


def _cut(parameters: Mapping[str, Any]) -> bool:
    """Whether the parameters tell that trips were released in parts."""
    return parameters.get("suppress") == "segments" or any(
        parameters.get(name) is not None for name in ("gap_s", "cut_s")
    )


def noise_model(method: str, parameters: Mapping[str, Any]) -> float:
    """Standard deviation along one axis, metres, of the noise of each point: public for planar Laplace, that of a GPS fix for the rest."""
    if method == "planar_laplace":
        return PlanarLaplace(2 / float(parameters["mean_m"])).variance_m2 ** 0.5
    return GPS_M


def link_model(model: PublicModel, parameters: Mapping[str, Any], release: Release) -> dict[str, Any]:
    """Settings of `segment_linking` for a release of that ``model``: how near the next part begins, and by how much time bins blur what comes first.

    Where trips were cut, parts of one trip are looked for: soon after each other. Else the next trip of a person is, until `NEXT_TRIP_S` after
    the end of one, where it ended. Times are halved while more than `MOST` pairs would have to be looked at.
    """
    out = release.trajectories
    side = model.settings.get("cells_m") or (
        0.0 if model.half_m is None or not len(out) else 2 * float(np.median(model.half_m))
    )
    near = side or model.settings.get("about_m", 0.0) / 2
    minutes = (release.report.get("setting") or parameters).get("minutes") if side else None
    blur = 60.0 * (minutes or 0)
    gap, wait, least = (NEXT_PART_S, 1.0, NEXT_PART_M) if _cut(parameters) else (NEXT_TRIP_S, WAIT_MPS, NEXT_TRIP_M)
    gap = max(gap, 2 * blur)
    if out.t is not None and len(out):
        begin, end = np.sort(out.t[out.starts]), out.t[out.ends]
        while gap > NEXT_PART_S / 2 and _pairs(begin, end, gap) > MOST:
            gap /= 2
    # two cells may lie exactly so far apart
    return {"near_m": max(1.5 * near, least) + ON_CENTRE_M, "overlap_s": blur, "gap_s": gap, "wait_mps": wait}


def _pairs(begin: np.ndarray, end: np.ndarray, gap_s: float) -> int:
    last = np.searchsorted(begin, end + int(gap_s * 1000), side="right")
    return int((last - np.searchsorted(begin, end)).sum())


def cloak_sides(released: Trajectories, sides: list[float]) -> np.ndarray:
    """float64 [N]: the side of the square whose centre each released place is; of ``sides``, each twice the one before, anchored at 0, 0.

    A centre of a square is a corner of smaller ones and no centre of others, so its size can be read off the place. Places that are no
    centre (they were moved into the public box) count as of the widest.
    """
    out = np.full(released.n_points, max(sides), dtype=np.float64)
    for side in sorted(sides, reverse=True):
        steps = released.xy / side - 0.5
        out[(np.abs(steps - np.round(steps)) * side <= ON_CENTRE_M).all(axis=1)] = side
    return out
