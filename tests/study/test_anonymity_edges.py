"""Question 6 at its edges: short trips, nobody in both halves, an attack past its bound, nothing to decide between, hexagons."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from toys import META, walks

from trajkit.anonymize.tessellation import SquareCells
from trajkit.attacks.nearest_neighbour import nearest_linkage
from trajkit.attacks.origin import Origin
from trajkit.errors import ParameterError
from trajkit.geo import Box, project, unproject
from trajkit.methods import make_method
from trajkit.metrics.silence import od_by_hour, uncovered
from trajkit.study import anonymity_text, decisions, risk
from trajkit.study.two_releases import joined
from trajkit.trajectories import Trajectories


def people(trajs: Trajectories, prefix: str, trips: int = 1, *, timed: bool = False) -> Trajectories:
    """``trips`` each, an hour apart."""
    n = len(trajs)
    t = 60_000 * (np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)) if timed else None
    once = replace(trajs, t=t, user=np.arange(n), user_ids=np.array([f"{prefix}{i}" for i in range(n)]))
    many = once.take(np.repeat(np.arange(n), trips))
    t = None if many.t is None else many.t + np.repeat(np.tile(np.arange(trips), n), many.lengths) * 3_600_000
    return replace(many, t=t, traj_ids=np.array([f"{prefix}-{i}" for i in range(n * trips)]))


def run_of(method: str, train: Trajectories, test: Trajectories, **parameters: Any) -> Any:
    made = make_method(method, **parameters)
    release = made.fit(train, seed=0).release(None, seed=0)
    given = made.config.model_dump(mode="json")
    return SimpleNamespace(
        release=lambda _: release,
        origin=lambda: made.origin_,  # type: ignore[attr-defined]
        config=SimpleNamespace(seed=0, method=method, parameters=given),
        fold=SimpleNamespace(train=train, test=test),
    )


@pytest.mark.parametrize("points", [3, 12])
def test_trips_of_fewer_points_than_are_known_have_no_row(points: int) -> None:
    train, test = (
        people(walks(40, points, seed=0), "m", 2, timed=True),
        people(walks(10, points, seed=1), "o", timed=True),
    )
    copies = replace(train, user=np.arange(80) % 8, user_ids=train.user_ids[:8])
    rows = risk._attacked(run_of("k_delta", copies, test, k=2, interval_s=None, count="trajectory"))
    assert [row["fields"] for row in rows] == ([] if points < risk.KNOWN else [risk.SPACE])
    assert all(0 <= row["named"] <= 1 and row["auc_low"] <= row["auc"] <= row["auc_high"] for row in rows)


def test_squares_on_the_border_are_read_as_the_adversary_would() -> None:
    """North of Tromsø the border of the box runs askew to the squares, so that the centre of one may be moved into the next."""
    meta = replace(META, box=Box(20.0, 69.0, 20.2, 69.1), crs="EPSG:32633")
    cells = SquareCells(500.0)
    edge = np.column_stack([np.full(20_000, 20.0), np.linspace(69.0, 69.1, 20_000)])
    label = cells.cell_of(project(edge, meta.crs))
    read = cells.cell_of(project(meta.box.clip(unproject(cells.centres(label), meta.crs)), meta.crs))
    moved = edge[label != read][0]
    inside = np.column_stack([np.linspace(20.05, 20.15, 3), np.linspace(69.02, 69.08, 3)])
    train = people(Trajectories.from_fixed(np.stack([np.vstack([moved, inside])] * 2), meta=meta), "m")
    run = run_of("k_anonymity", train, train, k=2, cells_m=(500.0,), minutes=(None,))
    assert risk._by_cells(run, run.origin(), risk.SPACE) == 0.5


def test_a_promise_about_few_points_is_not_called_one_about_trajectories() -> None:
    trajs = people(walks(20, 6, seed=0), "u")
    lkc, whole = (
        make_method(name, k=3, minutes=minutes).fit(trajs, seed=0).release(None, seed=0).guarantee
        for name, minutes in (("lkc", None), ("k_anonymity", (None,)))
    )
    assert "L = 2" in risk.in_short(lkc) and "L = 2" in lkc.in_words()
    assert risk.in_short(whole) == "k-anonymity, k = 3, user"
    for name in ("k_anonymity", "k_delta", "cloaking", "lkc", "escalation"):
        none = {"minutes": (None,)}
        off = {"k_delta": {"interval_s": None}, "k_anonymity": none, "escalation": none}.get(name, {"minutes": None})
        said = {
            count: make_method(name, k=3, count=count, **off)
            .fit(trajs, seed=0)
            .release(None, seed=0)
            .guarantee.assumptions
            for count in ("user", "trajectory")
        }
        assert any("tell persons apart rightly" in a for a in said["user"]), name
        assert not any("tell persons apart rightly" in a for a in said["trajectory"]), name


def test_an_escalation_is_attacked_in_what_is_somebodys() -> None:
    """Eight walks, five people on each: kept in squares of 1 km; made trajectories change nobody's risk of being named."""
    train = people(walks(8, 12, seed=0).take(np.arange(40) % 8), "m", 2, timed=True)
    test = people(walks(10, 12, seed=1), "o", timed=True)
    off = {"k": 3, "minutes": (None,), "synthesizer": "privtrace", "n_made": 30}
    kept = {"suppress": "segments", "k": 3, "minutes": (None,), "cells_m": (1000.0,), "suppression_budget": 1.0}
    lone = people(walks(5, 12, seed=2), "l", timed=True)  # too rare
    mixed = Trajectories.from_frame(pd.concat([train.to_frame(), lone.to_frame()]), meta=META)
    mixed = replace(mixed, t=mixed.t + mixed.traj_of_point)  # type: ignore[operator]  # no record is a copy of another
    one, alone = (
        risk._attacked(run_of(name, mixed, test, **p))
        for name, p in (("escalation", {**off, "tolerance": 0.0}), ("k_anonymity", kept))
    )
    for a, b in zip(one, alone, strict=True):
        for name in (
            "named",
            "named_low",
            "named_high",
            "named by cells",
            "bound",
            "guess",
            "suppressed",
            "kind",
            "fields",
        ):
            assert a[name] == b[name], name
        assert a["guarantee"] == "k-anonymity, k = 3, user; made ones: epsilon 1, trajectory" and a["bound"] == 1 / 3
        assert 0 < a["named"] <= 1 / 3 and a["suppressed"] > 0
    (nobody,) = risk._attacked(run_of("escalation", mixed, test, **{**off, "k": 46, "tolerance": 0.0}))
    assert "named" not in nobody and "named by cells" not in nobody and 0 < nobody["auc"] < 1


