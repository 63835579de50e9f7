"""Params files: what is unknown, mistyped or out of range is refused by its dotted name before any work."""

from __future__ import annotations

from typing import Any

import pytest

from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study.cells import MODELS
from trajkit.study.claims import read_claims
from trajkit.study.params import PROFILES, PlannedRun, Profile, Question, plan_runs, read_question, select_profile


def _profile(**changes: Any) -> Profile:
    cell = {"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}}
    base = {"about": "toy.", "seeds": 2, "length": 32, "n_release": 10, "cells": [cell]}
    return checked(Profile, {**base, **changes}, where="toy")


def _cell(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}, **changes}]


@pytest.mark.parametrize("name", ["rq1", "rq3"])
def test_every_question_file_is_valid_and_knows_its_profiles(name: str) -> None:
    question = read_question(name)
    assert tuple(question.profiles) == PROFILES
    assert set(question.claims) <= set(read_claims())
    for profile in question.profiles:
        runs = plan_runs(select_profile(question, profile), dataset="city")
        assert runs
        assert len({(r.cell, r.replicate) for r in runs}) == len(runs)


def _cells(question: str, profile: str) -> dict[str, PlannedRun]:
    return {r.cell: r for r in plan_runs(select_profile(read_question(question), profile), dataset="city", seeds=1)}


@pytest.mark.parametrize("question", ["rq1", "rq3"])
@pytest.mark.parametrize("profile", PROFILES)
def test_regimes_of_a_model_differ_in_one_thing_only(question: str, profile: str) -> None:
    runs = _cells(question, profile)
    for cell, run in runs.items():
        model, _, rest = cell.partition("-")
        assert run.config.method == model
        if not rest or rest.startswith("published") or f"{model}-plain" not in runs:
            continue
        plain, own = runs[f"{model}-plain"].config.parameters, run.config.parameters
        differs = {k for k in own if plain[k] != own[k]}
        allowed = {"steps"} if rest == "plain-long" else {"regime", "epsilon"}
        assert differs <= allowed, f"{cell} also differs in {differs - allowed}"
        assert own["regime"] == rest.split("-")[0]


@pytest.mark.parametrize("profile", PROFILES)
def test_questions_share_their_runs(profile: str) -> None:
    one, three = (
        {(r.cell, r.replicate): r.config for r in plan_runs(select_profile(read_question(q), profile), dataset="city")}
        for q in ("rq1", "rq3")
    )
    shared = set(one) & set(three)
    assert {"real", "uniform", "straight", "diffusion-private"} <= {cell for cell, _ in shared}
    assert {cell for cell, _ in set(three) - shared} <= {"vae-private", "gan-published-plain", "gan-published-private"}
    for key in shared:
        assert one[key] == three[key], f"{key} differs between rq1 and rq3: they must be the same run"


@pytest.mark.parametrize("profile", ["quick", "full", "paper"])
def test_the_published_protocol_sees_as_many_batches_with_and_without_dp(profile: str) -> None:
    runs = _cells("rq3", profile)
    plain, private, ours = (
        runs[f"gan-{n}"].config.parameters for n in ("published-plain", "published-private", "private")
    )
    assert (plain["n_critic"], private["n_critic"], private["dp_target"]) == (5, 1, "generator")
    assert private["steps"] == 5 * plain["steps"]
    assert ours["dp_target"] == "critic"
    differs = {k for k in plain if plain[k] != private[k]}
    assert differs == {"n_critic", "steps", "dp_target", "regime", "epsilon"}


def test_full_holds_what_the_ablations_need() -> None:
    runs = _cells("rq1", "full")
    for model in MODELS:
        for suffix in ("", "-small"):
            asked = {
                r.config.parameters["epsilon"] for c, r in runs.items()
                if c.startswith(f"{model}-private{suffix}-epsilon") or c == f"{model}-private{suffix}"
            }  # fmt: skip
            assert asked == {1.0, 2.0, 5.0, 10.0} and f"{model}-clipped{suffix}" in runs
        sizes = [runs[f"{model}-private{s}"].config.train_size for s in ("", "-n-8000", "-n-4000", "-small")]
        assert sizes == [None, 8000, 4000, 1600]


def test_smoke_is_small() -> None:
    assert all(len(_cells(q, "smoke")) <= 6 for q in ("rq1", "rq3"))


def test_plan_completes_defaults_and_pairs_seed_with_fold() -> None:
    runs = plan_runs(_profile(), dataset="city", seeds=2)
    assert [(r.config.seed, r.config.fold) for r in runs] == [(0, 0), (1, 1)]
    assert runs[0].config.parameters["length"] == 32
    assert "learning_rate" in runs[0].config.parameters
    init = plan_runs(_profile(cells=_cell(vary="init")), dataset="city", seeds=2)
    assert [(r.config.seed, r.config.fold) for r in init] == [(0, 0), (1, 0)]
    again = plan_runs(_profile(cells=_cell(seed_offset=100)), dataset="city", seeds=2)
    assert [(r.config.seed, r.config.fold) for r in again] == [(100, 0), (101, 1)]


def test_grid_is_a_product() -> None:
    runs = plan_runs(_profile(cells=_cell(grid={"steps": [5, 6], "channels": [8, 16]})), dataset="city", seeds=1)
    assert [r.cell for r in runs] == [
        "d-steps-5-channels-8",
        "d-steps-5-channels-16",
        "d-steps-6-channels-8",
        "d-steps-6-channels-16",
    ]
    assert runs[2].config.parameters["steps"] == 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regime": "private", "epsilon": "ten"}, r"cell d.*epsilon = 'ten'"),
        ({"regime": "private", "epsilon": 0.0}, r"epsilon = 0\.0"),
        ({"regime": "private", "epsilon": -1.0}, r"epsilon = -1\.0"),
        ({"regime": "private"}, "needs epsilon or noise_multiplier"),
        ({"regime": "private", "epsilonn": 1.0}, "epsilonn is unknown; known here: .*epsilon"),
        ({"regime": "plain", "steps": 2.5}, r"steps = 2\.5"),
        ({"regime": "plain", "steps": True}, "steps = True"),
        ({"regime": "secret"}, "regime = 'secret'"),
    ],
)
def test_bad_method_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        plan_runs(_profile(cells=_cell(parameters=parameters)), dataset="city")


def test_bad_study_parameters() -> None:
    with pytest.raises(ParameterError, match=r"unknown: there are .*rq1"):
        read_question("rq99")
    with pytest.raises(ParameterError, match="'tiny' is unknown: rq1 has smoke"):
        select_profile(read_question("rq1"), "tiny")
    with pytest.raises(ParameterError, match=r"SEEDS must be 1 to 5.*got 9"):
        plan_runs(_profile(), dataset="city", seeds=9)
    with pytest.raises(ParameterError, match="n_pears is unknown"):
        plan_runs(_profile(evaluation={"n_pears": 3}), dataset="city")
    with pytest.raises(ParameterError, match=r"cells\.0\.methd is unknown"):
        _profile(cells=_cell(methd="x"))
    with pytest.raises(ParameterError, match="method 'vea' is unknown"):
        plan_runs(_profile(cells=_cell(method="vea")), dataset="city")
    with pytest.raises(ParameterError, match="same name"):
        plan_runs(_profile(cells=[*_cell(), *_cell()]), dataset="city")
    with pytest.raises(ParameterError, match="title is missing"):
        checked(Question, {"question": "q", "report": None, "profiles": {}}, where="q")
