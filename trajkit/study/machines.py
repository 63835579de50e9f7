"""What devices can do, by their makers' data sheets, and how long counted work takes on one.

A call takes the longest of three: its operations at the device's rate, its bytes at the device's bandwidth, and the time to ask for it.
Rates and bandwidth are peaks, of which ``efficiency`` is reached: an assumption, not a measurement, so every figure made with it is a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajkit.errors import ParameterError

if TYPE_CHECKING:
    from trajkit.deep.meter import Work

EFFICIENCY = 0.4
DEFAULT_GPU, DEFAULT_CPU = "a100", "core"


@dataclass(frozen=True)
class Machine:
    """Peak operations a second in float32, in the arithmetic of float32 convolutions (TF32 on GPUs) and in bfloat16 (dense); bytes a second;
    bytes of memory; seconds to ask for one call."""

    name: str
    float32: float
    convolution: float
    bfloat16: float
    bandwidth: float
    memory: float
    call_s: float = 8e-6

    def seconds(self, work: Work, *, bf16: bool, efficiency: float) -> float:
        """Seconds that ``work`` takes."""
        total = 0.0
        for call, times in work.calls:
            rate = self.bfloat16 if bf16 else self.convolution if call.convolution else self.float32
            busy = max(call.flops / rate, call.nbytes / self.bandwidth) / efficiency
            total += times * max(busy, self.call_s)
        return total


MACHINES = {
    m.name: m
    for m in (
        Machine("h200", 67e12, 494e12, 989e12, 4.8e12, 141e9),
        Machine("h100", 67e12, 494e12, 989e12, 3.35e12, 80e9),
        Machine("a100", 19.5e12, 156e12, 312e12, 2.0e12, 80e9),
        Machine("l40s", 91.6e12, 183e12, 362e12, 0.864e12, 48e9),
        Machine("t4", 8.1e12, 8.1e12, 8.1e12, 0.32e12, 16e9),
        Machine(
            "core", 0.1e12, 0.1e12, 0.1e12, 15e9, float("inf"), 5e-6
        ),  # one core with 8-wide fused multiply-add at 3 GHz
    )
}


def machine(name: str) -> Machine:
    """Return one. Raises ParameterError naming those there are."""
    if name not in MACHINES:
        raise ParameterError(f"DEVICE {name!r} is unknown: there are {', '.join(MACHINES)}")
    return MACHINES[name]
