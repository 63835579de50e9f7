"""Boxes, distances on the sphere against pyproj's and worked-out values, projections there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from trajkit.errors import ParameterError
from trajkit.geo import EARTH_RADIUS_M, Box, box_xy, haversine_m, project, unproject

PORTO = Box(-8.72, 41.10, -8.50, 41.24)
degrees = st.tuples(st.floats(-180, 180), st.floats(-89, 89))


def test_one_degree_along_a_meridian_and_the_equator():
    degree = EARTH_RADIUS_M * np.pi / 180
    assert haversine_m(np.array([0.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(degree, rel=1e-12)
    assert haversine_m(np.array([10.0, 0.0]), np.array([11.0, 0.0])) == pytest.approx(degree, rel=1e-12)
    assert haversine_m(np.array([0.0, 0.0]), np.array([180.0, 0.0])) == pytest.approx(np.pi * EARTH_RADIUS_M)


@given(degrees, degrees)
@settings(max_examples=80, deadline=None)
def test_haversine_agrees_with_pyproj_on_the_same_sphere(a, b):
    expected = Geod(a=EARTH_RADIUS_M, b=EARTH_RADIUS_M).inv(*a, *b)[2]
    assert haversine_m(np.array(a), np.array(b)) == pytest.approx(expected, rel=1e-6, abs=0.5)


def test_projection_there_and_back_and_its_distances():
    random = np.random.default_rng(0)
    lonlat = PORTO.from_unit(random.uniform(-1, 1, (500, 2)))
    xy = project(lonlat, "EPSG:32629")
    assert np.abs(unproject(xy, "EPSG:32629") - lonlat).max() < 1e-9
    planar = np.hypot(*(xy[:-1] - xy[1:]).T)
    geodesic = np.array(Geod(ellps="WGS84").inv(*lonlat[:-1].T, *lonlat[1:].T)[2])
    assert np.abs(planar / geodesic - 1).max() < 1e-3  # UTM scale


def test_easting_comes_first():
    west, east = project(np.array([[-8.7, 41.15], [-8.5, 41.15]]), "EPSG:32629")
    assert east[0] - west[0] == pytest.approx(16_780, rel=0.01)
    assert abs(east[1] - west[1]) < 300


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:4326", "EPSG:4978", "EPSG:2225"])
def test_crs_that_do_not_measure_metres_are_refused(crs):
    with pytest.raises(ParameterError, match="not a metric projection"):
        project(np.array([[-8.6, 41.15]]), crs)


def test_box_scaling_clipping_and_membership():
    corners = np.array([[-8.72, 41.10], [-8.50, 41.24], [-8.61, 41.17]])
    assert np.allclose(PORTO.to_unit(corners), [[-1, -1], [1, 1], [0, 0]])
    assert np.allclose(PORTO.from_unit(PORTO.to_unit(corners)), corners)
    assert PORTO.contains(corners).all()
    assert PORTO.contains(np.array([[-8.73, 41.2], [np.nan, 41.2]])).tolist() == [False, False]
    assert PORTO.clip(np.array([[-9.0, 50.0]])).tolist() == [[-8.72, 41.24]]


@pytest.mark.parametrize("corners", [(1, 0, 0, 1), (0, 1, 1, 0), (179, 0, -179, 1), (0, 0, 1, 91), (np.nan, 0, 1, 1)])
def test_boxes_that_are_none(corners):
    with pytest.raises(ParameterError, match="lon_min < lon_max"):
        Box(*corners)


def test_the_rectangle_in_metres_holds_the_whole_box():
    x0, y0, x1, y1 = box_xy(PORTO, "EPSG:32629")
    xy = project(PORTO.from_unit(np.random.default_rng(1).uniform(-1, 1, (2000, 2))), "EPSG:32629")
    assert (xy >= [x0, y0]).all() and (xy <= [x1, y1]).all()
    assert x1 - x0 == pytest.approx(18_500, rel=0.02) and y1 - y0 == pytest.approx(15_600, rel=0.02)
