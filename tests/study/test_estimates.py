"""What a run will take is counted for deep models, by a device's data sheet; the rest keeps its time limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trajkit.deep.meter import Call, Work
from trajkit.errors import ParameterError
from trajkit.methods import method_class
from trajkit.study import estimates
from trajkit.study.estimates import TIME_LIMIT, Estimate, estimate
from trajkit.study.machines import MACHINES, Machine, machine
from trajkit.study.params import PlannedRun
from trajkit.study.run_config import Resources, RunConfig

SMALL: dict[str, Any] = {"channels": 8, "batch_size": 32, "steps": 20}


@pytest.fixture(autouse=True)
def _own_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "COUNTS", tmp_path / "counts")
    estimates._step.cache_clear()


def _planned(
    method: str = "vae", *, gpus: int = 0, runtime_min: int = 60, mem_mb: int = 4000, **parameters: Any
) -> PlannedRun:
    values = (
        method_class(method)
        .Config(**({**SMALL, **parameters} if method in ("diffusion", "vae", "gan") else {}))
        .model_dump(mode="json")
    )
    config = RunConfig(dataset="city", dataset_settings={"trips": 1000}, method=method, parameters=values)
    resources = Resources(mem_mb=mem_mb, runtime_min=runtime_min, gpus=gpus)
    return PlannedRun(cell=method, replicate=0, vary="fold", config=config, resources=resources)


def _of(**asked: Any) -> Estimate:
    return estimate(_planned(**asked))


def test_a_deep_run_is_counted_and_says_by_what() -> None:
    e = _of(gpus=1)
    assert (
        e.basis.startswith("counted: ") and "FLOP" in e.basis and e.basis.endswith("on a100 (assumed efficiency 0.4)")
    )
    assert 0 < e.hours < 1 and e.device_mb and e.gpus == 1 and e.gpu_hours == e.hours and not e.concerns
    assert "on core" in _of().basis
    assert list(estimates.COUNTS.glob("*.json"))  # kept, and read where it is there
    estimates._step.cache_clear()
    assert _of(gpus=1) == e


def test_everything_else_keeps_its_time_limit() -> None:
    e = _of(method="uniform", runtime_min=90)
    assert e == Estimate(1.5, 4000, 0, TIME_LIMIT)


def test_more_work_a_slower_device_and_less_efficiency_take_longer() -> None:
    base, planned = _of().hours, _planned(gpus=1, channels=64)
    assert base < _of(steps=40).hours and base < _of(batch_size=64).hours and base < _of(length=128).hours
    t4, h200 = (estimate(planned, device=d).hours for d in ("t4", "h200"))
    assert h200 <= t4
    assert estimate(planned, efficiency=0.01).hours > estimate(planned, efficiency=0.5).hours


def test_a_call_takes_the_longest_of_operations_bytes_and_asking() -> None:
    m = Machine("m", 100.0, 1000.0, 10_000.0, 10.0, 1e9, call_s=0.5)
    by = {
        Call(1000, 0, False): 20.0, Call(1000, 0, True): 2.0, Call(0, 50, False): 10.0, Call(1, 1, False): 0.5,
    }  # fmt: skip
    for call, seconds in by.items():
        assert m.seconds(Work(((call, 3.0),)), bf16=False, efficiency=0.5) == pytest.approx(3 * seconds)
    assert m.seconds(Work(((Call(10_000, 0, False), 1.0),)), bf16=True, efficiency=0.5) == pytest.approx(2.0)


def test_a_run_that_would_not_end_as_asked_is_named() -> None:
    (late,) = _of(steps=10**7, runtime_min=1).concerns
    assert "h counted" in late and "raise runtime_min" in late
    (big,) = _of(mem_mb=500).concerns
    assert "500 asked for: raise mem_mb" in big
    (full,) = estimate(
        _planned(
            "diffusion", gpus=1, runtime_min=10**6, channels=512, batch_size=8192, physical_batch=8192, regime="clipped"
        )
    ).concerns
    assert "a100 has" in full and "lower physical_batch" in full


def test_unknown_devices_and_efficiencies_are_refused() -> None:
    with pytest.raises(ParameterError, match="DEVICE 'abacus' is unknown: there are h200, "):
        estimate(_planned(gpus=1), device="abacus")
    for bad in (0.0, 1.5):
        with pytest.raises(ParameterError, match="must lie in"):
            estimate(_planned(), efficiency=bad)
    assert machine("h200") is MACHINES["h200"]
    assert all(m.float32 <= m.convolution <= m.bfloat16 for m in MACHINES.values())
