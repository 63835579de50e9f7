"""Linkage across two releases about overlapping people: what persistent pseudonyms give away that each release alone keeps.

The adversary knows p points of the target in each period. In each release he keeps the trajectories that hold all of the points. Where
names persist he also keeps only names that are left in both; where they were drawn afresh there is nothing to join, and he goes by the
release that leaves fewer. k-anonymity of each release bounds the second at 1/k and says nothing about the first: it does not compose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numba import njit

from trajkit import seeds
from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.intervals import mean_interval, set_quantiles
from trajkit.attacks.inverted_index import index_of, narrowed
from trajkit.attacks.known_points import Items, KnownPoints, draw_targets, shuffle_front
from trajkit.attacks.origin import Origin
from trajkit.attacks.records import NOWHERE, Records, coded, records
from trajkit.attacks.uniqueness import table
from trajkit.errors import ParameterError
from trajkit.parameters import checked


@dataclass(frozen=True)
class Published:
    """One release beside its truth: ``raw`` labels with the ``user`` [n] of each, ``released`` labels with the ``pseudonym`` [r] of each.

    Users have the same names in both periods (private); pseudonyms are what the release prints as user.
    """

    raw: Signatures
    user: np.ndarray
    released: Signatures
    pseudonym: np.ndarray
    origin: Origin


@dataclass(frozen=True)
class LinkageAt:
    """With ``p`` points known in each period: mean success in the ``first`` and ``second`` release alone, and ``joined``.

    targets: people in both raw sets with enough points in both; ``too_few``: those with fewer. Quantiles 5 … 95 % of the persons left,
    None where nobody ever is.
    """

    p: int
    targets: int
    too_few: int
    first: float
    first_interval: tuple[float, float]
    second: float
    second_interval: tuple[float, float]
    joined: float
    joined_interval: tuple[float, float]
    persons_first: tuple[float, ...] | None
    persons_second: tuple[float, ...] | None
    persons_joined: tuple[float, ...] | None


@dataclass(frozen=True)
class Linkage:
    """``shared_pseudonyms``: names printed in both releases (0: nothing to join). ``baseline``: 1 / persons in the larger release."""

    by_p: tuple[LinkageAt, ...]
    no_target: tuple[int, ...]
    shared_pseudonyms: int
    baseline: float
    bound: float | None
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each p."""
        return table(self.by_p, self.baseline, self.bound)


def linkage(first: Published, second: Published, *, seed: int, k: int | None = None, **settings: Any) -> Linkage:
    """Attack people who are in both raw sets; settings are those of `KnownPoints` (target user, drawn points).

    Raises ParameterError for settings out of range, names or origins that do not fit, and where nobody is in both sets.
    """
    chosen = checked(KnownPoints, settings, where="linkage")
    if chosen.exact or chosen.target != "user":
        raise ParameterError("linkage: targets are users and points are drawn: leave out exact and target")
    both = (first, second)
    for side in both:
        side.origin.check(len(side.released), len(side.raw))
        if len(side.user) != len(side.raw) or len(side.pseudonym) != len(side.released):
            raise ParameterError("linkage: give one user for each raw trajectory, one pseudonym for each released one")
    people = np.unique(np.concatenate([np.asarray(s.user) for s in both]))
    names = np.unique(np.concatenate([np.asarray(s.pseudonym) for s in both]))
    sides = [_Side.of(side, people, names) for side in both]
    shared = len(np.intersect1d(first.pseudonym, second.pseudonym))
    candidates = np.flatnonzero((sides[0].held.sizes > 0) & (sides[1].held.sizes > 0))
    if not len(candidates):
        raise ParameterError("linkage: nobody is in both raw sets; users must have the same names in both")
    targets = candidates[draw_targets(len(candidates), chosen, seed, "linkage")]
    draws = seeds.rng(seed, "attack", "linkage", "points").random((2, len(targets), chosen.p[-1]))
    found, missing = [], []
    for p in chosen.p:
        enough = (sides[0].held.sizes[targets] >= p) & (sides[1].held.sizes[targets] >= p)
        if not enough.any():
            missing.append(p)
            continue
        known_a, known_b = (side.drawn(targets[enough], u[enough], p) for side, u in zip(sides, draws, strict=True))
        persons, success = _linked(
            targets[enough],
            known_a,
            known_b,
            sides[0].index,
            sides[1].index,
            sides[0].items,
            sides[1].items,
            len(names),
        )
        found.append(_at(p, int((~enough).sum()), persons, success, chosen.level))
    most = max(len(np.unique(side.items.person)) for side in sides)
    bound = None if k is None else 1 / k
    return Linkage(tuple(found), tuple(missing), shared, 1 / most if most else 0.0, bound, chosen.level)


