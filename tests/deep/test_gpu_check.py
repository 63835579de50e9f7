"""The GPU checks, run on the CPU."""

from __future__ import annotations

import pytest
import torch
from deep_toys import TINY

from trajkit.deep import gpu_check

CPU = torch.device("cpu")


def test_without_a_gpu_it_says_so_and_succeeds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_check.main() == 0
    assert capsys.readouterr().out == "not run: no GPU\n"


@pytest.mark.parametrize(
    "check",
    [
        gpu_check.check_gradients,
        gpu_check.check_penalty,
        gpu_check.check_condition,
        gpu_check.check_samples,
        gpu_check.check_physical_batches,
        gpu_check.check_host_records,
        gpu_check.check_resume,
    ],
)
def test_the_cpu_agrees_with_itself(check) -> None:  # type: ignore[no-untyped-def]
    assert check(CPU).passed


def test_bf16_differs_from_single_precision_but_not_much() -> None:
    for check in (gpu_check.check_bf16, gpu_check.check_penalty_bf16):
        row = check(CPU)
        assert row.passed and row.found != "relative error 0.0e+00"


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, while it loads its compiler
def test_the_compiled_step_is_checked_here_without_generating_code(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    real = torch.compile

    def compiled(model: torch.nn.Module) -> object:
        traced.append(type(model).__name__)
        return real(model, backend="eager")

    monkeypatch.setattr(torch, "compile", compiled)
    assert gpu_check.check_compiled(CPU).passed and traced == ["UNet"]


def test_the_counted_memory_is_compared_with_what_is_held() -> None:
    row = gpu_check.check_memory(CPU, TINY, 8, 16)
    assert row.passed and row.found.startswith("counted 0.00 GiB, held")


def test_a_private_step_reports_parameters_and_time() -> None:
    row = gpu_check.check_paper_step(CPU, TINY, 8, 64)
    assert row.passed and "parameters" in row.found and row.check == "private step, 128 records of 8 points"


def test_a_wrong_device_fails_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    real = gpu_check._clipped
    calls: list[int] = []

    def drifting(device: torch.device, *, bf16: bool = False) -> torch.Tensor:
        calls.append(1)
        return real(device, bf16=bf16) * (1.5 if len(calls) == 1 else 1.0)

    monkeypatch.setattr(gpu_check, "_clipped", drifting)
    assert not gpu_check.check_gradients(CPU).passed
