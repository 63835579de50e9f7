"""The eight attributes: by hand on toy trips, round trip of the public scaling, refusal of sets without times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import META, from_metres, walks

from trajkit.deep import attributes
from trajkit.deep.attributes import NAMES, RANGES, decode, encode, features, trip_attributes
from trajkit.errors import DataContractError
from trajkit.trajectories import Trajectories

# 2013-07-01 00:07:30 UTC is 01:07:30 in Lisbon: the 14th five minutes of the day, slot 13
DEPARTURE_MS = 1_372_637_250_000


def two_trips() -> Trajectories:
    """300 m east then 400 m north in a minute; a stay of one second in the same place."""
    made = from_metres([[(0, 0), (300, 0), (300, 400)], [(0, 0), (0, 0), (0, 0)]])
    t = DEPARTURE_MS + np.array([0, 30_000, 60_000, 0, 500, 1_000])
    return replace(made, t=t.astype(np.int64), meta=replace(META, tz="Europe/Lisbon"))


def test_by_hand() -> None:
    first, second = trip_attributes(two_trips())
    # degrees are haversine metres on a sphere, the toy's metres are UTM: they differ by under half a per cent
    np.testing.assert_allclose(first[:6], [13, 700, 60, 3, 350, 700 / 60], rtol=5e-3)
    np.testing.assert_allclose(second[:6], [13, 0, 1, 3, 0, 0], atol=1e-6)


def test_cells_count_rows_from_south_and_columns_from_west() -> None:
    box = META.box
    corners = box.from_unit(np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]))
    trajs = replace(Trajectories.from_fixed(corners.reshape(2, 2, 2), meta=META), t=np.arange(4))
    assert trip_attributes(trajs)[:, 6:].tolist() == [[0, 11], [132, 143]]


def test_a_single_fix_and_a_trip_of_no_time_have_no_speed() -> None:
    alone = replace(walks(1, 1, 0), t=np.array([5]))
    assert trip_attributes(alone)[0, 1:6].tolist() == [0, 0, 1, 0, 0]
    at_once = replace(walks(1, 4, 0), t=np.full(4, 7))
    assert trip_attributes(at_once)[0, 5] == 0 and trip_attributes(at_once)[0, 1] > 0


def test_decode_inverts_encode_over_the_public_ranges() -> None:
    draws = np.random.default_rng(0)
    made = np.column_stack(
        [
            draws.integers(0, 288, 500),
            *(draws.uniform(0, 1, 500) ** 3 * RANGES[c][1] for c in range(1, 6)),
            draws.integers(0, 144, (500, 2)),
        ]
    ).astype(float)
    np.testing.assert_allclose(decode(encode(made)), made, rtol=1e-9, atol=1e-9)
    assert np.abs(encode(made)[:, 1:6]).max() <= 1


def test_beyond_its_range_a_value_is_clamped() -> None:
    wild = np.array([[0.0, 1e9, 1e9, 1e9, 1e9, 1e9, 0.0, 0.0]])
    assert encode(wild)[0, 1:6].tolist() == [1.0] * 5
    assert decode(encode(wild))[0, 1] == pytest.approx(RANGES[1][1])


def test_features_lie_on_the_unit_scale_and_slots_on_a_circle() -> None:
    encoded = encode(trip_attributes(two_trips()))
    made = features(encoded)
    assert made.shape == (2, 11) and np.abs(made).max() <= 1
    midnight = np.zeros((2, 8))
    midnight[1, 0] = attributes.SLOTS - 1
    assert np.linalg.norm(np.diff(features(midnight)[:, :2], axis=0)) < 0.05


def test_a_set_without_times_is_refused_in_words() -> None:
    with pytest.raises(DataContractError, match="toy has no times"):
        trip_attributes(walks(3, 5, 0))


def test_every_name_with_a_dimension_ends_in_its_unit() -> None:
    assert len(NAMES) == 8
    assert {n.rpartition("_")[2] for n in NAMES} == {"slot", "m", "s", "points", "mps", "cell"}
