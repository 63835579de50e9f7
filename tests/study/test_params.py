"""Params files: what is unknown, mistyped or out of range is refused by its dotted name before any work."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trajkit.deep.condition_config import ConditionConfig
from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study.cells import BASELINES, CLASSICAL, CONDITIONS, MODELS, is_tiny, parsed
from trajkit.study.claims import read_claims
from trajkit.study.params import PROFILES, PlannedRun, Profile, Question, plan_runs, read_question, select_profile


def _profile(**changes: Any) -> Profile:
    cell = {"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}}
    base = {"about": "toy.", "seeds": 2, "length": 32, "n_release": 10, "cells": [cell]}
    return checked(Profile, {**base, **changes}, where="toy")


def _cell(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "d", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 10.0}, **changes}]


NEW = ("road_counts", "private_evolution")


@pytest.mark.parametrize("name", ["rq1", "rq2", "rq3", "rq4", "rq5", "rq6", "rq7"])
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


@pytest.mark.parametrize("question", ["rq1", "rq2", "rq3"])
@pytest.mark.parametrize("profile", PROFILES)
def test_regimes_of_a_model_differ_in_one_thing_only(question: str, profile: str) -> None:
    runs = _cells(question, profile)
    for cell, run in runs.items():
        if cell in BASELINES:
            continue
        name = parsed(cell)
        assert name is not None and run.config.method == name.model
        assert run.config.parameters["regime"] == name.regime
        reference = f"{name.model}-plain{'-tiny' if is_tiny(cell) else ''}"
        if name.published or reference not in runs:
            continue
        plain, own = runs[reference].config.parameters, run.config.parameters
        differs = {k for k in own if plain[k] != own[k]}
        allowed = (
            {"steps"} if name.rest == "long" else {"regime", "epsilon", *(["condition"] if name.condition else [])}
        )
        assert differs <= allowed, f"{cell} also differs in {differs - allowed}"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_condition_is_what_the_name_of_its_cell_says(profile: str) -> None:
    runs = {**_cells("rq2", profile), **_cells("rq3", profile)}
    size = {"smoke": 100, "full": 3000}.get(profile)
    usual: dict[str, dict[str, Any]] = {}
    for cell, run in runs.items():
        if cell in BASELINES or is_tiny(cell):
            continue
        name, condition = parsed(cell), ConditionConfig(**run.config.parameters["condition"])
        assert name and condition.name == CONDITIONS.get(name.condition, "none")
        if not name.condition:
            continue
        assert condition.drawn_from == "held-out" and condition.size == size
        assert condition.d_out == (int(cell.rpartition("-")[2]) if "d_out" in cell else 8)
        if condition.is_private:
            assert condition.epsilon == (float(cell.rpartition("-")[2]) if "epsilon_c" in cell else 20.0)
        if not name.rest:  # the same for every model and regime
            assert usual.setdefault(name.condition, condition.model_dump()) == condition.model_dump()


@pytest.mark.parametrize("profile", PROFILES)
def test_questions_share_their_runs(profile: str) -> None:
    plans = {
        q: {
            (r.cell, r.replicate): r.config
            for r in plan_runs(select_profile(read_question(q), profile), dataset="city")
        }
        for q in ("rq1", "rq2", "rq3", "rq5", "rq7")
    }
    for a, b in itertools.combinations(plans, 2):
        shared = set(plans[a]) & set(plans[b])
        assert {"real", "uniform", "straight"} <= {cell for cell, _ in shared}
        for key in shared:
            assert plans[a][key] == plans[b][key], f"{key} differs between {a} and {b}: they must be the same run"
    one, two, three, five, seven = ({cell for cell, _ in plan} for plan in plans.values())
    assert three - one - two <= {"vae-private", "gan-published-plain", "gan-published-private"}
    classical = {c for c in five if (name := parsed(c)) and name.model in CLASSICAL}
    assert five - classical - one <= {f"{m}-private-epsilon-1.0" for m in MODELS}
    if profile != "smoke":
        both = {f"{m}-private{e}" for m in (*MODELS, *CLASSICAL, "privtrace-published") for e in ("", "-epsilon-1.0")}
        assert (
            both - {"road_counts-private", "private_evolution-private"} - {f"{m}-private-epsilon-1.0" for m in NEW}
            <= five
        )
        at_each = {
            f"{m}-private{e}" for m in CLASSICAL for e in ("", *(f"-epsilon-{x}" for x in ("3.0", "1.0", "0.3")))
        }
        assert (
            at_each <= seven
            and {
                f"road_counts-private{m}"
                for m in ("-map-removed", "-map-year", "-map-lattice", "-map-left", "-small", "-n-64000")
            }
            <= seven
        )
        unconditional = {c for c in two if c not in BASELINES and not is_tiny(c) and not parsed(c).condition}  # type: ignore[union-attr]
        assert unconditional <= one & three
        assert {"diffusion-sample-plain", "diffusion-gaussian-private"} <= two & three


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


def test_full_holds_every_type_and_the_ablations_of_the_condition() -> None:
    runs = _cells("rq2", "full")
    types = ("", "attributes", "sample", "laplace", "gaussian", "vmf", "attributes-gaussian")
    wanted = {"-".join(filter(None, (m, t, r))) for m in MODELS for t in types for r in ("plain", "private")}
    assert wanted <= set(runs) and wanted <= set(_cells("rq2", "paper"))
    for mechanism in ("laplace", "gaussian", "vmf"):
        own = [r.config.parameters["condition"] for c, r in runs.items()
               if c.startswith(f"diffusion-{mechanism}-private") and not is_tiny(c)]  # fmt: skip
        assert {c["epsilon"] for c in own if c["d_out"] == 8} == {1.0, 5.0, 20.0, 50.0, 100.0}
        assert {c["d_out"] for c in own if c["epsilon"] == 20.0} == {4, 8, 256}
    tiny = {c for c in runs if is_tiny(c)}
    assert tiny == {
        "-".join(filter(None, (m, t, r, "tiny")))
        for m in MODELS for t in ("", "sample", "laplace", "gaussian", "vmf") for r in ("plain", "private")
    }  # fmt: skip


@pytest.mark.parametrize("profile", ["quick", "full"])
@pytest.mark.parametrize("seeds", [None, 1])
def test_tiny_cells_keep_their_ten_seeds_and_the_others_are_capped(profile: str, seeds: int | None) -> None:
    chosen = select_profile(read_question("rq2"), profile)
    counts: dict[str, list[PlannedRun]] = {}
    for run in plan_runs(chosen, dataset="city", seeds=seeds):
        counts.setdefault(run.cell, []).append(run)
    for cell, runs in counts.items():
        if is_tiny(cell):
            assert [(r.config.seed, r.config.fold) for r in runs] == [(i, i % 5) for i in range(10)]
            assert {(r.config.n_release, r.config.evaluation["n_pairs"], r.config.train_size) for r in runs} == {
                (200, 100, 1600)
            }
            assert runs[0].config.parameters["channels"] == 8 and runs[0].config.parameters["batch_size"] == 64
        else:
            assert len(runs) == (seeds or chosen.seeds)
            assert runs[0].config.n_release == chosen.n_release


def test_smoke_is_small() -> None:
    assert all(len(_cells(q, "smoke")) <= 6 for q in ("rq1", "rq2", "rq3", "rq4", "rq5", "rq6", "rq7"))


@pytest.mark.parametrize("own", [{"n_release": 5}, {"evaluation": {"n_pairs": 5}}, {"seeds": 6}], ids=str)
def test_only_a_tiny_cell_has_sizes_of_its_own(own: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="of its own"):
        _profile(cells=_cell(**own))
    runs = plan_runs(_profile(cells=_cell(name="d-tiny", **own)), dataset="city", seeds=1)
    assert len(runs) == own.get("seeds", 1)
    assert runs[-1].config.n_release == own.get("n_release", 10)
    with pytest.raises(ParameterError, match=r"cell d-tiny: evaluation.*n_pears is unknown"):
        plan_runs(_profile(cells=_cell(name="d-tiny", evaluation={"n_pears": 5})), dataset="city")


def test_a_cell_with_data_of_its_own_has_baselines_on_it_and_runs_on_no_other_set() -> None:
    own = {"datasets": {"city": {"people": 7}}}
    with pytest.raises(
        ParameterError, match="data of its own, but no cell with the same `datasets` runs real, straight, uniform"
    ):
        _profile(cells=_cell(**own))
    cells = [
        *_cell(),
        *(c for m in ("real", "uniform", "straight") for c in _cell(name=f"{m}-own", method=m, parameters={}, **own)),
    ]
    profile = _profile(cells=cells, datasets={"city": {"days": 3}})
    runs = {r.cell: r.config for r in plan_runs(profile, dataset="city", seeds=1)}
    assert runs["real-own"].dataset_settings == {"days": 3, "people": 7}
    assert [r.dataset_settings for c, r in runs.items() if not c.endswith("-own")] == [{"days": 3}]
    assert not any(r.cell.endswith("-own") for r in plan_runs(profile, dataset="porto", data="x", seeds=1))


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
