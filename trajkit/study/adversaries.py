"""What four adversaries find in each release of a study (`attacks.adversaries`), kept beside the run that was attacked.

All figures are for the first repetition and measured on true records, so they are shown where raw data may be. Each is what one attack
achieves: no bound, and nothing that compares with an epsilon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from trajkit.attacks.adversaries import F1, MATCHED, PLACES, Truth, attack
from trajkit.attacks.street_countermeasures import compare
from trajkit.methods import method_class
from trajkit.study.cells import CONTRASTS, parsed
from trajkit.study.kept_rows import keep_rows, kept_rows
from trajkit.study.results import StudyResults
from trajkit.study.risk import attackable, in_short, named
from trajkit.study.run import Run

NAMING = (PLACES, MATCHED)
CELLS_M, TARGETS = (250.0, 1000.0), 200  # of the countermeasures
COLUMNS = (
    *("cell", "release", "guarantee", "k", "protects", "adversary", "measure", "value", "low", "high", "guess", "reason"),
    "inferred",
)  # fmt: skip


def adversary_table(study: StudyResults) -> pd.DataFrame:
    """One row a release and measure (`attacks.adversaries.Finding`), contrasts first: the columns of `COLUMNS`.

    protects  whether anything is promised; ``k``: of how many persons, where it is anonymity (none where k counts trajectories)
    inferred  the truth is what the same attack makes of the raw data, as nobody knows streets and homes: raw trips reach it by construction
    Empty where nothing raw may be shown.
    """
    if not study.may_show_raw:
        return pd.DataFrame(columns=COLUMNS)
    runs = attackable(study)
    keep_rows([*runs.values()], "adversaries", found_in)
    rows = [
        {"cell": cell, "release": named(cell), **row}
        for cell in sorted(runs, key=lambda c: not _contrast(c))
        for row in found_in(runs[cell])
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def found_in(run: Run) -> list[dict[str, Any]]:
    """The rows of one run, computed once for this code and kept in its folder."""
    return kept_rows(run, "adversaries", _attacked)


def _attacked(run: Run) -> list[dict[str, Any]]:
    release, truth = run.release(None), _truth(run)
    config = method_class(run.config.method).Config(**run.config.parameters)
    findings = attack(truth, run.config.method, config.model_dump(), release, run.origin(), seed=run.config.seed)
    g = release.guarantee
    about = {
        "guarantee": in_short(g),
        "k": g.k if g.holds and g.unit != "trajectory" else None,
        "protects": g.holds,
        "inferred": truth.inferred,
    }
    return [{**about, **f.as_row()} for f in findings]


_KNOWN: dict[str, Truth] = {}  # of the training set that was asked for last: a study's first runs share one


def _truth(run: Run) -> Truth:
    train = run.fold.train
    mark = f"{train.fingerprint()} {train.meta} {run.roads.fingerprint() if run.roads else ''}"
    if mark not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[mark] = Truth(train, run.roads)
    return _KNOWN[mark]


def surely_named(table: pd.DataFrame) -> dict[str, tuple[str, float, float]]:
    """Of each cell that promises k persons and in which one is named surely more often than 1 / k: measure, mean probability, and 1 / k.

    "Surely": the whole 95 % interval lies above. The promise may stand all the same: it is about cells, lines or single places, or about
    few points, and this adversary knows more.
    """
    out: dict[str, tuple[str, float, float]] = {}
    known = table[table["measure"].isin(NAMING) & table["k"].notna()] if len(table) else table
    for row in known.sort_values("value").to_dict("records"):
        if row["low"] > 1 / row["k"]:
            out[row["cell"]] = (row["measure"], row["value"], 1 / row["k"])
    return out


def adversary_panel(table: pd.DataFrame, adversary: str) -> pd.DataFrame:
    """What one adversary finds where he can be tried, releases as rows and measures as columns: "value (95 % from to; guess)"."""
    part = table[(table["adversary"] == adversary) & (table["reason"] == "")]
    measures = list(dict.fromkeys(part["measure"]))
    rows = []
    for _, own in part.groupby("cell", sort=False):
        found = {r["measure"]: _told(r) for r in own.to_dict("records")}
        about = {"release": own["release"].iloc[0], "promise": own["guarantee"].iloc[0]}
        rows.append(about | {m: found.get(m, "") for m in measures})
    return pd.DataFrame(rows)


def untried(table: pd.DataFrame, adversary: str) -> str:
    """Where one adversary has nothing to start from, and why, in a sentence; empty where he was tried on every release."""
    part = table[(table["adversary"] == adversary) & (table["reason"] != "")]
    said = [f"{', '.join(own['release'])} ({reason})" for reason, own in part.groupby("reason", sort=False)]
    return f"Nothing to start from in {'; in '.join(said)}." if said else ""


def countermeasures(study: StudyResults) -> pd.DataFrame:
    """What printing another place of the cell than its centre does against map matching, and what larger cells do: `street_countermeasures`.

    Of the first training set, `TARGETS` trips. Empty where nothing raw may be shown or no road map is known.
    """
    if not study.may_show_raw or (run := study.first).roads is None or len(run.fold.train) < 2:
        return pd.DataFrame()
    truth = _truth(run)
    table = compare(truth.raw, truth.streets, run.roads, cells_m=CELLS_M, seed=0, targets=TARGETS)
    columns = {"f1": F1, "named_before": PLACES, "named_after": MATCHED}
    return table[["cells_m", "printed", "adversary", *columns]].rename(columns={**columns, "cells_m": "cells, m"})


def _told(row: dict[str, Any]) -> str:
    value, digits = row["value"], 0 if row["measure"].endswith(", m") or "people who" in row["measure"] else 2
    if value is None or np.isnan(value):
        return "nobody"
    text = f"{value:.{digits}f}"
    if row["low"] is not None and not np.isnan(row["low"]):
        text += f" ({row['low']:.{digits}f} to {row['high']:.{digits}f}; guess {row['guess']:.{digits}f})"
    return text


def _contrast(cell: str) -> bool:
    name = parsed(cell)
    return cell == "real" or (name is not None and name.model in CONTRASTS)
