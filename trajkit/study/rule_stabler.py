"""Rule "stabler": over many seeds of a small training, does one cell fail, spike or vary less than another?

Four measures: failed runs and runs with a spike in the loss (Fisher's exact test), spread of each of two metrics over the seeds
(Brown and Forsythe's test, about the median). Tests are two-sided, one-sided ones doubled, and adjusted by Holm over the four.
The direction agrees when at least one measure is clearly lower and none clearly higher, disagrees in the converse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from trajkit.study.claim import NOT_TESTABLE, UNDECIDABLE, Claim, Found, Pair, words
from trajkit.study.stats import holm

MIN_SEEDS = 10


class Measure(NamedTuple):
    """One measure of two cells: what to print, whether the first is lower, and the two-sided p-value."""

    text: str
    lower: bool
    p: float


def stabler(claim: Claim, small: pd.DataFrame, published: bool) -> Found:
    """Apply the rule to ``small``: one row a run with cell, state (complete, failed, missing), spikes and the metrics."""
    a, b = _rows(small, claim.cell), _rows(small, claim.against)
    fewest = min(len(a), len(b))
    if fewest < MIN_SEEDS:
        return NOT_TESTABLE, {}, f"{claim.cell} and {claim.against} need {MIN_SEEDS} seeds each, and have {fewest}"
    missing = int((a["state"] == "missing").sum() + (b["state"] == "missing").sum())
    if missing:
        return NOT_TESTABLE, {}, f"{missing} runs of {claim.cell} and {claim.against} were stopped or never started"
    found = measures(a, b, claim.metrics)
    adjusted = holm([m.p for m in found.values()])
    figures = {
        name: f"{m.text}, Holm-adjusted p = {p:.2g}" for (name, m), p in zip(found.items(), adjusted, strict=True)
    }
    figures |= _beside(claim.beside, small, claim.metrics)
    clear = [(m.lower, name) for (name, m), p in zip(found.items(), adjusted, strict=True) if p < 1 - claim.confidence]
    lower, higher = ([name for is_lower, name in clear if is_lower is side] for side in (True, False))
    yes, no = words(published)
    if lower and not higher:
        return yes, figures, f"clearly lower: {', '.join(lower)}; clearly higher: none"
    if higher and not lower:
        return no, figures, f"clearly higher: {', '.join(higher)}; clearly lower: none"
    if lower:
        return UNDECIDABLE, figures, f"clearly lower: {', '.join(lower)}; clearly higher: {', '.join(higher)}"
    return UNDECIDABLE, figures, "neither failed runs, nor spikes, nor the spread over seeds differ clearly"


def measures(a: pd.DataFrame, b: pd.DataFrame, metrics: list[str]) -> dict[str, Measure]:
    """The measures of the rows ``a`` against the rows ``b``."""
    spiky = [rows["spikes"].dropna() > 0 for rows in (a, b)]
    found = {
        "failed runs": _counts([rows["state"] == "failed" for rows in (a, b)]),
        "runs with a spike": _counts(spiky),
    }
    return found | {f"spread of {m}": _spread(a[m].dropna().to_numpy(), b[m].dropna().to_numpy()) for m in metrics}


def _rows(small: pd.DataFrame, cell: str) -> pd.DataFrame:
    return small[small["cell"] == cell] if len(small) else small


def _counts(flags: list[pd.Series]) -> Measure:
    (x, n), (y, m) = ((int(f.sum()), len(f)) for f in flags)
    table = [[x, n - x], [y, m - y]]
    one_sided = [stats.fisher_exact(table, alternative=side).pvalue if n and m else 1.0 for side in ("less", "greater")]
    return Measure(f"{x} of {n} against {y} of {m}", x * m < y * n, float(min(1.0, 2 * min(one_sided))))


def _spread(a: np.ndarray, b: np.ndarray) -> Measure:
    if min(len(a), len(b)) < 3:
        return Measure(f"only {len(a)} and {len(b)} complete runs", False, 1.0)
    text = f"standard deviation {a.std(ddof=1):.3g} against {b.std(ddof=1):.3g}"
    from_median = [np.abs(x - np.median(x)) for x in (a, b)]
    if not any(np.ptp(d) for d in from_median):
        return Measure(text, False, 1.0)
    p = float(stats.levene(a, b, center="median").pvalue)
    return Measure(text, bool(from_median[0].mean() < from_median[1].mean()), p)


def _beside(pairs: dict[str, Pair], small: pd.DataFrame, metrics: list[str]) -> dict[str, str]:
    """Figures of further pairs, without a test."""
    figures: dict[str, str] = {}
    for variant, pair in pairs.items():
        a, b = _rows(small, pair.cell), _rows(small, pair.against)
        if len(a) and len(b):
            found = measures(a, b, metrics)
            figures |= {f"{name}, {variant} (decides nothing)": m.text for name, m in found.items()}
    return figures
