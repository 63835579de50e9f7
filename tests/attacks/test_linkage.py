"""Two k-anonymous releases of the same people: persistent pseudonyms give away what each alone keeps, fresh ones do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from made_labels import anonymous, labels_of, lists, town

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.linkage import Linkage, Published, linkage
from trajkit.attacks.origin import Origin
from trajkit.errors import ParameterError

K, PEOPLE = 4, 16


def period(column: bool) -> tuple[Signatures, np.ndarray]:
    """16 people in a square of 4 x 4: everybody travels with the four of the same row, or of the same column, and with nobody else."""
    group = [u % K if column else u // K for u in range(PEOPLE)]
    return labels_of(*[[(10 * g, 0), (10 * g + 1, 0), (10 * g + 2, 0)] for g in group]), np.arange(PEOPLE)


def published(column: bool, names: str) -> Published:
    raw, user = period(column)
    released, origin = anonymous(raw, user, K)
    pseudonym = np.array([f"{names}{u}" for u in user[origin.source]])
    return Published(raw, user, released, pseudonym, origin)


def test_persistent_pseudonyms_single_out_everybody_and_fresh_ones_nobody() -> None:
    first, second = published(False, "n"), published(True, "n")
    leaked = linkage(first, second, seed=0, k=K, p=(1, 3))
    assert leaked.shared_pseudonyms == PEOPLE
    for at in leaked.by_p:
        assert (at.first, at.second, at.joined) == pytest.approx((1 / K, 1 / K, 1.0))
        assert at.persons_first == (float(K),) * 5 and at.persons_joined == (1.0,) * 5
    fresh = linkage(first, published(True, "m"), seed=0, k=K, p=(1, 3))
    assert fresh.shared_pseudonyms == 0 and fresh.bound == 1 / K
    for at in fresh.by_p:
        assert at.joined == pytest.approx(1 / K) and at.persons_joined == (float(K),) * 5


def brute(first: Published, second: Published) -> list[float]:
    """Joined success of each person who is in both raw sets and has one label in each, so that what is known is sure."""
    values = []
    for u in sorted(set(first.user.tolist()) & set(second.user.tolist())):
        left = []
        for side in (first, second):
            (mine,) = [set(path) for path, v in zip(lists(side.raw), side.user, strict=True) if v == u]
            left.append([r for r, path in enumerate(lists(side.released)) if set(path) >= mine])
        names = {first.pseudonym[r] for r in left[0]} & {second.pseudonym[r] for r in left[1]}
        sides: list[tuple[Published, list[int]]] = [(second, [r for r in left[1] if second.pseudonym[r] in names])]
        sides += sorted(
            [(first, left[0]), (second, left[1])], key=lambda x: len({x[0].user[x[0].origin.source[r]] for r in x[1]})
        )
        for side, rows in sides:
            persons = {int(side.user[side.origin.source[r]]) for r in rows}
            if persons:
                values.append(1 / len(persons) if u in persons else 0.0)
                break
        else:
            values.append(0.0)
    return values


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("names", ["n", "m"])
def test_agrees_with_brute_force(seed: int, names: str) -> None:
    rng = np.random.default_rng(seed)
    sides = []
    for start, prefix in ((0, "n"), (20, names)):
        users = np.arange(start, start + 60)
        raw = labels_of(*[[(int(c), 0)] for c in (12 * rng.random(60) ** 2).astype(int)])
        released, origin = anonymous(raw, users, 3)
        sides.append(Published(raw, users, released, np.array([f"{prefix}{u}" for u in users[origin.source]]), origin))
    found = linkage(*sides, seed=seed, p=(1,))
    assert found.by_p[0].targets == 40
    assert found.by_p[0].joined == pytest.approx(np.mean(brute(*sides)), abs=1e-12)


def test_short_records_apart_same_seed_same_answer_and_a_table() -> None:
    raw, user = town(400, 80, seed=0, cells=6)
    released, origin = anonymous(raw, user, 2)
    side = Published(raw, user, released, np.array([f"n{u}" for u in user[origin.source]]), origin)
    a, b, other = (linkage(side, side, seed=s, k=2, p=(1, 2, 3), targets=50) for s in (3, 3, 4))
    assert a == b and a != other
    assert [at.targets + at.too_few for at in a.by_p] == [50, 50, 50]
    table = a.to_frame()
    assert ((table["joined_lower"] <= table["joined"]) & (table["joined"] <= table["joined_upper"])).all()
    assert all(x <= y for x, y in pairwise(table["p"]))
    nobody = linkage(side, side, seed=0, p=(1, 50))
    assert nobody.no_target == (50,) and isinstance(nobody, Linkage)


@pytest.mark.parametrize(
    ("change", "settings", "match"),
    [
        ({"user": np.arange(100, 116)}, {}, "same names in both"),
        ({"pseudonym": np.array(["a"])}, {}, "one pseudonym for each"),
        ({"origin": Origin.one_each(np.arange(3))}, {}, "came from nobody"),
        ({}, {"exact": True}, "points are drawn"),
        ({}, {"p": (0,)}, "at least 1"),
    ],
)
def test_bad_input_says_what_is_wrong(change: dict[str, Any], settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        linkage(published(False, "n"), replace(published(True, "n"), **change), seed=0, **settings)
