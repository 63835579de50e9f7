"""`make doctor` names each problem with what to do about it, and fails only where the kit cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trajkit import doctor
from trajkit.doctor import Finding


def only(findings: list[Finding], topic: str) -> Finding:
    (found,) = [f for f in findings if f.topic == topic]
    return found


def test_lock_lines_for_other_machines_do_not_count() -> None:
    lock = "# head\na-b==1.2 \\\n    --hash=sha256:00\nc==3 ; sys_platform == 'nowhere' \\\n    # via c==9\nd==4 ; python_version >= '3'\n"
    assert doctor.locked_versions(lock) == {"a-b": "1.2", "d": "4"}


def test_build_tags_are_no_other_version() -> None:
    assert "+" not in (doctor.installed_version("torch") or "+")
    assert doctor.installed_version("no-such-package") is None


def test_missing_package_is_fatal_and_other_version_is_not(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("numpy==0.0.1\n")
    other = only(doctor.check_packages(lock), "lock")
    assert "numpy" in other.value and "0.0.1" in other.value
    assert other.remedy and not other.fatal
    lock.write_text("no-such-package==1\n")
    missing = only(doctor.check_packages(lock), "lock")
    assert "no-such-package" in missing.value and missing.fatal
    assert only(doctor.check_packages(tmp_path / "absent"), "lock").value == "not here"


def test_disk_and_memory_are_reported_for_outputs_that_do_not_exist_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = tmp_path / "later" / "outputs"
    found = only(doctor.check_machine(outputs), "outputs")
    assert str(outputs) in found.value and "GB free" in found.value
    monkeypatch.setattr(doctor, "MIN_FREE_GB", 1e9)
    assert "make clean" in only(doctor.check_machine(outputs), "outputs").remedy
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    assert only(doctor.check_machine(outputs), "outputs").fatal


def test_old_python_is_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not doctor.check_python()[0].remedy
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (99, 1))
    assert doctor.check_python()[0].fatal


def test_data_sets_are_looked_for_where_the_loader_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "porto").mkdir()
    (tmp_path / "porto" / "train.csv").touch()
    monkeypatch.setenv("TRAJKIT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    findings = doctor.check_data()
    assert only(findings, "data: porto").value.startswith(str(tmp_path / "porto"))
    assert only(findings, "data: city").value == "generated, needs no file"
    assert not any(f.remedy for f in findings)


def test_page_puts_the_remedy_below_the_problem_and_ends_with_a_verdict() -> None:
    page = doctor.page(
        [Finding("a", "1"), Finding("long", "2", "do this"), Finding("b", "3", absent=True)]
    ).splitlines()
    assert page[:4] == ["ok  a     1", "!!  long  2", "          -> do this", "--  b     3"]
    assert page[-1].startswith("1 problem")
    assert doctor.page([Finding("a", "1")]).endswith("no problem found")


@pytest.mark.parametrize(("finding", "code"), [(Finding("a", "1", "do"), 0), (Finding("a", "1", "do", fatal=True), 1)])
def test_exit_code_tells_unusable_from_imperfect(
    finding: Finding, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (lambda: [finding],))
    assert doctor.main() == code
    assert "-> do" in capsys.readouterr().out


def test_accelerator_says_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    assert doctor.check_accelerator() == [Finding("accelerator", "none: CPU")]
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "nvidia-smi")
    assert "TORCH_INDEX" in doctor.check_accelerator()[0].remedy


def test_browser_half_in_a_user_folder_is_the_one_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "labextensions" / "anywidget" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text(json.dumps({"version": "0.0.1"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert "labextension" in only(doctor.check_widgets(), "anywidget").remedy
    monkeypatch.delenv("JUPYTER_PATH")
    assert not only(doctor.check_widgets(), "anywidget").remedy
