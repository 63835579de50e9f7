"""Errors grouped by threat model: whose data an attacker is kept from."""

from __future__ import annotations

import pandas as pd

from trajkit.privacy.guarantee import CONDITIONING, TRAINING
from trajkit.study.cells import BASELINES, core
from trajkit.study.results import StudyResults
from trajkit.study.stats import corrected_interval

ORDER = ("none", TRAINING, CONDITIONING, "both")
MEANS = {
    "none": "nobody is kept from anything: neither set is protected",
    TRAINING: "an attacker who is after the trajectories that the model was trained on; conditions, if any, are not protected",
    CONDITIONING: "an attacker who is after the trajectories that the released ones follow; those trained on are not protected",
    "both": "an attacker who is after either set",
}
COLUMNS = ["threat model", "cell", "model", "condition", "holds", "mean", "low", "high", "folds"]


def by_threat_model(study: StudyResults, *, metric: str = "SWD", value: str = "rescaled") -> pd.DataFrame:
    """One row a core cell: its threat model, mean and corrected 95 % interval of ``metric``; grouped by threat model, best first.

    A cell whose runs differ in their threat model counts as the weakest of them.
    """
    wanted = core(study.runs["cell"])
    chosen = study.results[(study.results["metric"] == metric) & study.results["cell"].isin(wanted)]
    rows = []
    for cell, group in chosen.groupby("cell", sort=False):
        values = group[value].dropna()
        if not len(values) or study.test_ratio is None or group["method"].iloc[0] in BASELINES:
            continue
        i = corrected_interval(values, test_ratio=study.test_ratio)
        weakest = min(group["threat_model"], key=ORDER.index)
        first = group.iloc[0]
        holds = bool(group["holds"].astype(bool).all())
        rows.append((weakest, str(cell), first["method"], first["condition"], holds, i.mean, i.low, i.high, i.k))
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["threat model"] = pd.Categorical(table["threat model"], categories=ORDER, ordered=True)
    table = table.sort_values(["threat model", "mean"], ignore_index=True)
    return table.astype({"threat model": "object", "low": "float64", "high": "float64"})


def meanings() -> pd.DataFrame:
    """One row a threat model: what it means."""
    return pd.DataFrame([{"threat model": name, "what is kept from whom": MEANS[name]} for name in ORDER])
