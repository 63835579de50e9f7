"""Worst-case risk from known locations: of all combinations of p places of a person, the one that the fewest people share.

The measure of Pellungrini et al. 2017 (doi 10.1145/3106774), known as `LocationAttack` of scikit-mobility: risk = max over combinations of
1 / number of users who have all of them. With ``visits`` "counted" a place known twice must have been visited twice, as there. Unlike there,
p is never lowered for people with fewer places: they are named instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numba import njit
from pydantic import Field

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.inverted_index import holds, index_of, popcount
from trajkit.attacks.records import coded, dense_labels, records
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.parameters import checked
from trajkit.trajectories import concatenate_offsets

MOST_PAIRED = 4096  # labels up to which a table of all pairs is kept, 4 bytes each


class LocationRiskSettings(MethodConfig):
    """p: places known. visits: "distinct" places, or "counted" visits of which one place may give several.

    combinations: where a person needs more than so many to be done, what was found so far is kept as a lower bound and the person named.
    """

    p: int = Field(2, ge=1, le=8)
    visits: Literal["distinct", "counted"] = "distinct"
    combinations: int = Field(10_000_000, ge=1)


@dataclass(frozen=True)
class LocationRisk:
    """``risk`` float64 [m] of the ``users`` [m] who have p places (or visits); ``too_few``: names of those who have not.

    ``unfinished``: names of users whose risk is only a lower bound, as not all combinations were gone through. ``baseline``: 1 / all users.
    """

    p: int
    visits: str
    users: np.ndarray
    risk: np.ndarray
    too_few: np.ndarray
    unfinished: np.ndarray
    baseline: float

    @property
    def mean(self) -> float:
        """Mean risk. Raises ParameterError where nobody has enough places."""
        self._some()
        return float(self.risk.mean())

    @property
    def share_alone(self) -> float:
        """Share of users with risk 1: some p of their places are theirs alone. Raises ParameterError where nobody has enough places."""
        self._some()
        return float((self.risk == 1).mean())

    def to_frame(self) -> pd.DataFrame:
        """One row for each user who has enough places: user, risk, lower_bound_only."""
        return pd.DataFrame(
            {"user": self.users, "risk": self.risk, "lower_bound_only": np.isin(self.users, self.unfinished)}
        )

    def _some(self) -> None:
        if not len(self.users):
            raise ParameterError(f"no user has {self.p} {self.visits} places: lower p, or use finer cells")


def location_risk(labels: Signatures, user: np.ndarray, **settings: Any) -> LocationRisk:
    """Risk of each user; ``settings`` are those of `LocationRiskSettings`.

    labels: signatures of raw trajectories; a place is a label, so without time bins it is a cell. user [n]: any names.
    Raises ParameterError for settings out of range and for an empty set.
    """
    chosen = checked(LocationRiskSettings, settings, where="location_risk")
    if not len(labels):
        raise ParameterError("location_risk: the set has no trajectories, so there is nobody to attack")
    names = np.unique(np.asarray(user))
    group, n = dense_labels(user, len(labels), "user")
    (places,), n_places = coded(labels)
    most = chosen.p if chosen.visits == "counted" else 1
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n + 1))
    cells, levels, sizes, visits = _visits(places, labels.offsets, order, starts, n_places, most)
    by_user = Signatures(cells, levels, concatenate_offsets(sizes))
    (tokens,), n_tokens = coded(by_user)
    sets = records(tokens, by_user.offsets, np.arange(n), n, n_tokens)
    levels = levels[sets.where]
    if chosen.p == 2 and n_tokens <= MOST_PAIRED and chosen.combinations >= sets.sizes.max() ** 2:
        fewest, done = _fewest_of_pairs(sets.tokens, sets.offsets, levels, n_tokens), np.ones(n, dtype=bool)
    else:
        cells, index = cells[sets.where], index_of(sets)
        fewest, done = _fewest(sets.tokens, sets.offsets, cells, levels, index, visits, chosen.p, chosen.combinations)
    enough = visits >= chosen.p
    return LocationRisk(
        chosen.p, chosen.visits, names[enough], 1 / fewest[enough], names[~enough], names[enough & ~done], 1 / n
    )


@njit(cache=True)
def _visits(places, offsets, order, starts, n_places, most):  # pragma: no cover - compiled
    """Of each user, place and level for every visit up to the ``most``-th of a place; how many these are; visits counted so."""
    count = np.zeros(n_places, dtype=np.int64)
    cells, levels = np.empty(len(places), dtype=np.int64), np.empty(len(places), dtype=np.int64)
    sizes = np.zeros(len(starts) - 1, dtype=np.int64)
    visits = np.zeros(len(starts) - 1, dtype=np.int64)
    n = 0
    for u in range(len(starts) - 1):
        first = n
        for j in range(starts[u], starts[u + 1]):
            for k in range(offsets[order[j]], offsets[order[j] + 1]):
                if count[places[k]] < most:
                    count[places[k]] += 1
                    cells[n], levels[n] = places[k], count[places[k]]
                    n += 1
        for k in range(first, n):
            count[cells[k]] = 0
        sizes[u] = n - first
        visits[u] = n - first
    return cells[:n].copy(), levels[:n].copy(), sizes, visits


@njit(cache=True)
def _fewest_of_pairs(tokens, offsets, levels, n_tokens):  # pragma: no cover - compiled
    """The same as `_fewest` for p = 2: a table of how many users have each pair (on its diagonal: the place itself), read twice."""
    pairs = np.zeros((n_tokens, n_tokens), dtype=np.int32)
    fewest = np.full(len(offsets) - 1, len(offsets), dtype=np.int64)
    for u in range(len(fewest)):
        mine = np.sort(tokens[offsets[u] : offsets[u + 1]])
        for i in range(len(mine)):
            for j in range(i, len(mine)):
                pairs[mine[i], mine[j]] += 1
    for u in range(len(fewest)):
        mine, level = tokens[offsets[u] : offsets[u + 1]], levels[offsets[u] : offsets[u + 1]]
        for i in range(len(mine)):
            if level[i] == 2:  # the same place twice
                fewest[u] = min(fewest[u], pairs[mine[i], mine[i]])
                continue
            for j in range(i):
                if level[j] == 1:
                    fewest[u] = min(fewest[u], pairs[min(mine[i], mine[j]), max(mine[i], mine[j])])
    return fewest


@njit(cache=True)
def _fewest(tokens, offsets, cells, levels, index, visits, p, limit):  # pragma: no cover - compiled
    """(fewest users that share p places, whether all combinations were covered) of each user; rare places first."""
    n = len(offsets) - 1
    fewest, done = np.ones(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    kept, bits = np.empty((p, n), dtype=np.int32), np.empty((p + 1, index.bits.shape[1]), dtype=np.uint64)
    for u in range(n):
        if visits[u] >= p:
            mine = slice(offsets[u], offsets[u + 1])
            order = np.argsort(index.starts[tokens[mine] + 1] - index.starts[tokens[mine]], kind="mergesort")
            fewest[u], done[u] = _search(
                tokens[mine][order], cells[mine][order], levels[mine][order], index, p, limit, kept, bits
            )
    return fewest, done


@njit(cache=True)
def _search(mine, cells, levels, index, p, limit, kept, bits):  # pragma: no cover - compiled
    """Depth first over combinations; a place enters once, at the level (visits) known of it."""
    at, left, size = np.empty(p, dtype=np.int64), np.empty(p, dtype=np.int64), np.empty(p, dtype=np.int64)
    at[0], left[0], d, best, looked = -1, p, 0, kept.shape[1] + 1, 0
    while d >= 0:
        at[d] += 1
        i = at[d]
        if i >= len(mine):
            d -= 1
            continue
        if levels[i] > left[d] or _taken(cells, at, d, i):
            continue
        last = left[d] == levels[i]
        looked += 1
        if index.row[mine[at[0]]] >= 0:
            n = _narrow_bits(index.row[mine[i]], index, d, bits, not last)
        else:
            n = _narrow(mine[i], index, d, size, kept, best if last else kept.shape[1] + 1, not last)
        if n == 1:  # whatever is added, the user remains alone
            return 1, True
        if last:
            best = min(best, n)
        else:
            at[d + 1], left[d + 1], size[d + 1] = i, left[d] - levels[i], n
            d += 1
        if looked >= limit:
            return best, False
    return best, True


@njit(cache=True)
def _taken(cells, at, d, i):  # pragma: no cover - compiled
    taken = False
    for e in range(d):
        taken = taken or cells[at[e]] == cells[i]
    return taken


@njit(cache=True)
def _narrow(token, index, d, size, kept, enough, keep):  # pragma: no cover - compiled
    """Of those kept at depth d (depth 0: everybody), how many hold ``token``, counted up to ``enough``; ``keep`` them for depth d + 1."""
    if d == 0:
        first, n = index.starts[token], index.starts[token + 1] - index.starts[token]
        if keep:
            kept[1, :n] = index.items[first : first + n]
        return n
    n = 0
    for k in range(size[d]):
        if holds(index, token, kept[d, k]):
            if keep:
                kept[d + 1, n] = kept[d, k]
            n += 1
            if n >= enough:
                break
    return n


@njit(cache=True)
def _narrow_bits(row, index, d, bits, keep):  # pragma: no cover - compiled
    """The same for common labels (the first one is, and those after it are at least as common), by rows of bits."""
    mine = index.bits[row]
    n = 0
    if d == 0:
        for w in range(len(mine)):
            n += popcount(mine[w])
            bits[1, w] = mine[w]
    elif keep:
        for w in range(len(mine)):
            bits[d + 1, w] = bits[d, w] & mine[w]
            n += popcount(bits[d + 1, w])
    else:
        others = bits[d]
        for w in range(len(mine)):
            n += popcount(others[w] & mine[w])
    return n
