"""What a release tells an adversary with a road map about its own places: sizes of cells and regions, and how far points may be off.

All of it is public: the method's parameters, the printed setting, and the printed places themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from trajkit.anonymize.cloaking import CloakingConfig
from trajkit.anonymize.tessellation import EARTH_M2
from trajkit.release import Release
from trajkit.trajectories import Trajectories

ON_CENTRE_M = 0.01  # printed degrees come back to metres with less than a millimetre lost


class PublicModel(NamedTuple):
    """For `map_matching`: its ``settings``, and ``half_m`` [N] where the released squares differ in size (else None)."""

    settings: dict[str, Any]
    half_m: np.ndarray | None


def public_model(method: str, parameters: Mapping[str, Any], release: Release) -> PublicModel:
    """The model for a release of ``method`` (a name of `trajkit.methods.METHODS`) with its full ``parameters`` (``config.model_dump()``).

    Anonymizers that print cells or regions: these. (k,delta): points that are off by the radius of its groups. Others: points as they stand.
    """
    if method == "k_anonymity":
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
    return PublicModel({}, None)


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
