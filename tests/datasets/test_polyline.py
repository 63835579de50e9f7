"""Text to coordinates: the same floats as Python's, and a verdict for every row."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.datasets.polyline import parse

coordinate = st.one_of(
    st.floats(-180, 180, allow_nan=False),
    st.decimals(-180, 180, places=6, allow_nan=False).map(float),
    st.integers(-180, 180).map(float),
)


@given(st.lists(st.lists(st.tuples(coordinate, coordinate), max_size=6), max_size=5))
@settings(max_examples=60, deadline=None)
def test_agrees_with_json_to_the_last_bit(rows):
    texts = [json.dumps(row) for row in rows]
    lonlat, lengths, malformed = parse(pa.array(texts, pa.string()))
    assert not malformed.any()
    assert lengths.tolist() == [len(row) for row in rows]
    expected = np.array([p for row in rows for p in row], dtype=np.float64).reshape(-1, 2)
    assert lonlat.tobytes() == (expected + 0.0).tobytes() or np.array_equal(lonlat, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[[",
        "[[1,2]",
        "[[1,2]]]",
        "[[1,2],]",
        "[[1,2],[3]]",
        "[[1,2,3]]",
        "[[1;2]]",
        "[1,2]",
        "[[1,x]]",
        "[[-,1]]",
        "NA",
        "[[1,2]] x",
        '{"a": 1}',
        "__import__('os')",
    ],
)
def test_malformed_rows_have_no_points_and_leave_their_neighbours_alone(text):
    lonlat, lengths, malformed = parse(pa.array(["[[1.5,2.5]]", text, "[[3,4],[5,6]]"]))
    assert malformed.tolist() == [False, True, False]
    assert lengths.tolist() == [1, 0, 2]
    assert lonlat.tolist() == [[1.5, 2.5], [3, 4], [5, 6]]


def test_blanks_exponents_and_many_digits_are_read():
    lonlat, lengths, malformed = parse(pa.array([" [ [ 1e-1 , -2 ] ] ", "[[0.12345678901234567,1]]", "[]", " [ ] "]))
    assert not malformed.any()
    assert lengths.tolist() == [1, 1, 0, 0]
    assert lonlat.tolist() == [[0.1, -2.0], [0.12345678901234567, 1.0]]


def test_slices_of_a_column_are_read_at_their_place():
    column = pa.array(["[[9,9]]", "[[1,2]]", "[[3,4]]"]).slice(1)
    assert parse(column)[0].tolist() == [[1, 2], [3, 4]]
