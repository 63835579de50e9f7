"""YAML keeps types: what YAML 1.1 would turn in silence is converted as meant or refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajkit.errors import MissingDataError, ParameterError
from trajkit.yamlio import dump_yaml, load_yaml, write_text


def _load(tmp_path: Path, text: str) -> dict:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return load_yaml(path)


def test_exponents_are_numbers(tmp_path: Path) -> None:
    assert _load(tmp_path, "a: 1e-5\nb: 2E3\nc: -1.5e+2\nd: '1e-5'\n") == {
        "a": 1e-5,
        "b": 2000.0,
        "c": -150.0,
        "d": "1e-5",
    }


@pytest.mark.parametrize("value", ["010", "1_000", "1:30", "1_0.5", "0x_1"])
def test_ambiguous_numbers_are_refused_with_the_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(ParameterError, match=r"p\.yaml, line 2: .*ambiguous"):
        _load(tmp_path, f"a: 1\nuser: {value}\n")


def test_quoted_ids_pass(tmp_path: Path) -> None:
    assert _load(tmp_path, "user: '010'\nzero: 0\n") == {"user": "010", "zero": 0}


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="stands twice"):
        _load(tmp_path, "a: 1\na: 2\n")


def test_keys_must_be_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="not text"):
        _load(tmp_path, "a: {1: 2}\n")


def test_broken_or_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"p\.yaml is not valid YAML"):
        _load(tmp_path, "a: [1\n")
    with pytest.raises(ParameterError, match="no mapping"):
        _load(tmp_path, "- 1\n")
    with pytest.raises(MissingDataError, match=r"absent\.yaml"):
        load_yaml(tmp_path / "absent.yaml")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    value = {"a": 1e-7, "b": [1, 2.5, None, True], "c": {"d": "010", "e": "1e-5"}}
    write_text(tmp_path / "x.yaml", dump_yaml(value))
    assert load_yaml(tmp_path / "x.yaml") == value
    assert list(tmp_path.glob(".x*")) == []


def test_what_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bin.yaml").write_bytes(b"\x00\xff\xfe")
    with pytest.raises(ParameterError, match=r"bin\.yaml is no text in UTF-8"):
        load_yaml(tmp_path / "bin.yaml")
    with pytest.raises(ParameterError, match="is a folder"):
        load_yaml(tmp_path)
