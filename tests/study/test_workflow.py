"""Studies end to end, in small: plan, Snakemake, notebooks, report; failures, second calls, kills, private data."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from trajkit.datasets.samples import write_geolife_sample, write_porto_sample

pytestmark = pytest.mark.timeout(1500)  # whole studies, several processes each
SMALL = {
    "regime": "private",
    "epsilon": 10.0,
    "channels": 8,
    "steps": 30,
    "batch_size": 32,
    "sampling_steps": 5,
    "noise_draws_per_example": 1,
}
CITY = {"people": 40, "days": 2, "seed": 5}


def _question(folder: Path, cells: list[dict[str, Any]], **profile: Any) -> Path:
    smoke = {
        "about": "a test.",
        "seeds": 1,
        "length": 32,
        "n_release": 30,
        "datasets": {"city": CITY},
        "cells": cells,
        **profile,
    }
    path = folder / "q.yaml"
    question = {
        "question": "q",
        "title": "A test",
        "report": "rq1-cost-of-dpsgd",
        "claims": ["C1"],
        "profiles": {"smoke": smoke},
    }
    path.write_text(yaml.safe_dump(question))
    return path


def _study(outputs: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trajkit", "study", *arguments, "--profile", "smoke"]
    return subprocess.run(
        command, env={**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}, capture_output=True, text=True, timeout=800
    )


def _cell(name: str, method: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "method": method, "parameters": parameters}


BASE = [_cell("real", "real"), _cell("uniform", "uniform")]


def test_a_failing_run_leaves_a_hole_and_the_rest_goes_on(tmp_path: Path) -> None:
    broken = _cell("diffusion-private", "diffusion", **{**SMALL, "batch_size": 5000})
    diverged = _cell("gan-plain", "gan", channels=8, steps=20, batch_size=32, critic_learning_rate=1e30)
    question = _question(tmp_path, [*BASE, broken, diverged])
    outputs = tmp_path / "outputs"
    first = _study(outputs, str(question))
    assert first.returncode == 1, first.stdout + first.stderr
    assert "2 runs complete, 2 failed" in first.stdout
    assert "fewer than batch_size 5000" in first.stdout
    folder = outputs / "q" / "smoke-city"
    plan = json.loads((folder / "plan.json").read_text())
    failed = outputs / "runs" / next(r["run_id"] for r in plan["runs"] if r["cell"] == "diffusion-private")
    assert (failed / "executed.ipynb").is_file() and not (failed / "manifest.json").exists()
    assert json.loads((failed / "FAILED.json").read_text())["error"] == "RunFailedError"
    results = pd.read_csv(folder / "results.csv")
    assert set(results["cell"]) == {"real", "uniform"}
    html = (folder / "report.html").read_text()
    assert "fewer than batch_size 5000" in html and "the loss is" in html
    lost = outputs / "runs" / next(r["run_id"] for r in plan["runs"] if r["cell"] == "gan-plain")
    assert len(pd.read_csv(lost / "history.csv"))  # its loss curve up to there is in the report
    assert json.loads((folder / "claims.json").read_text())[0]["verdict"] == "not testable at this profile"

    _question(tmp_path, BASE)  # without the broken cell the study is complete, and nothing is run again
    before = {p: p.stat().st_mtime_ns for p in (outputs / "runs").glob("*/manifest.json")}
    second, third = _study(outputs, str(question)), _study(outputs, str(question))
    assert (second.returncode, third.returncode) == (0, 0)
    assert "nothing to do" in third.stdout
    assert not (folder / "partial.html").exists()
    assert {p: p.stat().st_mtime_ns for p in (outputs / "runs").glob("*/manifest.json")} == before


def _plan_one(outputs: Path, question: Path) -> Path:
    code = f"""
