"""However a set is filtered, rows in = rows out + rows reported, along the whole chain, in Porto, GeoLife and tables alike."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trajkit.datasets import DATASETS, load
from trajkit.datasets.samples import write_geolife_sample, write_porto_sample


def _table(path):
    path.write_text("lat,lon,t,id\n41.5,-8.5,0,a\n41.5,,1,a\n45,-8.5,2,a\n41.5,-8.5,0,b\n41.5,-8.5,900,b\n")
    return path


@pytest.mark.parametrize("name", ["porto", "geolife", "tables"])
def test_the_chain_closes(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))
    columns = {"columns": {"t": "t", "traj": "id"}, "time": {"format": "unix"}, "box": [-9, 41, -8, 42]}
    source = {
        "porto": lambda: write_porto_sample(tmp_path / "train.csv", n=50),
        "geolife": lambda: write_geolife_sample(tmp_path / "g", n_users=3),
        "tables": lambda: _table(tmp_path / "t.csv"),
    }[name]()
    trajs = load(name, data=source, settings=columns if name == "tables" else None)
    steps = trajs.meta.steps
    for step in steps:
        gone = np.array([[0, 0], *step["dropped"].values()]).sum(axis=0)
        assert step["trajectories_in"] + step["created"] == step["trajectories_out"] + gone[0]
        assert step["points_in"] == step["points_out"] + gone[1]
    for a, b in itertools.pairwise(steps):
        assert (a["trajectories_out"], a["points_out"]) == (b["trajectories_in"], b["points_in"])
    assert (steps[-1]["trajectories_out"], steps[-1]["points_out"]) == (len(trajs), trajs.n_points)
    assert sum(n for s in steps for _, n in s["dropped"].values()) > 0


def test_published_counts_are_in_the_registry():
    assert DATASETS["porto"].expected["trajectories"] == 1_559_209
    assert DATASETS["geolife"].expected["trajectories"] == 69_504
    assert DATASETS["geolife"].expected["points"] == 6_486_421
