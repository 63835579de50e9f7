"""Tables of a single anonymized release, from its report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from trajkit.anonymize.anonymizer import MADE
from trajkit.release import HIDDEN
from trajkit.trajectories import Trajectories

SHARE = "share missing"


def missing(report: dict[str, Any]) -> pd.DataFrame:
    """One row a stratum: rounded mean over its people of the share of their trajectories that is not in the release; empty where the method
    does not say, or of too few people."""
    found, rows = report.get("suppressed", {}), []
    for of, value in found.items():
        if isinstance(value, dict):
            rows += [{"of": of, "": name, SHARE: share} for name, share in value.items()]
        elif of in ("trajectories", "users", "points"):
            rows.append({"of": f"all {of}", "": "", SHARE: value})
    return pd.DataFrame(rows, columns=["of", "", SHARE])


def lattice(report: dict[str, Any]) -> pd.DataFrame:
    """One row a setting that was tried, finest first: rounded shares suppressed, and which was taken. Methods with one setting have no row."""
    if "lattice" not in report:
        return pd.DataFrame()
    taken = {k: report["setting"][k] for k in ("cells", "minutes")}
    return pd.DataFrame(
        [
            {
                "cells": row["cells"], "time bins, min": "no time" if row["minutes"] is None else row["minutes"],
                **{f"{what} suppressed": row["suppressed"].get(what) for what in ("trajectories", "users", "points")},
                "taken": "yes" if {k: row[k] for k in taken} == taken else "",
            }
            for row in report["lattice"]
        ]
    )  # fmt: skip


def stages(report: dict[str, Any]) -> pd.DataFrame:
    """One row a stage of an escalation that ran: its setting, rounded shares suppressed in it, and how many trajectories were made."""
    rows = []
    for row in report["stages"]:
        at, lost = row.get("setting"), row.get("suppressed", {})
        time = "" if at is None else "no time" if at["minutes"] is None else at["minutes"]
        rows.append(
            {
                "stage": row["stage"], "cells": at["cells"] if at else "", "time bins, min": time,
                **{f"{what} suppressed": lost.get(what) for what in ("trajectories", "users", "points")}, "made": row.get("made", ""),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def kept_and_made(released: Trajectories) -> dict[str, Trajectories]:
    """What to draw of an escalation: trajectories kept of true ones, and those marked as made, where there are any."""
    marked = np.char.startswith(released.traj_ids.astype(str), MADE)
    parts = {"kept, coarser": released.take(~marked), "made": released.take(marked)}
    return {name: part for name, part in parts.items() if len(part)}


def regions(report: dict[str, Any]) -> pd.DataFrame:
    """One row a size of cloaked region: its area, how many regions and released points there are of it."""
    return pd.DataFrame(report["regions"]).T.rename_axis("region").reset_index()


def held(report: dict[str, Any]) -> pd.DataFrame:
    """One row a region: share of true points that really had k people in it (from true counts)."""
    shares = report[HIDDEN]["share of points with k people in the"]
    return pd.DataFrame({"k people in the": list(shares), "share of points": list(shares.values())})


def figures(report: dict[str, Any]) -> pd.DataFrame:
    """The plain figures of a report, one a row."""
    plain = {k: v for k, v in report.items() if isinstance(v, (int, float, str))}
    return pd.DataFrame({"": list(plain), "value": [str(v) for v in plain.values()]})
