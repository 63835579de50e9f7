"""`make assess`: predictions against the methods themselves, rules, and nothing exact in what it writes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import owners_table as owner
import pytest
from toys import META, from_metres

from trajkit.anonymize.anonymizer import persons
from trajkit.anonymize.suppression import shares
from trajkit.handover import assess as assessing
from trajkit.handover.assess import WORDS, assess, density_map
from trajkit.handover.measures import (
    CLOAKED,
    LOCAL,
    PARTS,
    TOGETHER,
    WHOLE,
    Measures,
    crs_fits,
    measure,
    people_per_cell,
    predicted,
)
from trajkit.handover.recommend import RULES, recommendation
from trajkit.handover.release import Source
from trajkit.methods import make_method
from trajkit.study.tables import about
from trajkit.trajectories import Trajectories

K = 5


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = tmp_path_factory.mktemp("assess")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAJKIT_CACHE", str(folder / "cache"))
        return Source.load(None, str(owner.written(folder / "owner")))


def lost_by(trajs: Trajectories, name: str, of: str, **parameters: object) -> float:
    """What the method itself loses, counted by its private map."""
    method = make_method(name, k=K, **parameters)
    release = method.fit(trajs, seed=1).release(None, seed=1)
    if of == "points":
        return 1 - release.trajectories.n_points / trajs.n_points
    kept = np.zeros(len(trajs), dtype=np.int64)
    kept[np.unique(method.origin_)] = 1  # type: ignore[attr-defined]
    return float(shares(trajs, kept)["trajectories"])


def test_predicted_suppression_is_the_method_s_own_or_a_bound_below_it(source: Source) -> None:
    trajs = source.trajs
    table = predicted(trajs, persons(trajs, "user"), k=K, budget=0.3).set_index("method")
    assert table.loc[WHOLE, "lost"] == pytest.approx(lost_by(trajs, "k_anonymity", "trajectories"))
    assert 0 < table.loc[WHOLE, "lost"] < 1
    k_anonymity = make_method("k_anonymity", k=K, suppress="segments").fit(trajs, seed=0)
    exact = k_anonymity.model_.report["not covered by the guarantee"]["suppressed"]["points"]  # type: ignore[attr-defined]
    assert table.loc[PARTS, "lost"] == pytest.approx(exact)
    cloaked = (
        make_method("cloaking", k=K).fit(trajs, seed=0).model_.report["not covered by the guarantee"]["suppressed"]
    )  # type: ignore[attr-defined]
    assert table.loc[CLOAKED, "lost"] <= cloaked["points"] + 1e-9
    assert table.loc[LOCAL, "lost"] <= lost_by(trajs, "lkc", "points") + 1e-9
    together = make_method("k_delta", k=K).fit(trajs, seed=0).model_.report["not covered by the guarantee"]  # type: ignore[attr-defined]
    assert table.loc[TOGETHER, "lost"] <= together["suppressed"]["trajectories"] + 1e-9


def test_people_are_counted_per_cell_and_not_their_points() -> None:
    # three people in one cell of the middle, one of whom stays there for two points; one alone 4 km east
    trajs = from_metres([[(10.0, 10.0), (20.0, 20.0)]] * 3 + [[(4010.0, 10.0), (4020.0, 10.0)]])
    grid, people, thin = people_per_cell(trajs, trajs.user, 2)
    assert sorted(people[people > 0].tolist()) == [1, 3]
    assert thin == pytest.approx(2 / 8)
    assert people.shape == (grid.ny, grid.nx)


def test_crs_must_be_metric_and_of_the_place() -> None:
    trajs = from_metres([[(0.0, 0.0), (1.0, 1.0)]])
    assert crs_fits(trajs) == (True, True)
    assert crs_fits(trajs.with_meta(crs="EPSG:4326")) == (False, True)
    assert crs_fits(trajs.with_meta(crs="EPSG:32650")) == (True, False)
    assert crs_fits(trajs.with_meta(crs="nonsense")) == (False, False)
    assert META.crs == "EPSG:32629"


def good() -> Measures:
    return Measures(
        k=5, tolerance=0.3, trajectories=10_000, users=1000, points=90_000, trips_per_user=(1.0, 1), own_user_each=False, has_times=True,
        metric_crs=True, box_inside_crs=True, days=10.0, thin_points=0.0, shared_hours=1.0, unicity=0.0,
        suppressed={WHOLE: 0.1, PARTS: 0.1},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "k_anonymity (whole trips)"),
        ({"metric_crs": False}, "declare a metric CRS"),
        ({"users": 4}, "publish nothing about single people"),
        ({"suppressed": {WHOLE: 0.31, PARTS: 0.3}}, "suppress: segments"),
        ({"suppressed": {WHOLE: 0.9, PARTS: 0.9}}, "DP by user (road_counts"),
        ({"suppressed": {WHOLE: 0.9, PARTS: 0.9}, "users": 639}, "too few people for DP by user"),
        ({"suppressed": {WHOLE: 0.9, PARTS: 0.9}, "users": 639, "trajectories": 639}, "totals with DP (flat"),
        ({"suppressed": {WHOLE: 0.9, PARTS: 0.9}, "tolerance": 0.95}, "k_anonymity (whole trips)"),
    ],
)
def test_recommendation_follows_the_rules(change: dict[str, object], says: str) -> None:
    advice, _, rows = recommendation(replace(good(), **change))
    assert says in advice
    tolerance = change.get("tolerance", 0.3)
    assert f"at most the tolerance ({tolerance:g})" in [row[2] for row in rows]
    assert len(rows) == len(RULES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"own_user_each": True}, "count trajectories, not people"),
        ({"unicity": 0.06}, "pseudonyms"),
        ({"thin_points": 0.06}, "cut the box"),
        ({"shared_hours": 0.9}, "leave time out"),
        ({"trips_per_user": (2.0, 9)}, "trips_per_user"),
        ({"users": 99}, "few people"),
    ],
)
def test_each_reason_is_given_where_it_applies_and_not_else(change: dict[str, object], says: str) -> None:
    assert not recommendation(good())[1]
    (reason,) = recommendation(replace(good(), **change))[1]
    assert says in reason


def test_report_is_private_and_its_counts_are_rounded(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assessing, "OUTPUTS", tmp_path)
    folder = assess(source, k=K)
    assert sorted(p.name for p in folder.iterdir()) == ["PRIVATE", "assessment.json", "report.html"]
    texts = {name: (folder / name).read_text() for name in ("assessment.json", "report.html")}
    for name, text in texts.items():
        assert "PRIVATE" in text
        text = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
        numbers = {int(x.replace(",", "")) for x in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.])", text) if x.strip(",")}
        assert not {len(source.trajs), source.trajs.n_points, owner.PEOPLE} & numbers, name
        assert "citizen" not in text
    record = json.loads(texts["assessment.json"])
    assert record["recommendation"] and record["rules"] and record["uniqueness"] and record["predicted suppression"]
    assert record["measures"]["users"] == "about 100"
    assert not set(WORDS) - set(record["measures"]) and "thin_points" not in texts["report.html"]


def test_counts_are_rounded_to_one_digit() -> None:
    assert [about(x) for x in (9, 10, 137, 1781)] == ["fewer than 10", "about 10", "about 100", "about 2,000"]


def test_the_map_s_scale_begins_at_k(source: Source) -> None:
    figure = density_map(measure(source.trajs, k=K, tolerance=0.3))
    image = figure.axes[0].images[1]
    assert image.norm.vmin == K and np.nanmin(image.get_array()) >= K
    assert [t.get_text() for t in figure.axes[1].get_yticklabels()][:2] == ["5", "8"]


def test_sets_without_times_are_assessed_too(source: Source) -> None:
    timeless = measure(replace(source.trajs, t=None), k=K, tolerance=0.3)
    assert timeless.measures.shared_hours is None and timeless.measures.days is None
    assert timeless.measures.unicity is not None
    assert TOGETHER not in timeless.measures.suppressed
