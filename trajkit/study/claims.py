"""Claims under test: each has a decision rule written down in ``params/claims.yaml`` before any run that tests it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from trajkit.parameters import checked
from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE, UNDECIDABLE, Claim, Found, Pair, Verdict
from trajkit.study.folders import ROOT
from trajkit.study.rule_best import best
from trajkit.study.rule_calibration import calibration
from trajkit.study.rule_sequences import sequences
from trajkit.study.rule_stabler import stabler
from trajkit.study.rules import paired_cells
from trajkit.yamlio import load_yaml

__all__ = [
    "AGREES", "DISAGREES", "NOT_TESTABLE", "UNDECIDABLE", "Claim", "Pair", "Verdict", "as_json", "judge", "read_claims",
]  # fmt: skip

# how far a verdict reaches whose figures do not come from the study's data set
PLACES = {
    "calibration": "",
    "audits": "",  # a promise is for every data set: one counterexample settles it
    "sequences": "simulated transit data is not the published data, so only the direction is judged",
    "isolated": "this data set is not antenna data of 1.5 million people, so only the direction is judged",
}


def read_claims() -> dict[str, Claim]:
    """Read ``params/claims.yaml``."""
    raw = load_yaml(ROOT / "params" / "claims.yaml")
    return {name: checked(Claim, value, where=f"params/claims.yaml: {name}") for name, value in raw.items()}


def judge(
    name: str,
    claim: Claim,
    results: pd.DataFrame,
    *,
    dataset: str,
    profile: str,
    test_ratio: float | None,
    small: pd.DataFrame | None = None,
    experiments: pd.DataFrame | None = None,
    own: Mapping[str, Callable[[], Found]] | None = None,
) -> list[Verdict]:
    """Apply the rule of ``claim`` to ``results`` (columns cell, replicate, metric, value, rescaled), once for each model.

    ``small`` holds one row a run of the cells that are there for their stability (`trajkit.study.stability.stability_runs`), ``experiments`` the figures on sequences (`trajkit.study.sequence_study`);
    ``own``: rules that a study applies by itself when they are asked: "isolated", which reads raw data, and "audits".
    """
    published = profile == "paper" and dataset in claim.published_on
    place = f"{dataset} at profile {profile} is not the published setting ({', '.join(claim.published_on)} at profile paper), so only the direction is judged"
    verdicts = []
    for model in claim.models or [""]:
        about = claim.of(model)
        if published and about.published_cell:
            about = about.model_copy(update={"cell": about.published_cell})
        if claim.rule == "sequences":
            verdict, figures, why = sequences(pd.DataFrame() if experiments is None else experiments)
        elif claim.rule in ("isolated", "audits"):
            verdict, figures, why = own[claim.rule]() if own else (NOT_TESTABLE, {}, "no study was given")
        else:
            verdict, figures, why = _found(about, results, small, published, test_ratio)
        scope = "" if published or verdict == NOT_TESTABLE else PLACES.get(claim.rule, place)
        verdicts.append(Verdict(name, model, claim.statement, claim.made_in, verdict, figures, why, scope))
    return verdicts


def _found(
    claim: Claim, results: pd.DataFrame, small: pd.DataFrame | None, published: bool, test_ratio: float | None
) -> Found:
    if claim.rule == "calibration":
        return calibration()
    if claim.rule == "best":
        return best(claim, results, published, test_ratio)
    if claim.rule == "stabler":
        return stabler(claim, pd.DataFrame() if small is None else small, published)
    return paired_cells(claim, results, published, test_ratio)


def as_json(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Plain dictionaries for ``claims.json``."""
    return [asdict(v) for v in verdicts]
