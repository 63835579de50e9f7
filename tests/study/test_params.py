"""Params files: what is unknown, mistyped or out of range is refused by its dotted name before any work."""

from __future__ import annotations

from typing import Any

import pytest

from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study.params import PROFILES, Profile, Question, plan_runs, read_question, select_profile


def _profile(**changes: Any) -> Profile:
    cell = {"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}}
    base = {"about": "toy.", "seeds": 2, "length": 32, "n_release": 10, "cells": [cell]}
    return checked(Profile, {**base, **changes}, where="toy")


def _cell(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}, **changes}]


def test_every_question_file_is_valid_and_knows_its_profiles() -> None:
    question = read_question("rq1")
    assert tuple(question.profiles) == PROFILES
    for name in question.profiles:
        runs = plan_runs(select_profile(question, name), dataset="city")
        assert runs
        assert len({(r.cell, r.replicate) for r in runs}) == len(runs)


def test_regimes_of_a_profile_differ_in_one_thing_only() -> None:
    for profile in read_question("rq1").profiles.values():
        runs = {r.cell: r.config.parameters for r in plan_runs(profile, dataset="city", seeds=1)}
        allowed = {"regime", "epsilon", "noise_multiplier", "delta"}
        for cell in ("clipped", "private"):
            if cell in runs:
                differs = {k for k in runs["plain"] if runs["plain"][k] != runs[cell][k]}
                assert differs <= allowed, f"{cell} also differs in {differs - allowed}"


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
