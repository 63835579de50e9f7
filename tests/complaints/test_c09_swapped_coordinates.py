"""Exchanged latitude and longitude are refused by every loader, in words that say so."""

from __future__ import annotations

import re

import numpy as np
import pytest

from trajkit.datasets import load
from trajkit.datasets.samples import write_geolife_sample, write_porto_sample
from trajkit.errors import DataContractError
from trajkit.geo import Box, project
from trajkit.trajectories import Meta, make


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))


def test_porto(tmp_path):
    path = write_porto_sample(tmp_path / "train.csv", n=50)
    path.write_text(re.sub(r"\[(-?[\d.]+),(-?[\d.]+)\]", r"[\2,\1]", path.read_text()))
    with pytest.raises(DataContractError, match="latitude and longitude look swapped"):
        load("porto", data=path)


def test_geolife(tmp_path):
    root = write_geolife_sample(tmp_path / "g", n_users=2)
    for file in root.rglob("*.plt"):
        file.write_text(re.sub(r"(?m)^([\d.]+),([\d.]+),0,-777", r"\2,\1,0,-777", file.read_text()))
    with pytest.raises(DataContractError, match="latitude and longitude look swapped"):
        load("geolife", data=root)


def test_tables(tmp_path):
    (tmp_path / "t.csv").write_text("lat,lon,id\n-8.5,41.5,a\n-8.4,41.4,a\n")
    with pytest.raises(DataContractError, match="latitude and longitude look swapped"):
        load("tables", data=tmp_path / "t.csv", settings={"columns": {"traj": "id"}, "box": [-9, 41, -8, 42]})


def test_the_container():
    with pytest.raises(DataContractError, match="look swapped"):
        make([(41.5, -8.5)], meta=Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))).check()


def test_projection_takes_longitude_first_whatever_the_crs_says():
    porto = np.array([[-8.61, 41.15]])
    assert project(porto, "EPSG:32629")[0] == pytest.approx([532_700, 4_555_600], rel=1e-3)
    assert project(porto, "EPSG:3763")[0, 0] == pytest.approx(-40_000, rel=0.05)  # declared northing first elsewhere
