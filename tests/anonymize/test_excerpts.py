"""Real excerpts go through every method, and a record that is stored under two users is one person's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anonymity_toys import trips

from trajkit.anonymize.anonymizer import persons
from trajkit.datasets import load
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories

SETS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "porto": ("porto", "porto/train_by_taxi.csv.gz", {}),
    "geolife": ("geolife", "geolife", {}),
    "cabspotting": ("tables", "cabspotting/cabspottingdata_60cabs.tar.gz", {"preset": "cabspotting"}),
    "foursquare": ("tables", "foursquare_nyc/NYC_checkins.csv.gz", {"preset": "foursquare_checkins"}),
}
METHODS: dict[str, dict[str, Any]] = {
    "k_anonymity": {"k": 3, "cells_m": [1000.0, 4000.0], "minutes": [120, None]},
    "k_delta": {"k": 3, "interval_s": None, "length": 32},
    "cloaking": {"k": 3, "start": "finest"},
    "lkc": {"k": 3, "cells_m": 2000.0},
    "escalation": {
        "k": 3,
        "coarsest_useful_m": 4000.0,
        "minutes": [None],
        "tolerance": 0.0,
        "n_made": 20,
        "synthesizer": "privtrace",
        "suppress": "trajectory",
    },
}


def excerpt(shared: Path, name: str) -> Trajectories:
    dataset, file, settings = SETS[name]
    if not (shared / "data" / file).exists():
        pytest.skip(f"the excerpt {file} is not here")
    data = load(dataset, data=shared / "data" / file, settings=settings)
    return data.take(np.sort(np.random.default_rng(0).permutation(len(data))[:1500]))


@pytest.mark.shared
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_real_excerpts_go_through(shared: Path, name: str, method: str) -> None:
    data = excerpt(shared, name)
    fitted = make_method(method, **METHODS[method]).fit(data, seed=0)
    release = fitted.release(None, seed=0)
    assert release.guarantee.holds and release.trajectories.violations() == []
    source = fitted.origin_  # type: ignore[attr-defined]
    assert 0 < (source >= 0).sum() <= len(data) and len(source) == len(release.trajectories)
    assert (source < 0).sum() == METHODS[method].get("n_made", 0)
    out = {tuple(p) for p in release.trajectories.lonlat[:1000].tolist()}
    assert not out & {tuple(p) for p in data.lonlat.tolist()}, "a true place was released"


@pytest.mark.shared
def test_geolife_counts_people_not_copies(shared: Path) -> None:
    whole = load("geolife", data=shared / "data" / "geolife")
    label = persons(whole, "user")
    users, people = len(np.unique(whole.user)), len(np.unique(label))
    named = {str(whole.user_ids[u]): int(p) for u, p in zip(whole.user, label, strict=True)}
    assert people < users <= len(whole.user_ids)
    # of 087 and 111 the shared records lie outside the box
    assert (
        all(named[a] == named[b] for a, b in (("057", "094"), ("011", "088"), ("055", "075")))
        and named["087"] != named["111"]
    )


def test_a_record_under_two_users_is_one_person_and_meetings_are_not() -> None:
    walk, other = "a0 b0 c1", "d0 e0 f1"
    trajs = trips(walk, walk, walk, other, users=["x", "y", "z", "x"])
    assert len(np.unique(persons(trajs, "user"))) == 3
    assert trajs.t is not None
    copied = trajs.t.copy()
    copied[3:6] = copied[:3]  # y's record is x's, to the millisecond
    twice = replace(trajs, t=copied)
    label = persons(twice, "user")
    assert label[0] == label[1] == label[3] != label[2]
    assert persons(twice, "trajectory")[0] == persons(twice, "trajectory")[1] != persons(twice, "trajectory")[3]
    three = {"k": 3, "cells_m": [500.0], "minutes": [60], "of": "absolute", "suppression_budget": 1.0}
    released = [
        make_method("k_anonymity", **three).fit(t, seed=0).release(None, seed=0).trajectories for t in (trajs, twice)
    ]
    assert [len(r) for r in released] == [3, 0]
    short = trips("a0 b0", "a0 b0", users=["x", "y"])
    same = replace(short, t=np.tile(short.t[:2], 2))  # type: ignore[index]
    assert len(np.unique(persons(same, "user"))) == 2  # two fixes may coincide
    assert len(np.unique(persons(replace(twice, t=None), "user"))) == 3
