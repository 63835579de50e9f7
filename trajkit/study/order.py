"""In which order runs start: what goes on from another after it, and the longest first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from trajkit.study.params import PlannedRun
from trajkit.study.run_config import RunConfig


def beginnings(runs: Sequence[tuple[str, PlannedRun]]) -> dict[str, str]:
    """Map each run to the one it goes on from: a plain training at a constant rate is the beginning of the next longer one."""
    alike: dict[str, list[tuple[int, str]]] = {}
    for rid, planned in runs:
        asked = planned.config.parameters
        if asked.get("regime") == "plain" and asked.get("decay") == "constant":
            alike.setdefault(_but_for_steps(planned.config), []).append((asked["steps"], rid))
    found: dict[str, str] = {}
    for group in alike.values():
        ordered = sorted(set(group))
        found |= {longer: shorter for (_, shorter), (_, longer) in pairwise(ordered)}
    return found


def longest(runs: Sequence[tuple[str, PlannedRun]]) -> list[str]:
    """Runs that train longest, to be started first: a long run started last keeps one core waiting for the other."""
    asked = {rid: p.config.parameters for rid, p in runs}
    work = {rid: q.get("steps", 0) * q.get("batch_size", 0) * q.get("n_critic", 1) for rid, q in asked.items()}
    return [rid for rid in work if work[rid] == max(work.values())]


def _but_for_steps(config: RunConfig) -> str:
    values: dict[str, Any] = config.model_dump(mode="json")
    values["parameters"].pop("steps")
    return json.dumps(values, sort_keys=True)
