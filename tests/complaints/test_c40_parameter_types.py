"""C40: tuples and integer keys became text on the way into a notebook; other types failed without naming the parameter."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajkit.errors import ParameterError
from trajkit.study.notebooks import check_parameters

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
import zoo


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ((6, 6), "size"),
        ({"a": {1: "x"}}, "size.a"),
        ({"a": [Path("x")]}, "size.a.0"),
        (np.int64(3), "size"),
        (np.bool_(True), "size"),
        (datetime.date(2026, 1, 1), "size"),
    ],
)
def test_what_a_notebook_cannot_take_is_refused_by_name(tmp_path: Path, value: Any, name: str) -> None:
    with pytest.raises(ParameterError, match=rf"parameter {name}[ :]"):
        check_parameters(zoo.write(tmp_path / "a.ipynb"), {"size": value})


def test_plain_values_pass(tmp_path: Path) -> None:
    check_parameters(zoo.write(tmp_path / "a.ipynb"), {"size": {"a": [1, 2.0, None, {"b": "c"}], "d": True}})
