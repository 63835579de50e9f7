"""Runs the parts of `trajkit.benchmarks`, each in a fresh process, and prints one page.

A part that fails is named on the page with its reason, the others still run, and the exit code says so.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trajkit.benchmarks import PARTS, BenchRow

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("torch", "opacus", "numpy", "scipy", "numba", "pandas")


@dataclass(frozen=True)
class PartResult:
    """What one part left: its rows, wall time [s], peak resident memory of its process [MB], and why it failed, if so."""

    part: str
    rows: tuple[BenchRow, ...]
    wall_s: float
    peak_mb: float
    failure: str = ""


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process in MB (10^6 bytes); nothing of its parent counts."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def measure(part: str) -> dict[str, Any]:
    """Call ``part`` ("module:function") in this process; return its rows and the peak memory as plain values."""
    module, _, function = part.partition(":")
    rows: list[BenchRow] = getattr(importlib.import_module(module), function)()
    if bad := [row.name for row in rows if not math.isfinite(row.value)]:
        raise ValueError(f"{part} returned figures that are not finite: {', '.join(bad)}")
    return {"rows": [asdict(row) for row in rows], "peak_mb": peak_memory_mb()}


def run_part(part: str) -> PartResult:
    """Measure ``part`` in a fresh process, one thread per numerical library unless the environment says otherwise."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "part.json"
        command = [sys.executable, "-m", "trajkit.bench", part, str(out)]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        wall_s = time.monotonic() - start
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return PartResult(part, (), wall_s, 0.0, reason)
        result = json.loads(out.read_text())
    return PartResult(part, tuple(BenchRow(**row) for row in result["rows"]), wall_s, result["peak_mb"])


def machine() -> dict[str, Any]:
    """Return cores, memory, interpreter, versions and commit: what a figure needs to be compared with another."""
    import psutil

    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return {
        "commit": commit,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_at_start": round(psutil.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in VERSIONS},
    }


def figure(value: float) -> str:
    """Return ``value`` with three significant digits, no exponent, thousands separated."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def page(facts: dict[str, Any], results: Sequence[PartResult]) -> str:
    """Return the printed page: machine facts, then one table a part."""
    lines = ["trajkit bench", "  " + ", ".join(f"{name} {value}" for name, value in facts.items()), ""]
    for result in results:
        title = result.part.partition(":")[0].rpartition(".")[2]
        if result.failure:
            lines += [f"{title}: FAILED after {figure(result.wall_s)} s: {result.failure}", ""]
            continue
        lines.append(f"{title} ({figure(result.wall_s)} s in all, peak memory {figure(result.peak_mb)} MB)")
        width = max((len(row.name) for row in result.rows), default=0)
        for row in result.rows:
            against = f"  against {row.against}" if row.against else ""
            lines.append(f"  {row.name:<{width}}  {figure(row.value):>12} {row.unit}{against}")
        lines.append("")
    return "\n".join(lines)


def main(parts: Sequence[str] = PARTS, out: Path = Path("outputs/bench.json")) -> int:
    """Run ``parts``, print the page and write ``out`` (renamed into place). Returns 1 if a part failed, else 0."""
    facts = machine()
    results = []
    for part in parts:
        print(f"running {part} ...", file=sys.stderr, flush=True)
        results.append(run_part(part))
    print(page(facts, results))
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_suffix(out.suffix + ".new")
    new.write_text(json.dumps({"machine": facts, "parts": [asdict(result) for result in results]}, indent=1) + "\n")
    os.replace(new, out)
    return int(any(result.failure for result in results))


if __name__ == "__main__":
    part_name, target = sys.argv[1:]
    Path(target).write_text(json.dumps(measure(part_name)))
