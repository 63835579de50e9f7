"""Manifests: the mark of a complete run, with everything that tells where its files come from; and whether such a run may be used here."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from trajkit.study.folders import ROOT
from trajkit.yamlio import write_text

MANIFEST = "manifest.json"
LOG = "run.log"  # what a job prints, before and after its manifest
# another version of one of these may give other numbers
DECIDING = (
    "torch",
    "opacus",
    "dp-accounting",
    "numpy",
    "scipy",
    "pandas",
    "numba",
    "scikit-learn",
    "shapely",
    "pyproj",
)
OTHERS = ("trajkit", "papermill", "snakemake")
SCHEDULER = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES")


def write_manifest(folder: Path, files: dict[str, str], *, cells_s: float | None = None, **more: Any) -> None:
    """Write ``manifest.json`` of ``folder``: hashes of its ``files``, ``more``, versions, commit, lock file, hardware, scheduler.

    Where the work was done by a notebook whose cells took ``cells_s`` seconds, ``engine_s`` says what this process took besides, from its start on.
    """
    manifest = {
        "run_id": folder.name,
        "files": files,
        **more,
        "versions": {"python": platform.python_version(), **_installed(*DECIDING, *OTHERS)},
        "git_commit": git_commit(),
        "lock_file": _sha256(ROOT / "requirements.lock") if (ROOT / "requirements.lock").is_file() else "none",
        "hardware": {
            "machine": platform.machine(),
            "host": platform.node(),
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
            "gpu": _gpu_name(),
        },
        "scheduler": {k: os.environ[k] for k in SCHEDULER if k in os.environ},
    }
    if cells_s is not None:
        manifest["engine_s"] = round(time.time() - psutil.Process().create_time() - cells_s, 2)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1))


def hashes(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Name -> SHA-256 of each file."""
    return {name: _sha256(folder / name) for name in names}


def why_unusable(folder: Path) -> str:
    """Why a run or audit that has a manifest may not be used here: other versions, missing or changed files; empty where it may."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files, versions, rid = dict(manifest["files"]), dict(manifest["versions"]), manifest["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return "its manifest cannot be read"
    if rid != folder.name:
        return f"its manifest is of {rid}"
    here = _installed(*DECIDING)
    other = [
        f"{p} {versions.get(p, 'unknown')} (here {v})"
        for p, v in here.items()
        if _public(versions.get(p)) != _public(v)
    ]
    if other:
        return f"it was made with {', '.join(other)}"
    absent = [name for name in files if not (folder / name).is_file()]
    if absent:
        return f"{', '.join(absent)} not there"
    changed = [name for name, known in files.items() if _sha256(folder / name) != known]
    return f"{', '.join(changed)} differs from the manifest" if changed else ""


def state_of(folder: Path) -> str:
    """A short text that changes when a file of the folder is replaced, or the packages here are: what was checked once need not be again."""
    files = sorted(
        (p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file() and p.name != LOG
    )
    return hashlib.sha256(json.dumps([files, _installed(*DECIDING)]).encode()).hexdigest()[:16]


def git_commit() -> str:
    """Commit of the working tree, marked ``-dirty`` where tracked files differ; "unknown" outside git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


@lru_cache(maxsize=4)
def _installed(*packages: str) -> dict[str, str]:
    return {p: metadata.version(p) for p in packages}


def _public(version: str | None) -> str:
    """Without the build tag: 2.13.0+cpu and 2.13.0+cu130 are one version."""
    return (version or "").partition("+")[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _gpu_name() -> str | None:
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return ", ".join(done.stdout.strip().splitlines()) or None
