"""Laws that every registered method obeys; a new registry line is tested the day it appears."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toys import META, walks

from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import METHODS, Method, MethodConfig, make_method, method_class, number_for
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.trajectories import Trajectories, make

SMALL: dict[str, Any] = {
    "length": 8,
    "channels": 8,
    "channel_multipliers": [1, 2],
    "groups": 2,
    "attention": False,
    "batch_size": 4,
    "physical_batch": 4,
    "steps": 3,
}
# small enough for seconds; methods without an entry run with their defaults
TINY: dict[str, dict[str, Any]] = {
    "uniform": {"length": 8},
    "straight": {"length": 8},
    "cloud": {"length": 8},
    "real": {"length": 8},
    "diffusion": {
        "length": 8,
        "channels": 4,
        "channel_multipliers": [1, 2],
        "groups": 2,
        "attention": False,
        "diffusion_steps": 10,
        "sampling_steps": 3,
        "batch_size": 4,
        "physical_batch": 4,
        "noise_draws_per_example": 1,
        "steps": 3,
    },
    "vae": {**SMALL, "latent": 4},
    "gan": {**SMALL, "latent": 4, "n_critic": 2},
    "prefix_tree": {"length": 8, "epsilon": 20.0, "cells": 2, "height": 2},
    "privtrace": {"length": 8},
    "adatrace": {"length": 8},
    "flat": {"length": 8, "cells": 4},
    "road_counts": {"length": 8, "epsilon": 20.0, "lattice_m": 3000.0, "coarse": 2, "halvings": 1, "rounds": 1},
    "private_evolution": {"length": 8, "population": 40, "rounds": 2},
    "k_delta": {"k": 2, "interval_s": None, "length": 8},
    "cloaking": {"k": 2, "minutes": None, "max_radius_m": 8000.0},
    "lkc": {"k": 2, "cells_m": 5000.0},
    "k_anonymity": {"k": 2, "cells_m": [2000.0, 16000.0], "minutes": [None], "min_labels": 1},
    "escalation": {
        "k": 2,
        "cells_m": [8000.0],
        "coarsest_useful_m": 16000.0,
        "minutes": [None],
        "min_labels": 1,
        "tolerance": 1.0,
        "length": 8,
        "synthesizer": "privtrace",
    },
}
# further forms of a method that obey the same laws: name -> (method, parameters)
CONDITIONS: dict[str, dict[str, Any]] = {
    "sample": {"type": "sample"},
    "sample + VMF": {"type": "sample", "mechanism": "vmf", "epsilon": 5.0},
}
FORMS = {
    f"{m}, {what}": (m, {**TINY[m], "condition": c})
    for m in ("diffusion", "vae", "gan")
    for what, c in CONDITIONS.items()
}
FORMS |= {
    f"{m}, private, sample + Gaussian": (
        m,
        {
            **TINY[m],
            "condition": {"type": "sample", "mechanism": "gaussian", "epsilon": 5.0, "delta": 1e-5},
            "regime": "private",
            "noise_multiplier": 2.0,
        },
    )
    for m in ("diffusion", "gan")
}
FORMS |= {
    "prefix_tree, first cells, as published": (
        "prefix_tree",
        {
            **TINY["prefix_tree"],
            "sampling": "prefix",
            "variant": "full",
            "mechanism": "laplace",
            "threshold": "published",
        },
    ),
    "privtrace, published": ("privtrace", {"length": 8, "variant": "published", "decimals": 2}),
    "privtrace, epsilon 0.01": ("privtrace", {"length": 8, "epsilon": 0.01}),
    "adatrace, epsilon 100": ("adatrace", {"length": 8, "epsilon": 100.0, "trips": 12}),
    "private_evolution, epsilon 0.1": (
        "private_evolution",
        {"length": 8, "epsilon": 0.1, "population": 3, "rounds": 1},
    ),
}
FORMS |= {
    "k_delta, translated, of trajectories": (
        "k_delta",
        {**TINY["k_delta"], "edit": "translate", "count": "trajectory", "delta_m": 100.0},
    ),
    "cloaking, all who were there": ("cloaking", {**TINY["cloaking"], "reciprocal": False, "start": "finest"}),
    "k_anonymity, parts": ("k_anonymity", {**TINY["k_anonymity"], "suppress": "segments"}),
    "k_anonymity, adaptive, of trajectories": (
        "k_anonymity",
        {**TINY["k_anonymity"], "cells": "adaptive", "cells_m": [7000.0], "depth": 1, "count": "trajectory"},
    ),
}
FORMS |= {
    f"escalation, to {synthesizer}": (
        "escalation",
        {
            **TINY["escalation"], "tolerance": 0.0, "n_made": 5, "coarsest_useful_m": 8000.0, "synthesizer": synthesizer,
            "epsilon": 20.0, "synthesizer_parameters": {k: v for k, v in TINY[synthesizer].items() if k not in ("length", "epsilon")},
        },
    )
    for synthesizer in ("privtrace", "prefix_tree", "road_counts")
}  # fmt: skip
FORMS |= {
    f"{m}, at most 2 trips of a user": (m, {**TINY[m], "trips_per_user": 2})
    for m in ("prefix_tree", "privtrace", "adatrace", "flat", "road_counts", "private_evolution")
}
FORMS |= {
    f"{m}, private, of users": (
        m,
        {**TINY[m], "regime": "private", "noise_multiplier": 2.0, "unit": "user", "trips_per_user": 2},
    )
    for m in ("diffusion", "vae", "gan")
}
EVERY = pytest.mark.parametrize("name", [*METHODS, *FORMS])


def made(name: str) -> Method:
    method, parameters = FORMS.get(name, (name, TINY.get(name, {})))
    return make_method(method, **parameters)


def fitted(name: str, train: Trajectories, *, seed: int = 0) -> Method:
    return made(name).fit(train, seed=seed)


def released(name: str, train: Trajectories, n: int, *, seed: int = 0) -> Release:
    return asked(fitted(name, train, seed=seed), n, seed=seed)


def asked(method: Method, n: int, *, seed: int) -> Release:
    """``n`` trajectories, or what there is where the method takes no number."""
    return method.release(number_for(method, n), seed=seed)


def takes_no_number(name: str) -> bool:
    return number_for(method_class(FORMS.get(name, (name,))[0]), 1) is None


def seeds_after(seed: int, name: str) -> range:
    """Of an anonymizer, nothing but order and names is drawn: of a handful of groups, two seeds may name them alike."""
    return range(seed + 1, seed + (8 if takes_no_number(name) else 2))


@pytest.mark.parametrize("name", METHODS)
def test_has_a_strict_config(name: str) -> None:
    cls = method_class(name)
    assert issubclass(cls.Config, MethodConfig)
    assert isinstance(make_method(name, **TINY.get(name, {})), Method)
    with pytest.raises(ParameterError, match="no_such_parameter is unknown"):
        make_method(name, no_such_parameter=1)


@EVERY
def test_fit_returns_the_method_and_leaves_its_input(name: str) -> None:
    train = walks(12, 8, 0)
    before, meta = train.fingerprint(), train.meta
    method = made(name)
    assert method.fit(train, seed=0) is method
    asked(method, 3, seed=0)
    assert train.fingerprint() == before and train.meta == meta


@EVERY
def test_same_seed_same_bytes_other_seed_other_bytes(name: str) -> None:
    train = walks(12, 8, 0)
    first = released(name, train, 4, seed=1)
    again, others = released(name, train, 4, seed=1), [released(name, train, 4, seed=s) for s in seeds_after(1, name)]
    assert again.trajectories.fingerprint() == first.trajectories.fingerprint()
    assert again.guarantee == first.guarantee
    assert any(o.trajectories.fingerprint() != first.trajectories.fingerprint() for o in others)


@EVERY
def test_releasing_twice_with_one_seed_is_the_same(name: str) -> None:
    method = fitted(name, walks(12, 8, 0))
    one, two, *others = (
        asked(method, 4, seed=seed).trajectories.fingerprint() for seed in (5, 5, *seeds_after(5, name))
    )
    assert one == two and any(o != one for o in others)


@EVERY
@pytest.mark.parametrize("n", [1, 7])
def test_n_is_honoured_and_the_output_keeps_the_contract(name: str, n: int) -> None:
    trajs = released(name, walks(12, 8, 0), n).trajectories
    assert len(trajs) == n or takes_no_number(name)
    assert len(trajs) > 1 or not takes_no_number(name)  # else nothing below says anything
    assert trajs.violations(inside_box=True) == []
    assert (trajs.meta.box, trajs.meta.crs, trajs.meta.visibility) == (META.box, META.crs, META.visibility)
    assert len(set(trajs.traj_ids)) == len(trajs)


@EVERY
def test_a_number_is_needed_unless_the_method_releases_all(name: str) -> None:
    method = fitted(name, walks(12, 8, 0))
    with pytest.raises(ParameterError):
        method.release(3 if takes_no_number(name) else None, seed=0)


@EVERY
@pytest.mark.parametrize("n", [0, -3])
def test_a_number_that_cannot_be_released_is_refused(name: str, n: int) -> None:
    method = fitted(name, walks(12, 8, 0))
    with pytest.raises(ParameterError):
        method.release(n, seed=0)


@EVERY
def test_ids_of_people_do_not_leave(name: str) -> None:
    train = walks(12, 8, 0)
    train = replace(
        train,
        user_ids=np.array([f"person-{i}" for i in range(12)]),
        traj_ids=np.array([f"trip-{i}" for i in range(12)]),
    )
    out = released(name, train, 6).trajectories
    assert not set(out.user_ids) & set(train.user_ids) and not set(out.traj_ids) & set(train.traj_ids)


def _one_user_many() -> Trajectories:
    train = walks(10, 8, 0)
    return replace(train, user=np.zeros(10, dtype=np.int64), user_ids=np.array(["u"]))


def _copies() -> Trajectories:
    train = walks(10, 8, 0)
    return replace(train, lonlat=np.tile(train.lonlat[:8], (10, 1)))


ODD: dict[str, Callable[[], Trajectories]] = {
    "empty": lambda: walks(3, 8, 0).take(np.zeros(0, dtype=np.int64)),
    "one trajectory": lambda: walks(1, 8, 0),
    "one point each": lambda: walks(10, 1, 0),
    "one point in all": lambda: make([(-8.6, 41.2)], meta=META),
    "unequal lengths": lambda: make([(-8.6, 41.2)], [(-8.6, 41.2), (-8.55, 41.15), (-8.55, 41.16)], meta=META),
    "one user": _one_user_many,
    "copies under several users": _copies,
    "on the border": lambda: make([(-8.72, 41.10), (-8.50, 41.24)], [(-8.50, 41.10), (-8.72, 41.24)], meta=META),
}


@EVERY
@pytest.mark.parametrize("what", ODD)
def test_odd_input_works_or_is_refused_in_words(name: str, what: str) -> None:
    try:
        release = released(name, ODD[what](), 1)
    except DataContractError as error:
        assert len(str(error)) > 20
    else:
        assert release.trajectories.violations() == []
        assert len(release.trajectories) == 1 or takes_no_number(name)


@EVERY
def test_the_guarantee_is_complete(name: str) -> None:
    g = released(name, walks(12, 8, 0), 3).guarantee
    assert Guarantee.from_json(g.to_json()) == g
    assert g.in_words()
    if g.holds:
        assert g.kind != "none" and g.unit and g.mechanism and g.accountant
        if g.kind == "dp":
            assert g.adjacency and g.epsilon is not None and g.epsilon < math.inf
            assert g.parts and all(p.protects and p.mechanism for p in g.parts)
        else:
            assert g.k is not None and g.k >= 2
        assert any("box" in a for a in g.assumptions)
    else:
        assert g.reason and (g.kind != "none" or g.epsilon == math.inf)
