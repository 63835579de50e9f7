"""Sequence files: there and back, the real excerpt, and errors that name file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.datasets.sequence_files import (
    SAMPLE_NAMES,
    names_of,
    read_sequences,
    sample_sequences,
    write_sequence_sample,
    write_sequences,
)
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.sequences import Sequences

HEAD = "% Different categories found in input file:\n\nfront news tech\n\n\n% Sequences:\n\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "log.seq"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=9), max_size=20))
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    path = tmp_path_factory.mktemp("files") / "log.seq"
    names = tuple(f"page{i}" for i in range(12))
    write_sequences(path, Sequences.of(rows, n_symbols=12), names)
    back = read_sequences(path).check()
    assert back.to_lists() == rows and back.n_symbols == 12 and names_of(path) == names


def test_the_published_form_by_hand(tmp_path: Path) -> None:
    expected = [[0, 0], [1], [2, 1, 1, 0]]
    for body in (
        "1 1 \n2 \n3 2 2 1 \n",  # trailing blanks, as published
        "1 1\n2\n3 2 2 1",  # none, and no end of the last line
        "1\t1\r\n 2\r\n3 2  2 1\r\n\r\n\n",
    ):
        assert read_sequences(written(tmp_path, HEAD + body)).to_lists() == expected
    packed = tmp_path / "log.seq.gz"
    packed.write_bytes(gzip.compress((HEAD + "1 1 \n").encode()))
    assert read_sequences(packed).to_lists() == [[0, 0]]


def test_a_universe_is_public_whether_visited_or_not(tmp_path: Path) -> None:
    s = read_sequences(written(tmp_path, HEAD + "1\n"))
    assert s.n_symbols == 3 and s.symbols.dtype == np.int32
    assert len(read_sequences(written(tmp_path, HEAD))) == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + "1 2\n4 1\n", r"log.seq, line 9: 4 is not in 1 … 3"),
        (HEAD + "1 0\n", r"log.seq, line 8: 0 is not in 1 … 3"),
        (HEAD + "1\n1 99999999999999999999999\n", r"log.seq, line 9: 1000000000 is not"),
        (HEAD + "1\n\n2\n", r"log.seq, line 9: a blank line between sequences"),
        (HEAD + "1\n1 x\n", r"log.seq, line 9: the character 'x'"),
        (HEAD + "1\n1 -2\n", r"log.seq, line 9: the character '-'"),
        ("% only a comment\n\n", r"log.seq has no line that names"),
        ("1 2\n3 3\n", r"log.seq, line 1: numbers where the names"),
        ("% x\nfront front\n1\n", r"log.seq, line 2: a symbol is named twice"),
        (b"front n\xe9ws\n1\n", r"log.seq, line 1: the names are not UTF-8"),
        ("", r"log.seq is empty"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(DataContractError, match=says):
        read_sequences(written(tmp_path, text))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"nothing\.seq does not exist"):
        read_sequences(tmp_path / "nothing.seq")


def test_what_the_form_cannot_say_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "log.seq"
    with pytest.raises(DataContractError, match="sequence 1 is empty"):
        write_sequences(path, Sequences.of([[0], []], n_symbols=1), ("a",))
    for names in (("a", "b"), ("a b",), ("%a",), ("",)):
        with pytest.raises(ParameterError, match="names for 1 symbols"):
            write_sequences(path, Sequences.of([[0]], n_symbols=1), names)
    timed = Sequences(np.zeros(1, np.int32), np.array([0, 1]), 1, np.zeros(1, np.int32), 1)
    with pytest.raises(DataContractError, match="have times"):
        write_sequences(path, timed, ("a",))
    assert not list(tmp_path.iterdir())


def test_the_sample_is_seeded_and_has_17_pages(tmp_path: Path) -> None:
    a, b, c = (write_sequence_sample(tmp_path / f"{i}.seq", n=50, seed=s) for i, s in enumerate((1, 1, 2)))
    assert a.read_bytes() == b.read_bytes() != c.read_bytes()
    assert names_of(a) == SAMPLE_NAMES and len(SAMPLE_NAMES) == 17
    many = sample_sequences(50_000, seed=0).check()
    assert many.lengths.mean() == pytest.approx(5.7, abs=0.1) and many.lengths.min() == 1
    assert read_sequences(write_sequences(tmp_path / "m.seq", many, SAMPLE_NAMES)).to_lists() == many.to_lists()
    for bad in ({"n": 0}, {"n": 5, "mean_length": 0.5}):
        with pytest.raises(ParameterError, match=list(bad)[-1]):
            sample_sequences(**bad, seed=0)


@pytest.mark.shared
def test_the_real_excerpt(shared: Path) -> None:
    path = shared / "data" / "msnbc" / "msnbc323_first220.seq"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    s = read_sequences(path).check()
    assert len(s) == 220 and s.n_symbols == 17 and names_of(path)[0] == "frontpage"
    assert (s.lengths.min(), s.lengths.max()) == (35, 362)
    body = path.read_text().partition("% Sequences:")[2].split("\n")
    assert s.to_lists() == [[int(w) - 1 for w in line.split()] for line in body if line.strip()]
