"""The experiments on sequences: a complete table, cached by settings, the rule of C9 and the sentences made from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from trajkit.classical.prefix_experiments import COLUMNS, VARIANTS, ExperimentSettings, run_experiments
from trajkit.study import rule_sequences, sequence_study, sequence_text
from trajkit.study.claim import AGREES, DISAGREES, NOT_TESTABLE
from trajkit.study.claims import judge, read_claims
from trajkit.viz import sequences as figures

SMALL: dict[str, Any] = {
    "n": 3000, "locations": 30, "epsilons": [0.5, 1.0], "height": 3, "heights": [2, 3], "query_lengths": [2, 3],
    "height_query_length": 3, "queries": 200, "tops": [20], "sizes": [1000, 2000], "universes": [20, 30], "universe_n": 1500,
    "time_height": 3, "pages_n": 2000, "few_locations": 10, "literal_height": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return run_experiments(ExperimentSettings(**SMALL))


def test_every_setting_has_every_figure(table: pd.DataFrame) -> None:
    assert list(table.columns) == list(COLUMNS) and np.isfinite(table["value"].astype(float)).all()
    errors = rule_sequences.of(table, rule_sequences.ERROR)
    seen = set(zip(errors["epsilon"], errors["height"], errors["x"], errors["variant"], strict=True))
    assert seen == {
        *((e, 3, x, v) for e in (0.5, 1.0) for x in (2, 3) for v in VARIANTS),
        *((1.0, 2, 3, v) for v in VARIANTS),
    }
    real = (
        rule_sequences.of(table, "real", height=3, epsilon=1.0)["value"]
        + rule_sequences.of(table, "cut", height=3, epsilon=1.0)["value"].to_numpy()
    )
    assert (np.diff(real) <= 0).all() and real.iloc[0] == 3000
    literal = sequence_text.literal_gains(table)
    assert set(zip(literal["locations"], literal["height"], strict=True)) == {(17, 3), (10, 3), (30, 2)}


def test_the_same_settings_give_the_same_figures(table: pd.DataFrame) -> None:
    again = run_experiments(ExperimentSettings(**SMALL))
    same = table["what"] != "CPU s"
    pd.testing.assert_frame_equal(table[same], again[same])


def test_they_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: pd.DataFrame) -> None:
    calls = []
    monkeypatch.setattr(sequence_study, "OUTPUTS", tmp_path)
    monkeypatch.setattr(sequence_study, "run_experiments", lambda s: (calls.append(s), table)[1])
    settings = ExperimentSettings(**SMALL)
    assert not len(sequence_study.read_experiments(settings.model_dump()))
    files = [sequence_study.ensure_experiments(settings) for _ in range(2)]
    assert len(calls) == 1 and files[0] == files[1] and files[0].with_suffix(".json").is_file()
    back = sequence_study.read_experiments(settings.model_dump())
    assert np.allclose(back["value"], table["value"].astype(float)) and (back["variant"] == table["variant"]).all()
    assert sequence_study.experiment_file(settings.model_copy(update={"n": 4000})) != files[0]
    assert not len(sequence_study.read_experiments(None))


def test_sentences_and_figures_say_what_the_table_holds(table: pd.DataFrame) -> None:
    text = sequence_text.answer(table)
    for word in ("Count queries at height 3", "Height.", "Threshold.", "Run time.", "30-74 %", "24 s in 2011"):
        assert word in text
    assert "nan" not in text
    heights = sequence_text.height_table(table)
    assert list(heights["height"]) == [2, 3] and heights["elements kept"].between(0, 1).all()
    assert len(sequence_text.threshold_table(table)) == 3 + 2 * 2 + 2
    drawn = figures.utility_figure(table, errors=sequence_text.KINDS, patterns=rule_sequences.PATTERNS, height=3)
    assert len(drawn.axes) == 6
    assert (
        len(figures.time_figure(table).axes) == 2
        and len(figures.level_masses(sequence_text.level_table(table)).axes) == 2
    )
    assert sequence_text.answer(pd.DataFrame()) == sequence_text.MISSING


@pytest.mark.parametrize(
    "wrong", [{"epsilons": [0.5]}, {"height": 4}, {"height_query_length": 9}, {"n": 5}, {"no_such": 1}, {"sanity": 0.0}]
)
def test_settings_that_the_claims_could_not_be_read_from_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExperimentSettings(**{**SMALL, **wrong})


# ---- the rule of C9 -------------------------------------------------------------------------------------------------


def made(
    *,
    error: float = 0.05,
    half: float = 0.1,
    gain: float = 0.5,
    found: float = 0.8,
    seconds: float = 4.0,
    k: int = 250,
    height: int = 12,
) -> pd.DataFrame:
    """A table in which everything is as published, but for what is asked to differ."""
    rows: list[dict[str, Any]] = []
    base = {
        "experiment": "utility",
        "data": "transit",
        "height": height,
        "repetition": 0,
        "threshold": "subcritical",
        "mechanism": "geometric",
    }
    for epsilon, full in ((0.5, half), (1.0, error)):
        for variant, value in (("basic", full / (1 - gain)), ("full", full)):
            rows += [
                {**base, "epsilon": epsilon, "variant": variant, "what": rule_sequences.ERROR, "x": x, "value": value}
                for x in (3, 6)
            ]
    rows.append({**base, "epsilon": 1.0, "variant": "full", "what": rule_sequences.PATTERNS, "x": k, "value": found})
    for experiment, column in (("time by n", "n"), ("time by locations", "locations")):
        rows += [
            {**base, "experiment": experiment, column: size, "variant": "full", "what": "CPU s", "value": t}
            for size, t in ((100, 1.0), (400, seconds))
        ]
    rows.append({**base, "experiment": "settings", "what": "height", "value": float(height)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("differs", "verdict", "names"),
    [
        ({}, AGREES, "all four"),
        ({"error": 0.11}, DISAGREES, "errors of count queries"),
        ({"half": 0.13}, DISAGREES, "errors of count queries"),
        ({"gain": 0.2}, DISAGREES, "gain of inference"),
        ({"found": 0.7}, DISAGREES, "patterns"),
        ({"seconds": 7.0}, DISAGREES, "run time"),
        ({"k": 50}, NOT_TESTABLE, "top 250"),
        ({"height": 3}, NOT_TESTABLE, "height 12"),
        ({"error": float("nan")}, NOT_TESTABLE, "epsilon 1"),
    ],
)
def test_each_part_of_the_claim_decides(differs: dict[str, Any], verdict: str, names: str) -> None:
    found, shown, why = rule_sequences.sequences(made(**differs))
    assert found == verdict and names in why and len(shown) == (0 if verdict == NOT_TESTABLE else 5)


def test_the_committed_claim_is_judged_by_it() -> None:
    claim = read_claims()["C9"]
    where: dict[str, Any] = {"dataset": "porto", "profile": "paper", "test_ratio": 0.25}
    (v,) = judge("C9", claim, pd.DataFrame(), experiments=made(), **where)
    assert v.verdict == AGREES and "simulated transit" in v.scope
    (v,) = judge("C9", claim, pd.DataFrame(), **where)
    assert v.verdict == NOT_TESTABLE and v.scope == ""


@pytest.mark.parametrize(
    ("gone", "names"),
    [
        ({"epsilon": 0.5}, "epsilon 0.5"),
        ({"variant": "basic"}, "without and with inference"),
        ({"what": "top patterns found"}, "top 250"),
        ({"experiment": "time by n"}, "two numbers of sequences"),
    ],
)
def test_what_was_not_run_is_not_judged(gone: dict[str, Any], names: str) -> None:
    (column, value), table = next(iter(gone.items())), made()
    found, _, why = rule_sequences.sequences(table[table[column] != value])
    assert found == NOT_TESTABLE and names in why


def test_which_way_inference_moves_an_error_is_said() -> None:
    for gain, words in (
        ([0.1, 0.2], "lowers it by 10 to 20 %"), ([-0.1], "raises it by 10 %"), ([0.0], "does not change it"),
        ([-0.1, 0.2], "moves it by -20 to 10 % (minus: lower)"),
    ):  # fmt: skip
        assert sequence_text._moved(pd.Series(gain)) == words
