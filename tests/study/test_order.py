"""A longer plain training starts after the shorter one that begins it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trajkit.parameters import checked
from trajkit.study import run as run_module
from trajkit.study.order import beginnings, longest
from trajkit.study.params import PlannedRun, Profile, plan_runs
from trajkit.study.run_config import RunConfig


def _runs(*cells: dict[str, Any], seeds: int = 1) -> list[tuple[str, PlannedRun]]:
    base = {"about": "toy.", "seeds": seeds, "length": 32, "n_release": 10, "cells": list(cells)}
    planned = plan_runs(checked(Profile, base, where="toy"), dataset="city")
    return [(f"{p.cell}/{p.replicate}", p) for p in planned]


def _cell(name: str, steps: int, **parameters: Any) -> dict[str, Any]:
    values = {"regime": "plain", "decay": "constant", "steps": steps, **parameters}
    return {"name": name, "method": "diffusion", "parameters": values}


def test_plain_trainings_that_differ_in_steps_alone_form_a_chain() -> None:
    runs = _runs(_cell("c", 30), _cell("a", 10), _cell("b", 20), seeds=2)
    assert beginnings(runs) == {"b/0": "a/0", "c/0": "b/0", "b/1": "a/1", "c/1": "b/1"}


def test_nothing_goes_on_from_a_training_that_differs_otherwise() -> None:
    private = {"name": "p", "method": "diffusion", "parameters": {"regime": "private", "epsilon": 1.0, "steps": 5}}
    runs = _runs(_cell("a", 10), _cell("b", 20, learning_rate=1e-3), _cell("c", 20, decay="cosine"), private)
    assert beginnings(runs) == {}
    assert beginnings(_runs({"name": "real", "method": "real"}, _cell("a", 10))) == {}


def test_the_longest_start_first() -> None:
    assert longest(_runs({"name": "real", "method": "real"}, _cell("a", 10), _cell("b", 20))) == ["b/0"]


def test_beginnings_are_kept_apart_for_each_version_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    class Fake:
        def fit(self, train: object, *, seed: int, prefixes: Path) -> None:
            asked.append(prefixes)

    monkeypatch.setattr(run_module, "make_method", lambda *_, **__: Fake())
    for code in ("a" * 64, "b" * 64):
        monkeypatch.setattr(run_module, "code_fingerprint", lambda _, code=code: code)
        config = RunConfig(method="vae", dataset="city", fold=0, seed=0, length=8, n_release=5)
        run = run_module.Run(tmp_path, config)
        run.__dict__["fold"] = SimpleNamespace(train=None, test=None)
        run.fit()
    assert asked[0] != asked[1] and asked[0].parent == asked[1].parent
