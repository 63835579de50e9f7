"""`Guarantee` refuses records that contradict themselves and survives the way to disk and back."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.privacy.guarantee import RNG_OS, Guarantee, Part, no_guarantee

DP = {
    "holds": True,
    "kind": "dp",
    "epsilon": 9.97,
    "delta": 1e-5,
    "unit": "trajectory",
    "adjacency": "add-remove",
    "mechanism": "DP-SGD",
    "accountant": "max(PRV, PLD)",
}


def test_round_trip_keeps_every_field(tmp_path: Path) -> None:
    part = Part("training set", "DP-SGD", math.inf, 0.0, {"sigma": 1.0, "bounds": [math.inf, 1]})
    before = Guarantee(**DP, parts=(part,), rng=RNG_OS, assumptions=("n is public",))
    (tmp_path / "guarantee.json").write_text(before.to_json())
    assert Guarantee.read(tmp_path / "guarantee.json") == before


def test_infinity_is_written_as_a_word() -> None:
    text = no_guarantee("no noise").to_json()
    assert json.loads(text)["epsilon"] == "inf"
    assert Guarantee.from_json(text).epsilon == math.inf


@pytest.mark.parametrize("missing", ["epsilon", "delta", "unit", "adjacency", "mechanism", "accountant"])
def test_dp_claim_needs_everything_that_gives_it_meaning(missing: str) -> None:
    with pytest.raises(ParameterError, match=f"a DP claim needs {missing}"):
        Guarantee(**{**DP, missing: None})


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": math.inf}, {"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"delta": math.nan},
        {"unit": "person"}, {"adjacency": "swap"}, {"kind": "safe"}, {"rng": "good"}, {"numerics": "fine"},
        {"holds": False}, {"kind": "none"},
        {"kind": "k-anonymity"}, {"kind": "k-anonymity", "k": 1}, {"kind": "(k,delta)-anonymity", "k": 5, "unit": None},
    ],
)  # fmt: skip
def test_contradictions_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=r"^guarantee: "):
        Guarantee(**{**DP, **change})


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"holds": true}', "null"])
def test_reading_something_else_is_one_clear_error(text: str) -> None:
    with pytest.raises(ParameterError, match="not a guarantee record"):
        Guarantee.from_json(text)


def test_words_name_epsilon_delta_unit_adjacency_and_accountant() -> None:
    words = Guarantee(**DP).in_words()
    for part in ("9.97", "1e-05", "per trajectory", "add-remove", "max(PRV, PLD)", "idealised", "do not release"):
        assert part in words
    assert no_guarantee("shuffled batches").in_words() == "no guarantee: shuffled batches"
    assert Guarantee(holds=True, kind="k-anonymity", k=5, unit="user").in_words() == "k-anonymity with k = 5 per user"
