"""C31: eight conditioning attributes without code or units: one function computes them, their units are in the names and a table."""

from __future__ import annotations

from trajkit.deep import attributes


def test_the_table_names_every_attribute_and_says_how_it_is_computed() -> None:
    text = attributes.__doc__ or ""
    assert all(name in text for name in attributes.NAMES)
    assert all(
        word in text for word in ("metres", "seconds", "haversine", "12 x 12", "time zone", "0 where the duration is 0")
    )