def test_an_empty_release_does_not_win_by_silence() -> None:
    trajs = people(walks(20, 6, seed=0), "u", timed=True)
    assert od_by_hour(trajs, trajs) == uncovered(trajs, trajs) == 0.0
    none = trajs.take(np.zeros(0, dtype=np.int64))
    assert od_by_hour(trajs, none) == uncovered(trajs, none) == 1.0
    assert 0 < od_by_hour(trajs, replace(trajs, t=None)) < 1


def test_two_releases_need_people_in_both_halves() -> None:
    assert not len(joined(people(walks(20, 6, seed=0), "u", timed=True)))  # all start at once: one half is empty
    once = people(walks(20, 6, seed=0), "u", timed=True)
    once = replace(once, t=once.t + np.repeat(np.arange(20) * 10_000_000, 6))  # type: ignore[operator]
    assert not len(joined(once)) and not len(joined(replace(once, t=None)))
    table = joined(people(walks(20, 6, seed=0), "u", 4, timed=True))
    assert len(table) and (table["first alone"] <= table["bound for one release"]).all()


def _linked(named: float) -> pd.DataFrame:
    rows = [("k-anonymity", named, 0.1), ("k-anonymity k 10", 0.01, 0.02)]
    return pd.DataFrame([{"release": r, "named": a, "named by cells": b, "bound": 0.2} for r, a, b in rows])


def test_a_broken_bound_is_said() -> None:
    assert "0.150, where 1/k is 0.200; in no other of these does he come nearer" in anonymity_text._bounds_in_words(
        _linked(0.15)
    )
    assert "breaks its promise" in anonymity_text._bounds_in_words(_linked(0.3))
    assert anonymity_text._bounds_in_words(_linked(0.3).assign(bound=np.nan)) == ""


