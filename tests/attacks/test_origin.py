"""The private map where part of a release was made: marked rows are nobody's, and an adversary sets them aside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import walks

from trajkit.attacks.nearest_neighbour import nearest_linkage
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.reconstruction import reconstruction
from trajkit.attacks.segment_linking import segment_linking
from trajkit.errors import ParameterError
from trajkit.trajectories import Trajectories


def raw_and_mixed() -> tuple[Trajectories, Trajectories, np.ndarray]:
    """Twelve people; a release of six of them between six others that nobody drove."""
    both = walks(18, 8, seed=0)
    raw = both.take(np.arange(12))
    source = np.array([3, -1, 0, -1, -1, 5, 1, -1, 2, -1, 4, -1])
    rows = np.where(source >= 0, source, 12 + np.cumsum(source < 0) - 1)
    return raw, both.take(rows), source


def test_made_rows_are_in_no_pair() -> None:
    raw, mixed, source = raw_and_mixed()
    origin = Origin.of_rows(source).check(len(mixed), len(raw))
    assert origin.released.tolist() == [0, 2, 5, 6, 8, 10] and origin.source.tolist() == [3, 0, 5, 1, 2, 4]
    assert origin.made.tolist() == [1, 3, 4, 7, 9, 11]
    people, map_ = origin.of_people(mixed)
    assert people.traj_ids.tolist() == raw.traj_ids[[3, 0, 5, 1, 2, 4]].tolist()
    assert map_.check(6, len(raw)).source.tolist() == [3, 0, 5, 1, 2, 4] and not len(map_.made)
    whole = Origin.one_each(np.arange(12))
    assert Origin.of_rows(np.arange(12)).check(12, 12).source.tolist() == whole.source.tolist()
    assert whole.of_people(raw)[0] is raw


def test_attacks_set_made_rows_aside() -> None:
    raw, mixed, source = raw_and_mixed()
    people = mixed.take(np.flatnonzero(source >= 0))
    known = {"seed": 0, "p": (3,), "space_only": True}
    of_all = nearest_linkage(raw, mixed, Origin.of_rows(source), **known)  # type: ignore[arg-type]
    alone = nearest_linkage(raw, people, Origin.one_each(source[source >= 0]), **known)  # type: ignore[arg-type]
    assert of_all == alone and of_all.by_p[0].success == 0.5 and of_all.baseline == 1 / 6
    found = reconstruction(raw, mixed, Origin.of_rows(source), seed=0, interval_s=10.0, noise_m=1.0)
    assert not isinstance(found, NotPossible) and found.by_way[0].mean_m == pytest.approx(0, abs=1e-6)


def test_a_release_of_made_rows_alone_is_nobodys() -> None:
    raw, mixed, _ = raw_and_mixed()
    none = Origin.of_rows(np.full(len(mixed), -1)).check(len(mixed), len(raw))
    for found in (
        segment_linking(raw, mixed, none, seed=0, space_only=True),
        reconstruction(raw, mixed, none, seed=0, interval_s=10.0, noise_m=1.0),
    ):
        assert isinstance(found, NotPossible) and found.reason
    with pytest.raises(ParameterError, match="release is empty"):
        nearest_linkage(raw, mixed, none, seed=0, space_only=True)


@pytest.mark.parametrize("made", [[0, 1], [1, 12], [-1]])
def test_a_map_that_contradicts_itself_is_refused(made: list[int]) -> None:
    raw, mixed, source = raw_and_mixed()
    with pytest.raises(ParameterError, match="in no pair"):
        replace(Origin.of_rows(source), made=np.array(made)).check(len(mixed), len(raw))
    with pytest.raises(ParameterError, match="came from nobody"):
        replace(Origin.of_rows(source), made=np.array([1])).check(len(mixed), len(raw))
