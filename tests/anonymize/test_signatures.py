"""Digests group as the labels themselves do, whatever the sampling rate, the zone's clock changes or the length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toys import META, walks

from trajkit.anonymize import signatures as module
from trajkit.anonymize.quad_cells import QuadCells
from trajkit.anonymize.signatures import (
    classes,
    digests,
    grouped,
    merged,
    same_signature,
    signatures,
)
from trajkit.anonymize.tessellation import SquareCells, Tessellation
from trajkit.anonymize.time_bins import TimeBins
from trajkit.errors import DataContractError, ParameterError
from trajkit.local_time import DAY_MS
from trajkit.trajectories import Trajectories, make

LISBON_CHANGES = ("2013-03-31T01:00", "2013-10-27T01:00")


def timed(
    trajs: Trajectories, seed: int = 0, start: str = "2013-10-27T00:20", tz: str = "Europe/Lisbon"
) -> Trajectories:
    """Fixes 40 s apart, each trajectory within 90 min from ``start`` on (UTC)."""
    rng = np.random.default_rng(seed)
    first = pd.Timestamp(start, tz="UTC").value // 1_000_000 + rng.integers(0, 5_400, len(trajs)) * 1000
    step = np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)
    return replace(trajs, t=np.repeat(first, trajs.lengths) + step * 40_000).with_meta(tz=tz)


def alike(n: int, seed: int) -> Trajectories:
    """``n`` trajectories near 40 walks, so that some have the same signature."""
    rng = np.random.default_rng(seed)
    few = walks(40, 6, seed)
    many = few.take(rng.integers(0, 40, n))
    moved = META.box.clip(many.lonlat + rng.normal(0, 3e-4, many.lonlat.shape))
    return Trajectories.generated(moved, many.offsets, meta=META)


def written_out(trajs: Trajectories, cells: Tessellation, bins: TimeBins) -> list[tuple[tuple[int, int], ...]]:
    """The signatures as tuples, from the labels of the points, one by one."""
    labels = list(zip(cells.cell_of(trajs.xy).tolist(), bins.bin_of(trajs.t, trajs.n_points).tolist(), strict=True))
    out = []
    for a, b in zip(trajs.offsets[:-1], trajs.offsets[1:], strict=True):
        path = labels[a:b]
        out.append(tuple(x for i, x in enumerate(path) if i == 0 or x != path[i - 1]))
    return out


def tessellations(trajs: Trajectories) -> list[Tessellation]:
    return [
        SquareCells(700.0),
        SquareCells(5000.0),
        QuadCells.built(trajs.xy, trajs.user[trajs.traj_of_point], size_m=1000.0, depth=2, k=5),
    ]


@pytest.mark.parametrize("bins", [TimeBins(None), TimeBins(60, "clock", "Europe/Lisbon"), TimeBins(30, "absolute")])
@pytest.mark.parametrize("which", range(3))
def test_digests_group_as_the_signatures_written_out(bins: TimeBins, which: int) -> None:
    trajs = timed(alike(400, 0))
    cells = tessellations(trajs)[which]
    expected = written_out(trajs, cells, bins)
    found = grouped(trajs, cells, bins, trajs.user % 7)
    names = list(dict.fromkeys(expected))
    assert found.of.tolist() == [names.index(x) for x in expected]
    assert 1 < len(found) < len(trajs)
    for c in range(len(found)):
        members = np.flatnonzero(found.of == c)
        assert found.trajectories[c] == len(members)
        assert found.users[c] == len(set((trajs.user % 7)[members]))
        assert found.first[c] == members[0]
    sig = signatures(trajs, cells, bins)
    got = [
        tuple(zip(sig.cells[a:b].tolist(), sig.bins[a:b].tolist(), strict=True))
        for a, b in zip(sig.offsets, sig.offsets[1:], strict=False)
    ]
    assert got == expected
    some = np.array([5, 5, 0, 399])
    chosen, points = merged(trajs, cells, bins, some)
    assert np.diff(chosen.offsets).tolist() == [len(expected[i]) for i in some]
    assert points.sum() == trajs.lengths[some].sum()


@pytest.mark.parametrize("which", range(3))
def test_comparing_finds_every_difference(which: int) -> None:
    trajs, bins = timed(alike(300, 1)), TimeBins(60, "clock", "Europe/Lisbon")
    cells = tessellations(trajs)[which]
    expected = written_out(trajs, cells, bins)
    for shift in (0, 1, 17):
        other = np.roll(np.arange(300), shift)
        assert same_signature(trajs, cells, bins, other).tolist() == [
            expected[i] == expected[j] for i, j in enumerate(other)
        ]


def test_the_sampling_rate_leaves_no_mark_but_a_return_does() -> None:
    a, b = (-8.60, 41.17), (-8.55, 41.17)
    trajs = make([a, b], [a, a, b, b, b], [a, b, a], [a], meta=META)
    assert grouped(trajs, SquareCells(1000.0), TimeBins(None), trajs.user).of.tolist() == [0, 0, 1, 2]


def test_a_collision_of_digests_is_seen_and_another_key_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    trajs, cells, bins = walks(50, 6, 0), SquareCells(500.0), TimeBins(None)
    right, true = grouped(trajs, cells, bins, trajs.user), module.digests
    monkeypatch.setattr(module, "digests", lambda *a, key=0: true(*a, key=key) * np.uint64(key > 0))
    assert grouped(trajs, cells, bins, trajs.user).of.tolist() == right.of.tolist()
    monkeypatch.setattr(module, "digests", lambda *a, key=0: true(*a) * np.uint64(0))
    with pytest.raises(DataContractError, match="no chance"):
        grouped(trajs, cells, bins, trajs.user)


def test_every_bit_of_a_label_moves_both_lanes_of_a_digest() -> None:
    from trajkit.anonymize.signature_kernels import label_digests

    bit = np.int64(1) << np.arange(63, dtype=np.int64)
    cells = np.concatenate([[0], bit, np.zeros(63, dtype=np.int64)]).astype(np.int64)
    bins = np.concatenate([[0], np.zeros(63, dtype=np.int64), bit]).astype(np.int64)
    found = label_digests(cells, bins, np.arange(128), 0)
    flipped = np.bitwise_count(found[1:] ^ found[0])
    assert flipped.min() > 12 and flipped.max() < 52 and abs(flipped.mean() - 32) < 1
    assert len(np.unique(found[:, 0])) == len(np.unique(found[:, 1])) == 127
    assert not (label_digests(cells, bins, np.arange(128), 1) == found).any()


def test_classes_of_none_and_of_one() -> None:
    none = classes(np.zeros((0, 2), dtype=np.uint64), np.zeros(0, dtype=np.int64))
    assert len(none) == 0 and none.unique_share == 0.0
    one = classes(np.ones((1, 2), dtype=np.uint64), np.zeros(1, dtype=np.int64))
    assert one.of.tolist() == [0] and one.users.tolist() == [1] and one.unique_share == 1.0


def test_bins_without_times_are_refused() -> None:
    with pytest.raises(ParameterError, match="set minutes to null"):
        digests(walks(3, 4, 0), SquareCells(500.0), TimeBins(60))


@pytest.mark.parametrize(
    "tz", ["Europe/Lisbon", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Monrovia", "UTC"]
)
def test_local_clocks_are_exact_across_every_change(tz: str) -> None:
    rng = np.random.default_rng(0)
    t = np.sort(
        rng.integers(0, 45 * 365 * DAY_MS, 200_000)
    )  # 1970 to 2015, so also changes that are not on a full hour
    local = pd.DatetimeIndex(t.astype("datetime64[ms]")).tz_localize("UTC").tz_convert(tz).tz_localize(None)
    expected = (local.astype("datetime64[ms]").astype("int64").to_numpy() % DAY_MS) // 60_000
    assert (TimeBins(1, "clock", tz).bin_of(t, len(t)) == expected).all()


@pytest.mark.parametrize("change", LISBON_CHANGES)
def test_digests_bin_exactly_around_a_change_of_the_clock(change: str) -> None:
    at = pd.Timestamp(change, tz="UTC").value // 1_000_000
    t = at + np.arange(-7_200_000, 7_200_000, 7_001)
    lonlat = np.tile([[-8.6, 41.17]], (len(t), 1))
    n = len(t)
    ids = np.array([str(i) for i in range(n)])
    trajs = Trajectories(lonlat, np.arange(n + 1), t, np.arange(n), ids, ids, META).with_meta(tz="Europe/Lisbon")
    bins = TimeBins(15, "clock", "Europe/Lisbon")
    clock = [pd.Timestamp(int(x), unit="ms", tz="UTC").tz_convert("Europe/Lisbon") for x in t]
    expected = [(c.hour * 60 + c.minute) // 15 for c in clock]
    found = grouped(trajs, SquareCells(500.0), bins, trajs.user).of
    names = list(dict.fromkeys(expected))
    assert found.tolist() == [names.index(x) for x in expected]


def test_an_unknown_zone_and_impossible_times_are_named() -> None:
    with pytest.raises(ParameterError, match="Mars/Base"):
        TimeBins(60, "clock", "Mars/Base").bin_of(np.array([0]), 1)
    with pytest.raises(ParameterError, match="ms since 1970"):
        TimeBins(60, "clock").bin_of(np.array([0, 10**16]), 2)
    with pytest.raises(ParameterError, match="do not divide a day"):
        TimeBins(7)
