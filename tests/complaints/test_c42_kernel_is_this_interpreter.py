"""C42: a notebook names a kernel that is not here, or that runs another interpreter than the one make uses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from trajkit.doctor import check_kernel


@pytest.fixture
def foreign_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of kernels that Jupyter searches before the environment's own; the test writes the interpreter into it."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    return folder


def write_spec(folder: Path, interpreter: str) -> None:
    argv = [interpreter, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "mine", "language": "python"}))


def test_kernel_of_this_environment_is_fine() -> None:
    (finding,) = check_kernel()
    assert not finding.remedy and sys.prefix in finding.value


def test_kernel_of_another_environment_is_reported(foreign_kernel: Path, tmp_path: Path) -> None:
    other = tmp_path / "other-python"
    other.write_text("#!/bin/sh\necho /somewhere/else\n")
    other.chmod(0o755)
    write_spec(foreign_kernel, str(other))
    (finding,) = check_kernel()
    assert "/somewhere/else" in finding.remedy and str(foreign_kernel) in finding.remedy


def test_kernel_whose_interpreter_is_gone_is_reported(foreign_kernel: Path) -> None:
    write_spec(foreign_kernel, "/no/such/python")
    (finding,) = check_kernel()
    assert "FileNotFoundError" in finding.value and str(foreign_kernel) in finding.remedy


def test_kernel_without_ipykernel_is_reported(foreign_kernel: Path, tmp_path: Path) -> None:
    other = tmp_path / "bare-python"
    other.write_text('#!/bin/sh\necho "ModuleNotFoundError: no ipykernel" >&2\nexit 1\n')
    other.chmod(0o755)
    write_spec(foreign_kernel, str(other))
    (finding,) = check_kernel()
    assert "no ipykernel" in finding.value and finding.remedy


def test_no_kernel_at_all_is_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    def nothing(self: KernelSpecManager, kernel_name: str) -> None:
        raise NoSuchKernel(kernel_name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", nothing)
    (finding,) = check_kernel()
    assert finding.fatal
