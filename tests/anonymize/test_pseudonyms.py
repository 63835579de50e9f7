"""Pseudonyms: fresh ones say nothing and change, persistent ones stay the same for all to join on."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from trajkit.anonymize.pseudonyms import fresh, persistent
from trajkit.errors import ParameterError

USERS = np.array([3, 3, 0, 7, 0, 5, *range(20, 60)])


def test_fresh_names_tell_the_same_persons_apart() -> None:
    names = fresh(USERS, 1)
    assert len(set(names)) == len(set(USERS.tolist()))
    assert names[0] == names[1] and names[2] == names[4] and names[0] != names[2]
    assert set(names) == {f"p{i}" for i in range(len(set(names)))}


def test_fresh_names_come_from_the_seed_alone() -> None:
    assert (fresh(USERS, 1) == fresh(USERS, 1)).all()
    assert (fresh(USERS, 1) == fresh(USERS * 1000 + 1, 1)).all()  # the labels themselves leave no mark
    assert (fresh(USERS, 1) == fresh(USERS, 2)).mean() < 0.3


def test_persistent_names_join_two_releases_of_one_salt() -> None:
    ids = np.array([f"person-{i}" for i in range(50)])
    first, second = persistent(ids, "salt"), persistent(ids[::-1][:20], "salt")
    assert dict(zip(ids, first, strict=True)).items() >= dict(zip(ids[::-1][:20], second, strict=True)).items()
    assert len(set(first)) == 50 and not set(first) & set(persistent(ids, "other salt"))
    assert not any(i in name for i, name in zip(ids, first, strict=True))
    assert persistent(ids, b"salt").tolist() == first.tolist()


def test_persistent_names_do_not_depend_on_the_process() -> None:
    code = "import numpy as np; from trajkit.anonymize.pseudonyms import persistent; print(persistent(np.array(['a']), 's')[0])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == persistent(np.array(["a"]), "s")[0]


def test_hmac_of_a_known_value() -> None:
    """RFC 4231, test case 2."""
    name = persistent(np.array(["what do ya want for nothing?"]), "Jefe")[0]
    assert name == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"[: len(name)]


@pytest.mark.parametrize("salt", ["", b""])
def test_an_empty_salt_is_refused(salt: str | bytes) -> None:
    with pytest.raises(ParameterError, match="salt is empty"):
        persistent(np.array(["a"]), salt)


def test_nobody_and_one() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert len(fresh(none, 0)) == len(persistent(none.astype(str), "s")) == 0
    assert fresh(np.array([4]), 0).tolist() == ["p0"]
