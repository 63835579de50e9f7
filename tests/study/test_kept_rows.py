"""Work on runs in processes: everything is done, also where there are few, and an error is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.study.kept_rows import FEW, side_by_side
from trajkit.study.run import Run
from trajkit.study.run_config import RunConfig


def note(run: Run) -> None:
    if run.config.seed == 99:
        raise ParameterError("run 99 is not to be had")
    (run.folder / "done").write_text(str(run.config.seed))


def runs(folder: Path, seeds: list[int]) -> list[Run]:
    made = []
    for seed in seeds:
        (folder / str(seed)).mkdir()
        made.append(Run(folder / str(seed), RunConfig(method="real", dataset="city", seed=seed)))
    return made


@pytest.mark.parametrize("n", [0, 1, FEW, FEW + 2])
def test_every_run_is_worked_on(tmp_path: Path, n: int) -> None:
    side_by_side(note, runs(tmp_path, list(range(n))))
    assert sorted(p.read_text() for p in tmp_path.glob("*/done")) == sorted(map(str, range(n)))


@pytest.mark.parametrize("n", [1, FEW + 2])
def test_an_error_is_raised(tmp_path: Path, n: int) -> None:
    with pytest.raises(ParameterError, match="run 99"):
        side_by_side(note, runs(tmp_path, [*range(n), 99]))
