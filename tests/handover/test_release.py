"""`make release`: what leaves, what is refused, and what a killed process leaves behind."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import owners_table as owner
import pandas as pd
import pyarrow.parquet as pq
import pytest

from trajkit import datasets
from trajkit.datasets.cache import content_hash
from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.handover import release as handing
from trajkit.handover.budget import Spend
from trajkit.handover.choice import chosen, parameters_of
from trajkit.handover.ledger import BudgetLedger
from trajkit.handover.publishable import check_files, check_places, published, published_guarantee
from trajkit.handover.release import FILES, Budget, Source, make_release
from trajkit.methods import make_method
from trajkit.privacy.guarantee import RNG_OS, Guarantee, no_guarantee
from trajkit.trajectories import Trajectories

TINY = {
    "regime": "private", "epsilon": 5.0, "delta": 1e-6, "length": 8, "channels": 4, "channel_multipliers": [1, 2], "groups": 2,
    "attention": False, "batch_size": 16, "steps": 3, "warmup_steps": 0, "device": "cpu",
}  # fmt: skip
METHODS = {
    "flat": {"epsilon": 1.0},
    "road_counts": {"epsilon": 1.0, "trips_per_user": 2},
    "private_evolution": {"epsilon": 1.0, "rounds": 2},
    "prefix_tree": {"epsilon": 2.0},
    "diffusion": {**TINY, "diffusion_steps": 10, "sampling_steps": 2},
    "k_anonymity": {"k": 5, "cells_m": [1000.0, 4000.0], "minutes": [None]},
    "k_delta": {"k": 5, "interval_s": None, "trash": 0.2},
    "cloaking": {"k": 5},
    "lkc": {"k": 5, "cells_m": 2000.0, "minutes": None, "known": 2},
    "escalation": {
        "k": 5,
        "tolerance": 0.0,
        "minutes": [None],
        "synthesizer": "privtrace",
        "epsilon": 1.0,
        "n_made": 150,
    },
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return owner.written(tmp_path_factory.mktemp("owner-premises"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))


def handed(table: Path, out: Path, method: str = "flat", *, cap: float = 100.0, n: int = 150, **more: object) -> Path:
    parameters = more.pop("parameters", METHODS[method])
    budget = Budget(folder=out.parent / "ledger", cap=cap, most_trips=owner.TRIPS)
    make_release(chosen(method, dict(parameters)), Source.load(None, str(table)), out, budget, n=n, **more)  # type: ignore[arg-type, call-overload]
    return out


# ---- what leaves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_out_holds_no_raw_point_id_seed_hash_count_or_path(
    method: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = iter((owner.OWN_SEED, owner.OWN_SEED + 1))
    monkeypatch.setattr(handing, "fresh_seed", lambda: next(seeds))
    out = handed(table, tmp_path / "out", method, purpose="counting rides")
    raw = datasets.load("tables", data=table)
    assert sorted(p.name for p in out.iterdir()) == sorted(FILES)
    n_public = 150 if METHODS[method].get("epsilon") else None
    _no_text(out, raw, table, n_public)
    if n_public:  # the accountant's own figure is a little smaller, and the number of records follows from its digits
        g = Guarantee.read(out / "guarantee.json")
        assert {g.epsilon, *(part.epsilon for part in g.parts)} - {None} == {METHODS[method]["epsilon"]}
    _no_value(out, raw)


def _no_text(out: Path, raw: Trajectories, table: Path, n_public: int | None) -> None:
    """Search the bytes of every file, the schema of the table among them, and its cells as text."""
    key = (out.parent / "ledger" / "key").read_bytes()
    secret = {
        *map(str, raw.user_ids), *map(str, raw.traj_ids), str(owner.OWN_SEED), str(owner.OWN_SEED + 1), hex(owner.OWN_SEED)[2:],
        raw.fingerprint(), content_hash(table.parent / "owners.csv"), key.hex(), str(table), str(table.parent), str(out), str(out.parent),
        str(Path.home()), str(Path.cwd()), socket.gethostname(), "owners.csv", "citizen", "ride-",
    }  # fmt: skip
    secret = {s for s in secret if len(s) > 4}
    file = pq.ParquetFile(out / "release.parquet")
    table_text = file.read().to_pandas().astype(str).to_csv()
    meta = json.dumps({k.decode(): v.decode(errors="replace") for k, v in (file.schema_arrow.metadata or {}).items()})
    texts = {p.name: p.read_bytes().decode("latin-1") for p in out.iterdir()} | {"cells": table_text, "schema": meta}
    for name, text in texts.items():
        found = sorted(s for s in secret if s in text)
        assert not found, f"{name}: {found}"
    counts = {len(raw), raw.n_points, len(raw.user_ids)} - {n_public}
    for name in ("guarantee.json", "page.html", "page.md", "schema"):
        numbers = {
            int(x.replace(",", "")) for x in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.])", texts[name]) if x.strip(",")
        }
        released = {len(Trajectories.from_parquet(out / "release.parquet"))}  # whoever counts the rows knows it
        assert not (counts - released) & numbers, name
    details = [part["details"] for part in json.loads(texts["guarantee.json"])["parts"]]
    assert not any({"n", "sample_rate", "noise_multiplier", "size"} & set(d) for d in details)


def _no_value(out: Path, raw: Trajectories) -> None:
    released = Trajectories.from_parquet(out / "release.parquet")
    near = {tuple(p) for p in np.rint(raw.lonlat * 1e8).astype(np.int64).tolist()}
    assert not near & {tuple(p) for p in np.rint(released.lonlat * 1e8).astype(np.int64).tolist()}
    assert released.meta.steps == () and len(set(released.user_ids)) == len(released)
    if released.t is not None:
        assert not np.isin(released.t, raw.t).all()
    g = Guarantee.read(out / "guarantee.json")
    assert g.holds and g.rng == RNG_OS


def test_a_true_point_would_be_found(table: Path, tmp_path: Path) -> None:
    """The search above is not blind: it finds what it looks for where the release is the data."""
    raw = datasets.load("tables", data=table)
    (tmp_path / "out").mkdir()
    raw.take(np.arange(3)).to_parquet(tmp_path / "out" / "release.parquet")
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "key").write_bytes(b"k" * 32)
    for name in FILES[1:]:
        (tmp_path / "out" / name).write_text(f"{len(raw)} rides")
    with pytest.raises(AssertionError, match="citizen-0000-qx"):
        _no_text(tmp_path / "out", raw, table, None)


def test_twice_the_same_input_gives_different_noise(table: Path, tmp_path: Path) -> None:
    for method in ("flat", "k_anonymity"):
        a, b = (
            Trajectories.from_parquet(handed(table, tmp_path / f"{method}{i}", method) / "release.parquet")
            for i in "ab"
        )
        same = len(a) == len(b) and np.array_equal(a.lonlat, b.lonlat)
        assert not same, method


def test_the_page_answers_the_five_questions(table: Path, tmp_path: Path) -> None:
    dp = (handed(table, tmp_path / "dp", "flat", purpose="bus lanes") / "page.md").read_text()
    anonymous = (handed(table, tmp_path / "anon", "k_anonymity") / "page.html").read_text()
    for page in (dp, anonymous):
        for question in ("What was protected", "Against whom", "How strongly", "Who was left out", "What remains"):
            assert question in page
    assert "bus lanes" in dp and "epsilon 1, delta 0 per trajectory" in dp and "for a user who has at most 3" in dp
    assert "epsilon 3" in dp  # what it is for him
    assert re.search(r"41\.\d{3} north, 8\.\d{3} west", anonymous)  # squares as a reader finds them on a map
    assert "holds is a true count" in anonymous and "holds is a true count" not in dp
    assert "places are the middles of square" in anonymous and "by user epsilon 0" not in dp
    assert f"{len(Trajectories.from_parquet(tmp_path / 'anon' / 'release.parquet')):,} traj" not in anonymous
    assert "persons of whom nothing is released" in anonymous and ("under 2.5%" in anonymous or "about" in anonymous)


def test_what_the_method_cuts_out_first_is_on_the_page(table: Path, tmp_path: Path) -> None:
    for method in ("k_anonymity", "escalation"):
        cut = {**METHODS[method], "gap_s": 777.0, "stays": "all", "stay_s": 555.0}
        text = (handed(table, tmp_path / method, method, parameters=cut) / "page.md").read_text()
        assert "more than 777.0 s apart" in text and "stays of 555.0 s and more are cut out" in text


def test_a_dp_page_shows_rounded_figures_only_where_they_are_asked_for(table: Path, tmp_path: Path) -> None:
    cut = table.with_name("cut.yaml")
    cut.write_text(table.read_text().replace("-8.50, 41.24", "-8.60, 41.24"))
    plain = (handed(cut, tmp_path / "plain") / "page.md").read_text()
    more = (handed(cut, tmp_path / "more", figures=True) / "page.md").read_text()
    assert "On purpose no figure" in plain and "dropped in preparation" not in plain
    assert "dropped in preparation" in more and "the promise does not cover them" in more


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "parameters", "says"),
    [
        ("flat", {"epsilon": 1.0, "noise": "seeded"}, "noise = 'seeded'"),
        ("real", {}, "gives no guarantee"),
        ("pseudonyms", {}, "gives no guarantee"),
        ("planar_laplace", {}, "gives no guarantee"),
        ("uniform", {}, "gives no guarantee"),
        ("vae", {**TINY, "regime": "clipped"}, "promises nothing"),
        ("vae", {**TINY, "delta": None}, "delta is missing"),
        ("vae", {**TINY, "epsilon": None, "noise_multiplier": 1.0}, "epsilon is missing"),
        ("gan", {**TINY, "dp_target": "generator"}, "dp_target"),
        ("privtrace", {"epsilon": 1.0, "variant": "published"}, "variant"),
        ("diffusion", {**TINY, "condition": {"type": "sample"}}, "condition"),
        ("nothing", {}, "unknown"),
    ],
)
def test_refused_before_anything_is_read(method: str, parameters: dict[str, object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        chosen(method, parameters)


def test_a_guarantee_that_does_not_hold_or_costs_more_leaves_nothing() -> None:
    spend = Spend(1.0, 0.0, "trajectory")
    base = make_method("flat", epsilon=1.0, noise="os").fit(owner_free(), seed=1).release(5, seed=1).guarantee
    assert published_guarantee(base, spend).epsilon == 1.0
    seeded = make_method("flat", epsilon=1.0).fit(owner_free(), seed=1).release(5, seed=1).guarantee
    for g, s in (
        (no_guarantee("tried"), spend),
        (seeded, spend),
        (base, Spend(0.5, 0.0, "trajectory")),
        (base, Spend(1.0, 0.0, "user")),
    ):
        with pytest.raises(PrivacyAccountingError):
            published_guarantee(g, s)


def owner_free() -> Trajectories:
    from toys import walks

    return walks(20, 8, 0)


def test_ids_of_the_owner_that_look_like_an_anonymizer_s_are_taken_off() -> None:
    raw = owner_free()
    named = replace(raw, traj_ids=np.array([f"citizen-{i}" for i in range(len(raw))]))
    assert published(named).traj_ids[0] == "r0"


def test_third_release_beyond_the_cap_is_refused_with_the_sum(table: Path, tmp_path: Path) -> None:
    handed(table, tmp_path / "a", cap=2.0)
    handed(table, tmp_path / "b", cap=2.0)
    with pytest.raises(PrivacyAccountingError, match=r"spent epsilon 2,.*with this release epsilon 3,"):
        handed(table, tmp_path / "c", cap=2.0)
    assert not (tmp_path / "c").exists() and not list(tmp_path.glob(".c.*"))


def test_other_settings_of_the_same_file_are_on_the_same_account(table: Path, tmp_path: Path) -> None:
    longer = table.with_name("longer.yaml")
    longer.write_text(table.read_text() + "min_points: 5\n")
    handed(table, tmp_path / "a", cap=2.0)
    handed(longer, tmp_path / "b", cap=2.0)
    with pytest.raises(PrivacyAccountingError, match="would be passed"):
        handed(longer, tmp_path / "c", cap=2.0)


@pytest.mark.parametrize("form", ["rows", "columns", "parquet", "gz", "part"])
def test_a_copy_of_the_data_goes_on_with_its_budget(form: str, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table.parent / "owners.csv")
    handed(table, tmp_path / "a", cap=1.0)
    name = {"parquet": "c.parquet", "gz": "c.csv.gz"}.get(form, "c.csv")
    if form == "parquet":
        frame.to_parquet(tmp_path / name)
    else:
        {
            "rows": frame.sample(frac=1, random_state=1), "columns": frame[frame.columns[::-1]], "gz": frame, "part": frame[13 * 3 :]
        }[form].to_csv(tmp_path / name, index=False)  # fmt: skip
    copy = tmp_path / "copy.yaml"
    copy.write_text(table.read_text().replace("owners.csv", name))
    says = "does not know this data" if form == "part" else "would be passed"
    with pytest.raises((ParameterError, PrivacyAccountingError), match=says):
        handed(copy, tmp_path / "b", cap=1.0)


def test_the_same_data_cut_otherwise_is_the_same_data_and_said_on_the_page(table: Path, tmp_path: Path) -> None:
    cut = table.with_name("pieces.yaml")
    cut.write_text(table.read_text() + "cut: {gap_s: 1}\n")
    whole, pieces = (Source.load(None, str(t)) for t in (table, cut))
    assert whole.marks[:2] == pieces.marks[:2] and whole.marks[2] != pieces.marks[2]
    budget = Budget(folder=tmp_path / "ledger", cap=9.0)
    for name, source in (("a", pieces), ("b", whole)):
        make_release(chosen("flat", {}), source, tmp_path / name, budget, n=5)
    said = [(tmp_path / name / "page.md").read_text() for name in "ab"]
    assert ["cut or chosen in several ways" in text for text in said] == [False, True]
    with pytest.raises(ParameterError, match="never checked"):
        make_release(chosen("flat", {}), whole, tmp_path / "c", Budget(folder=tmp_path / "ledger", most_trips=3), n=5)


def test_a_bare_name_in_place_of_a_path_may_stand_on_the_page(table: Path, tmp_path: Path) -> None:
    source = Source.load(None, str(table))
    named = replace(source, data="geolife", path=Path("geolife"), trajs=source.trajs.with_meta(dataset="geolife"))
    make_release(chosen("flat", {}), named, tmp_path / "x", Budget(folder=tmp_path / "l", cap=2.0), n=5)
    assert "Released trajectories: geolife" in (tmp_path / "x" / "page.md").read_text()
    assert {str(table), str(table.parent), "owners.csv"} <= set(replace(source, path=Path("owners.csv")).paths())


def test_a_ledger_elsewhere_is_no_fresh_start(tmp_path: Path) -> None:
    source = Source.load(None, str(owner.written(tmp_path / "premises", people=6)))
    make_release(chosen("flat", {}), source, tmp_path / "a", Budget(cap=1.0), n=5)
    with pytest.raises(ParameterError, match="leave LEDGER="):
        make_release(chosen("flat", {}), source, tmp_path / "b", Budget(folder=tmp_path / "other", cap=1.0), n=5)


def test_a_bound_of_an_earlier_release_is_checked_of_data_cut_otherwise(table: Path, tmp_path: Path) -> None:
    handed(table, tmp_path / "a")
    cut = table.with_name("gaps.yaml")
    cut.write_text(table.read_text() + "cut: {gap_s: 1}\n")
    budget = Budget(folder=tmp_path / "ledger")
    with pytest.raises(ParameterError, match="MOST_TRIPS=3"):
        make_release(chosen("flat", {}), Source.load(None, str(cut)), tmp_path / "b", budget, n=5)


@pytest.mark.parametrize(
    ("method", "more"), [("k_anonymity", {}), ("road_counts", {"trips_per_user": 2}), ("flat", {"most": 1})]
)
def test_data_without_persons_gets_no_promise_to_persons(
    method: str, more: dict[str, int], table: Path, tmp_path: Path
) -> None:
    nobody = table.with_name("nobody.yaml")
    nobody.write_text(table.read_text().replace("user: who, ", ""))
    source, most = Source.load(None, str(nobody)), more.pop("most", None)
    budget = Budget(folder=tmp_path / "l", cap=2.0, most_trips=most)
    with pytest.raises(ParameterError, match="names no person"):
        make_release(chosen(method, more), source, tmp_path / "x", budget)
    assert not (tmp_path / "l").exists()
    honest = {"count": "trajectory", "minutes": [None]} if method == "k_anonymity" else {"epsilon": 1.0}
    make_release(chosen(method, honest), source, tmp_path / "x", Budget(folder=tmp_path / "l", cap=2.0), n=5)
    assert "trajectory" in (tmp_path / "x" / "page.md").read_text()


@pytest.mark.parametrize("kind", ["link", "dangling", "mount", "file", "nowhere", "in the ledger"])
def test_an_out_that_cannot_be_put_in_place_costs_nothing(
    kind: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    out = {"file": tmp_path / "file" / "out", "nowhere": Path("/proc/out"), "in the ledger": tmp_path / "l" / "out"}
    if kind == "mount":
        monkeypatch.setattr(Path, "is_mount", lambda self: self.name == "mount")
    budget = Budget(folder=tmp_path / "l", cap=2.0)
    with pytest.raises(ParameterError, match="OUT"):
        make_release(chosen("flat", {}), Source.load(None, str(table)), out.get(kind, tmp_path / kind), budget)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("inside", ["OUT", "LEDGER"])
def test_nothing_is_written_into_a_folder_of_data(inside: str, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.csv").write_bytes((table.parent / "owners.csv").read_bytes())
    yaml = tmp_path / "data.yaml"
    yaml.write_text(table.read_text().replace("file: owners.csv", "file: data\npattern: '*.csv'"))
    out, ledger = (folder / "x", tmp_path / "l") if inside == "OUT" else (tmp_path / "x", folder / "l")
    with pytest.raises(ParameterError, match=f"{inside}=.*inside the data"):
        make_release(chosen("flat", {}), Source.load(None, str(yaml)), out, Budget(folder=ledger, cap=2.0))
    assert sorted(p.name for p in folder.iterdir()) == ["a.csv"]


def test_a_folder_that_is_not_empty_or_holds_the_ledger_is_refused(table: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match="not empty"):
        handed(table, tmp_path / "out")
    source = Source.load(None, str(table))
    with pytest.raises(ParameterError, match="inside OUT"):
        make_release(chosen("flat", {}), source, tmp_path / "x", Budget(folder=tmp_path / "x" / "ledger", cap=2.0))
    with pytest.raises(ParameterError, match="MOST_TRIPS=2"):
        make_release(chosen("flat", {}), source, tmp_path / "x", Budget(folder=tmp_path / "l", cap=2.0, most_trips=2))
    assert not (tmp_path / "l").exists() or not list((tmp_path / "l").glob("*.jsonl"))


def test_moved_places_that_are_true_ones_do_not_leave() -> None:
    raw = owner_free()
    with pytest.raises(PrivacyAccountingError, match=r"100\.0%"):
        check_places(published(raw), raw, "(k,delta)-anonymity")


def test_last_look_finds_a_path_and_a_file_too_many(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("made in /home/somebody")
    check_files(tmp_path, ["a"], ["/home/nobody"])
    for expected, private in ((["a"], ["/home/somebody"]), (["a", "b"], []), ([], [])):
        with pytest.raises(PrivacyAccountingError):
            check_files(tmp_path, expected, private)


def test_parameters_from_a_file_and_by_name_must_agree(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("epsilon: 2.0\ncells: 6\n")
    assert parameters_of(file, epsilon=2.0, k=None) == {"epsilon": 2.0, "cells": 6}
    with pytest.raises(ParameterError, match="leave one of the two out"):
        parameters_of(file, epsilon=1.0)
    assert math.isnan(parameters_of(None, epsilon=math.nan)["epsilon"])  # which the method refuses


def test_a_folder_that_is_filled_meanwhile_is_left_alone(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def at(stage: str) -> None:
        if stage == "written":
            out.mkdir()
            (out / "other.txt").write_text("somebody else's")

    with pytest.raises(ParameterError, match="filled by something else"):
        handed(table, out, at=at)
    assert [p.name for p in out.iterdir()] == ["other.txt"] and not list(tmp_path.glob(".out.*"))


def test_a_release_in_work_beside_it_is_not_swept_away(table: Path, tmp_path: Path) -> None:
    running = tmp_path / f".out.{os.getpid()}-aa.part"
    dead = tmp_path / ".out.999999999-aa.part"
    for folder in (running, dead):
        folder.mkdir()
    handed(table, tmp_path / "out")
    assert running.exists() and not dead.exists()


def test_one_release_by_user_after_one_by_trajectory_is_summed_in_both(table: Path, tmp_path: Path) -> None:
    handed(table, tmp_path / "a", cap=8.0)
    handed(table, tmp_path / "b", parameters={"epsilon": 2.0, "trips_per_user": 2}, cap=8.0)
    page = (tmp_path / "b" / "page.md").read_text()
    assert "by trajectory epsilon 1, delta 0 per trajectory; by user epsilon 2, delta 0 per user" in page
    assert "at most 3 trajectories (a bound that the owner stated) all of this is epsilon 5, delta 0 per user" in page
    assert "at most 2 of them were looked at" in page
    with pytest.raises(PrivacyAccountingError, match="epsilon 9"):  # 1 + 2 x 2 so far, by trajectory, and 2 x 2 more
        handed(table, tmp_path / "c", parameters={"epsilon": 2.0, "trips_per_user": 2}, cap=8.0)


# ---- what a killed process leaves -----------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from trajkit.handover.choice import chosen
from trajkit.handover.release import Budget, Source, make_release
table, out, ledger, stage = sys.argv[1:]
def at(reached):
    if reached == stage:
        os.kill(os.getpid(), signal.SIGKILL)
make_release(chosen("flat", {"epsilon": 1.0}), Source.load(None, table), Path(out), Budget(folder=Path(ledger), cap=2.0), n=20, at=at)
"""


