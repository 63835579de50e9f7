"""Figures of the adversaries in a record: before and after, why there is none, and draws of people from large sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trajkit.attacks.adversaries import HOME, NEXT, PLACES, RIGHT, ROUTES, Finding
from trajkit.datasets.city import City, simulate
from trajkit.handover import knowing_more
from trajkit.handover.choice import Choice, chosen
from trajkit.handover.figure import Figure
from trajkit.handover.knowing_more import INFERRED, OWN, SHOWN, by_adversaries
from trajkit.methods import make_method
from trajkit.release import Release


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=60, days=7, seed=3)


def figures(city: City, choice: Choice) -> dict[str, Figure]:
    trajs = city.trajectories
    method: Any = choice.method.fit(trajs, seed=0)
    release = method.release(None, seed=0)
    found = by_adversaries(choice, trajs, release, method.origin_, city.roads, seed=0)
    return {f.what: f for f in found}


def of(found: dict[str, Figure], measure: str) -> Figure:
    return found[SHOWN[measure][1]]


def test_before_is_won_and_after_says_what_is_left(city: City) -> None:
    found = figures(city, chosen("k_anonymity", {"k": 3, "cells_m": (2000.0,), "minutes": (None,)}))
    assert set(found) == {what for _, what in SHOWN.values()}
    for f in found.values():
        assert f.before is not None and f.before > 0.3 and f.guess is not None, f.what
        assert (f.after is None) == bool(f.note), f.what
    routes = of(found, ROUTES)
    assert routes.before_interval is not None and routes.before_interval[0] > 0.8 and routes.after == 0.0


def test_what_is_not_alike_on_both_sides_is_said(city: City) -> None:
    parts = {"k": 3, "cells_m": (1000.0,), "minutes": (60,), "suppress": "segments", "suppression_budget": 1.0}
    found = figures(city, chosen("k_anonymity", parts))
    assert of(found, NEXT).after is not None and OWN in of(found, NEXT).note and OWN in of(found, RIGHT).note
    assert of(found, PLACES).note == "" == of(found, HOME).note, "the same people are named before and after"
    before, after = (Finding("x", "y", 0.5, 0.4, 0.6, guess) for guess in (0.02, 0.5))
    assert knowing_more._compared(HOME, before, after) == "before, a guess finds 0.02"


def test_of_a_large_set_what_was_all_made_is_no_empty_release(city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowing_more, "MOST", len(city.trajectories) // 2)
    made = {"k": 61, "tolerance": 0.0, "coarsest_useful_minutes": 120, "n_made": 20}
    found = figures(city, chosen("escalation", made))
    assert found and all("generated" in f.note for f in found.values())


def test_made_trajectories_leave_nothing_to_try(city: City) -> None:
    release = Release(
        city.trajectories,
        chosen("flat", {"epsilon": 1.0}).method.fit(city.trajectories, seed=0).release(3, seed=0).guarantee,
    )
    found = list(by_adversaries(chosen("flat", {"epsilon": 1.0}), city.trajectories, release, None, city.roads, seed=0))
    assert found and all(f.before is not None and f.after is None and "generated" in f.note for f in found)


def test_of_a_large_set_a_draw_of_people_is_attacked_and_that_is_said(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowing_more, "MOST", len(city.trajectories) // 2)
    real = Choice("pseudonyms", make_method("pseudonyms"), None)
    found = figures(city, real)
    assert all("random draw of people" in f.note and INFERRED not in f.note for f in found.values())
    routes = of(found, ROUTES)
    assert routes.after == pytest.approx(routes.before, abs=0.1)
    trajs = city.trajectories
    release = real.method.release(None, seed=0)
    some, source, left = knowing_more._drawn(trajs, release, real.method.origin_, 0)  # type: ignore[attr-defined]
    assert 0 < len(some) <= len(trajs) // 2 and source is not None and len(left.trajectories) == len(some)
    assert np.array_equal(some.take(source).lonlat, left.trajectories.lonlat)
    for user in np.unique(some.user):
        name = some.user_ids[user]
        assert (some.user == user).sum() == (trajs.user_ids[trajs.user] == name).sum(), "people are drawn whole"
