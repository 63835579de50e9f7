"""Distances come from the declared metric CRS or the sphere; web Mercator and earth-centred axes are refused."""

from __future__ import annotations

import numpy as np
import pytest

from trajkit.errors import ParameterError
from trajkit.geo import Box, haversine_m, project
from trajkit.trajectories import Meta, make

A, B = (-8.61, 41.15), (-8.60, 41.15)


def test_two_points_in_porto():
    xy = project(np.array([A, B]), "EPSG:32629")
    assert np.hypot(*(xy[1] - xy[0])) == pytest.approx(839, abs=1.5)
    assert haversine_m(np.array(A), np.array(B)) == pytest.approx(837, abs=1.5)


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:3395", "EPSG:4978", "EPSG:4326"])
def test_other_crs_are_refused_where_the_set_is_projected(crs):
    trajs = make([A, B], meta=Meta("toy", crs, Box(-9, 41, -8, 42)))
    with pytest.raises(ParameterError, match="is not a metric projection for distances"):
        _ = trajs.xy
