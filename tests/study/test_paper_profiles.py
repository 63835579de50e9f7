"""The profile `paper` of every question holds the whole study: both data sets, five folds, every configuration, each of them valid."""

from __future__ import annotations

import pytest

from trajkit.datasets.registry import dataset
from trajkit.methods import METHODS
from trajkit.split import N_FOLDS
from trajkit.study.audits import plan_audits
from trajkit.study.params import PlannedRun, Profile, plan_runs, read_question, select_profile

QUESTIONS = [f"rq{i}" for i in range(1, 8)]
MODELS = ("diffusion", "vae", "gan")
REAL = ("porto", "geolife")


def _profile(question: str) -> Profile:
    return select_profile(read_question(question), "paper")


def _runs(question: str, name: str = "porto") -> dict[str, list[PlannedRun]]:
    found: dict[str, list[PlannedRun]] = {}
    for run in plan_runs(_profile(question), dataset=name):
        found.setdefault(run.cell, []).append(run)
    return found


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", REAL)
def test_every_configuration_is_valid_on_both_data_sets_in_five_folds(question: str, name: str) -> None:
    profile = _profile(question)
    assert set(REAL) <= set(profile.datasets)
    dataset(name).settings_of(profile.datasets[name])
    for cell, runs in _runs(question, name).items():
        assert {r.config.dataset for r in runs} == {name}
        if runs[0].vary == "fold":
            assert [r.config.fold for r in runs] == list(range(N_FOLDS)) == [r.config.seed for r in runs], cell
    plan_audits(profile, dataset=name, data=None)


@pytest.mark.parametrize("question", QUESTIONS)
def test_deep_models_have_the_published_size_and_a_gpu_and_the_others_ask_for_none(question: str) -> None:
    for cell, (run, *_) in _runs(question).items():
        asked, resources = run.config.parameters, run.resources
        deep = METHODS[run.config.method].startswith("trajkit.deep.")
        assert resources.gpus == int(deep), cell
        if not deep:
            continue
        sizes = [asked[k] for k in ("length", "channels", "channel_multipliers", "blocks", "groups")]
        assert sizes == [200, 128, [1, 2, 2, 2], 2, 32]
        assert asked["physical_batch"] is None and asked["records_on"] == "auto"
        assert asked["steps"] == (20_000 if "published-plain" in cell else 100_000)


def test_the_cost_of_dp_is_asked_at_every_epsilon_and_split_from_clipping() -> None:
    runs = _runs("rq1")
    for model in MODELS:
        private = [r[0] for c, r in runs.items() if c.startswith(f"{model}-private")]
        assert {r.config.parameters["epsilon"] for r in private} == {1.0, 2.0, 5.0, 10.0}
        assert {f"{model}-plain", f"{model}-clipped"} <= set(runs)
    assert {r.config.fold for r in runs["diffusion-plain-init"]} == {0}


def test_conditioning_has_every_type_and_the_three_ablations() -> None:
    runs = {
        c: r[0].config.parameters["condition"] for c, r in _runs("rq2").items() if "condition" in r[0].config.parameters
    }
    types = ("", "attributes-", "sample-", "laplace-", "gaussian-", "vmf-", "attributes-gaussian-")
    assert {f"{m}-{t}{r}" for m in MODELS for t in types for r in ("plain", "private")} <= set(runs)
    for mechanism in ("laplace", "gaussian", "vmf"):
        own = [c for name, c in runs.items() if name.startswith(f"diffusion-{mechanism}-private")]
        assert {c["epsilon"] for c in own if c["d_out"] == 8} == {1.0, 5.0, 20.0, 50.0, 100.0}
        assert {c["d_out"] for c in own if c["epsilon"] == 20.0} == {4, 8, 256}


def test_privtrace_runs_at_every_published_epsilon() -> None:
    runs = [r[0].config for c, r in _runs("rq5").items() if c.startswith("privtrace-private")]
    assert {r.parameters["epsilon"] for r in runs} == {1.0, 2.0, 5.0, 10.0}


def test_the_study_is_more_than_ninety_configurations() -> None:
    seen = {
        (name, r[0].config.method, str(r[0].config.parameters))
        for question in ("rq1", "rq2", "rq3") for name in REAL for r in _runs(question, name).values()
        if r[0].config.method in MODELS
    }  # fmt: skip
    assert len(seen) > 90
