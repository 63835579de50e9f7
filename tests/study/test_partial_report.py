"""While runs go on, a first table is written, and one line says how far things are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trajkit.privacy.guarantee import no_guarantee
from trajkit.study import progress, results
from trajkit.study.progress import PARTIAL, Watch

CELLS = ("real", "uniform", "vae-plain", "gan-plain")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "OUTPUTS", tmp_path)
    monkeypatch.setattr(progress, "OUTPUTS", tmp_path)
    planned = []
    for cell in CELLS:
        (tmp_path / "runs" / f"id-{cell}").mkdir(parents=True)
        config = {
            "method": cell.split("-")[0],
            "fold": 0,
            "seed": 0,
            "train_size": None,
            "parameters": {},
            "dataset_settings": {},
        }
        planned.append({"run_id": f"id-{cell}", "cell": cell, "replicate": 0, "vary": "fold", "config": config})
    _plan(tmp_path, runs=planned)
    return tmp_path


def _plan(folder: Path, **changes: Any) -> None:
    path = folder / "plan.json"
    base = json.loads(path.read_text()) if path.is_file() else {}
    named = {"title": "A <test>", "profile": "smoke", "dataset": "city", "private": False, "allow_raw": False}
    path.write_text(json.dumps({**named, **base, **changes}))


def _complete(folder: Path, cell: str, value: float, *, wall_s: float = 60.0) -> None:
    run = folder / "runs" / f"id-{cell}"
    rows = [
        {"metric": m, "level": "point", "value": value, "unit": "", "direction": "lower is better"}
        for m in ("SWD", "JSD")
    ]
    (run / "metrics.json").write_text(json.dumps({"n_train": 8123, "n_test": 2, "results": rows}))
    (run / "guarantee.json").write_text(no_guarantee("a test").to_json())
    (run / "manifest.json").write_text(json.dumps({"wall_s": wall_s}))


def test_news_is_written_at_most_once_a_minute(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    watch = Watch(folder, side_by_side=1, clock=lambda: now[0])
    watch.look()
    assert not (folder / PARTIAL).exists(), "nothing is complete, so there is no news"
    _complete(folder, "real", 0.1)
    watch.look()
    assert "1 of 4 runs, about 3 min left: " in capsys.readouterr().out
    first = (folder / PARTIAL).read_text()
    assert "A &lt;test&gt;" in first and "no complete run" in first
    _complete(folder, "uniform", 0.6)
    _complete(folder, "vae-plain", 0.2, wall_s=600.0)
    watch.look()
    assert (folder / PARTIAL).read_text() == first and not capsys.readouterr().out
    now[0] = 61.0
    watch.look()
    assert "3 of 4 runs, about 10 min left" in capsys.readouterr().out  # by what trains, not by the baselines
    assert "0.2 (n = 1: no interval)" in (folder / PARTIAL).read_text()
    assert {p.name for p in folder.iterdir()} == {"runs", "plan.json", PARTIAL}


def test_failed_runs_are_counted_and_not_waited_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (folder / "runs" / f"id-{c}" / "FAILED.json" for c in ("gan-plain", "vae-plain"))
    old.write_text("{}")
    os.utime(old, (1, 1))  # from the try before: it is being tried again
    watch = Watch(folder, side_by_side=2)
    new.write_text("{}")
    _complete(folder, "real", 0.1, wall_s=240.0)
    watch.look()
    assert "1 of 4 runs (1 failed), about 4 min left" in capsys.readouterr().out


def test_private_data_leaves_no_count_and_a_mark(folder: Path) -> None:
    _plan(folder, private=True)
    watch = Watch(folder, side_by_side=1)
    _complete(folder, "real", 0.1)
    watch.look()
    assert (folder / "PRIVATE").is_file()
    assert "8123" not in (folder / PARTIAL).read_text()


def test_a_full_disk_does_not_stop_the_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(progress, "write_text", full)
    watch = Watch(folder, side_by_side=1)
    _complete(folder, "real", 0.1)
    watch.look()
    assert "could not be written: [Errno 28] No space left on device" in capsys.readouterr().out
