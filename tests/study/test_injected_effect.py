"""The report sees an effect that was put in (noise x 20), and none between two plain trainings that differ in their seed alone.

The effect shows in the paths. Where points lie it does not: at this size a private model is hardly past the cloud of
points that a diffusion model starts from, and that cloud lies much like the city (the report's row *cloud* says so).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from trajkit.privacy.accounting import calibrate, delta_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]  # twelve trainings
IN_PATHS = {"TD", "HD", "NHD", "DTW"}
TRIPS, TRAIN, STEPS, BATCH = 20_000, 16_000, 200, 128
READ = """
import json, sys
from trajkit.study.results import StudyResults
study = StudyResults(sys.argv[1])
pairs = [("noise x 20", "noise-x20", "private"), ("other seeds", "plain-again", "plain")]
table = study.differences(pairs, metrics=("SWD", "JSD", "TD", "HD", "NHD", "DTW"))
print(json.dumps(table.astype({"seen": bool}).to_dict("records")))
"""


def test_noise_times_twenty_is_seen_and_other_seeds_are_not(tmp_path: Path) -> None:
    noise = calibrate(
        target_epsilon=10.0, delta=delta_for(TRAIN), sample_rate=BATCH / TRAIN, steps=STEPS, unit="trajectory"
    ).noise_multiplier
    plain = {
        "regime": "plain",
        "steps": STEPS,
        "batch_size": BATCH,
        "noise_draws_per_example": 1,
        "physical_batch": 192,
    }
    private = {**plain, "regime": "private", "noise_multiplier": noise}
    cells = [
        *({"name": name, "method": name} for name in ("real", "uniform", "straight")),
        {"name": "plain", "method": "diffusion", "parameters": plain},
        {"name": "plain-again", "method": "diffusion", "parameters": plain, "seed_offset": 100},
        {"name": "private", "method": "diffusion", "parameters": private},
        {"name": "noise-x20", "method": "diffusion", "parameters": {**private, "noise_multiplier": 20 * noise}},
    ]
    profile = {
        "about": "an injected effect and a placebo.",
        "seeds": 3,
        "length": 64,
        "n_release": 1000,
        "evaluation": {"n_pairs": 100},
        "datasets": {"city": {"trips": TRIPS, "seed": 1003}},
        "cells": cells,
    }
    question = tmp_path / "injected.yaml"
    question.write_text(
        yaml.safe_dump({"question": "injected", "title": "A check", "report": None, "profiles": {"quick": profile}})
    )
    environment = {**os.environ, "TRAJKIT_OUTPUTS": str(tmp_path)}
    study = [sys.executable, "-m", "trajkit", "study", str(question), "--profile", "quick"]
    subprocess.run(study, env=environment, check=True, timeout=2800)
    read = [sys.executable, "-c", READ, str(tmp_path / "injected" / "quick-city")]
    rows = json.loads(subprocess.run(read, env=environment, check=True, capture_output=True, text=True).stdout)
    print(json.dumps(rows, indent=1))
    assert len(rows) == 12 and all(r["folds"] == 3 for r in rows)
    worse = {r["metric"] for r in rows if r["effect"] == "noise x 20" and r["seen"] and r["mean"] > 0}
    assert worse >= IN_PATHS
    assert not [r["metric"] for r in rows if r["effect"] == "other seeds" and r["seen"]]
