"""Rules that look at more than one pair of cells: each verdict is reached on figures made for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_ins

from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.study import rule_calibration
from trajkit.study.claims import AGREES, DISAGREES, NOT_TESTABLE, UNDECIDABLE, Claim, Verdict, judge, read_claims

C4, C5, C7 = (read_claims()[name] for name in ("C4", "C5", "C7"))
PRIVATE, PLAIN = "vae-gaussian-private-tiny", "vae-private-tiny"


# ---- C4: stabler ------------------------------------------------------------------------------------------------


def _small(
    cell: str, *, n: int = 10, failed: int = 0, spiky: int = 0, sd: float = 1.0, state: str = ""
) -> pd.DataFrame:
    """``n`` runs, ``failed`` of them failed, ``spiky`` with a spike, errors spread by ``sd``."""
    values = 5 + sd * np.linspace(-1, 1, n)
    rows = [
        {
            "cell": cell, "replicate": i, "state": state or ("failed" if i < failed else "complete"), "spikes": float(i >= n - spiky),
            **dict.fromkeys(("SWD", "JSD"), np.nan if i < failed or state else v),
        }
        for i, v in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _stabler(a: dict[str, Any], b: dict[str, Any], **more: pd.DataFrame) -> Verdict:
    small = pd.concat([_small(PRIVATE, **a), _small(PLAIN, **b), *more.values()])
    claim = C4.model_copy(update={"models": ["vae"]})
    (found,) = judge("C4", claim, pd.DataFrame(), dataset="city", profile="quick", test_ratio=None, small=small)
    return found


@pytest.mark.parametrize(
    ("mechanism", "without", "expected", "why"),
    [
        ({}, {"failed": 9}, AGREES, "clearly lower: failed runs"),
        ({}, {"spiky": 9}, AGREES, "clearly lower: runs with a spike"),
        ({"sd": 0.05}, {}, AGREES, "clearly lower: spread of SWD, spread of JSD"),
        ({"failed": 9}, {}, DISAGREES, "clearly higher: failed runs"),
        ({}, {"sd": 0.05}, DISAGREES, "clearly higher: spread of SWD"),
        ({"spiky": 10}, {"failed": 9}, UNDECIDABLE, "clearly lower: failed runs; clearly higher: runs with a spike"),
        ({}, {}, UNDECIDABLE, "neither failed runs"),
        ({"failed": 1}, {"failed": 3, "spiky": 2}, UNDECIDABLE, "neither failed runs"),
        ({"n": 9}, {}, NOT_TESTABLE, "need 10 seeds each, and have 9"),
        ({"state": "missing"}, {}, NOT_TESTABLE, "10 runs of"),
        ({"failed": 10}, {"failed": 10}, UNDECIDABLE, "neither failed runs"),
    ],
)
def test_stabler(mechanism: dict[str, Any], without: dict[str, Any], expected: str, why: str) -> None:
    found = _stabler(mechanism, without)
    assert found.verdict == expected and why in found.why, found
    assert (found.scope == "") is (expected == NOT_TESTABLE)


def test_stabler_shows_the_pairs_beside_and_they_decide_nothing() -> None:
    beside = pd.concat([_small("vae-gaussian-plain-tiny"), _small("vae-plain-tiny", failed=9)])
    found = _stabler({}, {}, beside=beside)
    assert found.verdict == UNDECIDABLE
    assert found.figures["failed runs, without DP-SGD (decides nothing)"] == "0 of 10 against 9 of 10"
    assert found.figures["failed runs"] == "0 of 10 against 0 of 10, Holm-adjusted p = 1"


def test_without_small_cells_stability_is_not_testable() -> None:
    found = judge("C4", C4, pd.DataFrame(), dataset="city", profile="smoke", test_ratio=None)
    assert [v.model for v in found] == ["diffusion", "vae", "gan"] and {v.verdict for v in found} == {NOT_TESTABLE}


def test_equal_stability_is_rarely_told_apart() -> None:
    rng = np.random.default_rng(3)
    told = []
    for _ in range(100):
        a, b = (
            _small(c).assign(
                SWD=rng.normal(size=10), JSD=rng.normal(size=10), spikes=rng.integers(0, 2, 10),
                state=np.where(rng.random(10) < 0.2, "failed", "complete"),
            ) for c in (PRIVATE, PLAIN)
        )  # fmt: skip
        claim = C4.model_copy(update={"models": ["vae"]})
        (found,) = judge(
            "C4", claim, pd.DataFrame(), dataset="city", profile="quick", test_ratio=None, small=pd.concat([a, b])
        )
        told.append(found.verdict != UNDECIDABLE)
    assert np.mean(told) < 0.08


# ---- C5: best ---------------------------------------------------------------------------------------------------

LEVELS = {"SWD": "point", "JSD": "point", "RQ": "point", "DTW": "trajectory"}
BASE = {
    "diffusion-plain": 0.4, "vae-plain": 0.45, "gan-plain": 0.5, "diffusion-sample-plain": 0.1, "gan-published-plain": 0.01,
    "diffusion-private": 0.6, "vae-private": 0.7, "gan-private": 0.2, "diffusion-sample-private": 0.01,
}  # fmt: skip
WOBBLE = {"a": [0.0, 0.002, -0.002], "b": [0.001, -0.002, 0.001]}


def _study(changes: dict[str, Any] | None = None, *, repetitions: int = 3, wide: tuple[str, ...] = ()) -> pd.DataFrame:
    rows = []
    for j, (cell, mean) in enumerate({**BASE, **(changes or {})}.items()):
        if mean is None:
            continue
        for i in range(repetitions):
            wobble = WOBBLE["ab"[j % 2]][i] + ([0.5, -0.4, 0.1][i] if cell in wide else 0)
            for metric, level in LEVELS.items():
                value = mean[metric] if isinstance(mean, dict) else mean
                rows.append(
                    {"cell": cell, "replicate": i, "metric": metric, "level": level, "value": value + wobble, "rescaled": value + wobble,
                     "holds": cell.endswith("private") and "sample" not in cell}
                )  # fmt: skip
    return pd.DataFrame(rows)


def _best(results: pd.DataFrame, *, dataset: str = "city", profile: str = "full") -> Verdict:
    (found,) = judge("C5", C5, results, dataset=dataset, profile=profile, test_ratio=0.25)
    return found


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({}, AGREES, "diffusion-sample-plain is clearly better than every other"),
        ({"vae-plain-long": 0.05}, DISAGREES, "vae-plain-long clearly better than diffusion-sample-plain"),
        ({"gan-sample-plain": 0.05}, DISAGREES, "gan-sample-plain clearly better"),
        ({"gan-plain": 0.1}, UNDECIDABLE, "not clearly better than every other, and none is clearly better"),
        ({"vae-private": 0.1}, DISAGREES, "another model is clearly better than every GAN on most"),
        ({"gan-private": 0.8, "gan-gaussian-private": 0.2}, AGREES, "a GAN is clearly first"),  # any GAN that holds
        ({"vae-private": {"SWD": 0.1, "JSD": 0.2, "RQ": 0.3, "DTW": 0.0}}, UNDECIDABLE, "clearly first on 1 and clearly behind on 1"),
        ({"diffusion-sample-plain": None}, NOT_TESTABLE, "no plain conditional diffusion model"),
        ({"vae-plain": None}, NOT_TESTABLE, "no plain vae beside it"),
        ({"gan-private": None}, NOT_TESTABLE, "no private GAN whose guarantee holds"),
        ({"vae-private": None, "diffusion-private": None}, NOT_TESTABLE, "no other private model"),
    ],
)  # fmt: skip
def test_best(changes: dict[str, Any], expected: str, why: str) -> None:
    found = _best(_study(changes))
    assert found.verdict == expected and why in found.why, found
    assert found.model == ""


def test_best_says_nothing_from_one_repetition_and_nothing_from_noise() -> None:
    assert _best(_study(repetitions=1)).verdict == UNDECIDABLE
    noisy = _best(_study(wide=("gan-plain",)))
    assert noisy.verdict == UNDECIDABLE and "lowest of all diffusion-sample-plain" in noisy.figures["without DP"]


def test_best_needs_a_scale_and_words_its_verdict_by_the_place() -> None:
    assert _best(_study().assign(rescaled=np.nan)).verdict == NOT_TESTABLE
    published = _best(_study(), dataset="porto", profile="paper")
    assert (published.verdict, published.scope) == ("reproduced", "")
    assert _best(_study({"vae-private": 0.1}), dataset="porto", profile="paper").verdict == "not reproduced"
    assert _best(_study()).scope.startswith("city at profile full is not the published setting")


# ---- C7: calibration --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, "reproduced"), (1 + 5e-7, "reproduced"), (1.001, "not reproduced"), (0.999, "not reproduced")]
)  # fmt: skip
def test_calibration(factor: float, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stand_ins.readings(rule_calibration.EPSILONS, rule_calibration.DELTA)
    published = table["reading"].str.startswith(rule_calibration.PUBLISHED)
    table.loc[published, "sigma"] *= factor
    monkeypatch.setattr(rule_calibration, "readings_table", lambda: table)
    for profile in ("smoke", "quick", "paper"):  # mathematics: no run, and the same everywhere
        (found,) = judge("C7", C7, pd.DataFrame(), dataset="city", profile=profile, test_ratio=None)
        assert (found.verdict, found.scope, found.model) == (expected, "", "")
    said = " ".join(found.figures.values())
    assert "at epsilon 20, a real epsilon of 183.8" in said and "a real epsilon of 105.1" in said


def test_a_rule_states_the_cells_it_needs() -> None:
    base = {"statement": "x", "made_in": "y", "rule": "stabler"}
    with pytest.raises(
        ParameterError, match="rule stabler needs metrics and published_on and model_size and models and cell"
    ):
        checked(Claim, base, where="test")
    assert checked(Claim, {**base, "rule": "calibration"}, where="test").models == []
