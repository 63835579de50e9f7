"""The bench runner: fresh process per part, one page, a failing part does not hide the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trajkit import bench
from trajkit.benchmarks import PARTS, BenchRow

PART = """
from trajkit.benchmarks import BenchRow

def rows():
    print("noise on stdout")
    return [BenchRow("copy", 2.5, "times", "numpy"), BenchRow("rate", 1234567.0, "rows/s")]

def large():
    block = b"x" * 200_000_000
    return [BenchRow("bytes", float(len(block)), "B")]

def infinite():
    return [BenchRow("ratio", float("inf"), "times")]

def broken():
    raise RuntimeError("no such peer")
"""


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "toy_bench.py").write_text(PART)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "toy_bench"


def test_rows_come_back_from_the_other_process_as_they_were(part: str) -> None:
    result = bench.run_part(f"{part}:rows")
    assert result.rows == (BenchRow("copy", 2.5, "times", "numpy"), BenchRow("rate", 1234567.0, "rows/s"))
    assert result.failure == "" and result.wall_s > 0


def test_peak_memory_is_the_part_s_own(part: str) -> None:
    held = b"x" * 300_000_000  # in this process: must not show in the parts'
    small, large = (bench.run_part(f"{part}:{name}").peak_mb for name in ("rows", "large"))
    assert small < 150 and len(held) > 0
    assert 190 < large - small < 230


def test_failing_part_is_named_with_its_reason_and_the_others_are_there(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "outputs" / "bench.json"
    assert bench.main([f"{part}:broken", f"{part}:infinite", f"{part}:rows"], out) == 1
    page = capsys.readouterr().out
    assert "FAILED" in page and "no such peer" in page and "not finite: ratio" in page
    assert "noise on stdout" not in page
    assert "2.50 times  against numpy" in page and "1,234,567 rows/s" in page
    written = json.loads(out.read_text())
    assert [p["failure"] == "" for p in written["parts"]] == [False, False, True]
    assert {"commit", "cores", "python", "torch"} <= set(written["machine"])
    assert [p.name for p in out.parent.iterdir()] == ["bench.json"]


def test_success_is_exit_code_zero(part: str, tmp_path: Path) -> None:
    assert bench.main([f"{part}:rows"], tmp_path / "bench.json") == 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (0.01234, "0.0123"), (1.0, "1.00"), (99.96, "100.0"), (12345.6, "12,346"), (-2.5, "-2.50")],
)
def test_figures_have_three_digits(value: float, shown: str) -> None:
    assert bench.figure(value) == shown


def test_every_registered_part_exists() -> None:
    for name in PARTS:
        module, _, function = name.partition(":")
        path = Path(bench.ROOT, *module.split(".")).with_suffix(".py")
        assert path.is_file(), f"{name} is registered but {path.name} is absent"
        assert f"def {function}(" in path.read_text()
