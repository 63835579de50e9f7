"""What a run will cost, before it is run. The one place for such figures: `trajkit.study.sweep` prints them, nothing else knows how they are made.

Deep models are counted (`trajkit.deep.cost`) and timed by a data sheet (`trajkit.study.machines`); everything else keeps its time limit.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from trajkit.datasets.registry import DATASETS
from trajkit.errors import ParameterError
from trajkit.methods import METHODS, method_class
from trajkit.split import N_FOLDS
from trajkit.study.folders import OUTPUTS
from trajkit.study.identity import code_fingerprint
from trajkit.study.machines import DEFAULT_CPU, DEFAULT_GPU, EFFICIENCY, machine
from trajkit.study.params import PlannedAudit, PlannedRun
from trajkit.study.run_config import RunConfig
from trajkit.yamlio import write_text

if TYPE_CHECKING:
    from trajkit.deep.cost import Cost, Step

DEEP = "trajkit.deep."
TIME_LIMIT = "time limit"
BASE_MB = 900  # of a run's process before it trains: interpreter, torch, trajectories
COUNTS = OUTPUTS / "locks" / "cache" / "counts"


@dataclass(frozen=True)
class Estimate:
    """hours: wall hours of one job; mem_mb: main memory it asks for; gpus: devices it holds; basis: where ``hours`` comes from; device_mb:
    counted memory on the device (None: not counted); concerns: why the job would not end as it is asked for."""

    hours: float
    mem_mb: int
    gpus: int
    basis: str
    device_mb: int | None = None
    concerns: tuple[str, ...] = ()

    @property
    def gpu_hours(self) -> float:
        """Hours of all its devices together."""
        return self.hours * self.gpus


def estimate(
    planned: PlannedRun | PlannedAudit, *, device: str | None = None, efficiency: float = EFFICIENCY
) -> Estimate:
    """Estimate of one run or audit.

    A deep run is counted, without loading and metrics: on ``device`` (where GPUs are asked for; one core where none is), at ``efficiency`` of its
    peak. Anything else may take its time limit, which is what the scheduler reserves. Raises ParameterError for an unknown device or an efficiency outside (0, 1].
    """
    if not 0 < efficiency <= 1:
        raise ParameterError(f"EFFICIENCY {efficiency} must lie in (0, 1]")
    asked = planned.resources
    on = machine(device if device and asked.gpus else DEFAULT_GPU if asked.gpus else DEFAULT_CPU)
    if isinstance(planned, PlannedAudit) or not METHODS[planned.config.method].startswith(DEEP):
        return Estimate(asked.runtime_min / 60, asked.mem_mb, asked.gpus, TIME_LIMIT)
    memory = on.memory if asked.gpus else asked.mem_mb * 2**20
    cost = _cost(planned.config, int(memory))
    seconds = on.seconds(cost.work, bf16=bool(planned.config.parameters["bf16"]), efficiency=efficiency)
    basis = f"counted: {cost.work.flops:.1e} FLOP, {cost.work.nbytes:.1e} B on {on.name} (assumed efficiency {efficiency:g})"
    device_mb, concerns = -(-cost.peak // 2**20), []
    if seconds > 60 * asked.runtime_min:
        concerns.append(f"{seconds / 3600:.1f} h counted, {asked.runtime_min / 60:g} h asked for: raise runtime_min")
    if asked.gpus and cost.peak > on.memory:
        concerns.append(f"{device_mb:,} MB counted, {on.name} has {on.memory / 2**20:,.0f}: lower physical_batch")
    if not asked.gpus and device_mb + BASE_MB > asked.mem_mb:
        concerns.append(
            f"{device_mb + BASE_MB:,} MB counted, {asked.mem_mb:,} asked for: raise mem_mb or lower physical_batch"
        )
    return Estimate(seconds / 3600, asked.mem_mb, asked.gpus, basis, device_mb, tuple(concerns))


def _cost(c: RunConfig, memory: int) -> Cost:
    from trajkit.deep.cost import cost_of, key_of

    config = method_class(c.method).Config(**c.parameters)
    step = _step(c.method, key_of(c.method, config))
    return cost_of(config, step, n_train=_trained_on(c), n_release=c.n_release, memory=memory)


def _trained_on(c: RunConfig) -> int:
    """Training trajectories, as far as the settings or the published counts of the data set tell them; else 0."""
    known = c.dataset_settings.get("trips") or DATASETS[c.dataset].expected.get("trajectories", 0)
    return c.train_size or round(known * (1 - 1 / N_FOLDS))


@lru_cache(maxsize=256)
def _step(method: str, key: str) -> Step:
    """The counted step, kept in a file that the code of the models names: counting one takes seconds."""
    from trajkit.deep.cost import Step, count_step

    code = code_fingerprint("trajkit.deep.cost")
    path = COUNTS / f"{hashlib.sha256(json.dumps([method, key, code]).encode()).hexdigest()[:16]}.json"
    if path.is_file():
        return Step.from_json(path.read_text())
    step = count_step(method, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(asdict(step)))
    return step
