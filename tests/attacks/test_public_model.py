"""What releases tell about their own places: every raw trajectory fits what was made of it, sizes of cloaks are read off their centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.map_matching import MapMatching, map_matching
from trajkit.attacks.origin import Origin
from trajkit.attacks.public_model import cloak_sides, public_model
from trajkit.attacks.street_sequences import Streets
from trajkit.datasets.city import City, simulate
from trajkit.datasets.city_routes import true_streets
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=60, days=3, seed=7)


@pytest.fixture(scope="module")
def matcher(city: City) -> Matcher:
    return Matcher(city.roads, MatchSettings())


@pytest.mark.parametrize(
    ("method", "parameters", "fits"),
    [
        ("k_anonymity", {"k": 2, "minutes": [None], "cells_m": [1000.0, 2000.0, 4000.0]}, 1.0),
        ("k_anonymity", {"k": 2, "minutes": [None], "cells_m": [500.0], "suppress": "segments"}, 1.0),
        ("k_anonymity", {"k": 2, "minutes": [None], "cells_m": [1000.0], "cells": "adaptive", "depth": 2}, 1.0),
        (
            "escalation",
            {"k": 2, "minutes": [None], "coarsest_useful_m": 500.0, "tolerance": 0.0, "synthesizer": "privtrace"},
            1.0,
        ),
        ("lkc", {"k": 2}, 1.0),
        ("cloaking", {"k": 2}, 1.0),
        ("k_delta", {"k": 2}, 0.6),
        ("real", {}, 0.95),
    ],
)
def test_raw_trajectories_fit_what_was_made_of_them(
    city: City, matcher: Matcher, method: str, parameters: dict[str, Any], fits: float
) -> None:
    trajs = city.trajectories
    made = make_method(method, **parameters)
    made.fit(trajs, seed=1)
    release = made.release(len(trajs) if method == "real" else None, seed=1)
    out = release.trajectories
    settings, half = public_model(method, made.config.model_dump(), release)
    found = map_matching(
        trajs, Streets(*true_streets(trajs)), out, Origin.of_rows(made.origin_), city.roads, seed=0, half_m=half, targets=150,
        matcher=None if "sigma_m" in settings else matcher, **settings,
    )  # fmt: skip
    assert isinstance(found, MapMatching)
    assert found.fits_before >= fits and found.fits_after <= found.fits_before
    assert found.no_roads < 0.2 * found.targets and found.precision > found.guess_f1
    if method == "k_anonymity":
        assert found.alone_before == 0.0 and found.persons_before is not None and found.persons_before[0] >= 2


def test_sizes_of_cloaks_are_read_off_their_centres(city: City) -> None:
    sides = [250.0 * 2**i for i in range(5)]
    which = np.random.default_rng(0).integers(0, 5, city.trajectories.n_points)
    side = np.array(sides)[which]
    centre = (np.floor(city.trajectories.xy / side[:, None]) + 0.5) * side[:, None]
    lonlat = unproject(centre, city.trajectories.meta.crs)
    printed = Trajectories.generated(lonlat, city.trajectories.offsets, meta=city.trajectories.meta)
    assert np.array_equal(cloak_sides(printed, sides), side)
    moved = Trajectories.generated(lonlat + 1e-5, city.trajectories.offsets, meta=city.trajectories.meta)
    assert (cloak_sides(moved, sides) == 4000.0).all(), "a place that is no centre says nothing about its size"
