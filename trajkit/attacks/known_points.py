"""The attack by known points: an adversary knows p points of a target and asks which records hold all of them.

One compiled loop serves uniqueness (records: the raw data itself) and re-identification (records: what was released).
"""

from __future__ import annotations

from math import comb
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numba import njit
from pydantic import Field, field_validator

from trajkit import seeds
from trajkit.attacks.inverted_index import Index, all_common, count_matching, narrowed
from trajkit.attacks.records import Records
from trajkit.errors import ParameterError
from trajkit.methods import FromList, MethodConfig

MOST_COMBINATIONS = 20_000_000


class KnownPoints(MethodConfig):
    """What the adversary knows, and of how many targets.

    p: numbers of known points, rising. target: "user" (a record is all of a person's points) or "trajectory" (one trajectory's).
    targets: how many are drawn (None: all). exact: go through all combinations of points instead of drawing one for each target.
    level: of the intervals.
    """

    p: Annotated[tuple[int, ...], FromList] = (1, 2, 3, 4)
    target: Literal["user", "trajectory"] = "user"
    targets: int | None = Field(None, ge=1)
    exact: bool = False
    level: float = Field(0.95, gt=0, lt=1)

    @field_validator("p")
    @classmethod
    def _rising(cls, p: tuple[int, ...]) -> tuple[int, ...]:
        if not p or min(p) < 1 or list(p) != sorted(set(p)):
            raise ValueError("must be rising whole numbers of at least 1, such as (1, 2, 3, 4)")
        return p


class Items(NamedTuple):
    """Of each record of the index: ``own`` int64, the target that it came from; ``person`` and ``group`` int64, who and which class."""

    own: np.ndarray
    person: np.ndarray
    group: np.ndarray
    n_persons: int
    n_groups: int


class Outcome(NamedTuple):
    """For each drawn target and each p, float64 [targets, ps], means over combinations, 0 where it has not ``enough`` labels (bool).

    alone: the target's own person matches, and nobody else. guess: 1 / persons that match, 0 where the target is not among them. one_group: one class matches.
    none: nobody matches. weights [ps, n_persons + 1]: how often each number of persons came out.
    """

    enough: np.ndarray
    alone: np.ndarray
    guess: np.ndarray
    one_group: np.ndarray
    none: np.ndarray
    weights: np.ndarray


def draw_targets(n: int, settings: KnownPoints, seed: int, stream: str) -> np.ndarray:
    """int64: which of ``n`` targets are attacked, rising; all of them unless ``settings.targets`` is smaller."""
    if n == 0:
        raise ParameterError("there is nobody to attack: the set has no trajectories")
    if settings.targets is None or settings.targets >= n:
        return np.arange(n)
    return np.sort(seeds.rng(seed, "attack", stream, "targets").choice(n, size=settings.targets, replace=False))


def attack(
    known: Records, targets: np.ndarray, index: Index, items: Items, settings: KnownPoints, *, seed: int, stream: str
) -> Outcome:
    """Attack the ``targets``, whose labels are ``known`` (records by target; codes of the index, or NOWHERE).

    Raises ParameterError where ``exact`` would go through more than 20 million combinations.
    """
    ps = np.array(settings.p, dtype=np.int64)
    sizes = known.sizes[targets]
    if settings.exact:
        values, times = np.unique(sizes, return_counts=True)
        total = sum(comb(int(m), p) * int(c) for m, c in zip(values, times, strict=True) for p in settings.p)
        if total > MOST_COMBINATIONS:
            raise ParameterError(
                f"exact = True means {total:,} combinations of points, more than {MOST_COMBINATIONS:,}: "
                "draw them (exact = False), or give fewer targets or smaller p"
            )
    uniforms = seeds.rng(seed, "attack", stream, "points").random((len(targets), settings.p[-1]))
    plain = items.n_groups == 0 and items.n_persons == len(items.person)
    return Outcome(*_attack(known.tokens, known.offsets, targets, ps, uniforms, index, items, settings.exact, plain))


