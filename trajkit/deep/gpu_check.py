"""What `make gpu-check` runs: does a GPU compute what the CPU computes, does it resume exactly, what does a paper-size step need?

Each check takes the device as an argument and returns one `Row`, so that the tests run all of them on the CPU.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor, nn

from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.condition_inputs import ConditionInputs, condition_net
from trajkit.deep.conditioning import Privatised, conditioned
from trajkit.deep.critic import CriticLoss
from trajkit.deep.ddpm import Denoising, alphas_bar, ddim
from trajkit.deep.engines import make_engine, of_records
from trajkit.deep.gpu_parts import (
    DRAWS,
    GRADIENT_TOLERANCE,
    LENGTH,
    PAPER,
    QUICK,
    RECORDS,
    STEPS,
    Row,
    made_model,
    made_trainer,
    normal,
    relative,
)
from trajkit.deep.gpu_settings import check_compiled, check_host_records, check_memory, check_physical_batches
from trajkit.deep.grad_sample import RecordGradients, clipped_sum
from trajkit.deep.halves import Decoder, Encoder
from trajkit.deep.unet import COORDINATES, Sizes, n_params

SAMPLE_TOLERANCE = 1e-2  # in units of half a box, after 10 sampling steps
BF16_TOLERANCE = 0.1  # relative L2 error: bf16 keeps 8 bits


class Stopped(Exception):
    """Ends the interrupted training of `check_resume`."""


def main() -> int:
    """Print the table of all checks on the GPU; 0 when all pass or when there is no GPU, else 1."""
    if not torch.cuda.is_available():
        print("not run: no GPU")
        return 0
    device = torch.device("cuda")
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    checks: list[Callable[[torch.device], Row]] = [
        check_gradients,
        check_penalty,
        check_condition,
        check_samples,
        check_bf16,
        check_penalty_bf16,
        check_physical_batches,
        check_host_records,
        check_compiled,
        check_resume,
        check_memory,
        check_paper_step,
    ]
    rows = [check(device) for check in checks]
    for row in rows:
        print(f"{'pass' if row.passed else 'FAIL'}  {row.check:<44} {row.found:<44} {row.limit}")
    return 0 if all(row.passed for row in rows) else 1


def check_gradients(device: torch.device) -> Row:
    """Clipped sums of per-record gradients on ``device`` against the CPU."""
    return _against_cpu("per-record gradients against the CPU", _clipped, device)


def check_penalty(device: torch.device) -> Row:
    """Clipped sums of a critic's per-record gradients, through its Lipschitz penalty, on ``device`` against the CPU."""
    return _against_cpu("gradients through the penalty against the CPU", _critic_clipped, device)


def check_condition(device: torch.device) -> Row:
    """Clipped sums of the gradients of a network with a private condition on ``device`` against the CPU."""
    return _against_cpu("gradients with a condition against the CPU", _conditional_clipped, device)


def _against_cpu(check: str, gradients: Callable[[torch.device], Tensor], device: torch.device) -> Row:
    error = relative(gradients(device), gradients(torch.device("cpu")))
    limit = f"< {GRADIENT_TOLERANCE:g}"
    return Row(check, f"relative error {error:.1e}", limit, error < GRADIENT_TOLERANCE)


def check_samples(device: torch.device) -> Row:
    """DDIM samples of one model from one noise on ``device`` against the CPU."""
    error = float((_sampled(device) - _sampled(torch.device("cpu"))).abs().max())
    return Row(
        "samples against the CPU",
        f"largest difference {error:.1e}",
        f"< {SAMPLE_TOLERANCE:g}",
        error < SAMPLE_TOLERANCE,
    )


def check_bf16(device: torch.device) -> Row:
    """Clipped sums under bf16 autocast against single precision, both on ``device``."""
    error = relative(_clipped(device, bf16=True), _clipped(device))
    return Row(
        "bf16 drift of the gradients", f"relative error {error:.1e}", f"< {BF16_TOLERANCE:g}", error < BF16_TOLERANCE
    )


def check_penalty_bf16(device: torch.device) -> Row:
    """The same of a critic's clipped sums through its penalty."""
    error = relative(_critic_clipped(device, bf16=True), _critic_clipped(device))
    found = f"relative error {error:.1e}"
    return Row("bf16 drift through the penalty", found, f"< {BF16_TOLERANCE:g}", error < BF16_TOLERANCE)


