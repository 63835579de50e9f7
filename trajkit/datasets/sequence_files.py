"""Sequence files in the form of the MSNBC web log (UCI repository): one sequence a line, symbols numbered from 1.

    % Different categories found in input file:

    frontpage news tech

    % Sequences:

    1 1
    2 3 1

Lines that start with % and blank lines before the first sequence are header; its one other line names the symbols, so the
universe is public. A line of numbers is one sequence, blanks at its end do not matter. An empty sequence cannot be written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from trajkit.datasets.sources import opened
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.seeds import rng
from trajkit.sequences import Sequences
from trajkit.trajectories import concatenate_offsets

SAMPLE_NAMES = tuple(f"page-{i:02d}" for i in range(1, 18))  # 17 categories, as in the MSNBC file
_OK, _BLANK, _CHARACTER, _SYMBOL = 0, 1, 2, 3


def read_sequences(path: str | Path) -> Sequences:
    """Read a file (plain, .gz or .zip) into sequences over as many symbols as its header names.

    Raises MissingDataError for an absent file, DataContractError naming file and line for anything else than the form above.
    """
    data, names, body, line = _split(Path(path))
    text = np.frombuffer(data, dtype=np.uint8)[body:]
    symbols, lengths, problem, at, value = _parse(text, len(names))
    if problem != _OK:
        raise DataContractError(f"{path}, line {line + at}: {_what(problem, value, len(names))}")
    return Sequences(symbols, concatenate_offsets(lengths), len(names))


def _what(problem: int, value: int, n_symbols: int) -> str:
    if problem == _BLANK:
        return "a blank line between sequences, but an empty sequence has no form here: remove the line"
    if problem == _CHARACTER:
        return f"the character {chr(value)!r} is neither a digit nor a blank: each line must be numbers from 1 on"
    return f"{value} is not in 1 … {n_symbols}, the symbols that the header names: correct the line or the header"


def names_of(path: str | Path) -> tuple[str, ...]:
    """Read the names of the symbols from the header; name i belongs to symbol i of `read_sequences`. Raises like it."""
    return _split(Path(path))[1]


def write_sequences(path: str | Path, sequences: Sequences, names: tuple[str, ...]) -> Path:
    """Write ``sequences`` with one name a symbol, renamed into place; return the path.

    Raises ParameterError for names that do not fit, DataContractError for an empty sequence or one with times.
    """
    if len(names) != sequences.n_symbols or any(not n or n.split() != [n] or n.startswith("%") for n in names):
        raise ParameterError(
            f"{len(names)} names for {sequences.n_symbols} symbols: give one word for each, none with a % in front"
        )
    if sequences.times is not None:
        raise DataContractError("the sequences have times, for which the file has no place: leave them out first")
    if not sequences.lengths.all():
        empty = int(np.argmin(sequences.lengths))
        raise DataContractError(
            f"sequence {empty} is empty, which the file cannot say: leave empty sequences out first"
        )
    words = np.array([f"{i + 1} " for i in range(len(names))], dtype=object)[sequences.symbols]
    words[sequences.offsets[1:] - 1] += "\n"
    head = f"% Different categories found in input file:\n\n{' '.join(names)}\n\n% Sequences:\n\n"
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(head + "".join(words), encoding="utf-8", newline="")
    part.replace(path)
    return path


def sample_sequences(n: int, *, seed: int, mean_length: float = 5.7) -> Sequences:
    """``n`` generated sequences over 17 page categories, nobody's visits: geometric lengths from 1 on, popular pages first,
    and every page likely to be asked for again. Raises ParameterError for n below 1 or a mean length below 1."""
    if n < 1 or not mean_length >= 1:
        raise ParameterError(f"n = {n} and mean_length = {mean_length}: give at least 1 each")
    random = rng(seed, "data", "sequence_sample")
    offsets = concatenate_offsets(random.geometric(1 / mean_length, n))
    total = int(offsets[-1])
    weight = 1.0 / np.arange(1, len(SAMPLE_NAMES) + 1)
    drawn = random.choice(len(SAMPLE_NAMES), total, p=weight / weight.sum())
    fresh = random.random(total) < 0.6
    fresh[offsets[:-1]] = True
    source = np.maximum.accumulate(np.where(fresh, np.arange(total), 0))  # where nothing fresh comes, the page stays
    return Sequences(drawn[source].astype(np.int32), offsets, len(SAMPLE_NAMES))


def write_sequence_sample(path: str | Path, *, n: int = 400, seed: int = 0) -> Path:
    """Write `sample_sequences` to ``path`` and return it."""
    return write_sequences(path, sample_sequences(n, seed=seed), SAMPLE_NAMES)


def _split(path: Path) -> tuple[bytes, tuple[str, ...], int, int]:
    """The bytes of the file, the names, where its first sequence starts, and the number of that line (from 1)."""
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist: give the path of a sequence file (plain, .gz or .zip)")
    with opened(path) as file:
        data = file.read()
    names: tuple[str, ...] = ()
    at = 0
    line = 1
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        text = data[at:end].strip()
        if text and not text.startswith(b"%"):
            if names:
                return data, names, at, line
            names = _names(text, f"{path}, line {line}")
        at, line = end + 1, line + 1
    if not names:
        raise DataContractError(
            f"{path} has no line that names its symbols: the header must hold one, before the sequences"
        )
    return data, names, len(data), line


def _names(text: bytes, where: str) -> tuple[str, ...]:
    try:
        names = tuple(text.decode("utf-8").split())
    except UnicodeDecodeError as error:
        raise DataContractError(f"{where}: the names are not UTF-8 ({error.reason}): save the file as UTF-8") from error
    if all(name.isdigit() for name in names):
        raise DataContractError(
            f"{where}: numbers where the names of the symbols should be: put a line of names, one a symbol, in front"
        )
    if len(set(names)) < len(names):
        raise DataContractError(f"{where}: a symbol is named twice, so its number would not be clear: rename one")
    return names


@njit(cache=True)
def _parse(text, n_symbols):  # pragma: no cover - compiled
    """Symbols from 0, lengths, and the first problem: its kind, its line (from 0), the character or number."""
    symbols = np.empty(len(text) // 2 + 1, dtype=np.int32)
    lengths = np.empty(len(text) // 2 + 1, dtype=np.int64)
    n = m = line = in_line = 0
    blank = value = -1
    for i in range(len(text) + 1):
        c = text[i] if i < len(text) else 10
        if 48 <= c <= 57:
            value = min(max(value, 0) * 10 + (c - 48), 10**9)
            continue
        if value >= 0:
            if not 1 <= value <= n_symbols:
                return symbols[:n], lengths[:m], _SYMBOL, line, value
            if blank >= 0:
                return symbols[:n], lengths[:m], _BLANK, blank, 0
            symbols[n] = value - 1
            n += 1
            in_line += 1
            value = -1
        if c == 10:
            if in_line:
                lengths[m] = in_line
                m += 1
            elif blank < 0:
                blank = line
            in_line = 0
            line += 1
        elif c != 32 and c != 9 and c != 13:
            return symbols[:n], lengths[:m], _CHARACTER, line, c
    return symbols[:n].copy(), lengths[:m].copy(), _OK, 0, 0
