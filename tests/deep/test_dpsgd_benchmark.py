"""The DP-SGD benchmark runs and every figure it prints is a positive number."""

from __future__ import annotations

import math

import pytest
import torch
from deep_toys import TINY

from trajkit.benchmarks import dpsgd


def test_rows_name_parts_ratios_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SIZES": TINY, "LENGTH": 8, "RECORDS": 4, "REPEATS": 1}.items():
        monkeypatch.setattr(dpsgd, name, value)
    monkeypatch.setattr(dpsgd, "_peak_mb", lambda draws, private: 1.0)
    rows = dpsgd.rows()
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert {row.unit for row in rows} == {"s", "times", "MB"}
    assert sum(row.against == "plain step" for row in rows) == 4
    for part in ("forward", "backward", "clipping", "noise", "optimizer"):
        assert sum(part in row.name for row in rows) == 2


def test_the_measured_step_trains() -> None:
    step = dpsgd.Step(1, dpsgd.RecordGradients)
    before = [p.detach().clone() for p in step.weights]
    step.run()
    assert any(not torch.equal(a, p) for a, p in zip(before, step.weights, strict=True))
