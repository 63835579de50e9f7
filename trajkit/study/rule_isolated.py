"""Rule "isolated": four points isolate most people, and k-anonymity needs cells of hundreds of metres and bins of half an hour."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, UNDECIDABLE, Found

KNOWN, MOST = 4, 0.9
METRES, MINUTES = (200.0, 1000.0), (30, 60)
AS_SAID = "cells of hundreds of metres and bins of 30 to 60 minutes"


def isolated(unicity: pd.DataFrame, antennas: tuple[float, int], report: dict[str, Any] | None) -> Found:
    """Two halves, and both have to agree. First: at the resolution ``antennas`` (metres, minutes), `MOST` of the people or more are alone with
    `KNOWN` points (the whole interval; undecidable where it holds `MOST`). Second: the finest setting that reaches k within its budget
    has cells within `METRES` and bins within `MINUTES`; finer or coarser ones disagree.

    ``unicity``: `unicity.unicity_of`; ``report``: of a k-anonymous release. Not testable without both, or with cells that have no side in metres.
    """
    at = unicity
    if len(at):
        at = at[(at["p"] == KNOWN) & (at["metres"] == antennas[0]) & (at["minutes"] == antennas[1])]
    if not len(at) or report is None:
        return NOT_TESTABLE, {}, "this study has no times, shows nothing raw, or has no complete k-anonymous release"
    if str(report["setting"]["cells"]).startswith("H3"):
        return NOT_TESTABLE, {}, "the k-anonymous release has hexagons, the claim speaks of metres"
    row = at.iloc[0]
    setting, needs = _needed(report)
    figures = {
        f"isolated by {KNOWN} points": f"{row['unicity']:.3f} [{row['low']:.3f}, {row['high']:.3f}] of people at {row['resolution']}",
        "finest setting within the budget": setting,
    }
    alone = f"{KNOWN} points isolate {row['unicity']:.0%} of people"
    if row["high"] < MOST or needs != AS_SAID:
        return DISAGREES, figures, f"{alone}, and k needs {needs}"
    verdict = AGREES if row["low"] >= MOST else UNDECIDABLE
    return verdict, figures, f"{alone}, and k needs {needs}"


def _needed(report: dict[str, Any]) -> tuple[str, str]:
    """The finest setting within the budget, and what k needs, in words."""
    if not report["within budget"]:
        return "none", "coarser cells or bins than all that were tried"
    metres, minutes = float(str(report["setting"]["cells"]).split()[1]), report["setting"]["minutes"]
    setting = f"{metres:g} m, {'no time' if minutes is None else f'{minutes} min'}"
    if minutes is None or metres > METRES[1] or int(minutes) > MINUTES[1]:
        return setting, f"coarser cells or bins than said ({setting})"
    if metres < METRES[0] or int(minutes) < MINUTES[0]:
        return setting, f"finer cells or bins than said ({setting})"
    return setting, AS_SAID
