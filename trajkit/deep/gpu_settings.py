"""GPU checks of how a step is computed: in what batches, from where the records come, compiled, and in how much memory."""

from __future__ import annotations

import torch
from torch import Tensor

from trajkit.deep.batches import poisson_sample
from trajkit.deep.gpu_parts import GRADIENT_TOLERANCE, PAPER, Row, made_trainer, relative
from trajkit.deep.meter import Meter
from trajkit.deep.trainer import Trainer
from trajkit.deep.unet import Sizes

MEMORY_FACTOR = 1.5  # libraries keep working space of their own


def check_physical_batches(device: torch.device) -> Row:
    """The clipped sum of one step in one physical batch against small ones."""
    error = relative(_summed(made_trainer(device, physical_batch=64)), _summed(made_trainer(device, physical_batch=8)))
    return _row("one physical batch against several", error)


def check_compiled(device: torch.device) -> Row:
    """The gradient sum of a plain step through a compiled network against an eager one."""
    eager, compiled = (
        _summed(made_trainer(device, regime="plain", physical_batch=64, compile=c)) for c in (False, True)
    )
    return _row("a compiled step against an eager one", relative(compiled, eager))


def check_host_records(device: torch.device) -> Row:
    """A training whose records stay on the host against one whose records lie on the device, bit for bit."""
    trained = [made_trainer(device, records_on=where) for where in ("device", "host")]
    for trainer in trained:
        trainer.run()
    same = all(torch.equal(a, b) for a, b in zip(trained[0].parameters, trained[1].parameters, strict=True))
    return Row("records on the host equal records on the device", "equal" if same else "different", "bit for bit", same)


def check_memory(device: torch.device, sizes: Sizes = PAPER, length: int = 200, physical_batch: int = 128) -> Row:
    """The most memory that a private step holds on ``device`` against what is counted of it."""
    trainer = made_trainer(device, sizes, length, steps=1, records=2 * physical_batch, physical_batch=physical_batch)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    held = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    with Meter() as meter:
        _summed(trainer)
    measured = torch.cuda.max_memory_allocated(device) - held if device.type == "cuda" else meter.peak
    found = f"counted {meter.peak / 2**30:.2f} GiB, held {measured / 2**30:.2f} GiB"
    return Row("counted memory of a step", found, f"within {MEMORY_FACTOR:g}", measured <= MEMORY_FACTOR * meter.peak)


def _summed(trainer: Trainer) -> Tensor:
    """The clipped gradient sum of the first step, as one CPU vector."""
    trainer.objective.begin_step(0)
    index = poisson_sample(len(trainer.records), trainer.settings.sample_rate, trainer.generators["sampler"])
    total, _, _ = trainer._summed_gradient(index, trainer.objective.draw(len(index), trainer.generators["draws"]))
    return torch.cat([g.flatten() for g in total]).cpu()


def _row(check: str, error: float) -> Row:
    return Row(check, f"relative error {error:.1e}", f"< {GRADIENT_TOLERANCE:g}", error < GRADIENT_TOLERANCE)
