"""Where runs lie and what lies in them. Imports nothing heavy: a job that only starts a notebook reads this and no more."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from trajkit.study.run_config import RunConfig
from trajkit.yamlio import dump_yaml, write_text

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = Path(os.environ.get("TRAJKIT_OUTPUTS") or ROOT / "outputs").resolve()
SENTINEL = "run complete:"
RELEASE_FILES = ("release.parquet", "guarantee.json", "release.json", "history.csv")
ORIGIN = "origin.npy"


def write_params(folder: Path, config: RunConfig) -> None:
    """Write the resolved parameters, before anything else is done in a run folder."""
    write_text(folder / "params.yaml", dump_yaml(config.model_dump(mode="json")))


def reuse_release(folder: Path) -> bool:
    """Copy the release of another complete run with the same release id into ``folder``; return whether there was one."""
    rid = folder.name.split("-")[0]
    for other in sorted(folder.parent.glob(f"{rid}-*")):
        if other != folder and (other / "manifest.json").is_file():
            optional = [ORIGIN] if (other / ORIGIN).is_file() else []
            for name in (*optional, *RELEASE_FILES[:1], *RELEASE_FILES[2:], RELEASE_FILES[1]):
                temporary = folder / f".{name}.part"
                shutil.copyfile(other / name, temporary)
                temporary.replace(folder / name)
            return True
    return False
