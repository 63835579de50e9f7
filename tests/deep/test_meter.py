"""What is counted of a piece of code equals what is counted by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from trajkit.deep.engines import make_engine
from trajkit.deep.meter import Call, Meter, Work

CPU, META = torch.device("cpu"), torch.device("meta")
B, INPUTS, OUTPUTS = 8, 30, 20


def _step(device: torch.device, records: int, clip: float | None, model: nn.Module | None = None) -> Meter:
    with device:
        model = model or nn.Linear(INPUTS, OUTPUTS)
    engine = make_engine(model, draws=1, second_order=False, max_grad_norm=clip)
    x, counts = torch.zeros(records, INPUTS, device=device), torch.ones(records, device=device)
    with Meter() as meter:
        engine.summed(lambda network, inputs: network(inputs["record"]).square().sum(1), {"record": x}, counts)
    return meter


def test_a_linear_layer_and_a_convolution_by_hand() -> None:
    x = torch.zeros(B, 3, 50, device=META)
    with META:
        linear, conv = nn.Linear(INPUTS, OUTPUTS), nn.Conv1d(3, 5, 3, padding=1)
    with Meter() as meter:
        linear(torch.zeros(B, INPUTS, device=META))
    assert meter.work.flops == 2 * B * INPUTS * OUTPUTS
    with Meter() as meter:
        out = conv(x)
    assert meter.work.flops == 2 * B * 5 * 3 * 3 * 50
    assert meter.work.calls == (
        (Call(2 * B * 5 * 3 * 3 * 50, 4 * (x.numel() + 5 * 3 * 3 + 5 + out.numel()), True), 1.0),
    )
    with Meter() as meter:
        loss = conv(x.requires_grad_()).sum()
        loss.backward()
    assert meter.work.flops == 3 * 2 * B * 5 * 3 * 3 * 50  # forward, gradient of the input, gradient of the kernel


@pytest.mark.parametrize("device", [CPU, META])
def test_a_training_step_costs_forward_and_gradient_on_any_device(device: torch.device) -> None:
    plain, clipped = _step(device, B, None), _step(device, B, 0.1)
    assert plain.work.flops == 2 * 2 * B * INPUTS * OUTPUTS
    assert clipped.work.flops >= plain.work.flops
    assert plain.work == _step(CPU, B, None).work and clipped.peak == _step(META, B, 0.1).peak


def test_per_record_gradients_take_records_times_parameters_times_four_bytes() -> None:
    n, more = INPUTS * OUTPUTS + OUTPUTS, 64
    own = 4 * (OUTPUTS * 4 + 4)  # what a record has besides: outputs, their squares and gradients, losses, norms
    for clip, expected in ((0.1, 4 * n), (None, 0)):
        slope = (_step(META, B + more, clip).peak - _step(META, B, clip).peak) / more
        assert expected <= slope <= expected + own


def test_memory_is_what_is_held_at_once_and_what_came_from_outside_is_not_counted() -> None:
    outside = torch.zeros(1000, device=META)
    with Meter() as meter:
        for _ in range(5):
            made = outside + 1  # the one before is freed only when the next is there
        made.add_(1)
        made.view(10, 100)
    assert meter.peak == 2 * 4000 and meter.held == 4000
    del made
    assert meter.held == 0


def test_views_are_no_calls_and_work_adds_and_scales() -> None:
    with Meter() as meter:
        torch.zeros(4, 6).view(24).reshape(2, 12).t()
    assert meter.work.n_calls == 1  # the zeros
    one = Work(((Call(10, 4, False), 2.0),))
    assert (one + one) == one * 2 and (one * 2).flops == 40 and (one * 0.5).nbytes == 4
