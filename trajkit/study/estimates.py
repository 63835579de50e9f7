"""What a run will cost, before it is run. The one place for such figures: `trajkit.study.sweep` prints them, nothing else knows how they are made."""

from __future__ import annotations

from dataclasses import dataclass

from trajkit.study.params import PlannedAudit, PlannedRun


@dataclass(frozen=True)
class Estimate:
    """hours: wall hours of one job; mem_mb: main memory it asks for; gpus: devices it holds; basis: where ``hours`` comes from."""

    hours: float
    mem_mb: int
    gpus: int
    basis: str

    @property
    def gpu_hours(self) -> float:
        """Hours of all its devices together."""
        return self.hours * self.gpus


def estimate(planned: PlannedRun | PlannedAudit) -> Estimate:
    """Estimate of one run or audit: no more than its time limit, which is what the scheduler reserves."""
    asked = planned.resources
    return Estimate(asked.runtime_min / 60, asked.mem_mb, asked.gpus, "time limit")
