"""The physical batch that is fastest on this machine: too small wastes calls, too large leaves the caches or the memory."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise

import torch
from torch import Tensor

from trajkit.deep.batches import free_memory, taken
from trajkit.deep.engines import Engine, Losses, of_records, trainable
from trajkit.deep.meter import Meter
from trajkit.deep.objective import Objective

CANDIDATES = (16, 32, 64, 96, 128, 192, 256)
LARGE = (384, 512, 768, 1024)  # on a GPU too
REPEATS = 3
MEMORY = 0.8  # of what is free: the most that a physical batch may take


def seconds_per_record(
    engine: Engine,
    objective: Objective,
    records: Tensor,
    losses: Losses | None = None,
    *,
    candidates: tuple[int, ...] | None = None,
    repeats: int = REPEATS,
) -> dict[int, float]:
    """Median seconds that the gradients of one record take in physical batches of each size that ``records`` can fill and memory can hold.

    Nothing is learned: the weights stay, and the draws come from a generator of their own. ``losses``: what the engine takes the
    gradients of, where that is more than the objective's.
    """
    device = trainable(engine.network)[0].device
    asked = candidates or (CANDIDATES if device.type == "cpu" else CANDIDATES + LARGE)
    sizes = [size for size in asked if size <= len(records)] or [len(records)]
    generator, losses = torch.Generator().manual_seed(0), losses or of_records(objective)
    found: dict[int, float] = {}
    peaks: dict[int, int] = {}
    for size in sizes:
        if found and peak_of(size, peaks) > MEMORY * free_memory(device):
            break
        inputs = {"record": taken(records, torch.arange(size), device)}
        inputs |= {k: v.to(device) for k, v in objective.draw(size, generator).items()}
        counts = torch.ones(size, device=device)
        with Meter() as meter:
            engine.summed(losses, inputs, counts)
        peaks[size] = meter.peak
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            engine.summed(losses, inputs, counts)
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - started)
        found[size] = statistics.median(seconds) / size
    return found


def peak_of(size: int, peaks: dict[int, int]) -> float:
    """Bytes that ``size`` records will take, from what smaller batches took: on the line through the last two, through 0 where there is one."""
    if size in peaks:
        return peaks[size]
    (a, at_a), (b, at_b) = list(pairwise([(0, 0), *sorted(peaks.items())]))[-1]
    return at_b + (size - b) * max(0.0, (at_b - at_a) / (b - a))


def fastest_physical_batch(engine: Engine, objective: Objective, records: Tensor, losses: Losses | None = None) -> int:
    """Return the size with the least time a record."""
    seconds = seconds_per_record(engine, objective, records, losses)
    return min(seconds, key=seconds.__getitem__)
