"""C61: conda solves for hours, or mixes channels: conda gives python and pip, everything else comes pinned by pip."""

from __future__ import annotations

from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def test_one_channel_and_two_conda_packages() -> None:
    assert ENVIRONMENT["name"] == "trajkit"
    assert ENVIRONMENT["channels"] == ["conda-forge"]
    assert [d for d in ENVIRONMENT["dependencies"] if isinstance(d, str)] == ["python=3.11", "pip"]


def test_pip_has_nothing_to_choose() -> None:
    *pinned, kit = ENVIRONMENT["dependencies"][-1]["pip"]
    assert kit == "-e ."
    for line in pinned:
        (specifier,) = Requirement(line).specifier
        assert specifier.operator == "==" and "*" not in specifier.version, line


def test_no_hash_that_would_make_pip_refuse_the_unhashed_lines() -> None:
    assert not [line for line in ENVIRONMENT["dependencies"][-1]["pip"] if "--hash" in line or line.startswith("-r")]
