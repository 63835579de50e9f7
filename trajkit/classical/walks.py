"""Markov chains over (cell came from, cell), and walks of such a chain from a start cell to an end cell.

A state is a directed edge of the grid (the last step) or "started here" (see `trajkit.classical.paths.pair_starts`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.special import ndtr

from trajkit.classical.adaptive_grid import AdaptiveGrid
from trajkit.classical.paths import pair_starts
from trajkit.geo import unproject
from trajkit.trajectories import Meta, Trajectories

CHUNK = 20_000  # walks at once
MAX_HORIZON = 128


@dataclass(frozen=True)
class Chain:
    """``move`` float64 [P]: probability of each (state, next edge); ``stop`` float64 [E + S]: probability to end in each state.

    Built by `first_order`, sharpened by `with_second_order`; every step between cells that touch has a probability above 0.
    """

    grid: AdaptiveGrid
    move: np.ndarray
    stop: np.ndarray

    @cached_property
    def pairs(self) -> np.ndarray:
        """int64 [E + S + 1]: where the successors of each state begin in ``move``."""
        return pair_starts(self.grid)

    @cached_property
    def state_of_pair(self) -> np.ndarray:
        """int64 [P]."""
        return np.repeat(np.arange(len(self.pairs) - 1), np.diff(self.pairs))

    @cached_property
    def cell_of_state(self) -> np.ndarray:
        """int64 [E + S]."""
        return np.concatenate([self.grid.neighbours[1], np.arange(self.grid.n_cells)])

    @cached_property
    def edge_of_pair(self) -> np.ndarray:
        """int64 [P]: the edge that each (state, next edge) goes along."""
        indptr, _ = self.grid.neighbours
        state = self.state_of_pair
        return indptr[self.cell_of_state[state]] + np.arange(len(state)) - self.pairs[state]

    @cached_property
    def leaps(self) -> np.ndarray:
        """float64 [P]: metres between the middles of the two cells of each step, over the median of that among touching cells."""
        corners = self.grid.rectangles
        centres = (corners[:, :2] + corners[:, 2:]) / 2
        far = np.linalg.norm(centres[self.grid.neighbours[1]] - centres[self.grid.tails], axis=1)
        return (far / np.median(far) if len(far) else far)[self.edge_of_pair]

    def damped(self, damping: float) -> np.ndarray:
        """float64 [P]: probability of each step times ``damping`` per step of median length."""
        return np.asarray(self.move * damping**self.leaps)

    @cached_property
    def bends(self) -> np.ndarray:
        """float64 [P], 0 … 2: 1 - cosine of the turn at the middle of each state's cell, 0 straight on (or no step yet), 2 back."""
        grid = self.grid
        corners = grid.rectangles
        centres = (corners[:, :2] + corners[:, 2:]) / 2
        along = centres[grid.neighbours[1]] - centres[grid.tails]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        state, edge = self.state_of_pair, self.edge_of_pair
        came = state < grid.n_edges
        cosine = np.einsum("ij,ij->i", along[np.where(came, state, 0)], along[edge]) if grid.n_edges else 1.0
        return np.where(came, 1.0 - cosine, 0.0)

    def normalised(self) -> Chain:
        """The same chain with probabilities that sum to 1 in every state; where nothing leads on, a walk ends."""
        leaving = np.bincount(self.state_of_pair, weights=self.move, minlength=len(self.stop))
        stop = np.where(leaving + self.stop > 0, self.stop, 1.0)
        total = leaving + stop
        return replace(self, move=self.move / total[self.state_of_pair], stop=stop / total)

    def potential(self, damping: float, horizon: int) -> np.ndarray:
        """float64 [E + S, S]: sum over walks of at most ``horizon`` steps from a state to a cell, and ending there, of their
        probability times ``damping`` per median step: what a walk must be weighted by to end in that cell.
        """
        states, size = len(self.stop), self.grid.n_cells
        step = csr_matrix((self.damped(damping), self.edge_of_pair, self.pairs), shape=(states, states))
        step.has_sorted_indices = True
        end = np.zeros((states, size))
        end[np.arange(states), self.cell_of_state] = self.stop
        found = end
        for _ in range(min(horizon, MAX_HORIZON)):
            found = step @ found + end
        return found


