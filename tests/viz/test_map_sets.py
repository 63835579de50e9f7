"""What a map draws: which sets may be shown, how many trajectories, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import META, walks

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.geo import Box
from trajkit.privacy.guarantee import RNG_OS, Guarantee, Part, no_guarantee
from trajkit.release import Release
from trajkit.trajectories import make
from trajkit.viz.map_sets import MapSet, chosen_sets, view_box

OPEN = {"rows": 100, "seed": 0, "allow_raw": False}
PRIVATE = walks(20, 6, seed=1)
PUBLIC = PRIVATE.with_meta(visibility="public")
HOLDS = Guarantee(
    holds=True, kind="dp", epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove", mechanism="toy", accountant="toy",
    parts=(Part("training set", "toy", 1.0, 1e-6, {}),),
)  # fmt: skip


def test_raw_private_data_are_refused_with_what_to_do() -> None:
    with pytest.raises(PrivacyAccountingError, match=r"'mine' may not be drawn.*Release.*declare.*allow_raw=True"):
        chosen_sets({"open": PUBLIC, "mine": PRIVATE}, **OPEN)


def test_what_an_attack_rebuilt_from_a_private_release_counts_as_raw() -> None:
    rebuilt = PRIVATE.take(np.arange(3))
    with pytest.raises(PrivacyAccountingError, match="'attacked'"):
        chosen_sets({"released": Release(PRIVATE, HOLDS), "attacked": rebuilt}, **OPEN)


def test_a_release_is_shown_where_its_guarantee_holds() -> None:
    chosen, notes = chosen_sets({"released": Release(PRIVATE, replace(HOLDS, rng=RNG_OS))}, **OPEN)
    assert len(chosen[0].trajs) == 20 and notes == []
    _, notes = chosen_sets({"released": Release(PRIVATE, HOLDS)}, **OPEN)
    assert notes == ["released: its noise can be repeated, so this map is to look at, not to pass on"]
    unprotected = Release(PRIVATE, no_guarantee("publishes real trajectories"))
    with pytest.raises(PrivacyAccountingError, match=r"no guarantee that holds \(publishes real trajectories\)"):
        chosen_sets({"floor": unprotected}, **OPEN)


def test_public_data_are_shown_and_raw_data_only_on_request_and_with_a_warning() -> None:
    assert chosen_sets({"open": PUBLIC}, **OPEN)[1] == []
    _, notes = chosen_sets({"mine": PRIVATE}, **{**OPEN, "allow_raw": True})
    assert notes == ["mine shows private data that no guarantee covers: do not pass this map on"]


def test_a_set_that_is_none_is_named() -> None:
    chosen, notes = chosen_sets({"real": None, "open": PUBLIC}, **OPEN)
    assert [s.name for s in chosen] == ["open"] and notes == ["real is not shown: private data"]


def test_whole_trajectories_are_drawn_by_the_seed_and_announced() -> None:
    draw = {**OPEN, "rows": 5}
    (first,), notes = chosen_sets({"open": PUBLIC}, **draw)
    (again,), _ = chosen_sets({"open": PUBLIC}, **draw)
    (other,), _ = chosen_sets({"open": PUBLIC}, **{**draw, "seed": 1})
    assert notes == ["open: 5 of 20 trajectories are shown, drawn at random with seed 0"]
    assert (first.trajs.lengths == 6).all() and len(first.trajs) == 5
    assert (first.trajs.traj_ids == again.trajs.traj_ids).all()
    assert set(first.trajs.traj_ids) != set(other.trajs.traj_ids)


def test_the_order_of_the_file_is_not_kept() -> None:
    (drawn,), _ = chosen_sets({"open": PUBLIC}, **OPEN)
    assert sorted(drawn.trajs.traj_ids) == sorted(PUBLIC.traj_ids)
    assert list(drawn.trajs.traj_ids) != list(PUBLIC.traj_ids)


def test_single_points_are_counted_not_drawn() -> None:
    meta = PUBLIC.meta
    trajs = make([(-8.6, 41.2)], [(-8.6, 41.2), (-8.61, 41.2)], meta=meta)
    (drawn,), notes = chosen_sets(
        {
            "open": trajs,
        },
        **OPEN,
    )
    assert len(drawn.trajs) == 1 and notes == ["open: 1 of 2 trajectories have one point and are not drawn"]
    _, notes = chosen_sets({"open": trajs.take(np.array([0]))}, **OPEN)
    assert notes[-1] == "open is empty: nothing is drawn"


@pytest.mark.parametrize("sets", [{}, {"real": None}, {str(i): PUBLIC for i in range(7)}])
def test_there_must_be_sets_and_not_too_many(sets: dict) -> None:
    with pytest.raises(ParameterError, match="a map shows 1 to 6 sets"):
        chosen_sets(sets, **OPEN)


def test_rows_must_be_positive() -> None:
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        chosen_sets({"open": PUBLIC}, **{**OPEN, "rows": 0})


def test_colours_differ() -> None:
    chosen, _ = chosen_sets({str(i): PUBLIC for i in range(6)}, **OPEN)
    assert len({s.colour for s in chosen}) == 6


def test_the_view_covers_every_public_box() -> None:
    east = PUBLIC.with_meta(box=Box(-8.6, 41.0, -8.4, 41.2))
    sets = [MapSet("a", PUBLIC, "#000000"), MapSet("b", east, "#000000")]
    assert view_box(sets) == Box(META.box.lon_min, 41.0, -8.4, META.box.lat_max)
