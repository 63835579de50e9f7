"""A study's report opened from disk without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``report.html`` of the first question at profile smoke: the one of ``make smoke`` where it is there, else a new one."""
    made = ROOT / "outputs" / "rq1" / "smoke-city" / "report.html"
    if made.is_file():
        return made
    outputs = tmp_path_factory.mktemp("outputs")
    command = [sys.executable, "-m", "trajkit", "study", "rq1", "--profile", "smoke"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}, check=True, timeout=500)
    return outputs / "rq1" / "smoke-city" / "report.html"


def test_a_report_is_complete_without_a_network(report: Path, page: Any, shot: Any) -> None:
    page.goto(report.as_uri())
    images = page.locator("img")
    assert images.count() >= 4
    sizes = images.evaluate_all("all => all.map(one => one.naturalWidth)")
    assert min(sizes) > 100, "an image of the report is not drawn"
    assert all(text.strip() for text in images.evaluate_all("all => all.map(one => one.alt)"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 4"), (
        "the page is wider than the window"
    )
    images.nth(0).scroll_into_view_if_needed()
    shot(page, "report")
