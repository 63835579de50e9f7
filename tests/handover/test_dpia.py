"""`make dpia`: figures before and after on releases whose risk is known, and a record that judges nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import owners_table as owner
import pytest

from trajkit.attacks.adversaries import MATCHED, PLACES
from trajkit.errors import ParameterError
from trajkit.handover import assess as assessing
from trajkit.handover.budget import Spend
from trajkit.handover.choice import Choice, chosen
from trajkit.handover.dpia import record, residual
from trajkit.handover.figure import INFERENCE, LINKABILITY, SINGLING_OUT, Figure
from trajkit.handover.knowing_more import SHOWN
from trajkit.handover.rehearsal import EMPTY, UTILITY, Rehearsed, rehearse, utility
from trajkit.handover.release import Source
from trajkit.methods import make_method
from trajkit.split import fold


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = tmp_path_factory.mktemp("dpia")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAJKIT_CACHE", str(folder / "cache"))
        return Source.load(None, str(owner.written(folder / "owner")))


@pytest.fixture(autouse=True)
def own_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessing, "OUTPUTS", tmp_path / "outputs")


def by_kind(found: Rehearsed, kind: str) -> list[Figure]:
    return [f for f in found.figures if f.kind == kind]


def test_every_attack_succeeds_where_the_records_themselves_are_released(source: Source) -> None:
    real = Choice("real", make_method("real", length=13), None)
    found = rehearse(real, source, n=300)
    linked = by_kind(found, LINKABILITY)[0]
    assert linked.before is not None and linked.before > 0.95
    assert linked.after is not None and linked.after > 0.8
    for f in by_kind(found, INFERENCE)[:2]:
        assert f.after is not None and f.after > 0.9, f.what
    assert all(abs(v) < 0.35 for v in found.utility.values() if v is not None)


def test_k_anonymity_lowers_what_is_named_to_its_bound_and_singles_nobody_out(source: Source) -> None:
    found = rehearse(chosen("k_anonymity", {"k": 5}), source, n=1)
    linked = by_kind(found, LINKABILITY)[0]
    assert linked.after is not None and linked.after_interval is not None
    assert linked.after_interval[0] <= 1 / 5 < (linked.before or 0)
    for f in by_kind(found, SINGLING_OUT):
        assert f.after == 0.0
    assert found.suppressed is not None and 0 < found.suppressed["trajectories"] < 0.5


def test_made_trajectories_have_no_record_to_single_out_or_link(source: Source) -> None:
    found = rehearse(chosen("flat", {"epsilon": 1.0}), source, n=200)
    assert found.suppressed is None
    for f in [*by_kind(found, SINGLING_OUT), *by_kind(found, LINKABILITY)]:
        assert f.after is None and ("made trajectories" in f.note or "generated" in f.note)
        assert f.before is not None or "not tried" in f.note
    for f in by_kind(found, INFERENCE)[:2]:
        assert f.after is not None and f.before is not None and f.after < f.before


def test_an_empty_release_is_a_record_too(source: Source) -> None:
    found = rehearse(chosen("k_anonymity", {"k": 100}), source, n=1)
    assert all(f.after is None and EMPTY in f.note for f in found.figures)
    assert any(f.before for f in found.figures)
    assert found.suppressed is not None and found.suppressed["trajectories"] == 1.0
    assert set(found.utility.values()) == {None}


def test_utility_scale_has_its_ends_where_they_belong(source: Source) -> None:
    parts = fold(source.trajs, 0, unit="user")
    own = utility(parts, parts.train)
    assert all(v == pytest.approx(0.0, abs=1e-9) for v in own.values() if v is not None)
    blind = make_method("uniform", length=64).fit(parts.train, seed=0).release(len(parts.train), seed=0).trajectories
    value = utility(parts, blind)["JSD"]
    assert value is not None and value == pytest.approx(1.0, abs=0.1)
    assert set(own) == set(UTILITY)


def test_residual_risks_name_what_was_measured_above_a_guess_and_nothing_below(source: Source) -> None:
    release = make_method("flat", epsilon=1.0).fit(source.trajs, seed=0).release(5, seed=0)

    def said(low: float, guess: float | None) -> str:
        figure = Figure(INFERENCE, "telling them apart", 1.0, (0.9, 1.0), 0.7, (low, 0.8), guess)
        found = Rehearsed(release, fold(source.trajs, 0, unit="user"), (figure,), None, {})
        return " ".join(residual(found, release.guarantee))

    assert "measured: telling them apart: 0.7" in said(0.6, 0.5).replace("not measured", "")
    assert "telling them apart" not in said(0.4, 0.5)
    assert "closer to no information" not in said(0.4, 0.5)
    useless = Rehearsed(release, fold(source.trajs, 0, unit="user"), (), None, {"SWD": 0.9, "JSD": 0.1, "TE": None})
    assert "closer to no information than to real data in SWD:" in " ".join(residual(useless, release.guarantee))
    assert "telling them apart" not in said(0.6, None)


def test_record_answers_the_questions_rounds_counts_and_judges_nothing(source: Source, tmp_path: Path) -> None:
    choice = chosen("road_counts", {"epsilon": 1.0, "trips_per_user": 2})
    folder = record(choice, source, purpose="where bus lanes would help", n=100)
    assert sorted(p.name for p in folder.iterdir()) == ["PRIVATE", "risk_report.html", "risk_report.json"]
    report = json.loads((folder / "risk_report.json").read_text())
    assert report["purpose"] == "where bus lanes would help"
    assert report["data"]["users"] == "about 100"
    assert (report["promise"]["epsilon"], report["promise"]["unit"]) == (1.0, "user")
    assert {r["kind"] for r in report["risks"]} == {SINGLING_OUT, LINKABILITY, INFERENCE}
    assert report["utility"] and report["residual risks"]
    page = (folder / "risk_report.html").read_text()
    assert "PRIVATE" in page and "citizen" not in page
    assert not any(word in page.lower() for word in ("compliant", "lawful", "gdpr"))
    assert not list(tmp_path.rglob("*.jsonl"))  # a rehearsal enters nothing in a ledger


def test_without_a_street_map_people_are_named_by_all_places_and_the_rest_is_said(source: Source) -> None:
    found = rehearse(chosen("k_anonymity", {"k": 5}), source, n=1)
    whats = {f.what: f for f in found.figures}
    places, matched = (whats[SHOWN[m][1]] for m in (PLACES, MATCHED))
    assert places.before is not None and places.after is not None and places.guess is not None
    assert matched.before is None and "not tried: no street map" in matched.note


def test_a_record_of_an_escalation_says_whether_any_were_made(source: Source) -> None:
    base = {"k": 5, "minutes": [None], "synthesizer": "privtrace", "epsilon": 1.0, "n_made": 60}
    for tolerance, said in ((1.0, "no trajectories were made"), (0.0, "60 trajectories were made")):
        folder = record(chosen("escalation", base | {"tolerance": tolerance}), source, purpose="x", n=1)
        assert said in json.loads((folder / "risk_report.json").read_text())["stages"][1]
        assert said in (folder / "risk_report.html").read_text()


def test_a_record_without_a_purpose_is_refused(source: Source) -> None:
    with pytest.raises(ParameterError, match="PURPOSE"):
        record(chosen("flat", {}), source, purpose=" ")


def test_rehearsals_are_made_of_four_fifths_of_the_people(source: Source) -> None:
    found = rehearse(chosen("flat", {"epsilon": 1.0}), source, n=20)
    sides = [set(x.user_ids[np.unique(x.user)]) for x in (found.fold.train, found.fold.test)]
    assert not sides[0] & sides[1] and len(sides[0]) > 3 * len(sides[1])
    assert chosen("flat", {"epsilon": 1.0}).spend == Spend(1.0, 0.0, "trajectory")
