"""What a condition costs, keeps and gives away: tables of the report on conditional generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from trajkit.release import HIDDEN
from trajkit.study.cells import CONDITIONS, MECHANISMS, conditional, is_tiny, label, parsed
from trajkit.study.curves import COLUMNS, joined, points
from trajkit.study.results import PRIMARY, StudyResults


def comparisons(study: StudyResults) -> list[tuple[str, str, str]]:
    """Pairs to compare: (what, conditional cell, the same without a condition), as far as the study has both."""
    planned = list(dict.fromkeys(study.runs["cell"]))
    pairs = []
    for cell in conditional(planned):
        name = parsed(cell)
        if name and name.unconditional in planned:
            regime = "with DP-SGD" if name.regime == "private" else name.regime
            pairs.append((f"{CONDITIONS[name.condition]}, {regime} ({label(name.model)})", cell, name.unconditional))
    return pairs


def _reports(study: StudyResults) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Complete conditional runs, those for stability left out, each with its release.json."""
    for run in study.complete.to_dict("records"):
        if run["condition"] not in ("", "none") and not is_tiny(run["cell"]):
            yield run, study.read(run["run_id"], "release.json")


def signal_table(study: StudyResults) -> pd.DataFrame:
    """One row a cell with a mechanism: mean cosine between a compressed condition and its private version, measured and predicted."""
    rows = []
    for run, report in _reports(study):
        hidden = report.get(HIDDEN, {})
        if "predicted cosine" in hidden:
            rows.append(
                {
                    **{k: run[k] for k in ("cell", "condition", "epsilon_c", "d_out")},
                    "mean cosine": hidden.get("mean cosine"),
                    "predicted": hidden["predicted cosine"],
                }
            )
    if not rows:
        return pd.DataFrame(
            columns=["cell", "condition", "epsilon_c", "d_out", "mean cosine", "predicted", "difference"]
        )
    table = pd.DataFrame(rows).astype({"mean cosine": "float64", "predicted": "float64", "d_out": "float64"})
    table = table.groupby(["cell", "condition", "epsilon_c", "d_out"], sort=False).mean().reset_index()
    return table.assign(difference=table["mean cosine"] - table["predicted"]).astype({"d_out": "Int64"})


def leak_table(study: StudyResults) -> pd.DataFrame:
    """One row a conditional cell: how close a released trajectory is to its own condition, and how often that gives it away.

    ratio: median distance to the own conditioning trajectory over the median distance to an unrelated one; 1 means no closer.
    found: share of releases whose own condition is the nearest among 100.
    """
    rows = []
    for run, report in _reports(study):
        leak = report.get(HIDDEN, {}).get("leak")
        if leak:
            guarantee = study.guarantee(run["run_id"])
            kept = {k: float(leak[k]) for k in ("ratio", "found", "chance")}
            rows.append(
                {
                    **{k: run[k] for k in ("cell", "condition", "epsilon_c")},
                    "threat model": guarantee.threat_model,
                    **kept,
                }
            )
    if not rows:
        return pd.DataFrame(
            columns=["cell", "condition", "epsilon_c", "threat model", "ratio", "found", "chance", "runs"]
        )
    keys = ["cell", "condition", "epsilon_c", "threat model"]
    grouped = pd.DataFrame(rows).groupby(keys, sort=False, dropna=False)
    return grouped.mean().assign(runs=grouped.size()).reset_index()


def overhead_table(study: StudyResults) -> pd.DataFrame:
    """One row a conditional cell, means over repetitions: cost of training, memory and parameters (what embeds the condition
    included), and how much more than without.

    Core-seconds as in `trajkit.study.costs.cost_table`; "without" is the same cell without a condition.
    """
    facts = _facts(study)
    rows: dict[str, dict[str, Any]] = {}
    for _, cell, without in comparisons(study):
        if cell in facts.index and without in facts.index:
            a, b = facts.loc[cell], facts.loc[without]
            rows[cell] = {
                "core-seconds": a["core-seconds"],
                "without": b["core-seconds"],
                "time": f"{100 * (a['core-seconds'] / b['core-seconds'] - 1):+.0f} %",
                "peak MB": a["peak MB"],
                "memory": f"{100 * (a['peak MB'] / b['peak MB'] - 1):+.0f} %",
                "parameters of network and condition": a["parameters"],
                "parameters": f"{100 * (a['parameters'] / b['parameters'] - 1):+.1f} %",
            }
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame(rows).T.infer_objects().astype({"parameters of network and condition": "float64"}).round(1)


def _facts(study: StudyResults) -> pd.DataFrame:
    rows = []
    for run in study.complete[study.complete["method"].isin(study.models)].to_dict("records"):
        if not is_tiny(run["cell"]):
            manifest, report = study.read(run["run_id"], "manifest.json"), study.read(run["run_id"], "release.json")
            rows.append(
                {
                    "cell": run["cell"],
                    "core-seconds": study.training_seconds(run["run_id"]),
                    "peak MB": manifest["peak_mb"],
                    "parameters": report.get("n_params", 0) + report.get("parameters apart (condition)", 0),
                }
            )
    if not rows:
        return pd.DataFrame()
    numbers = ["core-seconds", "peak MB", "parameters"]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, "float64")).groupby("cell", sort=False).mean()


def against_condition(study: StudyResults, along: str, *, metrics: tuple[str, ...] = PRIMARY) -> pd.DataFrame:
    """Rescaled error of private models against ``along`` ("epsilon_c" or "d_out"), a line a mechanism (Ablations II and III).

    Empty where the study varies it over fewer than two values.
    """
    parts = []
    for model in study.models:
        for key, name in MECHANISMS.items():
            wanted = study.results["cell"].astype(str).str.fullmatch(rf"{model}-{key}-private(-{along}-[\d.]+)?")
            chosen = study.results[wanted.astype(bool)]
            table = points(study, chosen.assign(x=chosen[along].astype("float64")), model, "", metrics)
            parts.append(table.assign(model=f"{label(model)}, {name}"))
    table = joined(parts)
    return table if table["x"].nunique() > 1 else pd.DataFrame(columns=COLUMNS)
