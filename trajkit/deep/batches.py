"""Which records a step sees, and how they reach the device."""

from __future__ import annotations

import psutil
import torch
from torch import Tensor

ROWS = 16  # physical batches are filled up to a multiple of this
RECORDS_ON = ("auto", "device", "host")
SHARE = 0.5  # of the free memory of a device: the most that records may take of it


def poisson_sample(n: int, rate: float, generator: torch.Generator) -> Tensor:
    """Return the sorted indices of the records drawn: each of ``n`` independently with probability ``rate`` (to 2^-53)."""
    return torch.nonzero(torch.rand(n, generator=generator, dtype=torch.float64) < rate).flatten()


def padded(start: int, n: int) -> tuple[Tensor, Tensor]:
    """Return row numbers start … start + n - 1, filled up with the last to a multiple of `ROWS`, and 1 or 0: whether a row counts.

    A filled-up row has loss 0 and so gradient 0. Poisson batches differ in size at every step, and convolutions prepare
    themselves anew for each size they have not seen: few sizes make a step twice as fast on a CPU.
    """
    rows = torch.arange(-(-n // ROWS) * ROWS)
    return start + rows.clamp(max=n - 1), (rows < n).float()


def free_memory(device: torch.device) -> int:
    """Bytes that can still be had on ``device``; what torch holds and does not use counts as free."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    return int(psutil.virtual_memory().available)


def placed(records: Tensor, device: torch.device, where: str = "auto") -> Tensor:
    """``records`` on ``device``, moved once ("device", or "auto" where they take at most `SHARE` of its free memory), or where they are ("host")."""
    fits = records.device.type == device.type or records.nbytes <= SHARE * free_memory(device)
    return records.to(device) if where == "device" or (where == "auto" and fits) else records


def taken(records: Tensor, index: Tensor, device: torch.device) -> Tensor:
    """The rows ``index`` of ``records`` on ``device``: chosen there, or chosen on the host and sent from page-locked memory."""
    chosen = records[index.to(records.device)]
    if chosen.device.type == device.type:
        return chosen
    return (chosen.pin_memory() if device.type == "cuda" else chosen).to(device, non_blocking=True)
