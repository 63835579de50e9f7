"""The runner asks an anonymizer for all that it may release, and others for a number."""

from __future__ import annotations

from pathlib import Path

import pytest
from anonymity_toys import crowd
from toys import walks

from trajkit.methods import make_method, number_for
from trajkit.study.run import Run
from trajkit.study.run_config import RunConfig


@pytest.mark.parametrize(("method", "expected"), [("k_anonymity", None), ("uniform", 3)])
def test_how_many_are_asked_for(method: str, expected: int | None, tmp_path: Path) -> None:
    fitted = make_method(method).fit(crowd(200, 0) if expected is None else walks(5, 4, 0), seed=0)
    assert number_for(fitted, 3) == number_for(type(fitted), 3) == expected
    run = Run(tmp_path, RunConfig(dataset="city", method=method, n_release=3))
    release = run.release(fitted)
    assert len(release.trajectories) == expected or (expected is None and len(release.trajectories) > 3)
    again = run.release(None)  # read back
    assert (
        again.trajectories.fingerprint() == release.trajectories.fingerprint() and again.guarantee == release.guarantee
    )
