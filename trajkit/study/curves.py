"""Errors along one setting: against epsilon (Ablation I) and against the number of training trajectories."""

from __future__ import annotations

import math

import pandas as pd

from trajkit.study.cells import label
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.stats import corrected_interval

COLUMNS = ["model", "training set", "metric", "x", "mean", "low", "high", "folds"]
WHOLE, SMALL = "whole", "a tenth"


def against_epsilon(study: StudyResults, *, metrics: tuple[str, ...] = PRIMARY) -> pd.DataFrame:
    """Rescaled error of each model at each epsilon (x, infinite for clipping without noise), by training set.

    Empty where the study has fewer than two finite values of epsilon.
    """
    parts = []
    for model in study.models:
        for size, suffix in ((WHOLE, ""), (SMALL, "-small")):
            pattern = rf"{model}-(private{suffix}(-epsilon-[\d.]+)?|clipped{suffix})"
            chosen = study.results[study.results["cell"].astype(str).str.fullmatch(pattern)]
            parts.append(points(study, chosen.assign(x=chosen["target_epsilon"]), model, size, metrics))
    table = joined(parts)
    return table if table.loc[table["x"] < math.inf, "x"].nunique() > 1 else table.iloc[:0]


def against_size(study: StudyResults, *, metrics: tuple[str, ...] = PRIMARY) -> pd.DataFrame:
    """Rescaled error of each model at epsilon 10 against the number of training trajectories (x, two digits of it where
    nothing exact may be shown). Empty where the study has fewer than three sizes."""
    parts = []
    for model in study.models:
        pattern = rf"{model}-private(-small|-n-\d+)?"
        chosen = study.results[study.results["cell"].astype(str).str.fullmatch(pattern)]
        x = chosen["n_train"] if study.may_show_raw else chosen["n_train"].map(lambda n: float(f"{n:.1e}"))
        sizes = chosen.assign(x=x.groupby(chosen["cell"]).transform("median"))
        parts.append(points(study, sizes, model, "", metrics))
    table = joined(parts)
    return table if table["x"].nunique() > 2 else table.iloc[:0]


def points(study: StudyResults, chosen: pd.DataFrame, model: str, size: str, metrics: tuple[str, ...]) -> pd.DataFrame:
    """One row a metric and value of ``x`` over the rows ``chosen``: mean of the rescaled error with its corrected interval."""
    rows = []
    for metric in metrics:
        for x, group in chosen[chosen["metric"] == metric].groupby("x"):
            values = group["rescaled"].dropna()
            if len(values) and study.test_ratio:
                i = corrected_interval(values, test_ratio=study.test_ratio)
                rows.append((label(model), size, metric, float(str(x)), i.mean, i.low, i.high, i.k))
    return pd.DataFrame(rows, columns=COLUMNS)


def joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The parts as one table, which may be empty."""
    found = [p for p in parts if len(p)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)
