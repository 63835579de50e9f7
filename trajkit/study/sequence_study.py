"""The experiments on sequences, done once for each set of settings and kept under ``outputs/sequences/``."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd

from trajkit.classical.prefix_experiments import ExperimentSettings, run_experiments
from trajkit.study.folders import OUTPUTS
from trajkit.study.identity import code_fingerprint
from trajkit.study.runner import lock
from trajkit.yamlio import write_text


def experiment_file(settings: ExperimentSettings) -> Path:
    """Where the table of these settings and this code lies, or will lie."""
    parts = [settings.model_dump(mode="json"), code_fingerprint("trajkit.classical.prefix_experiments")]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return OUTPUTS / "sequences" / f"{digest[:12]}.csv"


def ensure_experiments(settings: ExperimentSettings) -> Path:
    """Run the experiments where they are missing, and return their table's file; a line on the screen says how long it took."""
    file = experiment_file(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock(OUTPUTS / "locks" / f"sequences-{file.stem}.lock"):
        if not file.is_file():
            print(f"experiments on {settings.n:,} sequences over {settings.locations:,} locations", flush=True)
            started = time.monotonic()
            table = run_experiments(settings)
            write_text(file.with_suffix(".json"), settings.model_dump_json(indent=1))
            write_text(file, table.to_csv(index=False))
            print(f"done: experiments on sequences in {time.monotonic() - started:.0f} s [{file.stem}]", flush=True)
    return file


def read_experiments(settings: dict[str, Any] | None) -> pd.DataFrame:
    """The table of planned experiments; empty where none are planned or they were not run yet."""
    if not settings:
        return pd.DataFrame()
    file = experiment_file(ExperimentSettings(**settings))
    return pd.read_csv(file, keep_default_na=False) if file.is_file() else pd.DataFrame()
