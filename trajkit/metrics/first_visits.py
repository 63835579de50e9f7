"""Which sequences hold a symbol, and where first: the inverted lists that count queries and frequent patterns share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.errors import DataContractError
from trajkit.sequences import Sequences

MOST_SEQUENCES = 2**31 - 1


@dataclass(frozen=True)
class FirstVisits:
    """For symbol s, ``owners[starts[s]:starts[s + 1]]`` are the sequences that hold it, rising, each once.

    starts  int64 [n_symbols + 1]
    owners  int32 [E], E = pairs of a sequence and a symbol that it holds
    next_at int64 [E], index into ``Sequences.symbols`` of the element after the first visit (may be the end of the sequence)
    """

    starts: np.ndarray
    owners: np.ndarray
    next_at: np.ndarray

    @classmethod
    def of(cls, sequences: Sequences) -> FirstVisits:
        """One counting sort: two passes over the elements.

        Raises DataContractError from 2^31 sequences on, and what `Sequences.check` raises: compiled code trusts its input.
        """
        if len(sequences) > MOST_SEQUENCES:
            raise DataContractError(
                f"{len(sequences)} sequences: at most {MOST_SEQUENCES} can be indexed, take a sample"
            )
        sequences.check()
        return cls(*_first_visits(sequences.symbols, sequences.offsets, sequences.n_symbols))

    @property
    def counts(self) -> np.ndarray:
        """int64 [n_symbols]: sequences that hold each symbol."""
        return np.diff(self.starts)


@njit(cache=True)
def _first_visits(symbols, offsets, n_symbols):  # pragma: no cover - compiled
    last = np.full(n_symbols, -1, dtype=np.int32)
    starts = np.zeros(n_symbols + 1, dtype=np.int64)
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            s = symbols[k]
            if last[s] != i:
                last[s] = i
                starts[s + 1] += 1
    starts = np.cumsum(starts)
    fill = starts[:-1].copy()
    owners = np.empty(starts[-1], dtype=np.int32)
    next_at = np.empty(starts[-1], dtype=np.int64)
    last[:] = -1
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            s = symbols[k]
            if last[s] != i:
                last[s] = i
                owners[fill[s]] = i
                next_at[fill[s]] = k + 1
                fill[s] += 1
    return starts, owners, next_at