@pytest.mark.parametrize("stage", ["reserved", "fitted", "drawn", "written", "renamed", "released"])
def test_killed_half_way_there_is_a_whole_release_or_none_and_the_entry_counts(
    stage: str, table: Path, tmp_path: Path
) -> None:
    out, folder = tmp_path / "out", tmp_path / "ledger"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(table), str(out), str(folder), stage], env=os.environ, check=False
    )
    assert done.returncode == -signal.SIGKILL
    source = Source.load(None, str(table))
    state = BudgetLedger(folder).state(source.content)
    assert state.sums()["trajectory"].epsilon == 1.0
    assert state.open == (0 if stage == "released" else 1)
    if stage in ("renamed", "released"):
        assert sorted(p.name for p in out.iterdir()) == sorted(FILES)
        assert len(Trajectories.from_parquet(out / "release.parquet")) == 20
        assert Guarantee.read(out / "guarantee.json").holds
        return
    assert not out.exists()
    assert len(list(tmp_path.glob(".out.*.part"))) == (1 if stage == "written" else 0)
    make_release(chosen("flat", {"epsilon": 1.0}), source, out, Budget(folder=folder), n=20)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name not in ("cache",)) == ["ledger", "out"]
    assert BudgetLedger(folder).state(source.content).sums()["trajectory"].epsilon == 2.0


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), OSError(28, "No space left on device"), OSError(27, "File too large")]
)
def test_whatever_stops_a_release_says_that_its_entry_counts(stop: BaseException, table: Path, tmp_path: Path) -> None:
    def at(stage: str) -> None:
        if stage == "drawn":
            raise stop

    with pytest.raises(ParameterError, match="entered for this release count all the same"):
        handed(table, tmp_path / "out", at=at)
    assert not (tmp_path / "out").exists()


def test_a_release_that_fails_after_its_entry_says_that_it_counts(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="entered for this release count all the same"):
        handed(table, tmp_path / "out", parameters={"epsilon": 1.0}, n=0)
    assert not (tmp_path / "out").exists()
    assert BudgetLedger(tmp_path / "ledger").state(Source.load(None, str(table)).content).open == 1
