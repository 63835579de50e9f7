"""Calibrated noise: never above the target, close below it, cached, and honest about what cannot be had."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy import accountants, calibration_cache
from trajkit.privacy.accounting import CEILING, DpSgd, calibrate, epsilon_of

GOOD = {"target_epsilon": 2.0, "delta": 1e-5, "sample_rate": 0.02, "steps": 100, "unit": "trajectory"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path))
    return tmp_path / "calibration"


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(target=st.floats(0.1, 12.0), rate=st.floats(0.005, 0.5), steps=st.integers(1, 100))
def test_reported_epsilon_is_at_most_the_target_and_close_below(target: float, rate: float, steps: int) -> None:
    found = calibrate(target_epsilon=target, delta=1e-6, sample_rate=rate, steps=steps, unit="trajectory")
    again = epsilon_of(DpSgd(rate, found.noise_multiplier, steps), delta=1e-6, unit="trajectory")
    assert again == found.spent
    assert again.epsilon <= target
    assert again.epsilon >= 0.99 * target or accountants.rdp_epsilon(
        DpSgd(rate, found.noise_multiplier, steps), 1e-6
    ) == pytest.approx(0.997 * CEILING, rel=1e-3)


@pytest.mark.parametrize("target", [95.0, 100.0, 5000.0])
def test_targets_about_and_beyond_the_ceiling_stay_below_the_target(target: float) -> None:
    found = calibrate(**{**GOOD, "target_epsilon": target})
    again = epsilon_of(DpSgd(0.02, found.noise_multiplier, 100), delta=1e-5, unit="trajectory")
    assert again == found.spent
    assert 0.8 * target <= again.epsilon <= target
    assert again.is_bound_only == (target > CEILING)


def test_replace_one_needs_more_noise_and_meets_its_own_target() -> None:
    added = calibrate(**GOOD)
    replaced = calibrate(**GOOD, adjacency="replace-one")
    assert replaced.noise_multiplier > added.noise_multiplier
    assert 1.98 <= replaced.spent.epsilon <= 2.0
    assert replaced.spent.adjacency == "replace-one"


def test_second_call_asks_neither_fine_search_nor_prv(monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrate(**GOOD)
    monkeypatch.setattr(accountants, "prv_epsilon", lambda *_: pytest.fail("PRV was asked again"))
    assert calibrate(**GOOD) == first
    with pytest.raises(pytest.fail.Exception):
        calibrate(**{**GOOD, "steps": 101})


def test_damaged_entry_is_named_ignored_and_replaced(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = calibrate(**GOOD)
    (entry,) = cache.glob("*.json")
    entry.write_text("{")
    assert calibrate(**GOOD) == first
    assert f"{entry} is ignored and computed anew" in capsys.readouterr().err
    assert json.loads(entry.read_text())["answer"]["noise_multiplier"] == first.noise_multiplier


@pytest.mark.parametrize("damage", ["", "[]", '{"question": 1}', "null", '{"question": {"a": 1}, "answer": 3}', "\x00"])
def test_every_kind_of_damage_reads_as_absent(cache: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    calibration_cache.write({"a": 1}, {"b": 2})
    (entry,) = cache.glob("*.json")
    entry.write_text(damage)
    assert calibration_cache.read({"a": 1}) is None
    assert str(entry) in capsys.readouterr().err


def test_falsified_entry_is_not_believed(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = calibrate(**GOOD)
    (entry,) = cache.glob("*.json")
    good = entry.read_text()
    for change in ({"noise_multiplier": 0.5}, {"spent": {}}, {"noise_multiplier": "much"}):
        stored = json.loads(good)
        stored["answer"].update(change)
        entry.write_text(json.dumps(stored))
        assert calibrate(**GOOD) == first
        assert "is ignored" in capsys.readouterr().err


def test_unwritable_cache_costs_time_not_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "a-file"))
    assert calibrate(**GOOD).spent.epsilon <= 2.0
    assert "was not written" in capsys.readouterr().err


def test_cache_leaves_no_temporary_files(cache: Path) -> None:
    calibration_cache.write({"a": 1}, {"b": 2})
    names = [path.name for path in cache.iterdir()]
    assert sorted(name.rpartition(".")[2] for name in names) == ["PRIVATE", "json"], "the entry and the mark alone"
    assert calibration_cache.read({"a": 1}) == {"b": 2}
    assert calibration_cache.read({"a": 2}) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_epsilon", 0), ("target_epsilon", -1), ("target_epsilon", "ten"), ("target_epsilon", math.nan),
        ("target_epsilon", math.inf), ("target_epsilon", True), ("delta", 0), ("delta", 1), ("delta", 1.5), ("delta", -0.1),
        ("sample_rate", 1.5), ("sample_rate", 0), ("steps", 0), ("steps", -3), ("steps", 2.5), ("unit", "person"),
        ("adjacency", "bounded"), ("record", "person"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_that_names_the_parameter(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{field} = ") as raised:
        calibrate(**{**GOOD, field: value})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("change", [{"target_epsilon": 0.001}, {"delta": 1e-18, "target_epsilon": 1.0}])
def test_unreachable_epsilon_says_what_to_change(change: dict[str, float]) -> None:
    with pytest.raises(PrivacyAccountingError, match=r"out of reach.*100 steps.*allow a larger epsilon or delta"):
        calibrate(**{**GOOD, **change})
