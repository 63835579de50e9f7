"""Stability of training over many seeds of small cells: failed runs, spikes of the loss, spread of the errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trajkit.study.cells import is_tiny

if TYPE_CHECKING:
    from trajkit.study.results import StudyResults

WINDOW, THRESHOLD, LAST = 20, 6.0, 10
SCALE = 1.4826  # a median absolute deviation times this estimates a standard deviation
METRICS = ("SWD", "JSD")
COLUMNS = ("cell", "replicate", "state", "spikes", *METRICS, "final loss", "threat model")


def spikes(losses: Sequence[float] | np.ndarray, *, window: int = WINDOW, threshold: float = THRESHOLD) -> int:
    """How many logged losses lie above the median of the ``window`` before them by more than ``threshold`` scaled MADs.

    A loss may be negative (a critic's), so nothing is taken as a ratio. The first ``window`` points are not judged.
    """
    x = np.asarray(losses, dtype=np.float64)
    if len(x) <= window:
        return 0
    before = np.lib.stride_tricks.sliding_window_view(x, window)[:-1]
    middle = np.median(before, axis=1)
    spread = SCALE * np.median(np.abs(before - middle[:, None]), axis=1)
    rounding = 1e-9 * np.maximum(np.abs(middle), 1e-300)  # a loss that stands still does not spike by its last digit
    return int((x[window:] - middle > np.maximum(threshold * spread, rounding)).sum())


def stability_runs(study: StudyResults) -> pd.DataFrame:
    """One row a run of the small cells: state (complete, failed, missing), spikes, errors in their own unit, mean of the last losses.

    A run that is neither complete nor failed is missing: it was stopped or never started, which says nothing about stability.
    """
    values = study.tiny.pivot_table(index="run_id", columns="metric", values="value", aggfunc="first")
    rows: list[dict[str, Any]] = []
    for run in study.runs[study.runs["cell"].map(is_tiny)].to_dict("records"):
        history = study.history(run["run_id"])
        losses = history["loss"].dropna().to_numpy() if "loss" in history else np.empty(0)
        complete = bool(run["complete"])
        state = "complete" if complete else "failed" if study.has_failed(run["run_id"]) else "missing"
        known = values.loc[run["run_id"]] if run["run_id"] in values.index else pd.Series(dtype=float)
        rows.append(
            {
                "cell": run["cell"],
                "replicate": run["replicate"],
                "state": state,
                "spikes": float(spikes(losses)) if len(losses) else math.nan,
                **{m: float(known.get(m, math.nan)) for m in METRICS},
                "final loss": float(losses[-LAST:].mean()) if complete and len(losses) else math.nan,
                "threat model": study.guarantee(run["run_id"]).threat_model if complete else None,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stability_table(study: StudyResults) -> pd.DataFrame:
    """One row a small cell: planned, failed and missing runs, runs with a spike, spikes, spread over seeds of errors and final loss."""
    runs = stability_runs(study)
    rows = {}
    for cell, group in runs.groupby("cell", sort=False):
        known = group["threat model"].dropna()
        rows[str(cell)] = {
            "threat model": known.iloc[0] if len(known) else "unknown",
            "planned": len(group),
            "failed": int((group["state"] == "failed").sum()),
            "missing": int((group["state"] == "missing").sum()),
            "runs with a spike": int((group["spikes"] > 0).sum()),
            "spikes": int(group["spikes"].sum()),
            **{f"{m}, mean": group[m].mean() for m in METRICS},
            **{f"{m}, sd over seeds": group[m].std(ddof=1) for m in METRICS},
            "final loss, sd over seeds": group["final loss"].std(ddof=1),
        }
    return pd.DataFrame(rows).T.infer_objects() if rows else pd.DataFrame()
