"""Which release for which use: a table made from a study's errors by a rule that is written down here.

Among releases that promise differential privacy, and among those that promise anonymity, the one with the lowest mean error over the
metrics of a use is taken, if all of these errors are below `USABLE`: closer to real data than to no information. A usable DP release comes
first, because its promise holds whatever an adversary knows and adds up over releases; then a usable anonymous one, with what an attack
made of it; else none. An anonymous release in which an adversary with a street map names people surely more often than 1 / k is set aside:
whoever reads "k" takes it for that.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.study.adversaries import adversary_table, surely_named
from trajkit.study.ranking import USABLE
from trajkit.study.results import StudyResults
from trajkit.study.risk import SPACE, named, risk_table
from trajkit.study.silence import HOURS, silence_table

USES = {
    "a matrix of trips (where from, where to, when)": ("TE", HOURS),
    "a map of hotspots": ("JSD", "HS"),
    "single paths in detail": ("DTW", "FP", "ORP"),
}
DP, ANONYMOUS = "dp", "anonymity"
ASIDE = "anonymous, but set aside"
UNTRIED = "not known: the data is private, so no adversary was tried"


def errors_by_cell(study: StudyResults) -> pd.DataFrame:
    """Rescaled errors, cells as rows and metrics as columns (means over repetitions), "trips by hour" among them where it is known."""
    if not len(study.results):
        return pd.DataFrame()
    table = study.results.pivot_table(index="cell", columns="metric", values="rescaled", aggfunc="mean")
    table = table.reindex([c for c in dict.fromkeys(study.results["cell"]) if c in table.index])
    more = silence_table(study).set_index("cell").reindex(table.index)
    return table.assign(**{HOURS: more[f"{HOURS}, rescaled"].astype(float)})


def decisions(study: StudyResults) -> pd.DataFrame:
    """One row a use: its metrics, the best DP and the best anonymous release with their errors, which were set aside, and what to take."""
    errors = errors_by_cell(study)
    kinds = {cell: _kind(study, cell) for cell in errors.index}
    risk = risk_table(study)
    risk = risk[risk["fields"] == SPACE].set_index("cell")["auc"].to_dict() if len(risk) else {}
    aside = surely_named(adversary_table(study))
    rows = []
    for use, metrics in USES.items():
        known = [m for m in metrics if m in errors and errors[m].notna().any()]
        row: dict[str, Any] = {"use": use, "judged by": ", ".join(known) or "nothing: no metric of it is measured here"}
        best = {
            kind: _best(errors[known], [c for c, k in kinds.items() if k == kind and c not in aside]) if known else None
            for kind in (DP, ANONYMOUS)
        }
        for kind, title in ((DP, "best with DP"), (ANONYMOUS, "best with anonymity")):
            row[title] = _said(errors[known], best[kind])
        row[ASIDE] = UNTRIED if not study.may_show_raw else "; ".join(
            f"{named(c)} ({measure} {value:.2f}, 1/k is {limit:.2f})" for c, (measure, value, limit) in aside.items() if kinds.get(c) == ANONYMOUS
        )  # fmt: skip
        row["take"] = _taken(errors[known], best, risk, aside=any(kinds.get(c) == ANONYMOUS for c in aside))
        rows.append(row)
    return pd.DataFrame(rows)


def _kind(study: StudyResults, cell: str) -> str:
    """`DP`, `ANONYMOUS` (k people behind what is known of a trajectory, all of it or, for LKC-privacy, few points), or empty for neither."""
    g = study.guarantee(study.complete.loc[study.complete["cell"] == cell, "run_id"].iloc[0])
    if not g.holds or cell in ("uniform", "straight", "cloud"):
        return ""
    return DP if g.kind == "dp" else ANONYMOUS if g.unit == "user" else ""


def _best(errors: pd.DataFrame, cells: list[str]) -> str | None:
    """The lowest mean among those that are usable, or among all where none is."""
    known = errors.loc[cells].dropna()
    usable = known[(known < USABLE).all(axis=1)]
    means = (usable if len(usable) else known).mean(axis=1)
    return str(means.idxmin()) if len(means) else None


def _said(errors: pd.DataFrame, cell: str | None) -> str:
    if cell is None:
        return "none"
    return f"{named(cell)} ({', '.join(f'{m} {v:.2f}' for m, v in errors.loc[cell].items())})"


def _taken(errors: pd.DataFrame, best: dict[str, str | None], risk: dict[str, float], *, aside: bool) -> str:
    for kind in (DP, ANONYMOUS):
        cell = best[kind]
        if cell is not None and (errors.loc[cell] < USABLE).all():
            if kind == DP:
                return named(cell)
            measured = f", attacked with an AUC of {risk[cell]:.2f}" if cell in risk else ""
            return f"{named(cell)}, which does not add up over releases{measured}"
    if all(cell is None for cell in best.values()):
        left = (
            "each release with a promise was set aside or not measured"
            if aside
            else "no release with a promise was measured"
        )
        return f"nothing here: {left} by these metrics"
    return "nothing here: the best release of each promise is closer to no information than to real data on one of the metrics"
