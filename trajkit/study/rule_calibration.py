"""Rule "calibration": three readings of the noise of Theorem 2 against the exact value. Mathematics, so no run is needed."""

from __future__ import annotations

import pandas as pd

from trajkit.study.claim import Found

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DELTA = 1e-5
TOLERANCE = 1e-6
PUBLISHED, LITERAL, REVIEW = "alpha D / sqrt(2 epsilon)", "alpha D / (sqrt(2) epsilon)", "alpha D / epsilon"
WHO = {PUBLISHED: "as published", LITERAL: "the same, read literally", REVIEW: "the review's correction"}


def readings_table(epsilons: tuple[float, ...] = EPSILONS, delta: float = DELTA) -> pd.DataFrame:
    """One row an epsilon and reading: sigma, the exact sigma, their ratio, and the epsilon that the reading really gives."""
    from trajkit.privacy.theorem_2 import readings  # here: nothing else of a study needs it

    return readings(list(epsilons), delta)


def of_reading(table: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The rows of one reading, by the beginning of its name; its epsilons in order."""
    return table[table["reading"].str.startswith(reading)].sort_values("epsilon")


def calibration(table: pd.DataFrame | None = None) -> Found:
    """Reproduced when the published reading is the exact sigma within one in a million at every epsilon."""
    table = readings_table() if table is None else table
    rows = of_reading(table, PUBLISHED)
    worst = float((rows["sigma"] / rows["exact sigma"] - 1).abs().max())
    at = f"epsilon {rows['epsilon'].min():g} to {rows['epsilon'].max():g}"
    figures = {PUBLISHED: f"differs from the exact sigma by {worst:.1e} of it at most ({at})"}
    for reading in (LITERAL, REVIEW):
        last = of_reading(table, reading).iloc[-1]
        figures[f"{reading}, {WHO[reading]}"] = (
            f"sigma {last['sigma']:.3g} instead of {last['exact sigma']:.3g} at epsilon {last['epsilon']:g}, a real epsilon of {last['real epsilon']:.4g}"
        )
    if worst <= TOLERANCE:
        return "reproduced", figures, f"{PUBLISHED} is the exact sigma at every epsilon looked at"
    return "not reproduced", figures, f"{PUBLISHED} is not the exact sigma at every epsilon looked at"
