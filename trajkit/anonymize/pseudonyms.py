"""Pseudonyms: drawn afresh for every release, or, to show what that leaks, the same in each.

A name in place of a person is no anonymity: it links all that bears it. `fresh` keeps the links within one release, `persistent` also
across releases, so that the second release adds to what an attacker knows from the first.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

from trajkit import seeds
from trajkit.errors import ParameterError

HEX = 16  # 64 bits of a name


def fresh(user: np.ndarray, seed: int) -> np.ndarray:
    """str [n]: ``p<number>`` for each user index [n], the numbers a random permutation drawn from ``seed`` and nothing else.

    Use another, secret seed for every release: the same seed gives the same names.
    """
    labels, index = np.unique(np.asarray(user), return_inverse=True)
    numbers = seeds.rng(seed, "sampling", "pseudonyms").permutation(len(labels))
    return np.array([f"p{i}" for i in numbers], dtype=str)[index.ravel()] if len(labels) else np.zeros(0, dtype=str)


def persistent(user_ids: np.ndarray, salt: str | bytes) -> np.ndarray:
    """str [n]: first 16 hexadecimal digits of HMAC-SHA256 of each id [n] under ``salt``; the same in every release with that salt.

    Who knows the salt finds the ids by trying them out. Raises ParameterError for an empty salt, or where two ids share a name.
    """
    key = salt.encode() if isinstance(salt, str) else salt
    if not key:
        raise ParameterError("salt is empty: anybody could compute the names; give a secret one")
    ids, index = np.unique(np.asarray(user_ids).astype(str), return_inverse=True)
    names = np.array([hmac.new(key, i.encode(), hashlib.sha256).hexdigest()[:HEX] for i in ids], dtype=str)
    if len(np.unique(names)) != len(ids):
        raise ParameterError("two ids were given one name: choose another salt")
    return names[index.ravel()] if len(ids) else np.zeros(0, dtype=str)
