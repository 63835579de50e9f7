"""LKC-privacy against a checker that counts every subsequence in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from anonymity_toys import apart
from toys import META, ORIGIN, reached, walks

from trajkit.anonymize import lkc, lkc_search
from trajkit.anonymize.lkc import Lkc
from trajkit.anonymize.lkc_check import violations
from trajkit.anonymize.lkc_search import suppress
from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories, concatenate_offsets, make

Sequences = list[list[int]]


def plain_violations(
    sequences: Sequences, person: list[int], *, k: int, known: int, confidence: float = 1.0, sensitive: list[Any] | None = None
) -> list[int]:  # fmt: skip
    """Number of violating subsequences by length, each by the definition."""
    have: dict[tuple[int, ...], set[tuple[int, Any]]] = defaultdict(set)
    for i, sequence in enumerate(sequences):
        for size in range(1, known + 1):
            for q in combinations(sequence, size):
                have[q].add((person[i], sensitive[i] if sensitive else None))
    found = [0] * known
    for q, pairs in have.items():
        people = {p for p, _ in pairs}
        shares = [len({p for p, v in pairs if v == value}) / len(people) for value in {v for _, v in pairs}]
        found[len(q) - 1] += len(people) < k or (
            sensitive is not None and confidence < 1 and max(shares) > confidence + 1e-9
        )
    return found


def drawn(seed: int, n: int = 40, longest: int = 8) -> tuple[Sequences, np.ndarray, np.ndarray]:
    """Sequences without adjacent repeats, some empty; a person and a value for each."""
    rng = np.random.default_rng(seed)
    sequences = []
    for _ in range(n):
        raw = rng.exponential(2.0, rng.integers(0, longest + 1)).astype(np.int64)
        sequences.append([int(x) for i, x in enumerate(raw) if i == 0 or x != raw[i - 1]])
    return sequences, rng.integers(0, n // 2, n), rng.integers(0, 3, n)


def flat(sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x for s in sequences for x in s], dtype=np.int64), concatenate_offsets(
        np.array([len(s) for s in sequences], dtype=np.int64)
    )


def ragged(label: np.ndarray, offsets: np.ndarray, keep: np.ndarray) -> Sequences:
    return [label[a:b][keep[a:b]].tolist() for a, b in pairwise(offsets)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("k", "known", "confidence"), [(2, 1, 1.0), (3, 2, 1.0), (4, 3, 1.0), (2, 4, 1.0), (3, 2, 0.7)]
)
def test_nothing_is_violating_afterwards(seed: int, k: int, known: int, confidence: float) -> None:
    sequences, person, value = drawn(seed)
    label, offsets = flat(sequences)
    asked: dict[str, Any] = {"k": k, "known": known, "confidence": confidence}
    keep, met = suppress(label, offsets, person, sensitive=value, **asked)
    left = ragged(label, offsets, keep)
    assert plain_violations(left, person.tolist(), sensitive=value.tolist(), **asked) == [0] * known
    assert all(a != b for s in left for a, b in pairwise(s))
    before = plain_violations(sequences, person.tolist(), sensitive=value.tolist(), **asked)
    assert met[0] == before[0] and any(before)
    again, _ = suppress(label, offsets, person, sensitive=value, **asked)
    assert (again == keep).all()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("confidence", [1.0, 0.6])
def test_the_check_counts_what_plain_python_counts(seed: int, confidence: float) -> None:
    sequences, person, value = drawn(seed, n=25)
    label, offsets = flat(sequences)
    asked: dict[str, Any] = {"k": 3, "known": 3, "confidence": confidence}
    want = plain_violations(sequences, person.tolist(), sensitive=value.tolist(), **asked)
    assert violations(label, offsets, person, sensitive=value, **asked) == want
    assert sum(want) > 20


def test_what_is_sound_is_left_alone() -> None:
    sequences = [[1, 2, 3]] * 3 + [[1, 3]] * 2
    label, offsets = flat(sequences)
    keep, met = suppress(label, offsets, np.arange(5), k=3, known=2)
    assert keep.all() and met == [0, 0]


def test_a_rare_pair_costs_one_label_of_its_sequence() -> None:
    """(2, 1) is in one sequence; each label alone, and every other pair, is everybody's. One of its two labels goes, in that sequence only."""
    sequences = [[1, 2]] * 6 + [[2, 1]]
    label, offsets = flat(sequences)
    keep, met = suppress(label, offsets, np.arange(7), k=3, known=2)
    assert met == [0, 1] and keep[:12].all() and keep[12:].sum() == 1


