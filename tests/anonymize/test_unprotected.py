"""Contrasts: all trips come out, under names that say nothing, and the private map is right."""

from __future__ import annotations

import numpy as np
import pytest
from toys import walks

from trajkit.errors import ParameterError
from trajkit.methods import make_method


@pytest.mark.parametrize("names", ["user", "trip"])
def test_every_trip_comes_out_as_it_is(names: str) -> None:
    train = walks(12, 8, 0)
    train = train.take(np.arange(12))
    method = make_method("pseudonyms", names=names).fit(train, seed=0)
    out = method.release(None, seed=4).trajectories
    source = method.origin_  # type: ignore[attr-defined]
    assert sorted(source) == list(range(12)) and np.array_equal(out.lonlat, train.take(source).lonlat)
    same = out.user[:, None] == out.user[None, :]
    true = train.user[source]
    expected = (true[:, None] == true[None, :]) if names == "user" else np.eye(12, dtype=bool)
    assert np.array_equal(same, expected)
    assert not method.release(None, seed=4).guarantee.holds


def test_points_move_by_what_was_asked_for() -> None:
    train = walks(200, 20, 0)
    method = make_method("planar_laplace", mean_m=100.0).fit(train, seed=0)
    out = method.release(None, seed=1).trajectories
    off = np.hypot(*(out.xy - train.take(method.origin_).xy).T)  # type: ignore[attr-defined]
    assert off.mean() == pytest.approx(100, rel=0.05)
    g = method.release(None, seed=1).guarantee
    assert not g.holds and g.unit == "point" and "per metre" in (g.reason or "")
    with pytest.raises(ParameterError, match="mean_m"):
        make_method("planar_laplace", mean_m=0.0)
