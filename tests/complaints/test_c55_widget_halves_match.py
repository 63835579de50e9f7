"""Sliders showed as text because kernel and browser had different versions of the widgets (complaint C55)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trajkit import doctor

ROOT = Path(__file__).resolve().parents[2]


def test_both_halves_are_printed_and_fit() -> None:
    found = {f.topic: f for f in doctor.check_widgets()}
    for name in ("ipywidgets", "anywidget"):
        assert re.search(r"kernel \d+\.\d+.*, browser \d+\.\d+", found[name].value)
        assert not found[name].remedy


@pytest.mark.parametrize("name", ["ipywidgets", "anywidget"])
def test_another_browser_half_is_a_problem_with_a_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "browser_side", lambda _extension: "4.9.0")
    found = {f.topic: f for f in doctor.check_widgets()}
    assert "4.9.0" in found[name].value and "labextension" in found[name].remedy


def test_the_halves_are_pinned_as_a_pair() -> None:
    pins = doctor.locked_versions((ROOT / "requirements.lock").read_text())
    assert {"ipywidgets", "jupyterlab-widgets", "anywidget", "keplergl"} <= set(pins)
