"""The DP-SGD benchmark runs and every figure it prints is a positive number."""

from __future__ import annotations

import math

import pytest
import torch

from trajkit.benchmarks import dpsgd
from trajkit.deep.unet import Sizes

SMALL = {"SIZES": Sizes(8, (1, 2), 1, 2, attention=False), "LENGTH": 8, "RECORDS": 8, "REPEATS": 1, "LATENT": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(dpsgd, name, value)
    monkeypatch.setattr(dpsgd, "_peak_mb", lambda private: 1.0)


def test_rows_name_every_model_ratios_physical_batches_and_memory() -> None:
    rows = dpsgd.rows()
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert {row.unit for row in rows} == {"s", "times", "records", "ms/record", "MB"}
    for case in dpsgd.CASES:
        assert sum(row.against == "plain step" and row.name == f"DP-SGD step, {case}, batch 8" for row in rows) == 1
    assert sum(row.unit == "records" for row in rows) == 2


@pytest.mark.parametrize("name", dpsgd.CASES)
@pytest.mark.parametrize("private", [False, True])
def test_the_measured_step_trains(name: str, private: bool) -> None:
    step = dpsgd.Step(name, private=private)
    before = [p.detach().clone() for p in step.weights]
    step.run()
    assert any(not torch.equal(a, p) for a, p in zip(before, step.weights, strict=True))


def test_every_way_sums_the_same_gradients() -> None:
    sums = []
    for engine in (None, dpsgd.Functional, dpsgd.Opacus):
        step = dpsgd.Step("diffusion", private=True, engine=engine)
        inputs = {"record": step.batch, **step.drawn}
        total = step.engine.summed(dpsgd.of_records(step.objective), inputs, torch.ones(8))[1]
        sums.append(torch.cat([g.flatten() for g in total]))
    for other in sums[1:]:
        torch.testing.assert_close(other, sums[0], rtol=1e-3, atol=1e-6)
