"""Worst-case risk from known places: the peer's documented example, brute force, and people with too few places."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from made_labels import labels_of, lists, record_sets, town

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks import location_risk as module
from trajkit.attacks.location_risk import location_risk
from trajkit.errors import ParameterError

# places (L, V, P, F) in order of visit of the seven users of scikit-mobility's documented example, and the risks that it prints
TOY = {"1": "LVPF", "2": "LPLV", "3": "VPLF", "4": "PVF", "5": "PFL", "6": "LV", "7": "LLF"}
PRINTED = {
    2: {"1": 1 / 3, "2": 1 / 2, "3": 1 / 3, "4": 1 / 3, "5": 1 / 4, "6": 1 / 4, "7": 1 / 2},
    3: {"1": 1 / 2, "2": 1, "3": 1 / 2, "4": 1 / 3, "5": 1 / 3, "7": 1},
}


@pytest.mark.parametrize("p", [2, 3])
def test_the_documented_example_of_scikit_mobility(p: int) -> None:
    """With p = 3 it prints 1/4 for user 6, who has two visits: there p was lowered without a word. Here she is named."""
    labels = labels_of(*([(ord(place), 0) for place in places] for places in TOY.values()))
    found = location_risk(labels, np.array(list(TOY)), p=p, visits="counted")
    assert dict(zip(found.users.tolist(), found.risk.tolist(), strict=True)) == pytest.approx(PRINTED[p])
    assert found.too_few.tolist() == [u for u, places in TOY.items() if len(places) < p]


def brute(labels: Signatures, user: np.ndarray, p: int, counted: bool) -> dict[int, float]:
    visits: dict[int, Counter[tuple[int, int]]] = {}
    for path, u in zip(lists(labels), user, strict=True):
        visits.setdefault(int(u), Counter()).update(path)
    if not counted:
        visits = {u: Counter(places) for u, places in record_sets(labels, user).items()}
    risk = {}
    for u, mine in visits.items():
        known = {tuple(sorted(Counter(c).items())) for c in combinations(sorted(mine.elements()), p)}
        if known:
            sharing = [sum(all(v[x] >= m for x, m in c) for v in visits.values()) for c in known]
            risk[u] = 1 / min(sharing)
    return risk


@pytest.mark.parametrize("visits", ["distinct", "counted"])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(("n", "people", "cells"), [(40, 15, 5), (120, 60, 4), (200, 120, 20)])
def test_agrees_with_brute_force(visits: str, p: int, n: int, people: int, cells: int) -> None:
    labels, user = town(n, people, seed=n + p, cells=cells, bins=1, longest=5)
    found = location_risk(labels, user, p=p, visits=visits)
    expected = brute(labels, user, p, visits == "counted")
    assert dict(zip(found.users.tolist(), found.risk.tolist(), strict=True)) == pytest.approx(expected)
    assert set(found.too_few.tolist()) == set(user.tolist()) - set(expected)
    assert not len(found.unfinished) and found.baseline == 1 / len(np.unique(user))


@pytest.mark.parametrize("visits", ["distinct", "counted"])
def test_pairs_by_table_and_by_search_are_the_same(visits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, user = town(2000, 500, seed=1, cells=40, longest=6)
    by_table = location_risk(labels, user, p=2, visits=visits)
    monkeypatch.setattr(module, "MOST_PAIRED", 0)
    by_search = location_risk(labels, user, p=2, visits=visits)
    assert np.array_equal(by_table.risk, by_search.risk) and 0 < by_table.share_alone < 1


def test_common_places() -> None:
    """400 users share two places, one user alone has both and a third: rows of bits and lists meet."""
    paths = [[(1, 0), (2, 0)]] * 400 + [[(1, 0), (2, 0), (3, 0)], [(3, 0), (1, 0)]]
    found = location_risk(labels_of(*paths), np.arange(402), p=2)
    assert found.risk.tolist() == pytest.approx([1 / 401] * 400 + [1.0, 1 / 2])
    assert found.share_alone == pytest.approx(1 / 402)
    assert found.mean == pytest.approx((400 / 401 + 1.5) / 402)


def test_unfinished_searches_are_named_and_bound_from_below() -> None:
    labels = labels_of(*[[(c, 0) for c in range(12)]] * 5, [(c, 0) for c in range(6)])
    whole = location_risk(labels, np.arange(6), p=3)
    cut = location_risk(labels, np.arange(6), p=3, combinations=2)
    assert set(cut.unfinished.tolist()) == set(range(6)) and not len(whole.unfinished)
    assert (cut.risk <= whole.risk).all()
    assert cut.to_frame()["lower_bound_only"].all()


def test_bad_input_says_what_is_wrong() -> None:
    labels, user = town(5, 3, seed=0)
    for change, match in (({"p": 0}, "p = 0"), ({"visits": "all"}, "visits"), ({"k": 2}, "known here")):
        with pytest.raises(ParameterError, match=match):
            location_risk(labels, user, **change)
    with pytest.raises(ParameterError, match="nobody to attack"):
        location_risk(labels_of(), np.zeros(0, dtype=int))
    with pytest.raises(ParameterError, match="lower p"):
        _ = location_risk(labels_of([(1, 0)]), np.zeros(1, dtype=int), p=3).mean