from trajkit.study.workflow import plan_study, run_folder
s = plan_study({str(question)!r}, profile="smoke", dataset="city", data=None, seeds=None)
print(run_folder(s.runs[0][0]) / "params.yaml")
"""
    env = {**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def _run(params: Path, outputs: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, "TRAJKIT_OUTPUTS": str(outputs)}
    return subprocess.Popen([sys.executable, "-m", "trajkit", "run", str(params)], env=env, start_new_session=True)


def test_killed_in_the_middle_of_training_it_ends_with_the_same_metrics(tmp_path: Path) -> None:
    cell = _cell("diffusion-private", "diffusion", **{**SMALL, "steps": 150, "checkpoint_every_s": 0.0})
    question = _question(tmp_path, [cell])
    straight, killed = tmp_path / "a", tmp_path / "b"
    whole, cut = _plan_one(straight, question), _plan_one(killed, question)
    assert _run(whole, straight).wait(timeout=500) == 0
    process = _run(cut, killed)
    deadline = time.monotonic() + 500
    while not (cut.parent / "checkpoint.pt").is_file():
        assert process.poll() is None and time.monotonic() < deadline, "it ended before its first checkpoint"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (cut.parent / "metrics.json").exists(), "it was finished before the kill: more steps are needed"
    assert _run(cut, killed).wait(timeout=500) == 0
    for name in ("metrics.json", "guarantee.json", "history.csv"):
        a, b = (whole.parent / name).read_bytes(), (cut.parent / name).read_bytes()
        assert a == b if name != "history.csv" else a.count(b"\n") == b.count(b"\n")
    guarantee = json.loads((cut.parent / "guarantee.json").read_text())
    assert guarantee["holds"] is True and guarantee["epsilon"] <= 10.0
    assert _run(cut, killed).wait(timeout=500) == 0  # complete: returns at once


@pytest.mark.parametrize("dataset", ["porto", "geolife"])
def test_small_sets_in_the_published_formats_run_the_same_path(tmp_path: Path, dataset: str) -> None:
    if dataset == "porto":
        data = write_porto_sample(tmp_path / "train.csv", n=150, seed=1)
    else:
        data = write_geolife_sample(tmp_path / "gl", n_users=6, files_per_user=6, seed=1)
    outputs = tmp_path / "outputs"
    done = _study(outputs, str(_question(tmp_path, BASE)), "--dataset", dataset, "--data", str(data))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (outputs / "q").glob(f"smoke-{dataset}-*")
    results = pd.read_csv(folder / "results.csv")
    assert {"SWD", "JSD", "DTW"} <= set(results["metric"])
    floor = results[(results["cell"] == "real") & (results["metric"] == "JSD")]["value"].item()
    assert floor < results[(results["cell"] == "uniform") & (results["metric"] == "JSD")]["value"].item()


def test_private_data_is_not_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n, m = 83, 12
    steps = rng.normal(0, 2e-4, (n, m, 2)).cumsum(axis=1) + rng.uniform(0.02, 0.08, (n, 1, 2))
    rows = [
        {
            "who": f"secret{i}",
            "trip": f"trip{i}",
            "lat": 48 + p[1],
            "lon": 2 + p[0],
            "when": f"2026-01-01T{8 + i % 9:02d}:00:{j:02d}Z",
        }
        for i, trip in enumerate(steps)
        for j, p in enumerate(trip)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "mine.yaml").write_text(
        "file: mine.csv\ncolumns: {user: who, traj: trip, lat: lat, lon: lon, t: when}\n"
        "box: {lon_min: 2.0, lat_min: 48.0, lon_max: 2.1, lat_max: 48.1}\ntz: UTC\n"
    )
    outputs = tmp_path / "outputs"
    question = _question(tmp_path, BASE)
    done = _study(outputs, str(question), "--dataset", "tables", "--data", str(tmp_path / "mine.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (outputs / "q").glob("smoke-tables-*")
    assert (folder / "PRIVATE").is_file()
    runs = list((outputs / "runs").iterdir())
    assert runs and all((r / "PRIVATE").is_file() for r in runs)
    html = (folder / "report.html").read_text()
    assert "secret" not in html and "trip1" not in html
    assert f"{n}" not in _drop_table(html) and f"{n * m:,}" not in _drop_table(html) and "about" in _drop_table(html)
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["private"] and not plan["allow_raw"]
    shutil.rmtree(outputs)


def _drop_table(html: str) -> str:
    start = html.index("what was dropped")
    shown = html[start : html.index("Results", start)]
    return re.sub(r"<style.*?</style>|<[^>]+>", " ", shown, flags=re.DOTALL)  # random ids of tables are no counts


def test_when_every_run_fails_the_report_says_so(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs with a space"
    question = _question(tmp_path, [_cell("diffusion-private", "diffusion", **{**SMALL, "batch_size": 5000})])
    done = _study(outputs, str(question))
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stdout + done.stderr
    html = (outputs / "q" / "smoke-city" / "report.html").read_text()
    assert "No run is complete" in html and "fewer than batch_size 5000" in html
