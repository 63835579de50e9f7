"""Decision rules: each verdict is reached on figures made for it, and never off the published data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study.claims import NOT_TESTABLE, UNDECIDABLE, Claim, judge, read_claims

PRIMARY = ("SWD", "JSD")


def _results(cells: dict[str, list[float]], metrics: tuple[str, ...] = PRIMARY) -> pd.DataFrame:
    rows = [
        {"cell": cell, "replicate": i, "metric": m, "value": v, "rescaled": v}
        for cell, values in cells.items()
        for i, v in enumerate(values)
        for m in metrics
    ]
    return pd.DataFrame(rows)


def _claim(**changes: Any) -> Claim:
    base = {
        "statement": "doubles", "made_in": "x", "rule": "ratio", "models": ["vae"], "cell": "{model}-private",
        "against": "{model}-plain", "metrics": list(PRIMARY), "low": 1.5, "high": 3.0, "published_on": ["porto"], "model_size": "paper",
    }  # fmt: skip
    return checked(Claim, {**base, **changes}, where="test")


C1 = _claim()
C2 = _claim(rule="unusable", low=0.5, high=None)
C3 = _claim(rule="at-most", low=None, high=1.1)


def _verdict(
    claim: Claim, private: list[float], plain: list[float], *, dataset: str = "porto", profile: str = "paper"
) -> str:
    results = _results({"vae-private": private, "vae-plain": plain})
    (found,) = judge("C", claim, results, dataset=dataset, profile=profile, test_ratio=0.25)
    return found.verdict


@pytest.mark.parametrize(
    ("private", "expected"),
    [
        ([2.0, 2.01, 1.99], "reproduced"),
        ([1.0, 1.01, 0.99], "not reproduced"),
        ([9.0, 9.01, 8.99], "not reproduced"),
        ([1.0, 2.0, 4.0], UNDECIDABLE),
        ([2.0], UNDECIDABLE),
    ],
)
def test_ratio_on_the_published_data(private: list[float], expected: str) -> None:
    assert _verdict(C1, private, [1.0] * len(private)) == expected


@pytest.mark.parametrize(
    ("private", "expected"),
    [
        ([2.0, 2.1, 1.9], "direction agrees"),
        ([0.5, 0.51, 0.49], "direction disagrees"),
        ([0.5, 1.0, 2.0], UNDECIDABLE),
        ([2.0], UNDECIDABLE),
    ],
)
def test_elsewhere_only_the_direction_is_judged(private: list[float], expected: str) -> None:
    assert _verdict(C1, private, [1.0] * len(private), dataset="city") == expected
    assert _verdict(C1, private, [1.0] * len(private), profile="quick") == expected
    assert _verdict(C2, private, [1.0] * len(private), dataset="city") == expected


@pytest.mark.parametrize(
    ("rescaled", "expected"),
    [([0.9, 0.91, 0.89], "reproduced"), ([0.1, 0.11, 0.09], "not reproduced"), ([0.2, 0.5, 0.8], UNDECIDABLE)],
)
def test_unusable_on_the_published_data(rescaled: list[float], expected: str) -> None:
    assert _verdict(C2, rescaled, [0.1] * 3) == expected


@pytest.mark.parametrize(
    ("private", "published", "elsewhere"),
    [
        ([1.0, 1.01, 0.99], "reproduced", "direction agrees"),
        ([0.5, 0.51, 0.49], "reproduced", "direction agrees"),  # better is no contradiction
        ([1.5, 1.51, 1.49], "not reproduced", "direction disagrees"),
        ([0.8, 1.1, 1.5], UNDECIDABLE, UNDECIDABLE),
        ([1.0], UNDECIDABLE, UNDECIDABLE),
    ],
)
def test_at_most(private: list[float], published: str, elsewhere: str) -> None:
    assert _verdict(C3, private, [1.0] * len(private)) == published
    assert _verdict(C3, private, [1.0] * len(private), dataset="city", profile="quick") == elsewhere


def test_a_variant_stands_beside_and_decides_nothing() -> None:
    claim = _claim(
        rule="at-most",
        low=None,
        high=1.1,
        beside={"published protocol": {"cell": "{model}-x", "against": "{model}-y"}},
    )
    cells = {"vae-private": [1.5, 1.51, 1.49], "vae-plain": [1.0] * 3, "vae-x": [0.5] * 3, "vae-y": [1.0] * 3}
    (found,) = judge("C", claim, _results(cells), dataset="porto", profile="paper", test_ratio=0.25)
    assert found.verdict == "not reproduced"
    assert found.figures["SWD, published protocol (decides nothing)"].startswith("ratio 0.5")


LOW, HIGH, WIDE = [0.1, 0.11, 0.09], [0.9, 0.91, 0.89], [0.2, 0.5, 0.8]


@pytest.mark.parametrize(
    ("coarse", "fine", "fine_plain", "expected"),
    [
        (LOW, HIGH, LOW, "reproduced"),
        (HIGH, HIGH, LOW, "not reproduced"),
        (LOW, LOW, LOW, "not reproduced"),
        (WIDE, HIGH, LOW, UNDECIDABLE),
        (LOW, WIDE, LOW, UNDECIDABLE),
        (LOW, HIGH, HIGH, UNDECIDABLE),  # never there, so not lost to DP
        (LOW[:1], HIGH[:1], LOW[:1], UNDECIDABLE),
    ],
)
def test_coarse_survives_and_fine_is_lost(
    coarse: list[float], fine: list[float], fine_plain: list[float], expected: str
) -> None:
    claim = _claim(rule="coarse-survives", metrics=["SWD"], fine=["ORP"], low=0.5, high=None)
    results = pd.concat([
        _results({"vae-private": coarse, "vae-plain": LOW[: len(coarse)]}, ("SWD",)),
        _results({"vae-private": fine, "vae-plain": fine_plain}, ("ORP",)),
    ])  # fmt: skip
    (found,) = judge("C", claim, results, dataset="porto", profile="paper", test_ratio=0.25)
    assert found.verdict == expected
    (off,) = judge("C", claim, results, dataset="city", profile="full", test_ratio=0.25)
    words = {"reproduced": "direction agrees", "not reproduced": "direction disagrees"}
    assert off.verdict == words.get(expected, expected)


def test_without_road_metrics_it_is_not_testable() -> None:
    claim = _claim(rule="coarse-survives", metrics=["SWD"], fine=["ORP"], low=0.5, high=None)
    results = _results({"vae-private": LOW, "vae-plain": LOW})
    (found,) = judge("C", claim, results, dataset="porto", profile="paper", test_ratio=0.25)
    assert found.verdict == NOT_TESTABLE and "in ORP" in found.why


@pytest.mark.parametrize(
    "claim", [C2, _claim(rule="coarse-survives", metrics=["SWD"], fine=["JSD"], low=0.5, high=None)]
)
def test_without_a_scale_it_is_not_testable(claim: Claim) -> None:
    results = _results({"vae-private": LOW, "vae-plain": LOW}).assign(rescaled=np.nan)
    (found,) = judge("C", claim, results, dataset="porto", profile="paper", test_ratio=0.25)
    assert found.verdict == NOT_TESTABLE and "no rescaled value" in found.why


def test_a_missing_cell_is_not_testable() -> None:
    only = _results({"vae-plain": [1.0, 2.0]})
    (found,) = judge("C", C1, only, dataset="porto", profile="paper", test_ratio=0.25)
    assert found.verdict == NOT_TESTABLE and "vae-private" in found.why


def test_each_model_gets_its_own_verdict() -> None:
    claim = _claim(models=["vae", "gan"])
    results = _results({"vae-private": [2.0, 2.01, 1.99], "vae-plain": [1.0] * 3, "gan-plain": [1.0] * 3})
    found = judge("C", claim, results, dataset="porto", profile="paper", test_ratio=0.25)
    assert [(v.model, v.verdict) for v in found] == [("vae", "reproduced"), ("gan", NOT_TESTABLE)]


def test_machinery_sees_an_injected_effect_and_none_between_plain_and_plain() -> None:
    rng = np.random.default_rng(7)
    verdicts = {"same": [], "injected": []}
    for _ in range(200):
        plain = np.exp(rng.normal(-2, 0.15, (2, 3)))
        verdicts["same"].append(_verdict(C1, list(plain[0]), list(plain[1]), dataset="city"))
        verdicts["injected"].append(_verdict(C1, list(plain[0] * 20), list(plain[1]), dataset="city"))
    assert np.mean([v == UNDECIDABLE for v in verdicts["same"]]) > 0.9
    assert np.mean([v == "direction agrees" for v in verdicts["injected"]]) > 0.9


def test_a_rule_without_its_border_is_refused() -> None:
    with pytest.raises(ParameterError, match="rule ratio needs high"):
        _claim(high=None)
    with pytest.raises(ParameterError, match="needs fine"):
        _claim(rule="coarse-survives")


def test_the_committed_claims_state_everything() -> None:
    claims = read_claims()
    assert set(claims) == {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11"}
    for name, claim in claims.items():
        if claim.rule in ("calibration", "sequences", "isolated", "audits"):  # no data set of the study decides them
            continue
        assert claim.metrics[:2] == ["SWD", "JSD"] and claim.published_on and claim.model_size
        assert len(claim.metrics) == 2 or name == "C11"
