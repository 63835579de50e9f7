"""Small tables that runs and reports share, and how tables look."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trajkit.metrics import METRICS


def drop_table(steps: tuple[dict[str, Any], ...], *, exact: bool) -> pd.DataFrame:
    """One row a step and reason. With ``exact`` false, counts are rounded to one significant digit and marked "about"."""

    def show(count: int) -> str:
        return f"{count:,}" if exact or count == 0 else about(count)

    rows = []
    for s in steps:
        reasons = {**s["dropped"], **{k: [v, 0] for k, v in s["found"].items()}} or {"nothing": [0, 0]}
        for reason, (trajectories, points) in reasons.items():
            label = f"{reason} (found, kept)" if reason in s["found"] else reason
            rows.append({
                "step": s["step"], "settings": ", ".join(f"{k} = {v}" for k, v in s["settings"].items()), "what": label,
                "trajectories": show(trajectories), "points": show(points), "left": f"{show(s['trajectories_out'])} with {show(s['points_out'])} points",
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["step", "settings", "what", "trajectories", "points", "left"])


def about(count: float) -> str:
    """A count to one significant digit."""
    if count < 10:
        return "fewer than 10"
    digits = len(str(int(count))) - 1
    return f"about {round(int(count), -digits):,}"


def tidy(table: pd.DataFrame, *, index: bool = False, precision: int = 3) -> Styler:
    """Return ``table`` styled for a report: text left-aligned and whole, numbers with ``precision`` decimals, no "nan"."""
    left = [
        {"selector": "th, td", "props": "text-align: left; vertical-align: top; max-width: 34em; white-space: normal"}
    ]
    styler = table.style.format(precision=precision, na_rep="").set_table_styles(left)
    return styler if index else styler.hide()


def metric_table() -> pd.DataFrame:
    """One row a metric: name, level, unit, definition."""
    return pd.DataFrame(
        [
            {"metric": m.name, "level": m.level, "unit": m.unit, "what it is": f"{m.title}. {m.definition}"}
            for m in METRICS.values()
        ]
    )
