"""Checks before a notebook runs and after."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import zoo

from trajkit.errors import MissingDataError, ParameterError, RunFailedError
from trajkit.study.notebooks import check_executed, check_parameters, declared_parameters


def test_declared_parameters(tmp_path: Path) -> None:
    assert declared_parameters(zoo.write(tmp_path / "a.ipynb")) == {"epsilon": 1.0, "name": "x", "size": None}


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"absent\.ipynb does not exist"):
        declared_parameters(tmp_path / "absent.ipynb")
    (tmp_path / "b.ipynb").write_text("{}")
    with pytest.raises(ParameterError, match=r"b\.ipynb is not a notebook"):
        declared_parameters(tmp_path / "b.ipynb")


def test_types_must_agree(tmp_path: Path) -> None:
    path = zoo.write(tmp_path / "a.ipynb")
    check_parameters(path, {"epsilon": 2, "name": "y", "size": 5})
    with pytest.raises(ParameterError, match="epsilon is float there, got 'ten'"):
        check_parameters(path, {"epsilon": "ten"})
    with pytest.raises(ParameterError, match="epsilon is float there, got True"):
        check_parameters(path, {"epsilon": True})


def _executed(tmp_path: Path, counts: list[int | None], last: str) -> Path:
    path = zoo.write(tmp_path / "e.ipynb", "1 + 1")
    book = nbformat.read(path, as_version=4)
    for cell, count in zip(book.cells, counts, strict=True):
        cell.execution_count = count
    book.cells[-1].outputs = [nbformat.v4.new_output("stream", name="stdout", text=last)]
    nbformat.write(book, path)
    return path


def test_executed_in_order_with_the_sentinel(tmp_path: Path) -> None:
    check_executed(_executed(tmp_path, [1, 2, 3], zoo.SENTINEL), sentinel=zoo.SENTINEL)


@pytest.mark.parametrize(
    ("counts", "last", "message"),
    [
        ([1, None, None], zoo.SENTINEL, r"code cell 2 \(`1 \+ 1`\) did not run"),
        ([1, 3, 2], zoo.SENTINEL, "code cell 3"),
        ([1, 2, 3], "", "did not print 'all done'"),
    ],
)
def test_what_did_not_run_is_named(tmp_path: Path, counts: list[int | None], last: str, message: str) -> None:
    with pytest.raises(RunFailedError, match=message):
        check_executed(_executed(tmp_path, counts, last), sentinel=zoo.SENTINEL)
