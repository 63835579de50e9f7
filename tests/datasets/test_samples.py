"""The generated files: seeded, odd on purpose, and large enough to train on."""

from __future__ import annotations

import pytest

from trajkit.datasets import load
from trajkit.datasets.samples import PORTO_QUIRKS, write_geolife_sample, write_porto_sample
from trajkit.errors import ParameterError
from trajkit.split import fold


def test_same_seed_same_bytes(tmp_path):
    a, b, c = (write_porto_sample(tmp_path / f"{i}.csv", n=30, seed=s) for i, s in enumerate((1, 1, 2)))
    assert a.read_bytes() == b.read_bytes() != c.read_bytes()
    a, b, c = (write_geolife_sample(tmp_path / f"g{i}", n_users=2, seed=s) for i, s in enumerate((1, 1, 2)))
    read = lambda root: [p.read_bytes() for p in sorted(root.rglob("*.plt"))]  # noqa: E731
    assert read(a) == read(b) != read(c)


def test_every_oddity_shows_in_the_report(tmp_path):
    trajs = load("porto", data=write_porto_sample(tmp_path / "t.csv", n=400))
    assert len(trajs) == 401
    assert trajs.meta.steps[0]["trajectories_in"] == 400 + len(PORTO_QUIRKS)
    assert len(fold(trajs, 0).train) == 320
    assert len(trajs.user_ids) == 22


def test_sizes_must_be_positive(tmp_path):
    with pytest.raises(ParameterError, match="n must be at least 1"):
        write_porto_sample(tmp_path / "t.csv", n=0)
    with pytest.raises(ParameterError, match="n_users must be at least 1"):
        write_geolife_sample(tmp_path, n_users=0)
