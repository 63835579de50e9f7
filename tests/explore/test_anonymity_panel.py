"""The playground computes what a release would do, and independent values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from trajkit import datasets
from trajkit.anonymize.search import KAnonymityConfig, groups_of
from trajkit.anonymize.suppression import shares
from trajkit.errors import ParameterError
from trajkit.explore.anonymity import BINS, CELLS_M, KS, AnonymityPanel, Playground, anonymity_panel
from trajkit.explore.data import HIDDEN
from trajkit.methods import make_method
from trajkit.viz.pictures import Picture

CITY = {"people": 60, "days": 2, "seed": 0}


@pytest.fixture(scope="module")
def play() -> Playground:
    return Playground(datasets.load("city", settings=CITY))


@pytest.mark.parametrize(("cell_m", "bins"), [(2000, "no time"), (4000, "4 h"), (500, "1 h")])
def test_suppression_is_that_of_the_method(play: Playground, cell_m: int, bins: str) -> None:
    curve, trajs = play.suppression(cell_m, bins), play.trajs
    for k in (2, 5, 17):
        config = KAnonymityConfig(k=k, cells_m=(float(cell_m),), minutes=(BINS[bins],))
        groups, _ = groups_of(trajs, play.who, play.setting(cell_m, bins), config)
        lost = shares(trajs, groups.released_points(len(trajs)))
        assert {name: curve[name][k - KS[0]] for name in curve} == pytest.approx(lost)
        assert np.array_equal(play.groups(cell_m, bins, k).origin, groups.origin)


def test_suppression_grows_with_k(play: Playground) -> None:
    for values in play.suppression(2000, "no time").values():
        assert (np.diff(values) >= 0).all() and values[-1] > values[0]


def test_the_method_releases_what_the_panel_says_is_kept(play: Playground) -> None:
    method = make_method("k_anonymity", k=5, cells_m=[2000.0], minutes=[None], suppression_budget=1.0)
    released = method.fit(play.trajs, seed=0).release(None, seed=0).trajectories
    assert len(released) == int((play.shared_by(2000, "no time") >= 5).sum()) > 0


def test_risk_in_the_release_is_below_its_bound(play: Playground) -> None:
    after = play.named(2000, "no time", 5)
    assert after is not None and (after["success"] <= 1 / 5).all() and (after["bound"] == 1 / 5).all()
    before = play.alone(500, "15 min")
    assert before["unicity"].iloc[-1] > 0.9


def test_the_toy_table_of_the_reference(shared: Path) -> None:
    case = json.loads((shared / "reference" / "trajectory_anonymity.json").read_text())["cases"][0]
    from trajkit.anonymize import signature_kernels as kernels
    from trajkit.anonymize.signatures import classes

    rows, expected = case["inputs"]["rows"], case["expected"]["class_sizes_users"]
    names = sorted({label for row in rows for label in row["signature"]})
    cells = np.array([names.index(label) for row in rows for label in row["signature"]], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(row["signature"]) for row in rows])])
    people = sorted({row["user"] for row in rows})
    found = classes(
        kernels.label_digests(cells, np.zeros_like(cells), offsets, 0),
        np.array([people.index(row["user"]) for row in rows], dtype=np.int64),
    )
    shared_by = found.users[found.of]
    assert [expected["|".join(row["signature"])] for row in rows] == shared_by.tolist()


def test_every_control_changes_what_is_seen() -> None:
    panel = anonymity_panel("city", settings=CITY, interactive=True)
    assert isinstance(panel, AnonymityPanel)
    panel.box()
    panel.work.wait(120)
    assert "done" in panel.work.status.value and panel.views.value.count("<img alt=") == 2
    for name, value in (("k", 20), ("cell_m", 4000), ("bins", "4 h")):
        before = panel.views.value
        panel.controls[name].value = value
        assert panel.message.value == "" and panel.views.value != before


def test_nothing_left_is_said() -> None:
    views = anonymity_panel("city", settings=CITY, cell_m=250, bins="15 min", k=50).shown()
    alts = [v.alt for v in views if isinstance(v, Picture)]
    assert "nothing is released" in alts[0] and "0 of" in alts[1]


def test_choices_that_are_not_offered_are_named() -> None:
    with pytest.raises(ParameterError, match=rf"cell_m = 7: one of {CELLS_M[0]}.*bins = 'x'.*k = 1: 2 to 50"):
        anonymity_panel("city", settings=CITY, cell_m=7, bins="x", k=1)


def test_private_data_are_hidden(tmp_path: Path) -> None:
    from tests.explore.test_data_panel import _own_table

    own = str(_own_table(tmp_path))
    assert HIDDEN in anonymity_panel("tables", data=own).shown()[0].html()
    assert len(anonymity_panel("tables", data=own, allow_raw=True).shown()) == 3
