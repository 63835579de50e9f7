"""Parts of trips: every released part is had by k distinct persons as a released part, and is the longest that could be."""

from __future__ import annotations

from collections import defaultdict

import checker
import numpy as np
import pytest
from anonymity_toys import SETTING, crowd, fitted, released, trips

from trajkit.anonymize.segments import parts
from trajkit.anonymize.signatures import Signatures
from trajkit.errors import PrivacyAccountingError
from trajkit.release import HIDDEN
from trajkit.trajectories import concatenate_offsets


def words(*paths: str) -> Signatures:
    """A signature a string, a cell a letter."""
    cells = np.array([ord(c) for p in paths for c in p], dtype=np.int64)
    return Signatures(
        cells, np.zeros(len(cells), dtype=np.int64), concatenate_offsets(np.array([len(p) for p in paths]))
    )


def cut(paths: list[str], persons: list[int], k: int, min_labels: int = 2) -> list[tuple[str, int]]:
    """(part, trajectory) of what is released."""
    sig = words(*paths)
    found = parts(sig, np.ones(len(sig.cells), dtype=np.int64), np.array(persons), k=k, min_labels=min_labels)
    text = [
        "".join(map(chr, sig_cells)) for sig_cells in np.split(found.signatures.cells, found.signatures.offsets[1:-1])
    ]
    assert (found.points == np.diff(found.signatures.offsets)[found.of]).all()
    return sorted((text[c], int(i)) for c, i in zip(found.of, found.origin, strict=True))


def test_the_longest_shared_parts_are_taken() -> None:
    assert cut(["abcde", "xabcdy", "zabcd"], [0, 1, 2], 3) == [("abcd", 0), ("abcd", 1), ("abcd", 2)]
    assert cut(["abcd", "abcd", "abxcd"], [0, 1, 2], 2) == [("abcd", 0), ("abcd", 1)]
    assert cut(["abcd", "abcd", "abxcd"], [0, 1, 2], 3) == sorted((p, i) for p in ("ab", "cd") for i in range(3))
    assert cut(["abc", "abc"], [0, 0], 2) == []  # one person twice
    assert cut(["ab", "ba"], [0, 1], 2, 1) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert cut(["ab", "ba"], [0, 1], 2) == []


def test_parts_that_lose_their_persons_to_another_are_given_up() -> None:
    # bc is had by two, but in one of the trips ab comes first and takes the b
    assert cut(["abc", "abd", "bc", "abe"], [0, 1, 2, 3], 2) == [("ab", 0), ("ab", 1), ("ab", 3)]


@pytest.mark.parametrize("seed", range(30))
def test_random_words_against_dictionaries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alphabet = "abc" if seed % 2 else "abcdefgh"
    paths = []
    for _ in range(25):
        path = [alphabet[rng.integers(len(alphabet))]]
        while len(path) < rng.integers(1, 24):
            path.append(alphabet[rng.integers(len(alphabet))])
        paths.append("".join(path))
    persons, k, least = rng.integers(0, 8, 25).tolist(), 2 + seed % 3, 1 + seed % 2
    got = cut(paths, persons, k, least)
    assert got == checker.cut_by_the_rule(paths, persons, k, least)
    who: dict[str, set[int]] = defaultdict(set)
    for part, i in got:
        who[part].add(persons[i])
    assert who and min(map(len, who.values())) >= k


@pytest.mark.parametrize("seed", range(3))
def test_released_parts_are_parts_of_k_users(seed: int) -> None:
    trajs, k = crowd(200, seed), 3
    how = {"cell_m": 1000.0, "minutes": 120, "of": "clock", "tz": trajs.meta.tz, "crs": trajs.meta.crs}
    method = fitted(trajs, k=k, cells_m=[1000.0], minutes=[120], suppress="segments")
    release = method.release(None, seed=0)
    raw, users = checker.paths(trajs, **how), trajs.user.tolist()
    out = checker.tally(checker.paths(release.trajectories, **how))
    assert out and min(out.values()) >= k
    assert all(len(checker.users_with(part, raw, users)) >= k for part in out)
    whole = released(trajs, k=k, cells_m=[1000.0], minutes=[120])
    lost = [r.report[HIDDEN]["suppressed"]["points"] for r in (release, whole)]
    assert lost[0] < lost[1]
    assert all(len(checker.users_with(part, raw, users)) >= k for part in checker.whole_classes(raw, users, k, 2))
    assert any("parts of one trajectory" in a for a in release.guarantee.assumptions)


def test_the_recount_covers_parts() -> None:
    method = fitted(trips("a0 b0 c0", "a0 b0 d0", "a0 b0 e0"), k=3, suppress="segments", **SETTING)
    assert method.release(None, seed=0).trajectories.lengths.tolist() == [2, 2, 2]
    method.model_.person[:] = 0
    with pytest.raises(PrivacyAccountingError):
        method.release(None, seed=0)


def test_points_and_users_of_parts_are_accounted_for() -> None:
    trajs = trips("a0 a0 b0 b0 c0", "a0 b0 d0", "e0 f0")
    exact = released(trajs, k=2, suppress="segments", **SETTING).report[HIDDEN]["suppressed"]
    assert exact["points"] == pytest.approx(1 - 6 / 10)
    assert exact["users"] == pytest.approx(1 / 3)
