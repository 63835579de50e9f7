"""Rules on paired cells: a ratio, unusable, at most, coarse structure that survives."""

from __future__ import annotations

import math

import pandas as pd

from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, ONCE, UNDECIDABLE, Claim, Found, words
from trajkit.study.stats import Interval, corrected_interval, holm, paired_difference, paired_ratio


def paired_cells(claim: Claim, results: pd.DataFrame, published: bool, test_ratio: float | None) -> Found:
    """Apply the rule of ``claim`` (about one model) to its two cells, paired by fold."""
    wanted = [*claim.metrics, *claim.fine]
    pairs = {m: _paired(results, claim.cell, claim.against, m) for m in wanted}
    empty = [m for m in wanted if not len(pairs[m])]
    if test_ratio is None or empty:
        why = f"this study has no complete pair of {claim.cell} and {claim.against}"
        if test_ratio is not None and len(empty) < len(wanted):
            why += f" in {', '.join(empty)}"
        return NOT_TESTABLE, {}, why
    level = 1 - (1 - claim.confidence) / len(wanted)
    if claim.rule == "coarse-survives" or (claim.rule == "unusable" and published):
        pairs = {m: p.dropna() for m, p in pairs.items()}
        if any(not len(p) for p in pairs.values()):
            return (
                NOT_TESTABLE,
                {},
                "a metric has no rescaled value here: real data scores no better than no information",
            )
    if claim.rule == "coarse-survives":
        return _coarse_survives(pairs, claim, published, test_ratio, level)
    ratios = {m: paired_ratio(p["value_a"], p["value_b"], test_ratio=test_ratio, level=level) for m, p in pairs.items()}
    if claim.rule == "at-most":
        found = _at_most(ratios, claim, published)
    elif not published:
        found = _direction(ratios, claim)
    elif claim.rule == "ratio":
        found = _within(ratios, claim)
    else:
        found = _unusable(_rescaled(pairs, test_ratio, level), claim)
    return found[0], {**found[1], **_beside(claim, results, test_ratio, level)}, found[2]


def _paired(results: pd.DataFrame, cell: str, against: str, metric: str) -> pd.DataFrame:
    rows = results[results["metric"] == metric]
    columns = ["replicate", "value", "rescaled"]
    a, b = (rows.loc[rows["cell"] == c, columns] for c in (cell, against))
    return a.merge(b, on="replicate", suffixes=("_a", "_b"))


def _rescaled(pairs: dict[str, pd.DataFrame], test_ratio: float, level: float) -> dict[str, Interval]:
    return {m: corrected_interval(p["rescaled_a"], test_ratio=test_ratio, level=level) for m, p in pairs.items()}


def _beside(claim: Claim, results: pd.DataFrame, test_ratio: float, level: float) -> dict[str, str]:
    figures = {}
    for variant, pair in claim.beside.items():
        for metric in claim.metrics:
            p = _paired(results, pair.cell, pair.against, metric)
            if len(p):
                ratio = paired_ratio(p["value_a"], p["value_b"], test_ratio=test_ratio, level=level)
                figures[f"{metric}, {variant} (decides nothing)"] = f"ratio {ratio}"
    return figures


def _direction(ratios: dict[str, Interval], claim: Claim) -> Found:
    figures = _ratios(ratios)
    if any(r.p is None for r in ratios.values()):
        return UNDECIDABLE, figures, ONCE
    adjusted = holm([r.p for r in ratios.values() if r.p is not None])
    figures = {m: f"{text}, Holm-adjusted p = {p:.2g}" for (m, text), p in zip(figures.items(), adjusted, strict=True)}
    alpha = 1 - claim.confidence
    sure = [(r.mean > 1, p < alpha) for r, p in zip(ratios.values(), adjusted, strict=True)]
    if all(above and clear for above, clear in sure):
        return AGREES, figures, "every primary metric is clearly worse"
    if any(not above and clear for above, clear in sure):
        return DISAGREES, figures, "a primary metric is clearly better"
    return UNDECIDABLE, figures, "not every primary metric differs clearly"


def _within(ratios: dict[str, Interval], claim: Claim) -> Found:
    low, high, figures = claim.low or 0.0, claim.high or math.inf, _ratios(ratios)
    if any(_above(r, high) or _below(r, low) for r in ratios.values()):
        return "not reproduced", figures, f"a ratio lies wholly outside [{low}, {high}]"
    if all(r.low is not None and r.high is not None and low <= r.low and r.high <= high for r in ratios.values()):
        return "reproduced", figures, f"every ratio lies within [{low}, {high}]"
    return UNDECIDABLE, figures, f"an interval reaches over the border of [{low}, {high}]"


def _unusable(rescaled: dict[str, Interval], claim: Claim) -> Found:
    border, figures = claim.low or 0.0, {m: f"rescaled {i}" for m, i in rescaled.items()}
    if any(_above(r, border) for r in rescaled.values()):
        return "reproduced", figures, f"a primary metric is wholly above {border} (0 = real data, 1 = no information)"
    if all(_below(r, border) for r in rescaled.values()):
        return "not reproduced", figures, f"every primary metric is wholly below {border}"
    return UNDECIDABLE, figures, f"an interval contains {border}"


def _at_most(ratios: dict[str, Interval], claim: Claim, published: bool) -> Found:
    high, figures, (yes, no) = claim.high or math.inf, _ratios(ratios), words(published)
    if any(r.low is None for r in ratios.values()):
        return UNDECIDABLE, figures, ONCE
    if any(_above(r, high) for r in ratios.values()):
        return no, figures, f"a ratio lies wholly above {high:g}"
    if all(_below(r, high) for r in ratios.values()):
        return yes, figures, f"every ratio lies wholly below {high:g}"
    return UNDECIDABLE, figures, f"an interval contains {high}"


def _coarse_survives(
    pairs: dict[str, pd.DataFrame], claim: Claim, published: bool, test_ratio: float, level: float
) -> Found:
    border, (yes, no) = claim.low or 0.0, words(published)
    reached = _rescaled(pairs, test_ratio, level)
    lost = {
        m: paired_difference(pairs[m]["rescaled_a"], pairs[m]["rescaled_b"], test_ratio=test_ratio) for m in claim.fine
    }
    figures = {m: f"rescaled {i}" for m, i in reached.items()}
    figures |= {f"{m} against {claim.against}": f"difference {d}" for m, d in lost.items()}
    if any(r.low is None for r in reached.values()):
        return UNDECIDABLE, figures, ONCE
    if any(_above(reached[m], border) for m in claim.metrics):
        return no, figures, f"a coarse metric is wholly above {border}: density or hotspots do not survive"
    if any(_below(reached[m], border) for m in claim.fine):
        return no, figures, f"a road metric is wholly below {border}: road detail survives"
    kept = all(_below(reached[m], border) for m in claim.metrics)
    missing = all(_above(reached[m], border) for m in claim.fine)
    if kept and missing and all(_above(d, 0.0) for d in lost.values()):
        return (
            yes,
            figures,
            f"coarse metrics are wholly below {border}, road metrics wholly above and worse than without DP",
        )
    if kept and missing:
        return UNDECIDABLE, figures, "road detail is missing, but it is not clearly less than without DP"
    return UNDECIDABLE, figures, f"an interval contains {border}"


def _ratios(ratios: dict[str, Interval]) -> dict[str, str]:
    return {m: f"ratio {interval}" for m, interval in ratios.items()}


def _above(interval: Interval, border: float) -> bool:
    return interval.low is not None and interval.low > border


def _below(interval: Interval, border: float) -> bool:
    return interval.high is not None and interval.high < border