@njit(cache=True)
def _who(found, n, items, target, seen, seen_group, stamp):  # pragma: no cover - compiled
    """(persons, groups, whether the target's own record is among them) behind the records ``found[:n]``."""
    persons, groups, own = 0, 0, False
    for k in range(n):
        i = found[k]
        own = own or items.own[i] == target
        if seen[items.person[i]] != stamp:
            seen[items.person[i]] = stamp
            persons += 1
        if items.n_groups and seen_group[items.group[i]] != stamp:
            seen_group[items.group[i]] = stamp
            groups += 1
    return persons, groups, own


@njit(cache=True)
def _attack(tokens, offsets, targets, ps, uniforms, index, items, exact, plain):  # pragma: no cover - compiled
    """``plain``: every record is a person of its own and there are no classes, so that counting records is enough."""
    alone, guess, one_group, none = np.zeros((4, len(targets), len(ps)))
    enough = np.zeros(alone.shape, dtype=np.bool_)
    weights = np.zeros((len(ps), items.n_persons + 1))
    found = np.empty(len(items.person), dtype=np.int32)
    seen = np.full(items.n_persons, -1, dtype=np.int64)
    seen_group = np.full(items.n_groups, -1, dtype=np.int64)
    buffer = np.empty(ps[-1], dtype=np.int64)
    stamp = 0
    for i in range(len(targets)):
        mine = tokens[offsets[targets[i]] : offsets[targets[i] + 1]].copy()
        if not exact:
            shuffle_front(mine, uniforms[i])
        n, listed = (
            0,
            0,
        )  # found[:n] hold the first ``listed`` points: where points are drawn, those for p are among those for p + 1
        for c in range(len(ps)):
            p = ps[c]
            if len(mine) < p:
                continue
            enough[i, c] = True
            share = 1.0 / _combinations(len(mine), p) if exact else 1.0
            chosen = np.arange(p)
            while True:
                for j in range(p):
                    buffer[j] = mine[chosen[j]]
                if plain and (exact or p == 1 or (listed == 0 and all_common(buffer, p, index))):
                    persons, groups = count_matching(buffer, p, index), 0
                    own = persons > 0
                else:
                    n = narrowed(buffer, listed, p, index, found, n)
                    listed = 0 if exact else p
                    persons, groups, own = n, 0, n > 0
                    if not plain:
                        persons, groups, own = _who(found, n, items, targets[i], seen, seen_group, stamp)
                        stamp += 1
                weights[c, persons] += share
                alone[i, c] += share * (own and persons == 1)
                one_group[i, c] += share * (groups == 1)
                none[i, c] += share * (persons == 0)
                if own:
                    guess[i, c] += share / persons
                if not exact or not _advance(chosen, len(mine), p):
                    break
    return enough, alone, guess, one_group, none, weights


@njit(cache=True)
def shuffle_front(mine, uniforms):  # pragma: no cover - compiled
    """A random order up to len(uniforms) places: the first p of it are the points known, so that more points never know less."""
    for j in range(min(len(mine), len(uniforms))):
        k = j + int(uniforms[j] * (len(mine) - j))
        mine[j], mine[k] = mine[k], mine[j]


@njit(cache=True)
def _combinations(m, p):  # pragma: no cover - compiled
    total = 1.0
    for j in range(p):
        total = total * (m - j) / (j + 1)
    return total


@njit(cache=True)
def _advance(chosen, m, p):  # pragma: no cover - compiled
    """Make ``chosen`` the next p of m in lexicographic order; False after the last."""
    j = p - 1
    while j >= 0 and chosen[j] == m - p + j:
        j -= 1
    if j < 0:
        return False
    chosen[j] += 1
    for k in range(j + 1, p):
        chosen[k] = chosen[k - 1] + 1
    return True
