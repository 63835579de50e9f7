"""All adversaries on one release: they win where nothing is promised, say why where they cannot be tried, and read the marks of made rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trajkit.anonymize.clock import compared_times, released_times
from trajkit.anonymize.unprotected import PerturbedPoints, PlanarLaplaceConfig, Pseudonyms, PseudonymsConfig
from trajkit.attacks import public_model, segment_linking
from trajkit.attacks.adversaries import (
    ADVERSARIES,
    BACK,
    BY_NAME,
    FIT_STREETS,
    HOME,
    HOMES,
    MATCHED,
    NEXT,
    OFF,
    PARTS,
    PLACES,
    POINTS,
    RIGHT,
    ROUTES,
    STREETS,
    WORK,
    Finding,
    Truth,
    attack,
)
from trajkit.attacks.map_matching import MapMatching, map_matching
from trajkit.attacks.origin import Origin
from trajkit.attacks.public_model import NEXT_TRIP_S, ON_CENTRE_M, link_model, noise_model
from trajkit.attacks.street_sequences import Streets
from trajkit.datasets.city import City, simulate
from trajkit.methods import make_method
from trajkit.privacy.guarantee import no_guarantee
from trajkit.release import Release

TARGETS = 60


def known_links(method: str, parameters: dict[str, Any], release: Release) -> dict[str, Any]:
    return link_model(public_model.public_model(method, parameters, release), parameters, release)


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=60, days=7, seed=3)


@pytest.fixture(scope="module")
def truth(city: City) -> Truth:
    return Truth(city.trajectories, city.roads)


def found(truth: Truth, method: str, **parameters: Any) -> dict[str, Finding]:
    made = make_method(method, **parameters)
    release = made.fit(truth.raw, seed=1).release(None, seed=1)
    source = made.origin_  # type: ignore[attr-defined]
    rows = attack(truth, method, made.config.model_dump(), release, source, seed=0, targets=TARGETS)
    return {row.measure or row.adversary: row for row in rows}


def test_every_adversary_wins_on_trips_under_new_names(truth: Truth) -> None:
    rows = found(truth, "pseudonyms")
    for measure in (ROUTES, PLACES, MATCHED, NEXT, RIGHT, HOME, WORK):
        row = rows[measure]
        assert row.low is not None and row.guess is not None and row.high is not None and row.value is not None
        assert row.low <= row.value <= row.high and row.low > row.guess, measure
    assert rows[ROUTES].value > 0.85 and rows[MATCHED].value > 0.9 and rows[HOME].value > 0.8  # type: ignore[operator]
    assert rows[FIT_STREETS].value == 1 and rows[OFF].value == pytest.approx(0, abs=1e-6)


def test_names_that_change_with_every_trip_are_linked_again(truth: Truth) -> None:
    named, linked = found(truth, "pseudonyms"), found(truth, "pseudonyms", names="trip")
    assert linked[NEXT].value == named[NEXT].value, "names are not looked at where ends are linked"
    assert named[BY_NAME].value == 1 and linked[BY_NAME].value == 0
    assert linked[HOME].low > linked[HOME].guess  # type: ignore[operator]
    assert linked[HOME].value < named[HOME].value  # type: ignore[operator]


def test_pieces_of_a_trip_are_joined_again(truth: Truth) -> None:
    rows = found(truth, "pseudonyms", names="trip", cut_s=300.0)
    assert rows[NEXT].low > 0.9 > rows[NEXT].guess and rows[RIGHT].low > rows[RIGHT].guess  # type: ignore[operator]
    assert rows[ROUTES].value < 0.5, "no single piece is the whole route"  # type: ignore[operator]


def test_too_many_pairs_are_a_reason_and_no_end(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_linking, "MOST_PAIRS", 3)
    rows = found(truth, "pseudonyms", names="trip")
    assert (
        "pairs of parts" in rows[PARTS].reason and rows[ROUTES].value is not None and "no names" in rows[HOMES].reason
    )


def test_noise_on_every_point_is_averaged_away(truth: Truth) -> None:
    rows = found(truth, "planar_laplace", mean_m=200.0)
    assert rows[OFF].value == pytest.approx(200, rel=0.03)
    assert rows[BACK].value < 0.6 * rows[OFF].value  # type: ignore[operator]
    assert rows[MATCHED].value > rows[PLACES].value, "the streets say more than the points"  # type: ignore[operator]


def test_what_a_release_lacks_is_said(truth: Truth) -> None:
    rows = found(truth, "k_anonymity", k=3, cells_m=[4000.0], minutes=[None])
    assert rows[ROUTES].value is not None and "no times" in rows[PARTS].reason and "no times" in rows[HOMES].reason
    assert "not the true ones moved" in rows[POINTS].reason
    assert rows[PLACES].value <= 1 / 3 + 1e-9, "k people share the cells"  # type: ignore[operator]


def test_generated_trajectories_are_nobodys(truth: Truth) -> None:
    release = Release(truth.raw, no_guarantee("made"))
    rows = attack(truth, "uniform", {}, release, None, seed=0)
    assert [r.adversary for r in rows] == list(ADVERSARIES)
    assert all(r.value is None and "generated" in r.reason for r in rows)


def test_made_rows_are_left_out_and_an_empty_release_is_no_generated_one(truth: Truth) -> None:
    half = len(truth.raw) // 2
    source = np.where(np.arange(len(truth.raw)) < half, np.arange(len(truth.raw)), -1)
    mixed = attack(truth, "pseudonyms", {}, Release(truth.raw, no_guarantee("x")), source, seed=0, targets=TARGETS)
    alone = attack(
        truth, "pseudonyms", {}, Release(truth.raw.take(np.arange(half)), no_guarantee("x")), np.arange(half), seed=0, targets=TARGETS
    )  # fmt: skip
    assert mixed == alone
    none = Release(truth.raw.take(np.zeros(0, dtype=np.int64)), no_guarantee("x"))
    for row in attack(
        truth, "k_delta", {"delta_m": 1.0, "max_radius_m": 1.0}, none, np.zeros(0, dtype=np.int64), seed=0
    ):
        assert row.reason == "nothing was released"


def test_without_a_road_map_or_times_the_others_are_tried(truth: Truth) -> None:
    bare = Truth(replace(truth.raw, t=None), None)
    made = Pseudonyms(PseudonymsConfig()).fit(bare.raw, seed=0)
    named = {
        r.measure: r
        for r in attack(
            Truth(truth.raw, None),
            "pseudonyms",
            {},
            Release(truth.raw, no_guarantee("x")),
            np.arange(len(truth.raw)),
            seed=0,
        )
    }
    mapped = {
        r.measure: r
        for r in attack(
            truth, "pseudonyms", {}, Release(truth.raw, no_guarantee("x")), np.arange(len(truth.raw)), seed=0
        )
    }
    assert named[PLACES] == mapped[PLACES] and ROUTES not in named, "places need no map"
    rows = {r.adversary: r for r in attack(bare, "pseudonyms", {}, made.release(None, seed=0), made.origin_, seed=0)}
    assert (
        "no street map" in rows[STREETS].reason
        and "no times" in rows[HOMES].reason
        and "no times" in rows[PARTS].reason
    )


def test_where_nobody_knows_the_truth_it_is_what_the_attack_makes_of_raw_data(city: City) -> None:
    trajs = city.trajectories.with_meta(dataset="other")
    inferred = Truth(trajs, city.roads)
    assert inferred.inferred and not Truth(city.trajectories, city.roads).inferred
    rows = found(inferred, "pseudonyms")
    assert rows[ROUTES].value == 1.0 and rows[HOME].value == 1.0, "by construction"


# ---- what he knows ----------------------------------------------------------------------------------------------


def test_linking_is_bounded_in_work_and_blurred_by_bins(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Release(truth.raw, no_guarantee("x"), {"setting": {"cells": "square 500 m", "minutes": 30}})
    parameters = {"suppress": "segments", "gap_s": None, "stays": "keep"}
    cells = known_links("k_anonymity", parameters, release)
    assert cells["near_m"] == 750 + ON_CENTRE_M and cells["overlap_s"] == 1800 and cells["gap_s"] == 3600
    raw = known_links("pseudonyms", {}, release)
    assert raw["near_m"] == 200 + ON_CENTRE_M and raw["overlap_s"] == 0 and raw["gap_s"] == NEXT_TRIP_S
    monkeypatch.setattr(public_model, "MOST", len(truth.raw) * 10)
    short = known_links("pseudonyms", {}, release)
    assert 0 < short["gap_s"] < NEXT_TRIP_S


def test_neighbours_exactly_two_cells_apart_are_all_linked(truth: Truth) -> None:
    made = make_method("k_anonymity", k=2, cells_m=[250.0], minutes=[60], suppress="segments", suppression_budget=1.0)
    release = made.fit(truth.raw, seed=1).release(None, seed=1)
    out = release.trajectories
    near = known_links("k_anonymity", made.config.model_dump(), release)["near_m"]
    apart = cdist(out.xy[out.ends], out.xy[out.starts])
    two = apart[np.abs(apart - 500) < 0.005]
    assert (two > 500).any() and (two <= near).all(), "printed degrees are rounded"


def test_a_public_day_on_a_weekend_hides_no_work(truth: Truth) -> None:
    assert truth.raw.t is not None
    for day in ("2000-01-03", "2000-01-01"):  # a Monday, a Saturday
        t = released_times(compared_times(truth.raw, "clock"), "clock", day, truth.raw.meta.tz)
        release = Release(replace(truth.raw, t=t), no_guarantee("x"))
        rows = attack(truth, "pseudonyms", {"of": "clock"}, release, np.arange(len(truth.raw)), seed=0, targets=5)
        (work,) = (row for row in rows if row.measure == WORK)
        assert work.value is not None and work.value > 0.8, day


def test_a_guess_of_routes_is_judged_as_the_routes_are(truth: Truth) -> None:
    one = truth.raw.take(truth.raw.user == 0)
    trips = Streets(np.array([1, 2, 3, 4, 2, 3, 4, 5]), np.array([0, 4, 8]))  # alike but for their ends
    pair = one.take(np.arange(2))
    assert truth.network is not None
    matched = map_matching(pair, trips, pair, Origin.one_each(np.arange(2)), truth.network, seed=0)
    assert isinstance(matched, MapMatching) and matched.guess_exact == 0 and matched.guess_but_ends == 1


def test_noise_is_public() -> None:
    assert noise_model("planar_laplace", {"mean_m": 200.0}) == pytest.approx(100 * 3**0.5)
    made = PerturbedPoints(PlanarLaplaceConfig(mean_m=150.0))
    assert made.mechanism.mean_m == pytest.approx(150)


def test_an_escalation_is_attacked_as_what_it_keeps(truth: Truth) -> None:
    kept = {"k": 3, "minutes": [120]}
    made = {"tolerance": 0.0, "cells_m": [500.0], "coarsest_useful_m": 1000.0, "coarsest_useful_minutes": 120}
    rows = found(truth, "escalation", **kept, **made, n_made=30)
    alone = found(truth, "k_anonymity", **kept, cells_m=[1000.0], suppress="segments", suppression_budget=1.0)
    assert rows == alone and rows[PLACES].value is not None and rows[NEXT].value is not None
    every = found(truth, "escalation", **{**kept, "k": 61}, **made, n_made=30)  # of 60 people nothing can be kept
    assert set(every) == set(ADVERSARIES)
    assert all(row.value is None and "generated" in row.reason for row in every.values())


def test_one_trip_has_no_other_to_guess(truth: Truth) -> None:
    rows = found(Truth(truth.raw.take(np.array([0])), truth.network), "pseudonyms")
    assert "one trip" in rows[STREETS].reason and rows[OFF].value == rows[OFF].low == 0
