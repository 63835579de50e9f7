"""Progress: silent when not wanted, plain lines where there is no terminal."""

from __future__ import annotations

import pytest

from trajkit.deep import progress
from trajkit.deep.progress import Progress


def test_silent_when_not_wanted(capsys: pytest.CaptureFixture) -> None:
    with Progress(3, show=False) as bar:
        for _ in range(3):
            bar.advance(8, 0.5)
    assert capsys.readouterr() == ("", "")


def test_a_log_file_gets_whole_lines_and_the_last_step(capsys: pytest.CaptureFixture) -> None:
    with Progress(100, done=40, show=True) as bar:
        for _ in range(60):
            bar.advance(8, 0.25)
    err = capsys.readouterr().err
    assert "\r" not in err and err.count("\n") == 1
    assert err.startswith("training step 100/100, loss 0.2500, ") and "0 s left" in err


def test_lines_come_with_time_left(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 100.0, 101.0, 300.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with Progress(10, show=True) as bar:
        bar.advance(50, 1.0)
        bar.advance(50, 1.0)
        bar.advance(50, 1.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "training step 1/10, loss 1.0000, 0 examples/s, 900 s left"
    assert lines[1].startswith("training step 3/10") and lines[1].endswith("700 s left") and len(lines) == 2
