"""The budget planner shows what the accountants and independent values say."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

from trajkit.errors import ParameterError
from trajkit.explore import budget
from trajkit.explore.budget import Question
from trajkit.explore.budget_panel import EPSILON, budget_panel
from trajkit.explore.work import at_once
from trajkit.privacy.accounting import epsilon_of, user_level_epsilon
from trajkit.privacy.gdp import central_limit_mu
from trajkit.privacy.user_level import els_noise
from trajkit.viz.pictures import Picture

SMALL = {"n": 2000, "batch": 20, "steps": 50, "delta": 1e-5}


def test_the_default_is_the_figure_of_the_readme() -> None:
    found = at_once(budget.answering(Question(2800, 128, 720, 1e-5, "trajectory", 4, epsilon=10.0)))
    assert found.trajectory.epsilon == pytest.approx(10, rel=0.01) and found.trajectory.epsilon <= 10
    assert found.users[4].epsilon == pytest.approx(60, rel=0.01)
    assert found.users[1].epsilon == pytest.approx(found.trajectory.pld, rel=0.01)
    assert found.central_limit < found.trajectory.epsilon < found.trajectory.rdp, "no claim: it understates here"


def test_per_user_against_reference_values(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "user_level.json").read_text())["cases"]
    (case, *_) = [c for c in cases if c["inputs"]["kind"].startswith("els")]
    i, expected = case["inputs"], case["expected"]
    n = 10_000
    q = Question(
        n, round(n * i["record_sampling_probability"]), i["steps"], i["delta"], "trajectory", i["max_records_per_user"], noise=i["noise_multiplier"]
    )  # fmt: skip
    found = at_once(budget.answering(q))
    assert found.users[q.trips].epsilon == pytest.approx(expected["user_level_epsilon_els"], rel=0.02)
    assert found.trajectory.pld == pytest.approx(expected["record_level_epsilon"], rel=0.02)


def test_each_accountant_against_reference_values(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "dpsgd_accounting.json").read_text())["cases"]
    (case,) = [c for c in cases if c["label"] == "textbook-1"]
    expected = case["expected"]
    found = at_once(budget.answering(Question(10_000, 100, 1000, 1e-5, "trajectory", 1, noise=1.0)))
    one = found.trajectory
    assert one.prv_upper == pytest.approx(expected["opacus_prv_upper"], abs=1e-3)
    assert one.pld == pytest.approx(expected["epsilon"], abs=0.02)
    assert one.rdp == pytest.approx(expected["rdp_dp_accounting"], rel=0.002)
    assert found.replace_one == pytest.approx(expected["replace_one_pld"], rel=0.02)


def test_a_promise_to_users() -> None:
    q = Question(**SMALL, unit="user", trips=4, epsilon=2.0)
    found = at_once(budget.answering(q))
    assert found.users[4].epsilon <= 2.0 and found.users[4].epsilon == pytest.approx(2.0, rel=0.02)
    noise = els_noise(target_epsilon=2.0, delta=1e-5, sample_rate=0.01, steps=50, max_records_per_user=4)
    assert found.mechanism.noise_multiplier == noise
    assert found.trajectory == epsilon_of(found.mechanism, delta=1e-5, unit="trajectory")
    assert found.users[8] == user_level_epsilon(found.mechanism, delta=1e-5, max_records_per_user=8)
    assert found.by_user_noise is not None and found.trajectory.epsilon < 2.0


def test_the_best_attacker() -> None:
    assert budget.most_hits(0.0, 0.0, 0.01) == pytest.approx(0.01)
    assert budget.most_hits(1.0, 0.0, 0.01) == pytest.approx(math.e / 100)
    assert budget.most_hits(1.0, 0.0, 0.9) == pytest.approx(1 - 0.1 / math.e)
    assert budget.most_hits(1.0, 1e-3, 0.0) == pytest.approx(1e-3)
    assert (budget.most_hits(math.inf, 0.0, np.array([0.01, 1])) == 1).all()


def test_odds_in_words() -> None:
    assert [budget.odds(e) for e in (0.0, 1.0, 10.0, 60.0, math.inf)] == [
        "1",
        "2.72",
        "22,026",
        "10^26",
        "without any limit",
    ]


def test_the_central_limit_at_full_batches_is_gaussian() -> None:
    mu = central_limit_mu(sample_rate=1.0, noise_multiplier=100.0, steps=4)
    assert mu == pytest.approx(2 / 100, rel=1e-4)


def test_impossible_questions_are_named() -> None:
    with pytest.raises(ParameterError, match="batch = 64: at most n"):
        Question(10, 64, 1, 1e-5, "trajectory", 1, epsilon=1.0)
    with pytest.raises(ParameterError, match="not both"):
        Question(100, 64, 1, 1e-5, "trajectory", 1)
    with pytest.raises(ParameterError, match="unit = 'point'"):
        budget_panel(unit="point")


def _until(what, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_without_a_person_the_answer_is_computed_at_once() -> None:
    views = budget_panel(**SMALL, trips=2, noise=2.0, find=EPSILON, interactive=False).shown()
    assert [isinstance(v, Picture) for v in views] == [False, True, True]
    assert "per user who adds at most 2 trips" in views[0].html() and "no claim" in views[2].alt  # type: ignore[union-attr]


def test_answers_come_from_beside_the_panel() -> None:
    panel = budget_panel(**SMALL, trips=2, epsilon=2.0, interactive=True)
    panel.box()
    assert "Being computed" in panel.views.value
    _until(lambda: " is epsilon " in panel.views.value)
    before = panel.views.value
    panel.controls["trips"].value = 8
    assert "adds at most 8 trips" in panel.views.value != before
    panel.controls["find"].value = EPSILON
    assert panel.controls["epsilon"].disabled and not panel.controls["noise"].disabled
    _until(lambda: " is epsilon " in panel.views.value)
    panel.controls["batch"].value = 1024
    panel.controls["n"].value = 1000
    assert "batch = 1024: at most n" in panel.message.value
    panel.work.stop()
    panel.work.wait(60)
    assert not panel.work.running and not panel._busy


def test_a_refusal_is_a_sentence() -> None:
    panel = budget_panel(**{**SMALL, "steps": 100_000}, epsilon=1e-4, interactive=True)
    panel.box()
    _until(lambda: "out of reach" in panel.views.value)
    panel.work.stop()
    panel.work.wait(60)
