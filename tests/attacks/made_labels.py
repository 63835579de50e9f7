"""Label sets for the tests of attacks: small random towns, k-anonymous releases by grouping equal signatures, and brute force."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.origin import Origin

Label = tuple[int, int]


def labels_of(*paths: list[Label]) -> Signatures:
    """Signatures from lists of (cell, bin)."""
    flat = np.array([p for path in paths for p in path], dtype=np.int64).reshape(-1, 2)
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in paths])]).astype(np.int64)
    return Signatures(flat[:, 0].copy(), flat[:, 1].copy(), offsets)


def lists(labels: Signatures) -> list[list[Label]]:
    pairs = list(zip(labels.cells.tolist(), labels.bins.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(labels.offsets[:-1], labels.offsets[1:], strict=True)]


def town(
    n: int, people: int, seed: int, *, cells: int = 6, bins: int = 2, longest: int = 5
) -> tuple[Signatures, np.ndarray]:
    """``n`` random trajectories of 1 to ``longest`` labels, low cells more often, and the person of each."""
    rng = np.random.default_rng(seed)
    paths = [
        [
            (int(c), int(b))
            for c, b in zip((cells * rng.random(m) ** 2).astype(int), rng.integers(0, bins, m), strict=True)
        ]
        for m in rng.integers(1, longest + 1, n)
    ]
    return labels_of(*paths), rng.integers(0, people, n)


def anonymous(raw: Signatures, user: np.ndarray, k: int) -> tuple[Signatures, Origin]:
    """Release exactly the trajectories whose signature at least ``k`` distinct users have."""
    who: dict[tuple[Label, ...], set[int]] = defaultdict(set)
    for path, u in zip(lists(raw), user, strict=True):
        who[tuple(path)].add(u)
    kept = np.array([i for i, path in enumerate(lists(raw)) if len(who[tuple(path)]) >= k], dtype=np.int64)
    return raw.take(kept), Origin.one_each(kept)


def record_sets(labels: Signatures, group: np.ndarray) -> dict[int, set[Label]]:
    found: dict[int, set[Label]] = defaultdict(set)
    for path, g in zip(lists(labels), group, strict=True):
        found[int(g)] |= set(path)
    return found


def brute_uniqueness(labels: Signatures, user: np.ndarray, p: int, target: str) -> tuple[int, float, float]:
    """(targets with enough points, unicity, guess success) by going through everything."""
    group = np.asarray(user) if target == "user" else np.arange(len(labels))
    person = {int(g): int(u) for g, u in zip(group, user, strict=True)}
    sets = record_sets(labels, group)
    alone, guess = [], []
    for mine in sets.values():
        counts = [
            len({person[g] for g, other in sets.items() if other >= set(c)}) for c in combinations(sorted(mine), p)
        ]
        if counts:
            alone.append(np.mean([n == 1 for n in counts]))
            guess.append(np.mean([1 / n for n in counts]))
    return len(alone), float(np.mean(alone)), float(np.mean(guess))


def brute_success(
    raw: Signatures, user: np.ndarray, released: Signatures, origin: Origin, p: int, target: str
) -> tuple[float, float]:
    """(success, share that isolates one class), suppressed targets failing."""
    group = np.asarray(user) if target == "user" else np.arange(len(raw))
    shown = lists(released)
    pairs = list(zip(origin.released.tolist(), origin.source.tolist(), strict=True))
    success, one = [], []
    for g, mine in record_sets(raw, group).items():
        values, classes = [], []
        for c in combinations(sorted(mine), p):
            left = [(r, s) for r, s in pairs if set(shown[r]) >= set(c)]
            persons = {int(user[s]) for _, s in left}
            values.append(1 / len(persons) if any(group[s] == g for _, s in left) else 0.0)
            classes.append(len({tuple(shown[r]) for r, _ in left}) == 1)
        if values:
            success.append(np.mean(values))
            one.append(np.mean(classes))
    return float(np.mean(success)), float(np.mean(one))
