"""Rewrite the pip pins of environment.yml from pyproject.toml (torch) and requirements.lock (all else).

conda hands its pip section to pip as one requirements file, and one hash in such a file makes pip demand a hash for
every line, which neither torch (many builds, one version) nor ``-e .`` has. So the pins stand there without hashes.

    python workflow/pin_environment.py
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = "      # pins: written by `make lock`"


def locked_pins(lock: str) -> list[str]:
    """Return the lines ``name==version [; marker]`` of a lock file, without hashes and comments."""
    return [re.sub(r"\s*\\$", "", line) for line in lock.splitlines() if re.match(r"[A-Za-z0-9][\w.-]*==", line)]


def torch_pin(pyproject: str) -> str:
    """Return the torch requirement of pyproject.toml, e.g. ``torch==2.13.0``."""
    dependencies: list[str] = tomllib.loads(pyproject)["project"]["dependencies"]
    return next(d for d in dependencies if d.startswith("torch=="))


def pinned(environment: str, pins: list[str]) -> str:
    """Return environment.yml with everything after the marker line replaced by ``pins`` and the kit itself."""
    head, marker, _ = environment.partition(START)
    if not marker:
        raise SystemExit(f"environment.yml has no line {START!r}: put it back where the pins belong")
    return head + START + "\n" + "".join(f"      - {pin}\n" for pin in [*pins, "-e ."])


def main() -> None:
    """Rewrite environment.yml in place."""
    path = ROOT / "environment.yml"
    pins = [torch_pin((ROOT / "pyproject.toml").read_text()), *locked_pins((ROOT / "requirements.lock").read_text())]
    new = path.with_suffix(".yml.new")
    new.write_text(pinned(path.read_text(), pins))
    os.replace(new, path)


if __name__ == "__main__":
    main()
