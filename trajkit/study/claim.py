"""What a claim under test is, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

UNDECIDABLE = "undecidable at this n"
NOT_TESTABLE = "not testable at this profile"
AGREES, DISAGREES = "direction agrees", "direction disagrees"
ONCE = "one repetition gives no interval"
Found = tuple[str, dict[str, str], str]  # verdict, figures, why


class Pair(BaseModel):
    """Two cells of the study, paired by fold; ``{model}`` stands for each model that the claim is about."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    cell: str
    against: str


class Claim(BaseModel):
    """One claim and its rule, applied to each of ``models``. ``cell`` and ``against`` are cells of the study, paired by fold.

    On the published data at the published size a rule gives "reproduced" or "not reproduced"; elsewhere it gives only the
    direction, or "undecidable at this n". ``published_cell`` stands for ``cell`` on the published data; the pairs ``beside``
    are variants whose figures are shown and decide nothing.

    ratio: value of ``cell`` over value of ``against``. Reproduced when every metric's interval lies in [low, high], not
    reproduced when one lies wholly outside. Direction: the ratio is above 1, by Holm-adjusted p-values.
    unusable: reproduced when the interval of the rescaled value of ``cell`` lies wholly above ``low`` on any metric, not
    reproduced when it lies below on all. Direction: as for ratio.
    at-most: the same ratio. Reproduced when every metric's interval lies wholly below ``high``, not reproduced when one lies
    wholly above; the direction is judged by the same borders.
    coarse-survives: on ``metrics`` (coarse) the rescaled value of ``cell`` lies wholly below ``low``; on ``fine`` it lies wholly
    above, and clearly above that of ``against``. Not reproduced when a coarse one lies wholly above ``low`` or a fine one wholly
    below. The direction is judged by the same borders.
    stabler: over the many seeds of two tiny cells, see `trajkit.study.rule_stabler`.
    best: over all plain and all private cells of the study, see `trajkit.study.rule_best`.
    calibration: a formula against the exact value, needs no run and is judged everywhere, see `trajkit.study.rule_calibration`.

    sequences: over the experiments on sequences, see `trajkit.study.rule_sequences`.
    isolated: over the raw data and the k-anonymous release, see `trajkit.study.rule_isolated`.
    audits: over the audits of the two GAN schemes, see `trajkit.study.rule_audits`.

    A claim about no one model has no ``models``; "best", "calibration", "sequences", "isolated" and "audits" look for their figures themselves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    statement: str
    made_in: str
    rule: Literal[
        "ratio",
        "unusable",
        "at-most",
        "coarse-survives",
        "stabler",
        "best",
        "calibration",
        "sequences",
        "isolated",
        "audits",
    ]
    models: list[str] = []
    cell: str = ""
    against: str = ""
    published_cell: str | None = None
    beside: dict[str, Pair] = {}
    metrics: list[str] = []
    fine: list[str] = []
    low: float | None = None
    high: float | None = None
    confidence: float = Field(0.95, gt=0.5, lt=1)
    published_on: list[str] = []
    model_size: str = ""

    @model_validator(mode="after")
    def _borders(self) -> Self:
        study = ("metrics", "published_on", "model_size")
        pair = (*study, "models", "cell", "against")
        needs: dict[str, tuple[str, ...]] = {
            "ratio": (*pair, "low", "high"),
            "unusable": (*pair, "low"),
            "at-most": (*pair, "high"),
            "coarse-survives": (*pair, "low", "fine"),
            "stabler": pair,
            "best": study,
            "calibration": (),
            "sequences": (),
            "isolated": (),
            "audits": (),
        }
        missing = [n for n in needs[self.rule] if getattr(self, n) in (None, [], "")]
        if missing:
            raise ValueError(f"rule {self.rule} needs {' and '.join(missing)}")
        return self

    def of(self, model: str) -> Claim:
        """The claim about one model: ``{model}`` is filled in."""
        named = {
            k: v and v.format(model=model)
            for k, v in self.model_dump(include={"cell", "against", "published_cell"}).items()
        }
        beside = {
            k: Pair(cell=p.cell.format(model=model), against=p.against.format(model=model))
            for k, p in self.beside.items()
        }
        return self.model_copy(update={**named, "beside": beside, "models": [model]})


@dataclass(frozen=True)
class Verdict:
    """What became of a claim about one model (empty: about none): ``verdict`` in words, its figures, why, how far it reaches."""

    claim: str
    model: str
    statement: str
    made_in: str
    verdict: str
    figures: dict[str, str]
    why: str
    scope: str


def words(published: bool) -> tuple[str, str]:
    """How a verdict is called that says yes, and one that says no."""
    return ("reproduced", "not reproduced") if published else (AGREES, DISAGREES)
