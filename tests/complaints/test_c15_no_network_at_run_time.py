"""Loading from files asks no server for anything: no name is looked up, no connection opened."""

from __future__ import annotations

import socket

import pytest

from trajkit.datasets import load
from trajkit.datasets.samples import write_geolife_sample, write_porto_sample


def test_loaders_open_no_connection(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        pytest.fail(f"tried to reach {args[:2]}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "t.csv").write_text("lat,lon,id\n41.5,-8.5,a\n")
    assert len(load("porto", data=write_porto_sample(tmp_path / "train.csv", n=30))) == 31
    assert len(load("geolife", data=write_geolife_sample(tmp_path / "g", n_users=2))) > 0
    table = load("tables", data=tmp_path / "t.csv", settings={"columns": {"traj": "id"}, "box": [-9, 41, -8, 42]})
    assert table.xy.shape == (1, 2)
