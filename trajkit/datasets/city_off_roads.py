"""People of the simulated city who leave the roads: across blocks, squares and parks, as cyclists and walkers do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajkit import geo
from trajkit.datasets.city_trips import GPS_NOISE_M
from trajkit.preprocess import finish
from trajkit.seeds import rng
from trajkit.trajectories import Trajectories

BULGE = 0.1
"""Standard deviation of how far a way bends aside in the middle, as a share of its length."""


def leave_roads(trajs: Trajectories, *, share: float, seed: int) -> Trajectories:
    """Return ``trajs`` in which ``share`` of the people (drawn by ``seed``) go straight from start to end, in one bend, on every trip.

    Start, end, times and number of fixes stay; the places between are equally spaced, with the usual GPS noise.
    """
    random = rng(seed, "data", "city", "off_roads")
    people = random.permutation(len(trajs.user_ids))[: round(share * len(trajs.user_ids))]
    astray = np.isin(trajs.user, people)
    point = np.repeat(astray, trajs.lengths)
    at = np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)
    along = (at / np.repeat(np.maximum(trajs.lengths - 1, 1), trajs.lengths))[point, None]
    begin, way = trajs.xy[trajs.starts], trajs.xy[trajs.ends] - trajs.xy[trajs.starts]
    aside = np.column_stack([-way[:, 1], way[:, 0]]) * random.normal(0, BULGE, (len(trajs), 1))
    begin, way, aside = (np.repeat(a, trajs.lengths, axis=0)[point] for a in (begin, way, aside))
    inner = (along > 0) & (along < 1)
    xy = begin + along * way + np.sin(np.pi * along) * aside + inner * random.normal(0, GPS_NOISE_M, way.shape)
    lonlat = trajs.lonlat.copy()
    lonlat[point] = trajs.meta.box.clip(geo.unproject(xy, trajs.meta.crs))
    after = replace(trajs, lonlat=lonlat)
    found = {"trajectory led off the roads": int(astray.sum())}
    return finish(trajs, after, "leave_roads", {"share": share, "seed": seed}, {}, found=found)[0]
