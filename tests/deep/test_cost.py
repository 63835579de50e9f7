"""What is counted before a training is what the training does."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from deep_toys import LENGTH, SMALL_CONFIG, TINY_CONFIG, toy_trajectories

from trajkit.deep.cost import COUNTED, Cost, Step, _largest, cost_of, count_step, key_of
from trajkit.deep.deep_config import DeepConfig
from trajkit.deep.meter import Meter, Work
from trajkit.methods import method_class
from trajkit.parameters import checked

GIB = 2**30


def _config(method: str, **changes: Any) -> DeepConfig:
    small = TINY_CONFIG if method == "diffusion" else SMALL_CONFIG
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in {**small, **changes}.items()}
    return checked(method_class(method).Config, values, where="test")  # type: ignore[return-value]


def _cost(method: str, *, n_train: int = 40, n_release: int = 10, memory: int = GIB, **changes: Any) -> Cost:
    config = _config(method, **changes)
    step = count_step(method, key_of(method, config))
    return cost_of(config, step, n_train=n_train, n_release=n_release, memory=memory)


PRIVATE = {"regime": "private", "noise_multiplier": 1.0}
USER = {"unit": "user", "trips_per_user": 2}
CASES = [
    ("diffusion", {}), ("diffusion", PRIVATE), ("diffusion", {**PRIVATE, **USER}), ("vae", PRIVATE),
    ("gan", {"n_critic": 1}), ("gan", {**PRIVATE, "n_critic": 1}), ("gan", {**PRIVATE, "n_critic": 1, "lipschitz": "slope", "fakes": "separate"}),
    ("gan", {**PRIVATE, "n_critic": 1, "dp_target": "generator"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "changes"), CASES)
def test_a_counted_step_is_the_step_that_a_cpu_runs(method: str, changes: dict[str, Any]) -> None:
    config = _config(method, **changes, batch_size=32, physical_batch=32, steps=1)
    records = toy_trajectories(32)
    trainer, _, _ = method_class(method)(config).trainer_for(records, seed=0, identity="x")  # type: ignore[attr-defined]
    with Meter() as meter:
        trainer._take_step()  # 32 records, since the rate is 1
    counted = _cost(method, **changes, batch_size=32, physical_batch=32, steps=1)
    assert len(trainer.records) == 32
    assert counted.training.flops == pytest.approx(meter.work.flops, rel=0.01)
    assert counted.training.nbytes == pytest.approx(
        meter.work.nbytes, rel=0.25
    )  # passes over the parameters are estimated
    assert meter.peak < counted.peak < 4 * meter.peak + trainer.records.nbytes


def test_more_steps_larger_batches_and_more_samples_cost_in_proportion() -> None:
    one = _cost("diffusion", steps=10)
    assert _cost("diffusion", steps=30).training.flops == pytest.approx(3 * one.training.flops)
    assert _cost("diffusion", steps=10, batch_size=32, physical_batch=4).training.flops == pytest.approx(
        4 * one.training.flops
    )
    assert _cost("diffusion", steps=10, n_release=30).sampling.flops == pytest.approx(3 * one.sampling.flops)
    assert _cost("diffusion", steps=10, sampling_steps=10).sampling.flops == pytest.approx(2 * one.sampling.flops)
    assert one.work.flops == one.training.flops + one.sampling.flops
    more = _cost("gan", n_critic=6)
    assert more.training.flops > 1.5 * _cost("gan", n_critic=3).training.flops


def test_clipping_takes_one_gradient_a_record_of_memory() -> None:
    config = _config("diffusion", **PRIVATE)
    step = count_step("diffusion", key_of("diffusion", config))
    plain = count_step("diffusion", key_of("diffusion", _config("diffusion")))
    numbers = plain.gradient // 4
    private, without = ((s.peak_of(100) - s.peak_of(50)) / 50 for s in (step, plain))
    assert 4 * numbers <= private <= without + 4.5 * numbers
    assert step.state == plain.state == 6 * 4 * numbers


def test_a_physical_batch_that_is_to_be_found_is_the_largest_that_fits() -> None:
    def size(memory: int, n_train: int = 40) -> int:
        asked = {**PRIVATE, "batch_size": 512, "physical_batch": None}
        return _cost("diffusion", n_train=n_train, memory=memory, **asked).physical_batch

    assert size(GIB) == 512
    step = count_step("diffusion", key_of("diffusion", _config("diffusion", **PRIVATE)))
    assert step.peak_of(_largest(step, 512, step.peak_of(100))) <= step.peak_of(100)
    assert _largest(step, 512, step.peak_of(96)) == 96 and _largest(step, 512, 0) == 16 and _largest(step, 8, 0) == 8
    assert size(4 * 2**20) < 512


def test_records_take_memory_on_the_device_where_they_fit() -> None:
    few, many = (_cost("vae", n_train=n).peak for n in (0, 1000))
    assert many - few == 1000 * 2 * LENGTH * 4
    assert _cost("vae", n_train=10**9).peak == few  # they stay on the host


def test_what_changes_no_operation_is_counted_once() -> None:
    clipped = key_of("diffusion", _config("diffusion", regime="clipped"))
    assert clipped == key_of("diffusion", _config("diffusion", **PRIVATE, learning_rate=1e-4, steps=9, bf16=True))
    assert clipped != key_of("diffusion", _config("diffusion")) != key_of("diffusion", _config("diffusion", blocks=2))
    condition = {"type": "sample", "mechanism": "vmf", "epsilon": 20.0, "d_out": 4}
    assert key_of("vae", _config("vae", condition=condition)) == key_of("vae", _config("vae"))
    assert key_of("gan", _config("gan", condition=condition)) != key_of("gan", _config("gan"))
    assert count_step("gan", key_of("gan", _config("gan", condition=condition))).batch.flops > 0


def test_a_counted_step_can_be_kept_as_json() -> None:
    step = count_step("vae", key_of("vae", _config("vae")))
    assert Step.from_json(json.dumps(asdict(step))) == step and isinstance(step.batch, Work)
    assert step.of(COUNTED) == step.batch