def test_members_are_people_with_at_most_two_trips_and_none_is_on_both_sides() -> None:
    ins, outs = people(walks(60, 8, seed=0), "m", 5), people(walks(50, 8, seed=1), "o", 3)
    found = risk.members_found(ins, outs, ins, seed=0)
    assert found["member auc"] == 1 and found[risk.FOUND] == 1 and set(found) <= set(risk.COLUMNS)
    blind = risk.members_found(ins, outs, people(walks(100, 8, seed=2), "x"), seed=0)
    assert blind["member auc low"] < 0.5 < blind["member auc high"] and blind[risk.FOUND] < 0.2
    assert blind == risk.members_found(ins, outs, people(walks(100, 8, seed=2), "x"), seed=0)
    shared = people(walks(50, 8, seed=1), "m", 3)  # the names of the first fifty members, on trips of their own
    assert risk.members_found(ins, shared, ins, seed=0) == {}
    asked = risk._asked(ins, np.random.default_rng(0))
    assert (np.bincount(asked.user) == risk.TRIPS).all() and len(np.unique(asked.traj_ids)) == len(asked) == 120


def test_members_found_are_told_in_words() -> None:
    shares = (
        ("real trajectories", "none", 0.99, 0.97),
        ("k-anonymity", "k-anonymity", 0.7, 0.2),
        ("VAE", "dp", 0.5, 0.01),
    )
    rows = [
        {"release": r, "kind": k, "member auc": a, "member auc low": a - 0.05, risk.FOUND: f}
        | {f"{risk.FOUND} low": f - 0.01, f"{risk.FOUND} high": f + 0.01, risk.GUESSED: 0.125}
        for r, k, a, f in shares
    ]
    (text,) = anonymity_text._members_in_words(pd.DataFrame(rows))
    assert "in k-anonymity (0.70)." in text and "VAE" not in text
    assert "in k-anonymity: 20 % of them (19 to 21 %), where a guess finds 12 %" in text and "certifies nothing" in text
    assert "none of them" in anonymity_text._members_in_words(pd.DataFrame([rows[0], rows[2]]))[0]
    assert anonymity_text._members_in_words(pd.DataFrame([{"release": "x", "kind": "dp"}])) == []


def test_what_is_not_usable_is_told_from_what_is_not_measured() -> None:
    errors = pd.DataFrame({"TE": [0.2], "JSD": [0.7]}, index=["privtrace-private"])
    none = {decisions.DP: None, decisions.ANONYMOUS: None}
    assert "no release with a promise was measured" in decisions._taken(errors, none, {}, aside=False)
    assert "closer to no information" in decisions._taken(
        errors, {**none, decisions.DP: "privtrace-private"}, {}, aside=False
    )


def test_a_metric_without_a_scale_leaves_the_figure_out_and_not_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small set real data can score no better than no information: then SWD has no rescaled value, and no column."""
    row = {"cell": "real", "release": "real trajectories", "kind": "none", "fields": risk.SPACE, "auc": 0.9}
    monkeypatch.setattr(anonymity_text, "risk_table", lambda _: pd.DataFrame([row]))
    monkeypatch.setattr(anonymity_text, "errors_by_cell", lambda _: pd.DataFrame({"JSD": [0.0]}, index=["real"]))
    assert not len(anonymity_text.frontier_table(SimpleNamespace()))  # type: ignore[arg-type]


def test_times_on_another_day_are_no_proof_of_safety() -> None:
    trips_ = people(walks(12, 6, seed=0), "m", 2, timed=True)
    later = replace(trips_, t=trips_.t + 86_400_000 * 4000)  # type: ignore[operator]
    origin = Origin.one_each(np.arange(len(trips_)))
    with pytest.raises(ParameterError, match="share no moment"):
        nearest_linkage(trips_, later, origin, seed=0)
    assert nearest_linkage(trips_, later, origin, seed=0, space_only=True).by_p[0].success > 0


def test_a_release_says_when_ids_may_be_no_people_and_when_nothing_is_left() -> None:
    alone = people(walks(30, 6, seed=0), "m")
    notes = make_method("k_anonymity", k=5, minutes=(None,)).fit(alone, seed=0).release(None, seed=0).report["notes"]
    assert any("a user of its own" in n for n in notes)
    assert any(
        "nothing can be released" in n
        for n in make_method("k_anonymity", k=1000, minutes=(None,))
        .fit(alone, seed=0)
        .release(None, seed=0)
        .report["notes"]
    )
    with pytest.raises(ParameterError, match="gap_s and stays cannot be used"):
        make_method("k_anonymity", gap_s=60.0).fit(alone, seed=0)