def test_persons_count_and_not_their_trips() -> None:
    label, offsets = flat([[1, 2]] * 4)
    assert suppress(label, offsets, np.array([0, 0, 1, 1]), k=3, known=1)[0].sum() == 0
    assert suppress(label, offsets, np.array([0, 2, 1, 1]), k=3, known=1)[0].all()


def test_confidence_bounds_what_is_learned() -> None:
    label, offsets = flat([[1]] * 4 + [[2]] * 4)
    ill = np.array(["ill", "ill", "ill", "well", "ill", "well", "ill", "well"])
    keep, _ = suppress(label, offsets, np.arange(8), k=2, known=1, confidence=0.5, sensitive=ill)
    assert keep.tolist() == [False, False, True, True] + [True] * 4  # one of two is ill in the first place now
    assert suppress(label, offsets, np.arange(8), k=2, known=1, confidence=0.75, sensitive=ill)[0].all()
    with pytest.raises(ParameterError, match="give one for each trajectory"):
        suppress(label, offsets, np.arange(8), k=2, known=1, confidence=0.5)


def test_labels_that_come_together_are_merged() -> None:
    """9 is rare; what is left of 1 9 1 is 1 and not 1 1, which nobody else has."""
    label, offsets = flat([[1, 9, 1], [1], [1]])
    keep, _ = suppress(label, offsets, np.arange(3), k=2, known=2)
    assert ragged(label, offsets, keep) == [[1], [1], [1]]


def test_too_much_to_search_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lkc_search, "MOST", 10)
    label, offsets = flat([[1, 2, 3, 4, 5]] * 3)
    with pytest.raises(DataContractError, match="longest sequence has 5 labels"):
        suppress(label, offsets, np.arange(3), k=2, known=2)


# ---- the method ---------------------------------------------------------------------------------------------------


def streets(n: int, seed: int, *, start: float | None = None, users: int | None = None) -> Trajectories:
    """Walks along two crossing streets of the toy box, so that many share cells; times from ``start`` (s) where given."""
    rng = np.random.default_rng(seed)
    paths = []
    for _ in range(n):
        m = int(rng.integers(2, 12))
        along = np.cumsum(rng.uniform(100, 900, m)) * rng.choice([-1, 1])
        xy = np.where(rng.random() < 0.6, [[1.0, 0.0]], [[0.0, 1.0]]) * along[:, None]
        lonlat = META.box.clip(unproject(xy + ORIGIN, META.crs)).tolist()
        t = [] if start is None else (start + rng.integers(0, 6) * 900 + np.arange(m) * 240).tolist()
        paths.append([(*p, s) for p, s in zip(lonlat, t, strict=True)] if t else [tuple(p) for p in lonlat])
    names = [f"u{rng.integers(users or n)}" for _ in range(n)]
    return make(*paths, meta=META, users=names)