def first_order(grid: AdaptiveGrid, steps: np.ndarray, ends: np.ndarray, *, turning: float = 0.0) -> Chain:
    """Chain whose next step depends on the cell alone: ``steps`` [E] and ``ends`` [S] are its weights, all above 0.

    A step that bends away from the last one by an angle counts exp(-turning (1 - cos angle)) of that: a public rule, as people
    rarely turn back.
    """
    bare = Chain(grid, np.empty(0), np.empty(0))
    move = steps[bare.edge_of_pair] * np.exp(-turning * bare.bends)
    return Chain(grid, move, ends[bare.cell_of_state]).normalised()


def with_second_order(chain: Chain, weights: np.ndarray, chosen: np.ndarray, *, prior: float) -> Chain:
    """In the states whose cell is ``chosen`` [S], the non-negative ``weights`` [P + E + S] plus ``prior`` times the chain's own."""
    split = len(chain.move)
    there = chosen[chain.cell_of_state]
    move = np.where(there[chain.state_of_pair], weights[:split] + prior * chain.move, chain.move)
    stop = np.where(there, weights[split:] + prior * chain.stop, chain.stop)
    return replace(chain, move=move, stop=stop).normalised()


def guided_walks(
    chain: Chain,
    potential: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    *,
    damping: float,
    most: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Cells int32 [n, most] and lengths int64 [n] of walks from ``starts`` that end in ``ends`` (in ``most`` cells at the latest).

    Each is drawn from the chain, damped, given that it ends in its end cell.
    """
    (indptr, _), move = chain.grid.neighbours, chain.damped(damping)
    cells, lengths = np.zeros((len(starts), most), dtype=np.int32), np.zeros(len(starts), dtype=np.int64)
    for a in range(0, len(starts), CHUNK):
        piece = slice(a, a + CHUNK)
        draws = rng.random((len(starts[piece]), most))
        _guided(
            starts[piece], ends[piece], draws, chain.cell_of_state, chain.pairs, indptr, move, chain.stop, potential,
            cells[piece], lengths[piece],
        )  # fmt: skip
    return cells, lengths


def free_walks(
    chain: Chain, starts: np.ndarray, ends: np.ndarray, *, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """As `guided_walks`, but the end cell does no more than hold a walk up: each step is drawn from the chain alone, with the
    probability to stop times 0.8, and further times 0.5 (0.2) before as many steps (half as many) as the end cell is hops away.
    """
    indptr, _ = chain.grid.neighbours
    cells, lengths = np.zeros((len(starts), most), dtype=np.int32), np.zeros(len(starts), dtype=np.int64)
    hops = chain.grid.hops[starts, ends]
    for a in range(0, len(starts), CHUNK):
        piece = slice(a, a + CHUNK)
        draws = rng.random((len(starts[piece]), most))
        _free(
            starts[piece], hops[piece], draws, chain.cell_of_state, chain.pairs, indptr, chain.move, chain.stop,
            cells[piece], lengths[piece],
        )  # fmt: skip
    return cells, lengths


def nearest_in_length(
    cells: np.ndarray, lengths: np.ndarray, wanted: np.ndarray, candidates: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of ``candidates`` walks in a row for each trip, the first one whose number of cells is nearest to ``wanted`` [n]."""
    off = np.abs(lengths.reshape(-1, candidates) - wanted[:, None])
    best = np.arange(len(wanted)) * candidates + off.argmin(axis=1)
    return cells[best], lengths[best]


def places(
    grid: AdaptiveGrid,
    cells: np.ndarray,
    lengths: np.ndarray,
    *,
    smoothness: float,
    rounding: int = 0,
    meta: Meta,
    rng: np.random.Generator,
) -> Trajectories:
    """One point in each cell of each walk, uniform in the cell, clipped to the public box of ``meta``, at full precision.

    rounding: how often inner points are then moved towards their neighbours, so that a way across cells is less of a staircase (a
    smoothed point need not lie in its cell; 0 as published). smoothness: correlation of neighbouring points' places in their cells (normal scores): 0 draws each anew; the nearer to 1, the
    less a walk zigzags, while each point for itself stays uniform in its cell. A walk of one cell gets two points.
    """
    n, alone = len(lengths), lengths == 1
    lengths = np.maximum(lengths, 2)
    most = int(lengths.max())
    if cells.shape[1] < 2:
        cells = np.repeat(cells, 2, axis=1)
    cells = cells[:, :most].copy()
    cells[alone, 1] = cells[alone, 0]
    score = rng.standard_normal((n, most, 2))
    for j in range(1, most):
        score[:, j] = smoothness * score[:, j - 1] + np.sqrt(1 - smoothness**2) * score[:, j]
    xy = _rounded_off(grid.points(cells, ndtr(score)), lengths, rounding)[np.arange(most) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lonlat = meta.box.clip(unproject(xy, meta.crs))
    return Trajectories.generated(lonlat, offsets, meta=meta)


def _rounded_off(xy: np.ndarray, lengths: np.ndarray, times: int) -> np.ndarray:
    """``xy`` [n, most, 2] with each inner point moved halfway to the middle of its neighbours, ``times`` over; ends stay."""
    inner = (np.arange(1, xy.shape[1] - 1) < lengths[:, None] - 1)[..., None]
    for _ in range(times):
        mean = (xy[:, :-2] + 2 * xy[:, 1:-1] + xy[:, 2:]) / 4
        xy[:, 1:-1] = np.where(inner, mean, xy[:, 1:-1])
    return xy


@njit(cache=True)
def _guided(
    starts, ends, draws, cell_of_state, pairs, indptr, move, stop, potential, cells, lengths
):  # pragma: no cover - compiled
    first = len(cell_of_state) - (len(indptr) - 1)
    for i in range(len(starts)):
        state, end = first + starts[i], ends[i]
        for t in range(draws.shape[1]):
            here = cell_of_state[state]
            cells[i, t] = here
            lengths[i] = t + 1
            degree = pairs[state + 1] - pairs[state]
            halt = stop[state] if here == end else 0.0
            total = halt
            for j in range(degree):
                total += move[pairs[state] + j] * potential[indptr[here] + j, end]
            left = draws[i, t] * total - halt
            if left < 0 or not total > 0:
                break
            last = degree - 1
            for j in range(degree):
                left -= move[pairs[state] + j] * potential[indptr[here] + j, end]
                if left < 0:
                    last = j
                    break
            state = indptr[here] + last


@njit(cache=True)
def _free(starts, hops, draws, cell_of_state, pairs, indptr, move, stop, cells, lengths):  # pragma: no cover - compiled
    first = len(cell_of_state) - (len(indptr) - 1)
    for i in range(len(starts)):
        state = first + starts[i]
        for t in range(draws.shape[1]):
            here = cell_of_state[state]
            cells[i, t] = here
            lengths[i] = t + 1
            halt = 0.8 * stop[state]
            if t < hops[i]:
                halt *= 0.2 if 2 * t < hops[i] else 0.5
            degree = pairs[state + 1] - pairs[state]
            total = halt
            for j in range(degree):
                total += move[pairs[state] + j]
            left = draws[i, t] * total - halt
            if left < 0 or not total > 0:
                break
            last = degree - 1
            for j in range(degree):
                left -= move[pairs[state] + j]
                if left < 0:
                    last = j
                    break
            state = indptr[here] + last
