"""A release that keeps true trajectories and adds made ones: both promises on the page, its epsilon in the ledger, and a rehearsal of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import owners_table as owner
import pytest
from toys import walks

from trajkit.anonymize.anonymizer import MADE
from trajkit.errors import PrivacyAccountingError
from trajkit.handover import rehearsal
from trajkit.handover.budget import Spend
from trajkit.handover.choice import chosen
from trajkit.handover.dpia import residual
from trajkit.handover.ledger import BudgetLedger
from trajkit.handover.publishable import published, published_guarantee, spent_by
from trajkit.handover.recommend import ESCALATE, MOST_REPLACED, recommendation
from trajkit.handover.rehearsal import LINKABILITY, SINGLING_OUT, rehearse
from trajkit.handover.release import Budget, Source, make_release
from trajkit.methods import make_method
from trajkit.privacy.guarantee import RNG_OS, Guarantee
from trajkit.study.tables import about
from trajkit.trajectories import Trajectories

BASE: dict[str, Any] = {"k": 5, "minutes": [None], "synthesizer": "privtrace", "epsilon": 1.0, "n_made": 60}
ESCALATES, STOPS = BASE | {"tolerance": 0.0}, BASE | {"tolerance": 1.0}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return owner.written(tmp_path_factory.mktemp("owner-premises"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))


def handed(table: Path, out: Path, parameters: dict[str, Any], *, method: str = "escalation", cap: float = 2.0) -> Path:
    budget = Budget(folder=out.parent / "ledger", cap=cap, most_trips=owner.TRIPS)
    make_release(chosen(method, dict(parameters)), Source.load(None, str(table)), out, budget, n=20)
    return out


def account(table: Path, tmp_path: Path) -> Any:
    return BudgetLedger(tmp_path / "ledger").state(Source.load(None, str(table)).content)


def test_its_noise_is_the_operating_systems_and_its_cost_is_known_before() -> None:
    choice = chosen("escalation", dict(ESCALATES))
    assert choice.spend == Spend(1.0, 0.0, "trajectory") and choice.keeps_true_ones
    assert choice.method.config.noise == "os"  # type: ignore[attr-defined]
    by_user = chosen("escalation", ESCALATES | {"trips_per_user": 3})
    assert by_user.spend == Spend(1.0, 0.0, "user")
    assert chosen("k_anonymity", {}).spend is None and chosen("k_anonymity", {}).keeps_true_ones
    assert not chosen("flat", {}).keeps_true_ones


def test_the_page_says_both_promises_and_which_rows_are_made(table: Path, tmp_path: Path) -> None:
    out = handed(table, tmp_path / "out", ESCALATES | {"trips_per_user": 2})
    page = (out / "page.md").read_text()
    released = Trajectories.from_parquet(out / "release.parquet")
    made = np.char.startswith(released.traj_ids.astype(str), MADE)
    assert made.sum() == 60 and (~made).sum() > 0
    assert set(np.char.partition(released.traj_ids[~made].astype(str), "-")[:, 0]) <= {
        f"c{i}" for i in range(len(made))
    }
    for words in (
        "each person, in each single released part of a trajectory: at least 5 persons", "in those marked as made, each user, by differential privacy",
        "anybody, whatever else he knows", "k-anonymity, k = 5, per user; trajectories marked as made, by themselves: differential privacy, epsilon 1",
        "the whole has no epsilon", f"{about((~made).sum())} of them true ones, made coarser, and 60 made", f"begins with {MADE}",
        "with or without any one user the made trajectories are nearly as likely", "for made trajectories alone, not for the file",
        "by user epsilon 1, delta 0 per user", "Made trajectories stand for nobody", "at most 2 of each user", "of a person's points, those not released",
        "whether any were made was decided from the data", "no epsilon exists for the whole of this release", "first release of this kind",
    ):  # fmt: skip
        assert words in page, words
    assert "Of each user at most" not in page and "On purpose no figure" not in page
    g = Guarantee.read(out / "guarantee.json")
    assert (g.kind, g.k, g.epsilon, g.rng) == ("k-anonymity", 5, None, RNG_OS)
    assert [(p.epsilon, p.unit, p.details) for p in g.parts] == [(1.0, "user", {})]


def test_places_on_the_page_are_degrees_also_where_points_are_counted(table: Path, tmp_path: Path) -> None:
    page = (handed(table, tmp_path / "out", ESCALATES) / "page.md").read_text()
    assert "suppressed, points, by start (middle of a square of 5 km)" in page and "column and row" not in page


def test_the_epsilon_is_reserved_also_where_nothing_is_made(table: Path, tmp_path: Path) -> None:
    out = handed(table, tmp_path / "a", STOPS)
    page = (out / "page.md").read_text()
    assert "no trajectories were made" in page and "epsilon 1, delta 0 per trajectory set aside" in page
    assert "differential privacy, epsilon" not in page and Guarantee.read(out / "guarantee.json").parts == ()
    state = account(table, tmp_path)
    assert state.sums()["trajectory"].epsilon == 1.0 and state.anonymous == 1 and state.open == 0
    handed(table, tmp_path / "b", ESCALATES)
    with pytest.raises(PrivacyAccountingError, match=r"spent epsilon 2,.*with this release epsilon 3,"):
        handed(table, tmp_path / "c", ESCALATES)
    assert not (tmp_path / "c").exists()


def test_releases_of_both_kinds_know_of_it(table: Path, tmp_path: Path) -> None:
    handed(table, tmp_path / "a", ESCALATES)
    flat = (handed(table, tmp_path / "b", {"epsilon": 1.0}, method="flat") / "page.md").read_text()
    assert "by trajectory epsilon 2, delta 0" in flat and "hold true trajectories, made coarser, exist too" in flat
    again = {"k": 5, "cells_m": [4000.0], "minutes": [None]}
    kept = (handed(table, tmp_path / "c", again, method="k_anonymity") / "page.md").read_text()
    assert "1 release(s) of this kind were made of the same data before" in kept
    assert account(table, tmp_path).anonymous == 2


def test_where_all_is_made_the_mark_stays(table: Path, tmp_path: Path) -> None:
    out = handed(table, tmp_path / "out", ESCALATES | {"k": 100})
    released = Trajectories.from_parquet(out / "release.parquet")
    assert len(released) == 60 and all(str(i).startswith(MADE) for i in released.traj_ids)
    assert "0 of them true ones" in (out / "page.md").read_text()
    generated = make_method("flat").fit(walks(9, 8, 0), seed=0).release(3, seed=0).trajectories
    assert published(generated).traj_ids.tolist() == ["r0", "r1", "r2"]


def test_what_costs_more_than_was_entered_or_can_be_repeated_does_not_leave() -> None:
    train = walks(20, 8, 0)
    base = make_method("escalation", **ESCALATES, noise="os").fit(train, seed=1).release(None, seed=1).guarantee
    assert spent_by(base, "trajectory") == Spend(1.0, 0.0, "trajectory")
    out = published_guarantee(base, Spend(1.0, 0.0, "trajectory"))
    assert out.parts[0].details == {} and out.rng == RNG_OS
    seeded = make_method("escalation", **ESCALATES).fit(train, seed=1).release(None, seed=1).guarantee
    (part,) = base.parts
    for g, spend, says in (
        (base, Spend(0.5, 0.0, "trajectory"), "more than"),
        (base, Spend(1.0, 0.0, "user"), "counted one user"),
        (seeded, Spend(1.0, 0.0, "trajectory"), "seeded"),
        (replace(base, parts=(replace(part, adjacency="replace-one"),)), Spend(1.0, 0.0, "trajectory"), "replace-one"),
    ):
        with pytest.raises(PrivacyAccountingError, match=says):
            published_guarantee(g, spend)


# ---- before a release -----------------------------------------------------------------------------------------------


def test_a_rehearsal_attacks_what_is_somebodys(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "TARGETS", 40)
    source = Source.load(None, str(table))
    found = rehearse(chosen("escalation", dict(ESCALATES)), source, n=1)
    assert found.suppressed is not None and set(found.suppressed) == {"trajectories", "users", "points"}
    by_kind = {f.kind: f for f in reversed(found.figures)}  # the first of each kind
    assert by_kind[LINKABILITY].after is not None and by_kind[SINGLING_OUT].before is not None
    assert by_kind[LINKABILITY].after < by_kind[LINKABILITY].before  # type: ignore[operator]
    assert residual(found, found.release.guarantee)
    every = rehearse(chosen("escalation", ESCALATES | {"k": 100}), source, n=1)
    linked = next(f for f in every.figures if f.kind == LINKABILITY)
    assert linked.after is None and "made" in linked.note and every.suppressed == {
        "trajectories": 1.0, "users": 1.0, "points": 1.0,
    }  # fmt: skip


def test_it_is_recommended_where_the_bulk_can_be_kept_and_the_rest_is_too_much_to_lose(table: Path) -> None:
    from trajkit.handover.measures import ESCALATED, PARTS, WHOLE, measure

    m = measure(Source.load(None, str(table)).trajs, k=5, tolerance=0.3).measures
    assert 0 <= m.suppressed[ESCALATED] <= 1
    kept = make_method("escalation", k=5, tolerance=0.0, synthesizer="privtrace").fit(
        Source.load(None, str(table)).trajs, seed=0
    )
    share = kept.model_.kept.model_.report["not covered by the guarantee"]["suppressed"]["points"]  # type: ignore[attr-defined]
    assert m.suppressed[ESCALATED] == pytest.approx(share)
    many = replace(m, users=1000, trajectories=5000)

    def taken(**lost: float) -> str:
        return recommendation(replace(many, suppressed=dict(many.suppressed) | lost))[0]

    whole, parts, made = WHOLE, PARTS, ESCALATED
    assert taken(**{whole: 0.9, parts: 0.4, made: MOST_REPLACED}) == ESCALATE
    assert taken(**{whole: 0.9, parts: 0.2, made: 0.4}) != ESCALATE  # parts alone are within the tolerance
    assert taken(**{whole: 0.9, parts: 0.4, made: MOST_REPLACED + 0.01}) != ESCALATE  # the bulk would be made
    few = replace(many, users=60, suppressed=dict(many.suppressed) | {whole: 0.9, parts: 0.4, made: 0.4})
    assert recommendation(few)[0] != ESCALATE  # too few people for the DP part by user
    json.dumps(m.as_dict())
