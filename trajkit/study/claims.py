"""Claims under test: each has a decision rule written down in ``params/claims.yaml`` before any run that tests it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study.params import ROOT
from trajkit.study.stats import Interval, corrected_interval, holm, paired_ratio
from trajkit.yamlio import load_yaml

UNDECIDABLE = "undecidable at this n"
NOT_TESTABLE = "not testable at this profile"


class Claim(BaseModel):
    """One claim and its rule. ``cell`` and ``against`` are cells of the study, paired by fold.

    ratio: value of ``cell`` over value of ``against``. On the published data at the published size, "reproduced" when every
    primary metric's interval lies in [low, high], "not reproduced" when one lies wholly outside. Elsewhere only the
    direction (ratio above 1) is judged, by Holm-adjusted p-values. ``published_cell`` stands for ``cell`` on the published data.
    unusable: ``cell`` counts as unusable when the interval of its rescaled value lies wholly above ``low`` on any primary
    metric, as usable when it lies below on all; elsewhere than on the published data the direction is judged as for ratio.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    statement: str
    made_in: str
    rule: Literal["ratio", "unusable"]
    cell: str
    against: str
    published_cell: str | None = None
    metrics: list[str] = Field(min_length=1)
    level: Literal["point", "trajectory"]
    low: float
    high: float | None = None
    confidence: float = Field(0.95, gt=0.5, lt=1)
    published_on: list[str]
    model_size: str


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: ``verdict`` in words, the figures it rests on, and why."""

    claim: str
    statement: str
    made_in: str
    verdict: str
    figures: dict[str, str]
    why: str


def read_claims() -> dict[str, Claim]:
    """Read ``params/claims.yaml``."""
    raw = load_yaml(ROOT / "params" / "claims.yaml")
    return {name: checked(Claim, value, where=f"params/claims.yaml: {name}") for name, value in raw.items()}


def judge(
    name: str, claim: Claim, results: pd.DataFrame, *, dataset: str, profile: str, test_ratio: float | None
) -> Verdict:
    """Apply the rule of ``claim`` to ``results`` (columns cell, replicate, metric, level, value, rescaled)."""
    as_published = profile == "paper" and dataset in claim.published_on
    if as_published and claim.published_cell:
        claim = claim.model_copy(update={"cell": claim.published_cell})
    pairs = {m: _paired(results, claim, m) for m in claim.metrics}
    if test_ratio is None or any(len(p) == 0 for p in pairs.values()):
        return _verdict(
            name, claim, NOT_TESTABLE, {}, f"this profile has no complete pair of {claim.cell} and {claim.against}"
        )
    level = 1 - (1 - claim.confidence) / len(claim.metrics)
    ratios = {m: paired_ratio(p["value_a"], p["value_b"], test_ratio=test_ratio, level=level) for m, p in pairs.items()}
    figures = {m: f"ratio {interval}" for m, interval in ratios.items()}
    if not as_published:
        return _verdict(name, claim, *_direction(ratios, figures, claim, dataset, profile))
    if claim.rule == "ratio":
        return _verdict(name, claim, *_within(ratios, figures, claim))
    rescaled = {m: corrected_interval(p["rescaled_a"], test_ratio=test_ratio, level=level) for m, p in pairs.items()}
    return _verdict(name, claim, *_unusable(rescaled, claim))


def _paired(results: pd.DataFrame, claim: Claim, metric: str) -> pd.DataFrame:
    rows = results[(results["metric"] == metric) & (results["level"] == claim.level)]
    columns = ["replicate", "value", "rescaled"]
    a, b = (rows.loc[rows["cell"] == c, columns] for c in (claim.cell, claim.against))
    return a.merge(b, on="replicate", suffixes=("_a", "_b"))


def _direction(
    ratios: dict[str, Interval], figures: dict[str, str], claim: Claim, dataset: str, profile: str
) -> tuple[str, dict[str, str], str]:
    where = f"{dataset} at profile {profile} is not the published setting ({', '.join(claim.published_on)} at profile paper), so only the direction is judged"
    if any(r.p is None for r in ratios.values()):
        return UNDECIDABLE, figures, f"one repetition gives no interval; {where}"
    adjusted = holm([r.p for r in ratios.values() if r.p is not None])
    figures = {m: f"{text}, Holm-adjusted p = {p:.2g}" for (m, text), p in zip(figures.items(), adjusted, strict=True)}
    alpha = 1 - claim.confidence
    sure = [(r.mean > 1, p < alpha) for r, p in zip(ratios.values(), adjusted, strict=True)]
    if all(above and clear for above, clear in sure):
        return "direction agrees", figures, f"every primary metric is clearly worse; {where}"
    if any(not above and clear for above, clear in sure):
        return "direction disagrees", figures, f"a primary metric is clearly better; {where}"
    return UNDECIDABLE, figures, f"not every primary metric differs clearly; {where}"


def _within(ratios: dict[str, Interval], figures: dict[str, str], claim: Claim) -> tuple[str, dict[str, str], str]:
    if claim.high is None:
        raise ParameterError("params/claims.yaml: a ratio rule needs both low and high")
    low, high = claim.low, claim.high
    if any(r.low is not None and r.high is not None and (r.low > high or r.high < low) for r in ratios.values()):
        return "not reproduced", figures, f"a ratio lies wholly outside [{low}, {high}]"
    if all(r.low is not None and r.high is not None and low <= r.low and r.high <= high for r in ratios.values()):
        return "reproduced", figures, f"every ratio lies within [{low}, {high}]"
    return UNDECIDABLE, figures, f"an interval reaches over the border of [{low}, {high}]"


def _unusable(rescaled: dict[str, Interval], claim: Claim) -> tuple[str, dict[str, str], str]:
    figures = {m: f"rescaled {interval}" for m, interval in rescaled.items()}
    if any(r.low is not None and r.low > claim.low for r in rescaled.values()):
        return (
            "reproduced",
            figures,
            f"a primary metric is wholly above {claim.low} (0 = real data, 1 = no information)",
        )
    if all(r.high is not None and r.high < claim.low for r in rescaled.values()):
        return "not reproduced", figures, f"every primary metric is wholly below {claim.low}"
    return UNDECIDABLE, figures, f"an interval contains {claim.low}"


def _verdict(name: str, claim: Claim, verdict: str, figures: dict[str, str], why: str) -> Verdict:
    return Verdict(name, claim.statement, claim.made_in, verdict, figures, why)


def as_json(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Plain dictionaries for ``claims.json``."""
    return [asdict(v) for v in verdicts]
