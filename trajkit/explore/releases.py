"""The releases that can be looked at: finished runs of all questions, and releases of fast methods that are made on the spot.

Both are runs with the ids of the studies: what `make rq7` has finished is never made again here, and what is made here lies in
``.cache/explore/<run id>``, is no run of a study and never enters a report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from trajkit import datasets
from trajkit.datasets.cache import cache_root
from trajkit.release import Release
from trajkit.study.cells import BASELINES, label, parsed
from trajkit.study.folders import OUTPUTS, write_params
from trajkit.study.identity import run_id
from trajkit.study.params import plan_runs, read_question, select_profile
from trajkit.study.rescaling import rescaled
from trajkit.study.run import Run, mark_private
from trajkit.study.run_config import RunConfig
from trajkit.study.workflow import Marks, run_folder

QUESTION = "rq7"  # its cells hold the settings of every method at each epsilon
FAST = ("prefix_tree", "privtrace", "adatrace", "flat", "road_counts")  # seconds each
NO_EPSILON = "none"
BASELINE_NAMES = {
    "real": "real trips (the floor)",
    "uniform": "uniform points (no information)",
    "straight": "straight lines (no information)",
    "cloud": "a cloud of points",
}


@dataclass(frozen=True)
class Entry:
    """One release: of which run, and how it is called in the panel. ``data`` tells what its errors compare with."""

    run_id: str
    config: RunConfig = field(compare=False)
    data: str
    method: str
    epsilon: str
    variant: str

    @property
    def folder(self) -> Path:
        """Folder of the finished run, else the one in the cache."""
        finished = run_folder(self.run_id)
        return finished if (finished / "manifest.json").is_file() else cache_root() / "explore" / self.run_id

    @property
    def made(self) -> bool:
        """Whether the release and its judgement are there."""
        return (self.folder / "metrics.json").is_file()

    @property
    def run(self) -> Run:
        """The run, to look into."""
        return Run(self.folder, self.config)

    def release(self) -> Release:
        """The released trajectories with their guarantee."""
        return self.run.release(None)


def make(entry: Entry) -> None:
    """Fit, release and judge, as the method's notebook does, into the cache; nothing where it is made."""
    if entry.made:
        return
    folder = entry.folder
    folder.mkdir(parents=True, exist_ok=True)
    run = entry.run
    if run.private:
        mark_private(folder)
    write_params(folder, entry.config)
    run.evaluate(run.release(run.fit(progress=False)))


def offered(dataset: str, *, data: str | None, settings: dict[str, Any] | None, profile: str) -> list[Entry]:
    """What can be made on the spot for one data set: the baselines and `FAST` methods of ``params/rq7.yaml`` at each epsilon.

    Raises what the planning of a study raises.
    """
    all_of_it = select_profile(read_question(QUESTION), profile)
    cells = [
        cell
        for cell in all_of_it.cells
        if cell.method in (*BASELINES, *FAST) and not cell.datasets and cell.train_size is None and _plain_series(cell.name)
    ]  # fmt: skip
    chosen = all_of_it.model_copy(update={"cells": cells})
    marks, entries = Marks(), []
    for planned in plan_runs(chosen, dataset=dataset, data=data, settings=settings, seeds=1):
        mark = marks.of(planned.config)
        if mark.roads == "" and planned.config.method == "road_counts":
            continue  # it draws on a road map, and none is known
        rid = run_id(planned.config, data_fingerprint=mark.data, roads_fingerprint=mark.roads)
        entries.append(_entry(rid, planned.cell, planned.replicate, planned.config))
    return entries


def _plain_series(cell: str) -> bool:
    """Whether a cell differs from its method's usual one in nothing but epsilon."""
    name = parsed(cell)
    return cell in BASELINES or (name is not None and (not name.rest or name.rest.startswith("epsilon-")))


def finished() -> list[Entry]:
    """Every finished run that some study in ``outputs/`` planned, each once."""
    found: dict[str, Entry] = {}
    for file in sorted(OUTPUTS.glob("*/*/plan.json")):
        for r in json.loads(file.read_text())["runs"]:
            if r["run_id"] not in found and (run_folder(r["run_id"]) / "manifest.json").is_file():
                found[r["run_id"]] = _entry(r["run_id"], r["cell"], r["replicate"], RunConfig(**r["config"]))
    return list(found.values())


def _entry(rid: str, cell: str, replicate: int, config: RunConfig) -> Entry:
    name = parsed(cell)
    regime = config.parameters.get("regime", "")
    epsilon = None if regime in ("plain", "clipped") else config.parameters.get("epsilon")
    method = BASELINE_NAMES.get(cell, cell) if name is None else label(name.contestant)
    rest = "" if name is None else "-".join(p for p in (name.rest,) if not p.startswith("epsilon-"))
    extra = [{"plain": "without privacy", "clipped": "clipped, no noise"}.get(regime, ""), rest]
    extra += ["as published"] if name is not None and name.published else []
    return Entry(
        rid, config, _data(config), method, NO_EPSILON if epsilon is None else f"{epsilon:g}",
        ", ".join([*filter(None, extra), f"repetition {replicate + 1}"]),
    )  # fmt: skip


def _data(config: RunConfig) -> str:
    """What errors compare within, in words: the data, and the sizes of release and judgement."""
    where = [config.data] if config.data else [f"{k} {v}" for k, v in sorted(config.dataset_settings.items())]
    sizes = f"{config.n_release:,} released, {config.length} points each"
    return f"{config.dataset} ({', '.join(map(str, where))}); {sizes}" if where else f"{config.dataset}; {sizes}"


def judged(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row a made entry and metric: run_id, metric, level, value, rescaled (0: real data, 1: no information; None without floor or ceiling)."""
    rows: list[dict[str, Any]] = []
    for e in entries:
        if e.made:
            compared = json.dumps([e.data, e.config.unit, e.config.evaluation], sort_keys=True)
            rows += [
                {
                    "run_id": e.run_id, "data": compared, "method": e.config.method, "vary": "fold", "fold": e.config.fold,
                    **{k: r[k] for k in ("metric", "level", "value", "unit")},
                }
                for r in json.loads((e.folder / "metrics.json").read_text())["results"]
            ]  # fmt: skip
    return rescaled(pd.DataFrame(rows)) if rows else pd.DataFrame(columns=["run_id", "metric", "level", "rescaled"])


def catalogue(dataset: str, *, data: str | None, settings: dict[str, Any] | None, profile: str) -> list[Entry]:
    """`offered` first, then the `finished` runs that are not among them, of every data set."""
    datasets.dataset(dataset)
    here = offered(dataset, data=data, settings=settings, profile=profile)
    known = {e.run_id for e in here}
    return here + [e for e in finished() if e.run_id not in known]
