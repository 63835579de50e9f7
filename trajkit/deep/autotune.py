"""The physical batch that is fastest on this machine: too small wastes calls, too large leaves the caches."""

from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor

from trajkit.deep.engines import Engine, of_records
from trajkit.deep.objective import Objective

CANDIDATES = (16, 32, 64, 96, 128, 192, 256)
REPEATS = 3


def seconds_per_record(
    engine: Engine,
    objective: Objective,
    records: Tensor,
    *,
    candidates: tuple[int, ...] = CANDIDATES,
    repeats: int = REPEATS,
) -> dict[int, float]:
    """Median seconds that the gradients of one record take in physical batches of each size that ``records`` can fill.

    Nothing is learned: the weights stay, and the draws come from a generator of their own.
    """
    generator = torch.Generator().manual_seed(0)
    sizes = [size for size in candidates if size <= len(records)] or [len(records)]
    found = {}
    for size in sizes:
        batch = records[:size]
        drawn = {k: v.to(batch.device) for k, v in objective.draw(size, generator).items()}
        counts = torch.ones(size, device=batch.device)
        seconds = []
        for _ in range(1 + repeats):
            started = time.perf_counter()
            engine.summed(of_records(objective), {"record": batch, **drawn}, counts)
            if batch.is_cuda:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - started)
        found[size] = statistics.median(seconds[1:]) / size
    return found


def fastest_physical_batch(engine: Engine, objective: Objective, records: Tensor) -> int:
    """Return the size with the least time a record."""
    seconds = seconds_per_record(engine, objective, records)
    return min(seconds, key=seconds.__getitem__)
