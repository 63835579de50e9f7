"""What the models of a study are made of and what they cost: parameters, updates, core-seconds, memory."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.release import HIDDEN
from trajkit.study.cells import is_tiny, label
from trajkit.study.results import StudyResults

APART = {
    "parameters apart (critic)": "critic",
    "parameters apart (encoder)": "encoder",
    "parameters apart (condition)": "condition, apart",
}
UPDATES = ("updates of the released network", "generator updates", "critic updates")
COUNTS = ("released network", "critic", "encoder", "condition, apart")


def of_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """``runs`` without those of cells that are there for their stability alone: what they cost compares with nothing."""
    return runs[~runs["cell"].map(is_tiny).astype(bool)]


def parameter_table(study: StudyResults) -> pd.DataFrame:
    """One row a model, condition and size: parameters of the released network, and of what is trained beside it, not released."""
    rows: dict[str, dict[str, Any]] = {}
    for run in of_cells(study.complete[study.complete["method"].isin(study.models)]).to_dict("records"):
        report = study.read(run["run_id"], "release.json")
        if "n_params" not in report:
            continue
        row = {
            "model": label(run["method"]),
            "condition": run["condition"],
            "released network": report["n_params"],
            **{words: report.get(name) for name, words in APART.items()},
        }
        rows.setdefault(str(row), row)
    table = pd.DataFrame(list(rows.values()))
    if not len(table):
        return table
    if (table["condition"] == "none").all():
        table = table.drop(columns=["condition", "condition, apart"])
    reference = table["released network"].iloc[0]
    table["against the first"] = [f"{100 * (n / reference - 1):+.1f} %" for n in table["released network"]]
    return table.astype({c: "Int64" for c in table.columns if c in COUNTS})


def cost_table(study: StudyResults) -> pd.DataFrame:
    """One row a cell, means over repetitions: updates, core-seconds of training, seconds of the rest, peak memory in MB.

    Core-seconds are the seconds of the training steps, since a run has one thread, those included that another run took for it:
    a longer plain training goes on from a shorter one, a release may be reused. The other columns are the run's own.
    """
    rows = []
    for run in of_cells(study.complete).to_dict("records"):
        manifest, report = study.read(run["run_id"], "manifest.json"), study.read(run["run_id"], "release.json")
        seconds = manifest["seconds"]
        rows.append(
            {
                "cell": run["cell"],
                **{name: report.get(name) for name in UPDATES},
                "core-seconds of training": study.training_seconds(run["run_id"]),
                **{f"{k} s": seconds.get(k) for k in ("fit", "release", "evaluate")},
                "run s": manifest["wall_s"],
                "peak MB": manifest["peak_mb"],
            }
        )
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows).astype(dict.fromkeys((*UPDATES, "core-seconds of training"), "float64"))
    table = table.groupby("cell", sort=False).mean().round(1)
    return table.astype(dict.fromkeys(UPDATES, "Int64")).dropna(axis=1, how="all")


def latent_table(study: StudyResults) -> pd.DataFrame:
    """One row a VAE cell: the fewest latent units that any repetition uses; 0 means that the posterior has collapsed."""
    rows = []
    for run in of_cells(study.complete[study.complete["method"] == "vae"]).to_dict("records"):
        report = study.read(run["run_id"], "release.json")
        rows.append(
            {
                "cell": run["cell"],
                "latent units": report.get("latent units"),
                "active": report.get(HIDDEN, {}).get("active latent units"),
            }
        )
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame(rows).groupby("cell", sort=False).min().rename(columns={"active": "active, at least"})
