"""The noisy prefix tree of Chen, Fung, Desai 2011 (arXiv:1112.2020): noisy counts of prefixes, level by level, on arrays.

Level i holds the prefixes of length i. Every child of every kept node is looked at, visited or not: its count gets noise, and it is
kept where the noisy count reaches the threshold. One trajectory is counted in one child a level at most, so a level costs
epsilon / height and the whole tree epsilon. Empty children are not visited one by one: how many pass is binomial, which ones is a
uniform choice, and what they exceed the threshold by has the tail of the noise, so that their law is that of testing each.

The universe of symbols (and time bins) and the height must be public. An empty node is expanded like any other; not doing so would
tell which nodes are empty.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trajkit.classical.tree_noise import MOST_NODES, TreeNoise, too_large
from trajkit.errors import DataContractError, ParameterError
from trajkit.sequences import Sequences
from trajkit.trajectories import concatenate_offsets

MOST_HEIGHT = 1_000
DENSE = 1 << 24  # children of a level that are counted in one array; above, keys are sorted


@dataclass(frozen=True)
class PrefixTree:
    """Kept nodes, m in all, level after level, siblings side by side; the virtual root is not among them.

    symbol, time  int32 [m], label of each node (time None without times)
    parent        int64 [m], node that it is a child of; -1 for the root
    count         float64 [m], noisy count of the trajectories with this prefix
    level         int64 [height + 1], nodes of level i are level[i - 1] … level[i] - 1
    """

    symbol: np.ndarray
    time: np.ndarray | None
    parent: np.ndarray
    count: np.ndarray
    level: np.ndarray
    n_symbols: int
    n_times: int = 1

    def __len__(self) -> int:
        return len(self.symbol)

    @property
    def height(self) -> int:
        """Levels, empty ones too."""
        return len(self.level) - 1

    @cached_property
    def depth(self) -> np.ndarray:
        """int64 [m]: length of each prefix."""
        return np.repeat(np.arange(1, self.height + 1), np.diff(self.level))

    @cached_property
    def children(self) -> np.ndarray:
        """int64 [m + 1, 2]: first child and one after the last of each node; the last row is the root's."""
        starts = np.searchsorted(self.parent, np.arange(len(self)))
        ends = np.searchsorted(self.parent, np.arange(len(self)), side="right")
        return np.vstack([np.column_stack([starts, ends]), [[0, self.level[1] if self.height else 0]]]).astype(np.int64)

    def children_sum(self, values: np.ndarray) -> np.ndarray:
        """float64 [m]: sum of ``values`` [m] over the children of each node."""
        inner = self.parent >= 0
        return np.bincount(self.parent[inner], weights=values[inner], minlength=len(self))

    def prefixes(self, nodes: np.ndarray) -> Sequences:
        """The prefix that each of ``nodes`` stands for."""
        lengths = self.depth[nodes]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        symbols = np.empty(offsets[-1], dtype=np.int32)
        times = None if self.time is None else np.empty(offsets[-1], dtype=np.int32)
        left, at = nodes, offsets[1:] - 1
        while len(left):
            symbols[at] = self.symbol[left]
            if times is not None and self.time is not None:
                times[at] = self.time[left]
            above = self.parent[left]
            left, at = above[above >= 0], at[above >= 0] - 1
        return Sequences(symbols, offsets, self.n_symbols, times, self.n_times)


@dataclass(frozen=True)
class LevelMass:
    """What one level of a tree holds, seen with the true counts: **not private**, for studies on simulated data.

    kept, of_noise: nodes kept, and those among them that nobody visited. real: trajectories in kept nodes. lost: trajectories
    that reach this level but whose node was cut here or above. noise: sum of |noisy - true| over the kept nodes.
    """

    level: int
    kept: int
    of_noise: int
    real: int
    lost: int
    noise: float


def check_universe(n_symbols: int, n_times: int) -> None:
    """Raise ParameterError where the children of a tree at its largest could not be numbered in int64."""
    if n_symbols * n_times * MOST_NODES >= 1 << 63:
        raise ParameterError(
            f"a universe of {n_symbols:,} symbols and {n_times:,} times: more than the tree can number, use a coarser one"
        )


def check_height(height: int) -> None:
    """Raise ParameterError unless ``height`` is 1 to `MOST_HEIGHT`."""
    if not 1 <= height <= MOST_HEIGHT:
        raise ParameterError(f"height = {height}: must be 1 to {MOST_HEIGHT}, levels that share epsilon")


