"""A report over a plan of which nothing has run yet says so and is whole: no section needs a complete run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a kernel and a whole notebook each
CODE = """
from trajkit.study.report import build_report
from trajkit.study.workflow import plan_study
study = plan_study("{question}", profile="smoke", dataset="city", data=None, seeds=None)
build_report(study.folder)
print(study.result)
"""


@pytest.mark.parametrize("question", ["rq2", "rq3", "rq4", "rq5", "rq6", "rq7"])
def test_a_report_without_a_run_is_whole(tmp_path: Path, question: str) -> None:
    if question == "rq2":  # one section compares formulas, which needs no run
        pytest.importorskip("trajkit.privacy.theorem_2")
    environment = {**os.environ, "TRAJKIT_OUTPUTS": str(tmp_path)}
    command = [sys.executable, "-c", CODE.format(question=question)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    html = Path(done.stdout.strip().splitlines()[-1]).read_text()
    nothing = "they were not run yet" if question == "rq4" else "No run is complete"
    assert nothing in html and "was stopped or never started" in html and "report complete" in html
    if question == "rq2":
        assert "is the one that breaks privacy" in html and "a real epsilon of 105.1" in html
