"""Rule "isolated": four points isolate most people, and k-anonymity needs cells of hundreds of metres and bins of half an hour."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, Found

KNOWN, MOST = 4, 0.9
LEAST_METRES, LEAST_MINUTES = 200.0, 30


def isolated(unicity: pd.DataFrame, antennas: tuple[float, int], report: dict[str, Any] | None) -> Found:
    """Agrees when, at the resolution ``antennas`` (metres, minutes), the interval of the share isolated by `KNOWN` points reaches `MOST`, and the
    finest setting that reaches k within its budget has cells of at least `LEAST_METRES` and bins of at least `LEAST_MINUTES` (or no time).
    Where no setting that was tried does, k needs coarser ones than all of them.

    ``unicity``: `unicity.unicity_of`; ``report``: of a k-anonymous release. Disagrees when either half is clearly otherwise. Not testable
    without both, or with cells that have no side in metres.
    """
    at = unicity
    if len(at):
        at = at[(at["p"] == KNOWN) & (at["metres"] == antennas[0]) & (at["minutes"] == antennas[1])]
    if not len(at) or report is None:
        return NOT_TESTABLE, {}, "this study has no times, shows nothing raw, or has no complete k-anonymous release"
    setting = report["setting"]
    if str(setting["cells"]).startswith("H3"):
        return NOT_TESTABLE, {}, "the k-anonymous release has hexagons, the claim speaks of metres"
    row = at.iloc[0]
    metres, minutes, within = float(str(setting["cells"]).split()[1]), setting["minutes"], report["within budget"]
    figures = {
        f"isolated by {KNOWN} points": f"{row['unicity']:.3f} [{row['low']:.3f}, {row['high']:.3f}] of people at {row['resolution']}",
        "finest setting within the budget": f"{metres:g} m, {'no time' if minutes is None else f'{minutes} min'}"
        if within
        else "none",
    }
    most = bool(row["high"] >= MOST)
    coarse = not within or (metres >= LEAST_METRES and (minutes is None or int(str(minutes)) >= LEAST_MINUTES))
    if most and coarse:
        return (
            AGREES,
            figures,
            f"{KNOWN} points isolate about {MOST:.0%} of people or more, and k needs coarse cells and bins",
        )
    wrong = [] if most else [f"{KNOWN} points isolate fewer than {MOST:.0%}"]
    return (
        DISAGREES,
        figures,
        "; ".join([*wrong, *([] if coarse else ["k is reached with finer cells or bins than said"])]),
    )
