"""Games and finished audits: the figures are those of the audit itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from trajkit.attacks.audit_bounds import audit
from trajkit.attacks.audit_task import AuditReport
from trajkit.attacks.mechanism_game import TWICE, mechanism_game
from trajkit.errors import ParameterError
from trajkit.explore import games
from trajkit.explore.audits import audits_panel
from trajkit.explore.games import GAN, NOISE, SUBJECTS, Shown, playing
from trajkit.viz.pictures import Picture


def _played(subject: str, claimed: float = 1.0, releases: int = 4000) -> Shown:
    pieces = playing(subject, claimed, releases=releases, seed=0)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            found: Shown = end.value
            return found


def test_the_published_scheme_falls_and_the_correct_one_stands() -> None:
    generator, critic = (_played(name) for name in GAN)
    assert generator.verdicts[-1].contradicted and generator.verdicts[-1].epsilon_lower > 5  # type: ignore[operator]
    assert not critic.verdicts[-1].contradicted


def test_flawed_noise_is_caught_and_sound_noise_stands() -> None:
    for name, (mechanism, flaw) in NOISE.items():
        if mechanism in ("laplace", "geometric"):
            verdict = _played(name, releases=20_000).verdicts[-1]
            assert verdict.contradicted == (flaw == TWICE), name


def test_bounds_are_those_of_the_audit_of_so_many_releases() -> None:
    shown = _played(next(iter(NOISE)))
    played = shown.played
    assert played is not None and len(played.a) == len(played.b) == shown.budgets[-1] == 4000
    for n, verdict, most in zip(shown.budgets, shown.verdicts, shown.most, strict=True):
        direct = audit({"s": (played.a[:n], played.b[:n])}, delta=played.delta, curve=played.curve)
        assert verdict.epsilon_lower == direct.epsilon <= most and verdict.trials == n
    assert list(shown.most) == sorted(shown.most)


def test_without_a_person_a_game_is_played() -> None:
    views = audits_panel(subject=list(NOISE)[1], releases=3000, interactive=False).shown()
    assert "contradicted" in views[0].html() and isinstance(views[1], Picture)


def test_a_game_is_played_beside_the_panel_and_counted_at_once() -> None:
    panel = audits_panel(subject=next(iter(NOISE)), releases=2000, interactive=True)
    panel.box()
    panel.work.wait(60)
    assert "after 2,000 releases" in panel.views.value
    panel.controls["counted"].value = 100
    assert "after 100 releases" in panel.views.value
    panel.controls["claimed"].value = 2.0
    end = time.monotonic() + 60
    while "claimed epsilon 2:" not in panel.views.value:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study folder with one finished audit and one that never ran."""
    from trajkit.study import audits as finished

    verdict = mechanism_game("laplace", releases=1000, seed=0)
    for module in (games, finished):
        monkeypatch.setattr(module, "OUTPUTS", tmp_path)
    one: dict[str, Any] = {
        "name": "noise", "audit": "mechanism", "parameters": {}, "audit_id": "a" * 12, "dataset": None, "expect": None,
    }  # fmt: skip
    (tmp_path / "audits" / one["audit_id"]).mkdir(parents=True)
    (tmp_path / "audits" / one["audit_id"] / "audit.json").write_text(AuditReport((verdict,)).to_json())
    (tmp_path / "rq4").mkdir()
    plan = {"runs": [], "audits": [one, {**one, "name": "never", "audit_id": "b" * 12}], "config": {}}
    (tmp_path / "rq4" / "plan.json").write_text(json.dumps(plan))
    monkeypatch.setattr("trajkit.study.results.StudyResults.may_show_raw", True)
    return "rq4, noise: laplace, dimension 8, sound"


def test_finished_audits_are_offered(study: str) -> None:
    panel = audits_panel(subject=study, interactive=True)
    panel.box()
    panel.work.wait(60)
    assert list(panel.finished) == [study] and panel.controls["claimed"].disabled
    assert panel.message.value == "" and "after 1,000 releases" in panel.views.value


def test_what_is_not_offered_is_named() -> None:
    with pytest.raises(ParameterError, match=rf"subject = 'x': one of {SUBJECTS[0]}.*releases = 3"):
        audits_panel(subject="x", releases=3)
