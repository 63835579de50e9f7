"""pyproject.toml, requirements.lock, environment.yml and the Makefile name the same versions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()


def pins(lines: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def locked_lines() -> list[str]:
    return [line.removesuffix("\\").strip() for line in LOCK.splitlines() if re.match(r"\w[\w.-]*==", line)]


def conda_pip_section() -> list[str]:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (section,) = [d for d in environment["dependencies"] if isinstance(d, dict)]
    return section["pip"]


def test_every_declared_dependency_is_locked_within_its_bounds() -> None:
    declared = PYPROJECT["project"]["dependencies"] + PYPROJECT["project"]["optional-dependencies"]["test"]
    locked = pins(locked_lines())
    for requirement in map(Requirement, declared):
        if requirement.name == "torch":
            continue
        (pin,) = locked[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version), f"{requirement} against the lock's {pin}: run make lock"


def test_lock_has_a_hash_for_every_package_and_leaves_torch_out() -> None:
    blocks = re.split(r"\n(?=\w[\w.-]*==)", LOCK)[1:] if not LOCK.startswith("absl") else []
    assert len(blocks) == len(locked_lines()) > 150
    assert all("--hash=sha256:" in block for block in blocks)
    assert not {"torch", "triton"} & set(pins(locked_lines()))
    assert not [name for name in pins(locked_lines()) if name.startswith(("nvidia-", "cuda-"))]


def test_one_torch_version_everywhere() -> None:
    (wanted,) = [d for d in PYPROJECT["project"]["dependencies"] if d.startswith("torch==")]
    assert re.findall(r"^TORCH\s*:=\s*(\S+)$", (ROOT / "Makefile").read_text(), re.M) == [wanted]
    assert [line for line in conda_pip_section() if line.startswith("torch")] == [wanted]


def test_conda_users_get_the_locked_versions() -> None:
    section = conda_pip_section()
    assert section[-1] == "-e ."
    assert section[1:-1] == locked_lines(), "environment.yml is older than the lock: run make lock"


def test_pinning_rewrites_only_what_follows_the_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "workflow"))
    import pin_environment

    text = (ROOT / "environment.yml").read_text()
    head = text.partition(pin_environment.START)[0]
    new = pin_environment.pinned(text, ["a==1 ; sys_platform == 'darwin'"])
    assert new.startswith(head)
    assert yaml.safe_load(new)["dependencies"][-1]["pip"] == ["a==1 ; sys_platform == 'darwin'", "-e ."]
    with pytest.raises(SystemExit, match="no line"):
        pin_environment.pinned("name: other\n", [])


def test_files_that_are_kept_name_no_machine_and_no_package_host() -> None:
    files = ["requirements.lock", "environment.yml", "Makefile", "workflow/env.sh", ".ci/run", "pyproject.toml"]
    for name in files:
        text = (ROOT / name).read_text()
        assert not re.search(r"/tmp/|/home/|/root/|/work/|--index-url\s+\w|--find-links\s+/|https?://", text), name


def test_installed_kit_is_this_tree_and_the_interpreter_is_supported() -> None:
    import trajkit

    assert Path(trajkit.__file__).resolve().parents[1] == ROOT
    assert sys.version_info >= (3, 11)
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"


def test_citation_agrees_with_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PYPROJECT["project"]["version"]
    assert citation["license"] == PYPROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    named = {i["value"] for r in citation["references"] for i in r["identifiers"]}
    assert named == {"arXiv:2506.09312", "arXiv:1112.2020"}
    import trajkit

    assert trajkit.__version__ == PYPROJECT["project"]["version"]


def test_gate_is_executable_bash_without_syntax_errors() -> None:
    gate = ROOT / ".ci" / "run"
    assert gate.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(gate)], check=True)
