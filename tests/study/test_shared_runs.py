"""Runs from elsewhere: a complete one is used as it is; an incomplete, changed or foreign one is named and set aside, never mixed in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from trajkit.errors import MissingDataError
from trajkit.study import shared_runs
from trajkit.study.manifest import MANIFEST, hashes, write_manifest
from trajkit.study.shared_runs import set_aside_unusable

FILES = {"params.yaml": "method: uniform\n", "metrics.json": "{}", "release.parquet": "PAR1"}


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "outputs"
    (folder / "locks").mkdir(parents=True)
    monkeypatch.setattr(shared_runs, "OUTPUTS", folder)
    monkeypatch.setattr(shared_runs, "_BOOK", folder / "locks" / "checked.json")
    return folder


def _run(outputs: Path, rid: str = "abc", *, complete: bool = True) -> Path:
    folder = outputs / "runs" / rid
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    if complete:
        write_manifest(folder, hashes(folder, list(FILES)), seed=0)
    return folder


def _rewrite(folder: Path, **changed: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **changed}))


def test_a_complete_run_from_elsewhere_is_used_as_it_is(outputs: Path, tmp_path: Path) -> None:
    made = _run(tmp_path / "elsewhere")
    copy = shutil.copytree(made, outputs / "runs" / "abc")
    assert set_aside_unusable([copy]) == [] and (copy / MANIFEST).is_file()
    (copy / "run.log").write_text("said later")  # what is printed is no result
    assert set_aside_unusable([copy]) == []


@pytest.mark.parametrize("broken", ["changed", "gone", "renamed", "versions", "unreadable"])
def test_any_other_is_named_and_set_aside(outputs: Path, broken: str) -> None:
    folder = _run(outputs)
    versions = json.loads((folder / MANIFEST).read_text())["versions"]
    said = {
        "changed": "release.parquet differs from the manifest",
        "gone": "metrics.json not there",
        "renamed": "its manifest is of other",
        "versions": f"it was made with numpy 1.0.0 (here {versions['numpy']})",
        "unreadable": "its manifest cannot be read",
    }[broken]
    if broken == "changed":
        assert set_aside_unusable([folder]) == []  # found good once: it is looked at again when a file is replaced
        (folder / "release.parquet").write_text("PAR2 of a later copy")
    elif broken == "gone":
        (folder / "metrics.json").unlink()
    elif broken == "renamed":
        _rewrite(folder, run_id="other")
    elif broken == "versions":
        _rewrite(folder, versions={**versions, "numpy": "1.0.0"})
    else:
        (folder / MANIFEST).write_text('{"run_id": "abc", "fil')
    (sentence,) = set_aside_unusable([folder])
    assert sentence.startswith("abc is not used: ") and said in sentence and "done again" in sentence
    assert not folder.exists() and (outputs / "aside" / "abc.1" / "params.yaml").is_file()
    _run(outputs)
    assert set_aside_unusable([folder]) == []  # the new one is not taken for the old


def test_a_build_tag_is_no_other_version(outputs: Path) -> None:
    folder = _run(outputs)
    versions = json.loads((folder / MANIFEST).read_text())["versions"]
    _rewrite(folder, versions={**versions, "torch": versions["torch"].partition("+")[0] + "+cu130"})
    assert set_aside_unusable([folder]) == []


def test_an_incomplete_run_is_gone_on_from_only_where_it_was_begun(outputs: Path) -> None:
    here, there = _run(outputs, "here", complete=False), _run(outputs, "there", complete=False)
    (outputs / "locks" / "here.lock").touch()
    (sentence,) = set_aside_unusable([here, there, outputs / "runs" / "never-begun"])
    assert "there is not used: it is incomplete and was begun on another machine" in sentence
    assert here.is_dir() and not there.exists()


def test_planned_but_not_begun_is_not_incomplete(outputs: Path) -> None:
    folder = outputs / "runs" / "abc"
    folder.mkdir(parents=True)
    for name in ("params.yaml", "PRIVATE", "run.log"):
        (folder / name).write_text("x")
    assert set_aside_unusable([folder]) == []


def test_the_mark_of_private_runs_goes_with_them_and_names_never_clash(outputs: Path) -> None:
    for k in (1, 2):
        folder = _run(outputs, complete=False)
        (folder / "PRIVATE").write_text("why")
        set_aside_unusable([folder])
        assert (outputs / "aside" / f"abc.{k}" / "PRIVATE").is_file()


def test_what_cannot_be_moved_stops_the_study(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _run(outputs, complete=False)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(MissingDataError, match=r"cannot be moved .*Read-only file system.*make outputs/runs writable"):
        set_aside_unusable([folder])