def _at(p: int, too_few: int, persons: np.ndarray, success: np.ndarray, level: float) -> LinkageAt:
    n = success.shape[1]
    figures: list[Any] = []
    for row in success:
        figures += [float(row.mean()), mean_interval(float(row.mean()), n, level)]
    sets = [set_quantiles(np.bincount(row)) if row.any() else None for row in persons]
    return LinkageAt(p, n, too_few, *figures, *sets)


@dataclass(frozen=True)
class _Side:
    """One release, coded: ``held`` what is known of each person (codes of the index or NOWHERE), ``items`` of its index (group: pseudonym)."""

    held: Records
    index: Any
    items: Items

    @classmethod
    def of(cls, side: Published, people: np.ndarray, names: np.ndarray) -> _Side:
        (raw, released), n_tokens = coded(side.raw, side.released)
        person = np.searchsorted(people, np.asarray(side.user))
        pseudonym = np.searchsorted(names, np.asarray(side.pseudonym))
        members = Signatures(released, released, side.released.offsets).take(side.origin.released)
        pairs = len(side.origin.source)
        shown = records(members.cells, members.offsets, np.arange(pairs), pairs, n_tokens)
        held = records(raw, side.raw.offsets, person, len(people), n_tokens)
        there = np.zeros(n_tokens, dtype=bool)
        there[shown.tokens] = True
        held = Records(np.where(there[held.tokens], held.tokens, NOWHERE), held.offsets, n_tokens, held.where)
        who = person[side.origin.source]
        return cls(held, index_of(shown), Items(who, who, pseudonym[side.origin.released], len(people), len(names)))

    def drawn(self, targets: np.ndarray, uniforms: np.ndarray, p: int) -> np.ndarray:
        """int64 [targets, p]: the first p points of a random order; ``uniforms`` [targets, most]."""
        return _first_points(self.held.tokens, self.held.offsets, targets, uniforms, p)


@njit(cache=True)
def _first_points(tokens, offsets, targets, uniforms, p):  # pragma: no cover - compiled
    out = np.empty((len(targets), p), dtype=np.int64)
    for i in range(len(targets)):
        mine = tokens[offsets[targets[i]] : offsets[targets[i] + 1]].copy()
        shuffle_front(mine, uniforms[i])
        out[i] = mine[:p]
    return out


@njit(cache=True)
def _linked(targets, known_a, known_b, index_a, index_b, items_a, items_b, n_names):  # pragma: no cover - compiled
    """(persons left, success) [3, targets]: in the first release, in the second, and joined."""
    n, p = known_a.shape
    persons, success = np.zeros((3, n), dtype=np.int64), np.zeros((3, n))
    found_a, found_b = np.empty(len(items_a.person), dtype=np.int32), np.empty(len(items_b.person), dtype=np.int32)
    named = np.full(n_names, -1, dtype=np.int64)
    seen = np.full(items_a.n_persons, -1, dtype=np.int64)
    everybody = np.zeros(n_names, dtype=np.int64)
    for i in range(n):
        a = narrowed(known_a[i], 0, p, index_a, found_a, 0)
        b = narrowed(known_b[i], 0, p, index_b, found_b, 0)
        persons[0, i], success[0, i] = _named(found_a, a, items_a, targets[i], everybody, 0, seen, 3 * i)
        persons[1, i], success[1, i] = _named(found_b, b, items_b, targets[i], everybody, 0, seen, 3 * i + 1)
        for j in range(a):
            named[items_a.group[found_a[j]]] = i
        persons[2, i], success[2, i] = _named(found_b, b, items_b, targets[i], named, i, seen, 3 * i + 2)
        if persons[2, i] == 0:  # no name in both: by the release that leaves fewer
            side = 0 if persons[1, i] == 0 or 0 < persons[0, i] <= persons[1, i] else 1
            persons[2, i], success[2, i] = persons[side, i], success[side, i]
    return persons, success


@njit(cache=True)
def _named(found, n, items, target, named, allowed, seen, stamp):  # pragma: no cover - compiled
    """(distinct persons, chance to name the target) behind those of ``found[:n]`` whose pseudonym has ``named`` == ``allowed``."""
    persons, own = 0, False
    for k in range(n):
        if named[items.group[found[k]]] != allowed:
            continue
        who = items.person[found[k]]
        own = own or who == target
        if seen[who] != stamp:
            seen[who] = stamp
            persons += 1
    return persons, 1.0 / persons if own else 0.0