def released(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> Release:
    return make_method("lkc", **parameters).fit(trajs, seed=seed).release(None, seed=seed)


def words(trajs: Trajectories, cells: SquareCells, bins: TimeBins) -> Sequences:
    s = signatures(trajs, cells, bins)
    both = list(zip(s.cells.tolist(), s.bins.tolist(), strict=True))
    return [both[a:b] for a, b in pairwise(s.offsets)]  # type: ignore[misc]


TIMES: dict[str, dict[str, Any]] = {
    "no time": {},
    "clock": {"minutes": 30},
    "absolute": {"minutes": 30, "of": "absolute"},
}


@pytest.mark.parametrize("what", TIMES)
@pytest.mark.parametrize("tz", ["UTC", "Asia/Shanghai"])
def test_every_few_points_of_the_release_are_those_of_k(what: str, tz: str) -> None:
    """The rows of the release, read by the public map; persons unknown to it, so every row is one here (unit: trajectory)."""
    trajs = streets(150, 1, start=1.2e9).with_meta(tz=tz)
    c = make_method("lkc", k=4, count="trajectory", cells_m=700.0, **TIMES[what]).config
    release = released(trajs, k=4, count="trajectory", cells_m=700.0, **TIMES[what])
    out, bins = release.trajectories, TimeBins(c.minutes, c.of, tz)  # type: ignore[attr-defined]
    sequences = words(out, SquareCells(700.0), bins)
    assert plain_violations(sequences, list(range(len(out))), k=4, known=2) == [0, 0]
    assert out.n_points == sum(map(len, sequences)) > 100
    raw = words(trajs, SquareCells(700.0), bins)
    assert sum(plain_violations(raw, list(range(len(trajs))), k=4, known=2)) > 5
    assert (out.t is None) == (what == "no time") and out.violations() == []
    hidden = release.report[HIDDEN]
    assert hidden["share of labels suppressed"] == pytest.approx(1 - out.n_points / sum(map(len, raw)))
    assert hidden["share of trajectories suppressed"] == pytest.approx(1 - len(out) / len(trajs))


def test_users_are_counted_through_the_private_map() -> None:
    """The model's rows keep the order of the input's, so that here, in the test, each can be traced to its person."""
    trajs = streets(200, 2, users=12)
    method = Lkc(Lkc.Config(k=5, known=3, cells_m=700.0)).fit(trajs, seed=0)
    m = method.model_
    out = Trajectories.generated(m.lonlat, m.offsets, meta=META)
    left, whole = (words(x, SquareCells(700.0), TimeBins(None)) for x in (out, trajs))

    def inside(short: list[int], long: list[int]) -> bool:
        rest = iter(long)
        return all(x in rest for x in short)

    assert len(left) == len(whole) == 200  # nothing vanishes here, so rows correspond
    assert all(inside(a, b) for a, b in zip(left, whole, strict=True))
    assert plain_violations(left, trajs.user.tolist(), k=5, known=3) == [0, 0, 0]
    assert sum(plain_violations(whole, trajs.user.tolist(), k=5, known=3)) > 0


def test_one_person_is_never_enough() -> None:
    trajs = streets(50, 3, users=1)
    release = released(trajs, k=2)
    assert len(release.trajectories) == 0 and release.guarantee.holds
    assert release.report[HIDDEN]["share of users suppressed"] == 1.0
    by_trip = released(trajs, k=2, count="trajectory")
    assert len(by_trip.trajectories) > 0 and by_trip.guarantee.unit == "trajectory"
    assert any("one person may own" in a for a in by_trip.guarantee.assumptions)


def test_the_promise_names_what_the_attacker_knows() -> None:
    g = released(streets(60, 4), k=3, known=2).guarantee
    assert (g.holds, g.kind, g.k, g.unit) == (True, "k-anonymity", 3, "user")
    assert "at most 2 point(s)" in g.assumptions[0] and "may find fewer than k" in g.assumptions[0]
    assert any("does not compose" in a for a in g.assumptions)


def test_same_seed_same_bytes_and_ids_say_nothing() -> None:
    trajs = streets(100, 5)
    before = trajs.fingerprint()
    method = make_method("lkc", k=3, cells_m=700.0).fit(trajs, seed=0)
    one, two, other = (method.release(None, seed=s).trajectories for s in (1, 1, 2))
    assert one.fingerprint() == two.fingerprint() != other.fingerprint()
    assert sorted(one.lonlat[:, 0]) == sorted(other.lonlat[:, 0])
    assert trajs.fingerprint() == before and trajs.meta.steps == ()
    assert not set(one.user_ids) & set(trajs.user_ids) and not set(one.traj_ids) & set(trajs.traj_ids)
    with pytest.raises(ParameterError, match="release\\(None\\)"):
        method.release(5, seed=0)


def test_rows_of_one_class_are_equal_and_of_two_differ() -> None:
    out = released(streets(120, 6), k=3, cells_m=700.0).trajectories
    routes = defaultdict(set)
    for i, name in enumerate(out.traj_ids):
        routes[name.split("-")[0]].add(out[i].tobytes())
    assert len(routes) > 3 and all(len(r) == 1 for r in routes.values())
    assert len(set.union(*routes.values())) == len(routes)


def test_the_model_holds_no_true_point_and_no_person() -> None:
    trajs = streets(100, 7)
    method = make_method("lkc", k=3, cells_m=700.0).fit(trajs, seed=0)
    true = {p.tobytes() for p in trajs.lonlat}
    for thing in reached(method.model_, set()):  # type: ignore[attr-defined]
        if isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype == np.float64:
            assert not true & {p.tobytes() for p in thing}
        assert not isinstance(thing, str) or thing not in set(trajs.user_ids) | set(trajs.traj_ids)


ODD: dict[str, Callable[[], Trajectories]] = {
    "empty": lambda: walks(3, 8, 0).take(np.zeros(0, dtype=np.int64)),
    "one point each": lambda: walks(10, 1, 0),
    "one point in all": lambda: make([(-8.6, 41.2)], meta=META),
    "corners of the box": lambda: make(
        *[[(-8.72, 41.10), (-8.50, 41.24), (-8.50, 41.10), (-8.72, 41.24)]] * 6, meta=META
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_sets(what: str) -> None:
    release = released(ODD[what](), k=2, cells_m=900.0)
    assert release.trajectories.violations() == []
    if what == "corners of the box":
        assert len(release.trajectories) == 6 and release.trajectories.n_points == 24


def test_a_square_at_the_border_has_its_point_in_itself() -> None:
    cells = SquareCells(333.0)
    rng = np.random.default_rng(0)
    edge = META.box.clip(META.box.from_unit(rng.uniform(-1.2, 1.2, (3000, 2))))
    points = make([(float(a), float(b)) for a, b in edge], meta=META)
    labels = lkc.settled(cells, META)(np.unique(cells.cell_of(points.xy)))
    shown = META.box.clip(unproject(cells.centres(labels), META.crs))
    shown_cells = cells.cell_of(make([(float(a), float(b)) for a, b in shown], meta=META).xy)
    assert (shown_cells == labels).all()


def test_times_rise_within_their_bin_and_over_midnight() -> None:
    start = 1.2e9 - 1.2e9 % 86_400 + 23.4 * 3600
    x = [unproject(ORIGIN[None] + [[d, 0.0]], META.crs)[0].tolist() for d in (0, 2000, 4000, 6000, 8000)]
    path = [(*p, start + 300 * i) for i, p in enumerate(x)] + [(*x[0], start + 3600)]
    two = apart(make(path, path, meta=META))
    out = released(two, k=2, cells_m=1000.0, minutes=60).trajectories
    hour = 3_600_000
    day = 10_959 * 24 * hour  # 3 January 2000
    # 23:24 to 23:44: five labels share the bin from 23:00; 00:24 comes a day later
    want = [day + 23 * hour + i * hour // 5 for i in range(5)] + [day + 24 * hour]
    assert out.t is not None and out.t.reshape(2, -1).tolist() == [want, want]
    shanghai = released(two.with_meta(tz="Asia/Shanghai"), k=2, minutes=60).trajectories
    assert shanghai.t is not None and shanghai.t[0] == day + (7 - 8) * hour  # 07:24 there


def test_a_release_that_breaks_the_promise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lkc, "suppress", lambda label, *_, **__: (np.ones(len(label), dtype=bool), [0, 0]))
    with pytest.raises(DataContractError, match="still break LKC-privacy"):
        released(streets(60, 8), k=3)


def test_destination_as_sensitive_value() -> None:
    trajs = streets(150, 9)
    plain = released(trajs, k=3, cells_m=700.0).report[HIDDEN]["share of labels suppressed"]
    bounded = released(trajs, k=3, cells_m=700.0, confidence=0.6, sensitive="destination", sensitive_m=3000.0)
    assert bounded.report[HIDDEN]["share of labels suppressed"] > plain
    assert "share a destination" in bounded.guarantee.assumptions[1]
    with pytest.raises(ParameterError, match="set sensitive to destination"):
        make_method("lkc", confidence=0.5)


@pytest.mark.parametrize("bad", [{"known": 5}, {"k": 1}, {"day": "tomorrow"}, {"confidence": 0.0}, {"cells_m": -1.0}])
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        make_method("lkc", **bad)


def test_bins_need_times_and_divide_a_day() -> None:
    with pytest.raises(ParameterError, match="set minutes to null"):
        released(walks(5, 8, 0), minutes=30)
    with pytest.raises(ParameterError, match="do not divide a day"):
        released(streets(5, 0, start=0.0), minutes=7)
