"""Tables of a single anonymized release, from its report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.release import HIDDEN

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
