"""C38: a misspelt parameter, or a notebook without a parameters cell, ran with the old value and exit code 0."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.study.notebooks import check_parameters
from trajkit.study.runner import execute

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
import zoo


def test_a_misspelt_name_stops_before_the_kernel_starts(tmp_path: Path) -> None:
    template = zoo.write(tmp_path / "a.ipynb")
    with pytest.raises(ParameterError, match=r"a\.ipynb has no parameter 'epsilonn': it has epsilon, name, size"):
        execute(template, tmp_path / "out.ipynb", {"epsilonn": 2.0}, zoo.SENTINEL)
    assert not (tmp_path / "out.ipynb").exists()


def test_a_missing_tag_is_an_error(tmp_path: Path) -> None:
    template = zoo.write(tmp_path / "a.ipynb", parameters=None)
    with pytest.raises(ParameterError, match="0 cells tagged 'parameters'"):
        check_parameters(template, {"epsilon": 2.0})


def test_an_equals_sign_inside_a_default_is_no_problem(tmp_path: Path) -> None:
    template = zoo.write(tmp_path / "a.ipynb", parameters="query = 'a=b'")
    check_parameters(template, {"query": "c=d"})
