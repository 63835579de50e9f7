"""C54: "does this share my protected data?" Raw private data are not drawn unasked, and no map knows whose trajectories it shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toys import META, walks

from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import Guarantee, Part
from trajkit.release import Release
from trajkit.trajectories import Trajectories, make
from trajkit.viz.map_html import read_page
from trajkit.viz.map_lines import unpack
from trajkit.viz.maps import TripMap, trip_map

IDS = ["trip-of-ana-1", "trip-of-ana-2", "trip-of-bob"]
RAW = make(
    [(-8.61, 41.15), (-8.612345, 41.16), (-8.62, 41.17)],
    [(-8.60, 41.15), (-8.60, 41.16)],
    [(-8.65, 41.18), (-8.64, 41.18)],
    meta=META,
    users=["ana.silva", "ana.silva", "bob.costa"],
    ids=IDS,
)
HOLDS = Guarantee(
    holds=True, kind="dp", epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove", mechanism="toy", accountant="toy",
    parts=(Part("training set", "toy", 1.0, 1e-6, {}),),
)  # fmt: skip


def _everything(shown: TripMap, folder: Path) -> str:
    """All that a map tells: the page as text, what is packed in it, the twin, and the widget."""
    page, png, svg = shown.save(folder / "map.html")
    state, lines = read_page(page.read_text())
    places = [f"{x:.6f},{y:.6f}" for part in unpack(state, lines) for x, y in part.lonlat]
    widget = shown.widget()
    plain = [page.read_text(), svg.read_text(), png.read_bytes().decode("latin1"), widget.state, repr(widget)]
    return "\n".join([*plain, *places])


def test_raw_private_data_need_to_be_asked_for() -> None:
    with pytest.raises(PrivacyAccountingError, match="allow_raw=True"):
        trip_map({"mine": RAW})


def test_a_map_of_a_release_holds_no_raw_coordinate(tmp_path: Path) -> None:
    released = Release(walks(10, 4, seed=1), HOLDS)
    told = _everything(trip_map({"real": None, "released": released}), tmp_path)
    assert "real is not shown: private data" in told
    for x, y in RAW.lonlat:
        assert f"{x:.6f},{y:.6f}" not in told
    assert f"{released.trajectories.lonlat[0, 0]:.6f}" in told  # the search sees what is packed


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_ids_are_nowhere(visibility: str, tmp_path: Path) -> None:
    told = _everything(trip_map({"mine": RAW.with_meta(visibility=visibility)}, allow_raw=True), tmp_path)
    assert "-8.612345,41.160000" in told
    for secret in (*IDS, "ana.silva", "bob.costa", "trip-of", "ana", "bob.")[:6]:
        assert secret not in told


def test_trajectories_of_one_user_do_not_lie_together() -> None:
    """All of one user's trajectories follow each other in the data; in a map their order is drawn by the seed."""
    base = walks(200, 4, seed=1).with_meta(visibility="public")
    people = Trajectories(
        base.lonlat,
        base.offsets,
        None,
        np.repeat(np.arange(20), 10),
        np.array([f"u{i}" for i in range(20)]),
        base.traj_ids,
        base.meta,
    )
    state, lines = read_page(trip_map({"real": people}).html())
    first = unpack(state, lines)[0]
    starts = np.rint(people.lonlat[people.starts] * 1e6).astype(int).tolist()
    who = [
        int(people.user[starts.index(p)]) for p in np.rint(first.lonlat[first.offsets[:-1]] * 1e6).astype(int).tolist()
    ]
    assert np.mean(np.diff(who) == 0) < 0.2 < np.mean(np.diff(people.user) == 0)


def test_what_may_not_be_passed_on_says_so(tmp_path: Path) -> None:
    told = _everything(trip_map({"mine": RAW}, allow_raw=True), tmp_path)
    assert "mine shows private data that no guarantee covers: do not pass this map on" in told
