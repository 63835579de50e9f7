"""`Sequences`: trajectories as sequences of symbols from a public universe (stations, cells), ragged and columnar.

Symbol ``j`` of sequence ``i`` is ``symbols[offsets[i] + j]``. With times, every element is a (symbol, time bin) pair and time
bins never decrease along a sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trajkit.errors import DataContractError, ParameterError
from trajkit.grid import OUTSIDE, Grid
from trajkit.trajectories import Trajectories, concatenate_offsets


@dataclass(frozen=True)
class Sequences:
    """n sequences with N elements in all.

    symbols   int32 [N], 0 … n_symbols - 1
    offsets   int64 [n + 1], offsets[0] = 0, offsets[n] = N
    n_symbols size of the public universe, whether visited or not
    times     int32 [N], time bins 0 … n_times - 1, or None
    n_times   size of the public universe of time bins (1 without times)
    """

    symbols: np.ndarray
    offsets: np.ndarray
    n_symbols: int
    times: np.ndarray | None = None
    n_times: int = 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """int64 [n]: elements per sequence."""
        return np.diff(self.offsets)

    @cached_property
    def sequence_of_element(self) -> np.ndarray:
        """int64 [N]: the sequence that each element belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def check(self) -> Sequences:
        """Return self. Raises ParameterError for a universe below 1, DataContractError naming the first bad sequence."""
        if self.n_symbols < 1 or self.n_times < 1:
            raise ParameterError(
                f"a universe of {self.n_symbols} symbols and {self.n_times} times: give at least 1 each"
            )
        if len(self.offsets) < 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.symbols):
            raise DataContractError("offsets must start at 0 and end at the number of elements")
        if (self.lengths < 0).any():
            raise DataContractError("offsets must not fall")
        self._refuse("symbol", self.symbols, self.n_symbols)
        if self.times is not None:
            if len(self.times) != len(self.symbols):
                raise DataContractError(f"{len(self.times)} times for {len(self.symbols)} symbols: give one each")
            self._refuse("time", self.times, self.n_times)
            falls = np.flatnonzero(np.diff(self.times) < 0) + 1
            falls = falls[~np.isin(falls, self.offsets)]
            if len(falls):
                raise DataContractError(
                    f"sequence {self.sequence_of_element[falls[0]]}: its times decrease, sort it by time"
                )
        return self

    def _refuse(self, what: str, values: np.ndarray, universe: int) -> None:
        bad = np.flatnonzero((values < 0) | (values >= universe))
        if len(bad):
            raise DataContractError(
                f"sequence {self.sequence_of_element[bad[0]]}: {what} {values[bad[0]]} is not in 0 … {universe - 1}, the public "
                f"universe: {len(bad)} such element(s)"
            )

    def take(self, index: np.ndarray) -> Sequences:
        """Return the sequences at ``index`` (int or bool array), in that order."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        return self._pieces(self.offsets[index], self.lengths[index])

    def truncated(self, most: int) -> Sequences:
        """Return the first ``most`` elements of every sequence."""
        return self._pieces(self.offsets[:-1], np.minimum(self.lengths, most))

    def merged(self) -> Sequences:
        """Return the sequences with consecutive equal elements reduced to one."""
        keep = np.ones(len(self.symbols), dtype=bool)
        keep[1:] = self.symbols[1:] != self.symbols[:-1]
        if self.times is not None:
            keep[1:] |= self.times[1:] != self.times[:-1]
        keep[self.offsets[:-1][self.lengths > 0]] = True
        kept = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        return replace(
            self, symbols=self.symbols[keep], offsets=kept, times=None if self.times is None else self.times[keep]
        )

    def _pieces(self, starts: np.ndarray, lengths: np.ndarray) -> Sequences:
        offsets = concatenate_offsets(lengths)
        at = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return replace(
            self, symbols=self.symbols[at], offsets=offsets, times=None if self.times is None else self.times[at]
        )

    def to_lists(self) -> list[list[int]]:
        """One list of symbols a sequence (for tests and small tables)."""
        return [self.symbols[a:b].tolist() for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]], *, n_symbols: int) -> Sequences:
        """Build from one list of symbols a sequence, e.g. ``Sequences.of([[0, 1], [2]], n_symbols=3)``; checked."""
        rows = list(lists)
        symbols = np.array([s for row in rows for s in row], dtype=np.int32)
        return cls(
            symbols, concatenate_offsets(np.array([len(row) for row in rows], dtype=np.int64)), n_symbols
        ).check()


def cell_sequences(trajs: Trajectories, grid: Grid, *, merge: bool = True) -> Sequences:
    """The cells that each trajectory passes, one a point, consecutive repeats merged unless told otherwise.

    Points beyond ``grid`` belong to the nearest cell, so no point is lost.
    """
    x0, y0, x1, y1 = grid.bounds
    cells = grid.cell_of(np.clip(trajs.xy, [x0, y0], [x1, y1]))
    assert not (cells == OUTSIDE).any()
    found = Sequences(cells.astype(np.int32), trajs.offsets, grid.n_cells)
    return found.merged() if merge else found
