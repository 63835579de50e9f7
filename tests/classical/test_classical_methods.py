"""PrivTrace, AdaTrace and Flat from end to end: useful where epsilon is large, sound where data are odd, and nothing private stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toys import META, from_metres, reached, walks

from trajkit import metrics
from trajkit.classical.looks import Looks
from trajkit.classical.paths import Paths
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import make_method
from trajkit.study.costs import HIDDEN
from trajkit.trajectories import Trajectories

PRIVATE = ("privtrace", "adatrace", "flat")
EVERY = pytest.mark.parametrize("name", PRIVATE)


def jsd(real: Trajectories, released: Trajectories) -> float:
    (found,) = metrics.evaluate(real, released, names=["JSD"], settings=metrics.MetricSettings(jsd_cells=16), seed=0)
    return float(found.value)


@EVERY
def test_with_much_epsilon_density_is_near_the_real_one(name: str) -> None:
    train, real = walks(2000, 16, 0), walks(1000, 16, 1)
    uniform = make_method("uniform", length=16).fit(train, seed=0).release(1000, seed=0).trajectories
    out = make_method(name, epsilon=100.0, length=16).fit(train, seed=0).release(1000, seed=0).trajectories
    assert jsd(real, out) < 0.4 * jsd(real, uniform)


@pytest.mark.parametrize("name", ["privtrace", "adatrace"])
def test_paths_are_learned_and_not_only_places(name: str) -> None:
    """Everybody goes along the same corner; straight lines between the ends would cut it."""
    rng = np.random.default_rng(0)
    corner = np.concatenate(
        [np.linspace([-6000, -6000], [6000, -6000], 20), np.linspace([6000, -6000], [6000, 6000], 20)]
    )
    train = from_metres((corner + rng.normal(0, 100, (400, 1, 2))).tolist())
    method = make_method(name, epsilon=50.0, length=32, per_coarse_cell=20.0).fit(train, seed=0)
    middle = method.release(200, seed=0).trajectories.xy.reshape(200, 32, 2)[:, 16]
    expected = train.xy.reshape(400, 40, 2)[:, 20].mean(axis=0)
    assert np.median(np.linalg.norm(middle - expected, axis=1)) < 3500  # a straight line would pass 8500 m away


@EVERY
@pytest.mark.parametrize("epsilon", [0.001, 0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    "train",
    [walks(1, 10, 0), walks(1, 1, 0), from_metres([[(0.0, 0.0)] * 5] * 30)],
    ids=["one trajectory", "one point", "all on one spot"],
)
def test_odd_sets_and_odd_budgets_work(name: str, epsilon: float, train: Trajectories) -> None:
    release = make_method(name, epsilon=epsilon, length=5).fit(train, seed=0).release(20, seed=0)
    assert len(release.trajectories) == 20 and release.trajectories.violations() == []
    assert release.guarantee.epsilon == pytest.approx(epsilon, rel=1e-12) and release.guarantee.delta == 0


@EVERY
def test_an_empty_set_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(DataContractError, match=META.dataset):
        make_method(name).fit(walks(2, 3, 0).take(np.zeros(0, dtype=np.int64)), seed=0)


@EVERY
def test_after_fit_nothing_private_is_left(name: str) -> None:
    train = walks(60, 12, 0).with_meta(steps=({"step": "secret count", "trajectories_in": 61},))
    private = np.concatenate([train.lonlat.ravel(), train.xy.ravel()])
    method = make_method(name, length=6).fit(train, seed=0)
    method.release(3, seed=0)
    for thing in reached(method, set()):
        assert not isinstance(thing, (Trajectories, Paths, Looks, np.random.Generator))
        if isinstance(thing, np.ndarray) and thing.dtype.kind == "f":
            assert not np.isin(thing, private).any()
        if isinstance(thing, np.ndarray):
            assert not any(np.shares_memory(thing, x) for x in (train.lonlat, train.offsets, train.xy))
    assert method.model_.meta.steps == ()  # type: ignore[attr-defined]


@EVERY
def test_the_budget_is_spent_to_the_last_and_each_look_is_told(name: str) -> None:
    release = make_method(name, epsilon=0.3, length=4).fit(walks(40, 8, 0), seed=0).release(2, seed=0)
    looks = release.report["looks"]
    assert sum(k["epsilon"] for k in looks) == pytest.approx(0.3)
    assert all(k["scale"] >= k["sensitivity"] / k["epsilon"] * (1 - 1e-12) for k in looks)
    assert all(k["what"] in release.guarantee.mechanism for k in looks)
    assert HIDDEN not in release.report and release.guarantee.numerics == "exact"
    assert any("not empty" in a for a in release.guarantee.assumptions)


@EVERY
def test_noise_of_the_operating_system_does_not_repeat(name: str) -> None:
    train = walks(400, 8, 0)

    def released(noise: str) -> str:
        return (
            make_method(name, noise=noise, length=4).fit(train, seed=0).release(100, seed=0).trajectories.fingerprint()
        )

    assert released("seeded") == released("seeded") and released("os") != released("os")
    guarantee = make_method(name, noise="os").fit(train, seed=0).release(1, seed=0).guarantee
    assert guarantee.rng == "os entropy" and not any("seed" in a for a in guarantee.assumptions)


@pytest.mark.parametrize("name", ["privtrace", "adatrace"])
def test_a_public_number_of_trajectories_saves_a_look_and_is_named(name: str) -> None:
    train = walks(40, 8, 0)
    counted = make_method(name, length=4).fit(train, seed=0).release(1, seed=0)
    told = make_method(name, length=4, trips=40).fit(train, seed=0).release(1, seed=0)
    assert len(told.report["looks"]) == len(counted.report["looks"]) - 1
    assert told.guarantee.epsilon == counted.guarantee.epsilon == 1.0
    assert any("40" in a for a in told.guarantee.assumptions)
    assert not any("number of trajectories is public" in a for a in counted.guarantee.assumptions)


def test_the_published_variant_rounds_and_has_the_exact_box() -> None:
    train = walks(200, 12, 0)
    method = make_method("privtrace", variant="published", epsilon=10.0, decimals=2, length=2).fit(train, seed=0)
    lonlat = method.release(50, seed=0).trajectories.lonlat
    assert np.abs(lonlat * 100 - np.rint(lonlat * 100)).max() < 1e-6
    low = np.array(method.model_.grid.bounds[:2])  # type: ignore[attr-defined]
    assert (np.abs(low - train.xy.min(axis=0)) < 300).all()


@pytest.mark.parametrize(
    ("name", "bad", "words"),
    [
        ("privtrace", {"decimals": 2}, "published"),
        ("privtrace", {"variant": "published", "trips": 5}, "exact"),
        ("privtrace", {"split": [0.5, 0.5, 0.0]}, "share"),
        ("adatrace", {"split": [1.0, 1.0]}, "split"),
        ("adatrace", {"split": [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]}, "share"),
        ("flat", {"cells": 0}, "cells"),
        ("flat", {"epsilon": 0.0}, "epsilon"),
    ],
)
def test_bad_parameters_are_refused_in_words(name: str, bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make_method(name, **bad)


@EVERY
def test_release_before_fit_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="fit first"):
        make_method(name).release(1, seed=0)
