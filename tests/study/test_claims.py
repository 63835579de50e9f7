"""Decision rules: each verdict is reached on figures made for it, and never off the published data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trajkit.study.claims import NOT_TESTABLE, UNDECIDABLE, Claim, judge, read_claims


def _results(private: list[float], plain: list[float], metrics: tuple[str, ...] = ("SWD", "JSD")) -> pd.DataFrame:
    rows = []
    for cell, values in (("private", private), ("plain", plain)):
        for i, v in enumerate(values):
            rows += [
                {"cell": cell, "replicate": i, "metric": m, "level": "point", "value": v, "rescaled": v}
                for m in metrics
            ]
    return pd.DataFrame(rows)


C1 = Claim(
    statement="doubles", made_in="x", rule="ratio", cell="private", against="plain", metrics=["SWD", "JSD"], level="point",
    low=1.5, high=3.0, published_on=["porto"], model_size="paper",
)  # fmt: skip
C2 = C1.model_copy(update={"rule": "unusable", "low": 0.5, "high": None})


def _verdict(
    claim: Claim, private: list[float], plain: list[float], *, dataset: str = "porto", profile: str = "paper"
) -> str:
    return judge("C", claim, _results(private, plain), dataset=dataset, profile=profile, test_ratio=0.25).verdict


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


def test_a_missing_cell_is_not_testable() -> None:
    only = _results([1.0, 2.0], [1.0, 2.0]).query("cell == 'plain'")
    assert judge("C", C1, only, dataset="porto", profile="paper", test_ratio=0.25).verdict == NOT_TESTABLE


def test_machinery_sees_an_injected_effect_and_none_between_plain_and_plain() -> None:
    rng = np.random.default_rng(7)
    verdicts = {"same": [], "injected": []}
    for _ in range(200):
        plain = np.exp(rng.normal(-2, 0.15, (2, 3)))
        verdicts["same"].append(_verdict(C1, list(plain[0]), list(plain[1]), dataset="city"))
        verdicts["injected"].append(_verdict(C1, list(plain[0] * 20), list(plain[1]), dataset="city"))
    assert np.mean([v == UNDECIDABLE for v in verdicts["same"]]) > 0.9
    assert np.mean([v == "direction agrees" for v in verdicts["injected"]]) > 0.9


def test_the_committed_claims_state_everything() -> None:
    claims = read_claims()
    assert {"C1", "C2"} <= set(claims)
    for claim in claims.values():
        assert claim.metrics == ["SWD", "JSD"] and claim.published_on and claim.model_size
