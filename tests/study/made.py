"""A study's folder with made figures: what a report reads, without a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trajkit.deep.condition_config import ConditionConfig
from trajkit.metrics import METRICS
from trajkit.privacy.guarantee import CONDITIONING, Guarantee, Part, no_guarantee
from trajkit.study import progress, results

FLOOR, CEILING, MISSING = 0.1, 0.6, "missing"
DETAILS = {"sample_rate": 0.008, "noise_multiplier": 1.0, "steps": 100}
PRIVATE = Guarantee(
    holds=True, kind="dp", epsilon=9.9, delta=1e-5, unit="trajectory", adjacency="add-remove", mechanism="DP-SGD",
    accountant="a test", parts=(Part("training set", "DP-SGD", 9.9, 1e-5, DETAILS),),
)  # fmt: skip


CONDITION = Part(CONDITIONING, "a mechanism", 20.0, 0.0, {}, "replace-one")


def promised(parameters: dict[str, Any]) -> Guarantee:
    """The guarantee that a run with ``parameters`` has: of each set that is protected, and of the whole where all are."""
    condition = ConditionConfig(**parameters.get("condition", {}))
    trained = parameters.get("regime") == "private" and parameters.get("dp_target") != "generator"
    parts = (*(PRIVATE.parts if trained else ()), *((CONDITION,) if condition.is_private else ()))
    if trained and (condition.is_private or not condition.is_conditional):
        return replace(PRIVATE, parts=parts, epsilon=max(p.epsilon for p in parts))
    return no_guarantee("a test", parts=parts)


def study(folder: Path, monkeypatch: pytest.MonkeyPatch, cells: dict[str, dict[str, Any]], **plan: Any) -> Path:
    """Write a study into ``folder`` and point the package at it; return it. ``cells``: name → what is known of it.

    rescaled: one number a repetition, for every metric (None: that run failed, MISSING: it never ran); parameters, train_size, data (settings of the data set), vary,
    report (of the release), losses (of every repetition).
    """
    for module in (results, progress):
        monkeypatch.setattr(module, "OUTPUTS", folder)
    runs = [_run(folder, name, i, v, **facts) for name, facts in cells.items() for i, v in enumerate(facts["rescaled"])]
    made = {
        "question": "q", "title": "A test", "report": None, "claims": ["C1", "C3"], "profile": "quick", "about": "a test.",
        "dataset": "city", "data_fingerprint": "0" * 64, "private": False, "allow_raw": False, "runs": runs, **plan,
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(made))
    return folder


def baselines(folds: int) -> dict[str, dict[str, Any]]:
    """Floor and ceilings."""
    values = {"real": 0.0, "uniform": 1.0, "straight": 1.0}
    return {name: {"rescaled": [v] * folds} for name, v in values.items()}


def _run(
    folder: Path,
    cell: str,
    replicate: int,
    error: float | str | None,
    *,
    parameters: dict[str, Any] | None = None,
    train_size: int | None = None,
    data: dict[str, Any] | None = None,
    vary: str = "fold",
    report: dict[str, Any] | None = None,
    losses: Sequence[float] = (2.0, 1.0),
    **_: object,
) -> dict[str, Any]:
    rid = f"{cell}-{replicate}"
    run = folder / "runs" / rid
    run.mkdir(parents=True)
    parameters = parameters or {}
    fold = replicate if vary == "fold" else 0
    config = {
        "method": cell.split("-")[0], "fold": fold, "seed": replicate, "train_size": train_size, "parameters": parameters,
        "dataset_settings": data or {},
    }  # fmt: skip
    if parameters:
        rows = [f"{i + 1},{loss},{30.0 + 60.0 * i}" for i, loss in enumerate(losses)]
        (run / "history.csv").write_text("\n".join(["step,loss,seconds", *rows]) + "\n")
    if error == MISSING:
        pass
    elif error is None:
        (run / "FAILED.json").write_text(json.dumps({"message": "it has collapsed"}))
    else:
        value = FLOOR + float(error) * (CEILING - FLOOR)
        rows = [
            {"metric": m.name, "level": m.level, "value": value, "unit": m.unit, "direction": m.direction}
            for m in METRICS.values()
        ]
        (run / "metrics.json").write_text(json.dumps({"n_train": train_size or 16123, "n_test": 4031, "results": rows}))
        (run / "guarantee.json").write_text(promised(parameters).to_json())
        (run / "release.json").write_text(json.dumps(report or {}))
        cost = {"wall_s": 60.0, "peak_mb": 500.0, "seconds": {"fit": 40.0, "release": 2.0, "evaluate": 3.0}}
        (run / "manifest.json").write_text(json.dumps(cost))
    return {"run_id": rid, "cell": cell, "replicate": replicate, "vary": vary, "config": config}
