"""Audits as parts of a study: planned, run one by one, judged against what is expected, told in the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from trajkit.attacks.audit_bounds import ScoreAudit
from trajkit.attacks.audit_task import AUDITS, AuditReport, Part, audit_class
from trajkit.attacks.gan_tasks import city_rows
from trajkit.attacks.verdict import Verdict
from trajkit.errors import MissingDataError, ParameterError
from trajkit.study import audit_text, audits, results
from trajkit.study.audits import audit_id, plan_audits, read_audits, run_audit, surprises, write_audit
from trajkit.study.params import Profile, plan_runs, read_question, select_profile
from trajkit.study.rule_audits import refuted
from trajkit.viz.audits import trade_off

FEW = {"models": 400, "steps": 20, "n": 2000, "batch": 32}


def profile(*cells: dict[str, Any]) -> Profile:
    return Profile(
        about="a test.", seeds=1, length=8, n_release=10, audits=list(cells), cells=[{"name": "real", "method": "real"}]
    )  # fmt: skip


def verdict(subject: str, **changes: Any) -> Verdict:
    made = Verdict(subject, "game", 1.0, 1e-5, 0.2, 0.1, 0.6, (), "a score", 100, 0.95, 1.0)
    return replace(made, **changes)


FELL = verdict("noise on the generator only", epsilon_lower=3.0, by=("epsilon", "curve"))
STANDS = verdict("DP-SGD on the critic")


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(audits, "OUTPUTS", tmp_path)
    return tmp_path


def _plan(*cells: dict[str, Any]) -> list[dict[str, Any]]:
    planned = plan_audits(profile(*cells), dataset="city", data=None)
    ids = [audit_id(p, data_fingerprint="d") for p in planned]
    for aid, p in zip(ids, planned, strict=True):
        write_audit(aid, p)
    return [{"audit_id": aid, **p.model_dump(mode="json")} for aid, p in zip(ids, planned, strict=True)]


@pytest.mark.parametrize("kind", AUDITS)
def test_every_kind_has_typed_parameters(kind: str) -> None:
    cls = audit_class(kind)
    given = {"shadow": {"dp_target": "critic"}, "true_guarantee": {"settings": [[100, 10, 5, 1e-5]]}}.get(kind, {})
    (planned,) = plan_audits(profile({"name": "a", "audit": kind, "parameters": given}), dataset="city", data=None)
    assert planned.dataset == ("city" if cls.NEEDS_DATA else "")
    with pytest.raises(ParameterError, match="nonsense"):
        plan_audits(
            profile({"name": "a", "audit": kind, "parameters": {**given, "nonsense": 1}}), dataset="city", data=None
        )


def test_what_cannot_be_planned_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="audit a: audit 'none' is unknown: use one of worst_case"):
        plan_audits(profile({"name": "a", "audit": "none"}), dataset="city", data=None)
    with pytest.raises(ParameterError, match="worst_case cannot be done in 2 shards"):
        plan_audits(profile({"name": "a", "audit": "worst_case", "shards": 2}), dataset="city", data=None)
    few = {"dp_target": "critic", "shadows": 8, "attacked": 4}
    for cell, said in (
        ({"audit": "shadow", "parameters": few, "shards": 13}, "shadow cannot be done in 13 shards, at most in 12"),
        ({"audit": "membership", "expect": "stands"}, "membership makes no verdict"),
        ({"audit": "release", "parameters": {"methods": ["foo"]}}, "methods.*'foo' is no subject: use flat"),
        ({"audit": "step", "parameters": {"methods": ["flat"]}}, "'flat' is no subject: use diffusion"),
    ):
        with pytest.raises(ParameterError, match=said):
            plan_audits(profile({"name": "a", **cell}), dataset="city", data=None)
    with pytest.raises(ValueError, match="two audits have the same name"):
        profile({"name": "a", "audit": "worst_case"}, {"name": "a", "audit": "one_run"})


def test_an_id_is_made_of_what_decides_the_result() -> None:
    def of(data: str = "d", kind: str = "worst_case", **cell: Any) -> str:
        (p,) = plan_audits(profile({"name": "a", "audit": kind, **cell}), dataset="city", data=None)
        return audit_id(p, data_fingerprint=data)

    assert of() == of(data="other") == of(expect="stands")  # it looks at no data, and what is expected changes nothing
    assert len({of(), of(seed=2), of(parameters={"models": 300}), of(kind="one_run")}) == 4
    assert of(kind="user_level") != of(kind="user_level", data="other")


def test_an_audit_is_run_once_and_read_again(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _plan({"name": "worst", "audit": "worst_case", "parameters": FEW, "expect": "contradicted"})
    params = outputs / "audits" / plan[0]["audit_id"] / "params.yaml"
    assert read_audits(plan) == {"worst": "was stopped or never started (1 shard)"}
    assert run_audit(params) == 0
    (report,) = read_audits(plan).values()
    assert isinstance(report, AuditReport) and report.verdicts[0].contradicted and report.verdicts[0].scores[0].roc
    before = (params.parent / "audit.json").stat().st_mtime_ns
    assert run_audit(params) == 0 and (params.parent / "audit.json").stat().st_mtime_ns == before
    assert surprises(plan, read_audits(plan)) == []
    assert "done: audit worst" in capsys.readouterr().out
    config = audit_class("worst_case")(**plan[0]["parameters"])
    assert config.run(Part(1, outputs)) == report  # the same seed, the same figures; seconds are no part of it
    assert config.run(Part(2, outputs)) != report


def test_a_failing_audit_leaves_a_hole_with_its_reason(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _plan(
        {"name": "tiny", "audit": "tiny_gan", "parameters": {"models": 16, "penalty": 1.0, "scheme": "critic"}}
    )
    folder = outputs / "audits" / plan[0]["audit_id"]
    assert run_audit(folder / "params.yaml") == 1
    assert "penalty" in json.loads((folder / "FAILED.json").read_text())["message"]
    assert "penalty" in str(read_audits(plan)["tiny"]) and "FAILED: audit tiny" in capsys.readouterr().out
    with pytest.raises(MissingDataError, match="planned by"):
        run_audit(folder / "other.yaml")


def test_what_was_not_expected_is_said() -> None:
    def said(expected: str, *verdicts: Verdict) -> list[str]:
        return surprises([{"name": "a", "expect": expected}], {"a": AuditReport(verdicts)})

    assert said("contradicted", FELL) == said("stands", STANDS) == []
    assert said("stands", STANDS, FELL) == [
        "audit a: noise on the generator only is contradicted, but params expect: stands"
    ]
    assert said("contradicted", STANDS) != []
    caught, missed = verdict("x, noise halved", by=("curve",)), verdict("x, noise halved")
    sound, wronged = verdict("x, sound"), verdict("x, sound", by=("curve",))
    assert said("caught", missed, caught, sound) == []  # by one test of two
    assert (
        "is caught by no test" in said("caught", missed, sound)[0] and "sound is caught" in said("caught", wronged)[0]
    )
    assert surprises([{"name": "a", "expect": "stands"}], {"a": "never started"}) == []  # a hole is told elsewhere


def test_one_counterexample_settles_the_claim_if_the_controls_stand() -> None:
    plan = [
        {"name": "g", "parameters": {"scheme": "generator", "placebo": False}},
        {"name": "c", "parameters": {"scheme": "critic", "placebo": False}},
        {"name": "p", "parameters": {"dp_target": "generator", "placebo": True}},
        {"name": "other", "parameters": {}},
    ]

    def of(g: Verdict, c: Verdict, p: Verdict = STANDS) -> tuple[str, str]:
        reports = {n: AuditReport((v,)) for n, v in (("g", g), ("c", c), ("p", p), ("other", FELL))}
        found, figures, why = refuted(plan, reports)
        assert bool(figures) == g.contradicted
        return found, why

    assert of(FELL, STANDS) == (
        "not reproduced",
        "1 of 1 tests contradict it, each at its own confidence, and none of 2 tests of controls does",
    )
    assert of(STANDS, STANDS)[0] == of(FELL, FELL)[0] == of(FELL, STANDS, FELL)[0] == "undecidable at this n"
    assert refuted(plan, {"g": AuditReport((FELL,)), "c": "never started"})[0] == "not testable at this profile"
    assert refuted([], {})[0] == "not testable at this profile"


class _Study:
    """As much of a study as the tables on audits look at."""

    def __init__(self, reports: dict[str, AuditReport | str], *, raw: bool = True, **about: dict[str, Any]) -> None:
        self.audits, self.may_show_raw = reports, raw
        usual = {"audit": "broken", "dataset": "", "parameters": {}}
        self.plan = {"audits": [{"name": n, **usual, **about.get(n, {})} for n in reports]}

    def verdicts(self) -> list[Any]:
        return []


def test_tables_and_sentences() -> None:
    report = AuditReport((verdict("x, sound"), verdict("x, noise halved", by=("curve",)), verdict("x, shuffled")))
    study: Any = _Study({"copies": report, "gone": "it broke", "g": AuditReport((FELL,))}, g={
        "audit": "worst_case", "parameters": {"scheme": "generator", "placebo": False, "claimed": 1.0},
    })  # fmt: skip
    table = audit_text.broken(study)
    assert table["game"].to_dict() == {"x, sound": "passed", "x, noise halved": "caught", "x, shuffled": "passed"}
    text = audit_text.answer(study)
    assert (
        "at least **3.00**" in text
        and "1 of 2 broken copies are caught by at least one test; missed: x, shuffled." in text
    )
    assert audit_text.holes(study)["reason"].tolist() == ["it broke"]
    assert audit_text.verdicts(study)["contradicted by"].tolist() == ["", "curve", "", "epsilon and curve"]
    assert len(audit_text.gans(study)) == 1 and audit_text.subjects(study).empty
    assert audit_text.answer(_Study({})) == audit_text.NONE  # type: ignore[arg-type]


def test_what_was_seen_of_private_records_is_not_shown() -> None:
    report = AuditReport((verdict("UNet GAN"),), {"user level": [{"users": 17}]})
    for raw, shown in ((True, 1), (False, 0)):
        study: Any = _Study(
            {"a": report, "b": "quotes a record"}, raw=raw, a={"dataset": "tables"}, b={"dataset": "tables"}
        )
        assert len(audit_text.verdicts(study)) == len(audit_text.tables(study, "user level")) == shown
        assert ("quotes" in str(audit_text.holes(study))) == raw


def test_the_params_expect_what_the_question_must_show() -> None:
    """The verdicts that CI asserts: a smoke whose audits come out otherwise ends with an error."""
    for name in ("smoke", "quick", "full"):
        expected = {a.name: a.expect for a in select_profile(read_question("rq4"), name).audits}
        assert expected["worst-1"] == expected["crafted-1"] == expected["one-run"] == "contradicted"
        assert expected["worst-1-placebo"] == expected["worst-1-critic"] == expected["crafted-1-critic"] == "stands"
        assert expected["copies"] == expected["mechanisms"] == expected["steps"] == "caught"


@pytest.mark.parametrize("name", ["quick", "full"])
def test_cells_by_trajectory_are_those_of_rq6(name: str) -> None:
    plans = [
        {(r.cell, r.replicate): r.config for r in plan_runs(select_profile(read_question(q), name), dataset="city")}
        for q in ("rq4", "rq6")
    ]
    shared = set(plans[0]) & set(plans[1])
    assert {"real", "road_counts-private", "gan-private"} <= {cell for cell, _ in shared}
    assert all(plans[0][key] == plans[1][key] for key in shared)


def test_canaries_are_what_their_names_say() -> None:
    records = torch.arange(6.0)[:, None].expand(6, 16) / 6
    made = {
        c: audit_class("tiny_gan")(canary=c)._canary(records[:3], records) for c in ("corner", "duplicate", "typical")
    }  # type: ignore[attr-defined]
    assert (made["corner"] == 1).all() and torch.equal(made["duplicate"], records[0])
    assert made["typical"][0] in records[2:4, 0]
    rows, private, public = city_rows(20, size=16, city_seed=3, seed=1)
    assert len(private) == 20 and not np.isin(private, public).any() and len(private) + len(public) < len(rows)


def test_black_box_is_what_released_trajectories_show_alone() -> None:
    scores = tuple(
        ScoreAudit(n, epsilon=e, mu=e, auc=0.6, auc_interval=(0.5, 0.7), refutes_curve=None, tests=())
        for n, e in (("nearest", 0.5), ("weights", 2.0), ("critic 3", 3.0))
    )
    gan = {"audit": "tiny_gan", "parameters": {"scheme": "critic", "placebo": False}}
    study: Any = _Study(
        {"g": AuditReport((verdict("x", scores=scores, epsilon_lower=3.0),)), "m": AuditReport((verdict("y"),))}, g=gan
    )
    table = audit_text.verdicts(study).set_index("audit")["of it black box"]
    assert table["g"] == 0.5 and np.isnan(table["m"])


def test_methods_that_are_made_by_name_count_for_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(audits, "code_fingerprint", lambda module: asked.append(module) or module)
    for kind, methods in (("release", ["flat", "k_anonymity"]), ("step", ["vae"])):
        (p,) = plan_audits(
            profile({"name": "a", "audit": kind, "parameters": {"methods": methods}}), dataset="city", data=None
        )
        audit_id(p, data_fingerprint="d")
    assert {"trajkit.classical.flat", "trajkit.deep.vae", "trajkit.attacks.subject_tasks"} <= set(asked)


def test_an_audit_that_cannot_be_judged_leaves_the_others(outputs: Path) -> None:
    plan = _plan(
        {"name": "gone", "audit": "shadow", "parameters": {"dp_target": "critic"}},
        {"name": "worst", "audit": "worst_case"},
    )
    for p in plan:
        (outputs / "audits" / p["audit_id"] / "audit.json").write_text(AuditReport((STANDS,)).to_json())
    found = read_audits(plan)  # the models of the first are not there
    assert "cannot be judged: no model in" in str(found["gone"]) and found["worst"] == AuditReport((STANDS,))
    assert surprises(plan, found) == ["audit gone: complete, but cannot be judged"]


def test_one_run_has_no_worlds() -> None:
    plan = [{"name": n, "parameters": {"scheme": n}} for n in ("generator", "critic")]
    fell = replace(FELL, test="one run", trials=20)
    _, figures, _ = refuted(plan, {"generator": AuditReport((fell,)), "critic": AuditReport((STANDS,))})
    assert "20 trainings" in str(figures) and "each world" not in str(figures)


def test_a_claim_is_not_judged_by_private_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "stability_runs", lambda study: None)
    monkeypatch.setattr(results, "judge", lambda name, claim, found, own, **more: [own["audits"]()])
    plan = [
        {"name": n, "dataset": "tables", "parameters": {"dp_target": n, "placebo": False}}
        for n in ("generator", "critic")
    ]
    for raw, said in ((True, "not reproduced"), (False, "not testable at this profile")):
        study: Any = SimpleNamespace(
            plan={"audits": plan, "claims": ["C6"], "dataset": "tables", "profile": "quick"}, test_ratio=None, experiments=None,
            results=None, may_show_raw=raw, _isolated=None,
            audits={"generator": AuditReport((FELL,)), "critic": AuditReport((STANDS,))},
        )  # fmt: skip
        assert results.StudyResults.verdicts(study)[0][0] == said  # type: ignore[index]


def test_the_figure_shows_what_any_of_its_claims_allows() -> None:
    score = SimpleNamespace(auc=0.6, roc=((0.0, 0.0), (1.0, 1.0)))
    found: list[Any] = [verdict("x", scores=(score,), allowed=((0.1, hit), (1.0, 1.0))) for hit in (0.13, 0.15)]
    assert trade_off(found).axes[0].lines[0].get_ydata().tolist() == [0.15, 1.0]