def check_resume(device: torch.device) -> Row:
    """A training stopped in the middle and resumed from its checkpoint against an uninterrupted one, bit for bit."""
    with tempfile.TemporaryDirectory() as folder:
        whole = made_trainer(device, QUICK, LENGTH, None)
        whole.run()
        path = Path(folder) / "checkpoint.pt"
        stopped = made_trainer(device, QUICK, LENGTH, path)
        stopped.after_step = _stop
        with suppress(Stopped):
            stopped.run()
        resumed = made_trainer(device, QUICK, LENGTH, path)
        resumed.run()
    same = all(torch.equal(a, b) for a, b in zip(whole.parameters, resumed.parameters, strict=True))
    return Row("stopped and resumed equals uninterrupted", "equal" if same else "different", "bit for bit", same)


def check_paper_step(device: torch.device, sizes: Sizes = PAPER, length: int = 200, physical_batch: int = 64) -> Row:
    """One private step at the paper's size: seconds, peak memory, and that all weights stay finite."""
    trainer = made_trainer(device, sizes, length, None, steps=2, records=256, physical_batch=physical_batch)
    seconds: list[float] = [time.monotonic()]

    def note(step: int) -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.monotonic())

    trainer.after_step = note
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    trainer.run()
    peak = f", peak {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB" if device.type == "cuda" else ""
    finite = all(bool(torch.isfinite(p).all()) for p in trainer.parameters)
    found = f"{n_params(trainer.model):,} parameters, {seconds[2] - seconds[1]:.2f} s{peak}"
    return Row(
        f"private step, {trainer.expected_batch:.0f} records of {length} points", found, "finite weights", finite
    )


def _stop(step: int) -> None:
    if step == STEPS // 2:
        raise Stopped


def _clipped(device: torch.device, *, bf16: bool = False) -> Tensor:
    """The clipped sum of the per-record gradients of the quick network, as one CPU vector."""
    objective = Denoising(alphas_bar("linear", 100), (COORDINATES, LENGTH), draws=DRAWS)
    return _summed(made_model(QUICK), objective, device, bf16=bf16)


def _conditional_clipped(device: torch.device) -> Tensor:
    """The same with a compressed condition and VMF noise."""
    asked = ConditionConfig(type="sample", mechanism="vmf", epsilon=20.0)
    private = Privatised.of(asked, delta=None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = condition_net(asked, private, length=LENGTH, size=QUICK.embedding)
    inputs = ConditionInputs(asked, private, length=LENGTH, half_box=1.0, net=net)
    objective = Denoising(alphas_bar("linear", 100), (COORDINATES, LENGTH), draws=DRAWS, condition=inputs)
    return _summed(conditioned(made_model(QUICK), net), objective, device)


def _summed(model: nn.Module, objective: Denoising, device: torch.device, *, bf16: bool = False) -> Tensor:
    model = model.to(device).train()
    drawn = {k: v.to(device) for k, v in objective.draw(RECORDS, torch.Generator().manual_seed(2)).items()}
    network = RecordGradients(model, draws=DRAWS)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
        losses = objective.losses(network, normal(RECORDS, COORDINATES, LENGTH).to(device), drawn)
    network.backward(losses)
    total, _ = clipped_sum(list(model.parameters()), 0.1)
    return torch.cat([g.flatten() for g in total]).cpu()


def _critic_clipped(device: torch.device, *, bf16: bool = False) -> Tensor:
    """The clipped sum of the per-record gradients of a quick critic with penalty, as one CPU vector."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        generator, critic = Decoder(QUICK, LENGTH, 8).to(device), Encoder(QUICK, LENGTH, 1).to(device)
    objective = CriticLoss(generator, 8, pool=RECORDS, seed=0, lipschitz="penalty", penalty_weight=10.0)
    objective.begin_step(0)
    drawn = {k: v.to(device) for k, v in objective.draw(RECORDS, torch.Generator().manual_seed(2)).items()}
    inputs = {"record": normal(RECORDS, COORDINATES, LENGTH).to(device), **drawn}
    engine = make_engine(critic, draws=1, second_order=True, max_grad_norm=0.1)
    losses = of_records(objective)

    def cast(network: nn.Module, given: dict[str, Tensor]) -> Tensor:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            return losses(network, given)

    _, total, _ = engine.summed(cast, inputs, torch.ones(RECORDS, device=device))
    return torch.cat([g.flatten() for g in total]).cpu()


def _sampled(device: torch.device) -> Tensor:
    model = made_model(QUICK).to(device).eval()
    return ddim(model, normal(8, COORDINATES, LENGTH).to(device), alphas_bar("linear", 100), steps=10).cpu()


if __name__ == "__main__":
    sys.exit(main())
