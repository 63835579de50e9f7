"""Rule "isolated": four points isolate most people, and k-anonymity needs cells of hundreds of metres and bins of half an hour."""

from __future__ import annotations

import pandas as pd

from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, Found

KNOWN, MOST = 4, 0.9
LEAST_METRES, LEAST_MINUTES = 200.0, 30


def isolated(unicity: pd.DataFrame, antennas: tuple[float, int], setting: dict[str, object] | None) -> Found:
    """Agrees when, at the resolution ``antennas`` (metres, minutes), the interval of the share isolated by `KNOWN` points reaches `MOST`, and the
    finest ``setting`` that reaches k within its budget has cells of at least `LEAST_METRES` and bins of at least `LEAST_MINUTES` (or no time).

    ``unicity``: `unicity.unicity_of`. Disagrees when either half is clearly otherwise. Not testable without both.
    """
    at = unicity
    if len(at):
        at = at[(at["p"] == KNOWN) & (at["metres"] == antennas[0]) & (at["minutes"] == antennas[1])]
    if not len(at) or setting is None:
        return NOT_TESTABLE, {}, "this study has no times, shows nothing raw, or has no complete k-anonymous release"
    row = at.iloc[0]
    metres, minutes = float(str(setting["cells"]).split()[1]), setting["minutes"]
    figures = {
        f"isolated by {KNOWN} points": f"{row['unicity']:.3f} [{row['low']:.3f}, {row['high']:.3f}] of people at {row['resolution']}",
        "finest setting within the budget": f"{metres:g} m, {'no time' if minutes is None else f'{minutes} min'}",
    }
    most = bool(row["high"] >= MOST)
    coarse = metres >= LEAST_METRES and (minutes is None or int(str(minutes)) >= LEAST_MINUTES)
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
