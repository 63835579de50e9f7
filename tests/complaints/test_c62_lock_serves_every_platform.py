"""C62: exported environments carry build names of one machine, and locks lack the reader's platform."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
LINES = [line.removesuffix("\\").strip() for line in LOCK.splitlines() if re.match(r"\w[\w.-]*==", line)]


@pytest.mark.parametrize("name", ["environment.yml", "requirements.lock", "pyproject.toml", "Makefile"])
def test_no_build_strings(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"=py3\d+\w*_\d|=h[0-9a-f]{6,}_\d|\+cpu|\+cu\d", text)
    assert "prefix:" not in text


@pytest.mark.parametrize(
    ("platform", "extra"),
    [
        ({"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"}, "appnope"),
        ({"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}, "colorama"),
        ({"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}, "pexpect"),
    ],
)
def test_lock_has_what_each_platform_needs(platform: dict[str, str], extra: str) -> None:
    def chosen(marker: Marker | None) -> bool:
        return marker is None or marker.evaluate({**default_environment(), **platform})

    names = {r.name for r in map(Requirement, LINES) if chosen(r.marker)}
    assert extra in names
    assert {"numpy", "opacus", "snakemake", "jupyterlab"} <= names


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_lock_pins_each_package_once_for_each_python(python: str) -> None:
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.1"}
    requirements = [r for r in map(Requirement, LINES) if r.marker is None or r.marker.evaluate(environment)]
    assert len({r.name for r in requirements}) == len(requirements)


def test_compiled_packages_have_files_for_linux_mac_and_windows() -> None:
    # a wheel for each of several platforms means many hashes; a lock made on one machine for itself has one or two
    blocks = dict(block.split("==", 1) for block in re.split(r"\n(?=\w[\w.-]*==)", LOCK)[1:])
    for name in ("numpy", "pandas", "pyarrow", "shapely", "scipy"):
        assert blocks[name].count("--hash=sha256:") > 10, name
