"""C43: of a killed kernel the saved notebook said that every cell was completed. C44: swallowed errors counted as success."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trajkit.errors import RunFailedError
from trajkit.study.runner import execute

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
import zoo

KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("cell", "end", "message"),
    [
        (KILL, True, "kernel died|did not run"),
        ("import sys\nsys.exit(0)", True, "SystemExit|did not|ended with an error"),
        ("raise ValueError('boom')", True, "boom"),
        ("try:\n    open('/absent/file')\nexcept Exception:\n    pass", False, "did not print"),
    ],
    ids=["killed", "exit", "error", "swallowed"],
)
def test_it_is_a_failure(tmp_path: Path, cell: str, end: bool, message: str) -> None:
    template = zoo.write(tmp_path / "a.ipynb", cell, end=end)
    with pytest.raises(RunFailedError, match=message):
        execute(template, tmp_path / "out.ipynb", {"epsilon": 2.0}, zoo.SENTINEL)
    assert (tmp_path / "out.ipynb").is_file()  # what was computed stays to be looked at


def test_parameters_arrive_and_a_whole_run_passes(tmp_path: Path) -> None:
    template = zoo.write(tmp_path / "a.ipynb", "assert (epsilon, name) == (2.0, 'y')")
    execute(template, tmp_path / "out.ipynb", {"epsilon": 2.0, "name": "y"}, zoo.SENTINEL)