def build_tree(
    sequences: Sequences, *, height: int, noise: TreeNoise | Seq[TreeNoise], fanouts: Seq[int] | None = None
) -> tuple[PrefixTree, list[LevelMass]]:
    """Return the noisy tree, which is private as far as ``noise`` is, and what its levels hold, which is not.

    noise: one for all levels, or one a level. fanouts: symbols that can occur at each level, all of them unless given; a
    sequence whose element of a level is beyond its fanout is an error of the caller (DataContractError).

    Raises DataContractError for no sequences, ParameterError for a height below 1 or a tree beyond `MOST_NODES`.
    """
    sequences.check()
    if not len(sequences):
        raise DataContractError("there are no sequences: a tree of nothing would be all noise")
    check_height(height)
    check_universe(sequences.n_symbols, sequences.n_times)
    widths = [sequences.n_symbols] * height if fanouts is None else list(fanouts)
    noises: list[TreeNoise] = list(noise) if isinstance(noise, Seq) else [noise] * height
    if not len(widths) == len(noises) == height:
        raise ParameterError(f"{len(noises)} noises and {len(widths)} fanouts for {height} levels: give one a level")
    above, levels, masses = _root(widths[0], sequences.n_times), [], []
    alive, node = np.arange(len(sequences)), np.zeros(len(sequences), dtype=np.int64)
    for i in range(1, height + 1):
        enough = sequences.lengths[alive] >= i
        alive, node = alive[enough], node[enough]
        elements = sequences.offsets[alive] + (i - 1)
        if len(elements) and sequences.symbols[elements].max() >= widths[i - 1]:
            raise DataContractError(f"level {i} has symbols beyond its fanout {widths[i - 1]}")
        keys = above.keys(sequences, elements, node)
        visited, counts = _tally(keys, above.universe)
        kept, noisy, true = _kept(visited, counts, above.universe, i, noises[i - 1])
        node = _rows(keys, kept, above.universe)
        alive, node = alive[node >= 0], node[node >= 0]
        reach = int((sequences.lengths >= i).sum())
        mass = np.abs(noisy - true).sum()
        masses.append(LevelMass(i, len(kept), int((true == 0).sum()), len(alive), reach - len(alive), float(mass)))
        above = above.below(kept, noisy, widths[min(i, height - 1)])
        levels.append(above)
        if sum(len(level.count) for level in levels) > MOST_NODES:
            raise ParameterError(too_large(len(kept), noises[i - 1].threshold))
    return _joined(sequences, levels), masses


@dataclass(frozen=True)
class _Level:
    """Nodes of one level: label, row of the parent in the level above, noisy count, and where the keys of its children begin.

    n_symbols: symbols that its children can have.

    A child has key first[node] + (its time - the node's) x n_symbols + its symbol, since times never decrease.
    """

    symbol: np.ndarray
    time: np.ndarray
    parent: np.ndarray
    count: np.ndarray
    n_symbols: int
    n_times: int

    @cached_property
    def first(self) -> np.ndarray:
        return concatenate_offsets(self.n_symbols * (self.n_times - self.time.astype(np.int64)))

    @property
    def universe(self) -> int:
        """Children that could be, in all."""
        return int(self.first[-1])

    def keys(self, sequences: Sequences, at: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Key of the child of ``node`` that each element ``at`` is."""
        keys = self.first[node] + sequences.symbols[at]
        if sequences.times is not None:
            keys += (sequences.times[at] - self.time[node]).astype(np.int64) * self.n_symbols
        return keys

    def below(self, keys: np.ndarray, counts: np.ndarray, n_symbols: int) -> _Level:
        """The level of the children ``keys``, rising, whose own children can have ``n_symbols``."""
        parent = np.searchsorted(self.first, keys, side="right") - 1
        later, symbol = np.divmod(keys - self.first[parent], self.n_symbols)
        time = (self.time[parent] + later).astype(np.int32)
        return _Level(symbol.astype(np.int32), time, parent, counts, n_symbols, self.n_times)


def _root(n_symbols: int, n_times: int) -> _Level:
    zero = np.zeros(1, dtype=np.int64)
    return _Level(zero, zero, zero, zero, n_symbols, n_times)


def _tally(keys: np.ndarray, universe: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys, rising, and how often each occurs."""
    if universe > DENSE:
        visited, counts = np.unique(keys, return_counts=True)
        return visited, counts
    counts = np.bincount(keys, minlength=universe)
    visited = np.flatnonzero(counts)
    return visited, counts[visited]


def _kept(
    visited: np.ndarray, counts: np.ndarray, universe: int, level: int, noise: TreeNoise
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys (rising), noisy and true counts of the children that reach the threshold, visited or not."""
    noisy = noise.noisy(level, visited, counts)
    passes = noisy >= noise.threshold
    empty, over = noise.passing(level, universe, visited)
    keys = np.concatenate([visited[passes], empty])
    order = np.argsort(keys)
    true = np.concatenate([counts[passes], np.zeros(len(empty), dtype=np.int64)])
    return keys[order], np.concatenate([noisy[passes], over]).astype(np.float64)[order], true[order]


def _rows(keys: np.ndarray, kept: np.ndarray, universe: int) -> np.ndarray:
    """Row of each key among the ``kept`` ones, -1 where it was cut."""
    if universe <= DENSE:
        rows = np.full(universe, -1, dtype=np.int64)
        rows[kept] = np.arange(len(kept))
        return rows[keys]
    if not len(kept):
        return np.full(len(keys), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(kept, keys), len(kept) - 1)
    return np.where(kept[at] == keys, at, -1)


def _joined(sequences: Sequences, levels: list[_Level]) -> PrefixTree:
    level = concatenate_offsets(np.array([len(x.count) for x in levels]))
    shift = [np.int64(-1), *level[:-2]]  # the root is no node
    parents = [
        x.parent + s if i else np.full(len(x.parent), -1) for i, (x, s) in enumerate(zip(levels, shift, strict=True))
    ]
    return PrefixTree(
        symbol=np.concatenate([x.symbol for x in levels]),
        time=None if sequences.times is None else np.concatenate([x.time for x in levels]),
        parent=np.concatenate(parents),
        count=np.concatenate([x.count for x in levels]),
        level=level,
        n_symbols=sequences.n_symbols,
        n_times=sequences.n_times,
    )
