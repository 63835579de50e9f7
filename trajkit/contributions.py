"""How much of the data one user may be: at most so many trajectories of each, by a rule that looks at nobody else.

A promise to users needs a bound m on what a user adds. The bound must be public: chosen without a look at the data, not read off the
largest user. Which trajectories stay is a function of the user's own trajectories and a seed, so that a user who is added or removed
moves at most m kept trajectories, all of them his (the rule is 1-stable per user). What is dropped is the price: see `kept_by_cap`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from trajkit.errors import ParameterError
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

ONE_PERSON = "one user id is one person: who has several ids is protected less"


def capped_words(most: int) -> str:
    """The assumption under which a bound of ``most`` trajectories makes the user the unit of privacy."""
    return f"at most {most} trajectories of a user are looked at, chosen without a look at the others, and {most} is a public number"


def at_most(trajs: Trajectories, most: int, seed: int) -> Trajectories:
    """At most ``most`` trajectories of each user, those with the smallest digests of seed and content: who else is there, and what
    anything is called, decides nothing. The order stays.

    Content is the first and the last fix, the time of the first and the number of fixes; of a user's trajectories that agree in all
    of it the earlier ones stay. Raises ParameterError unless ``most`` is a whole number of at least 1.
    """
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ParameterError(f"trips_per_user = {most!r}: must be a whole number of at least 1, a public bound")
    if not len(trajs):
        return trajs
    first, last = trajs.lonlat[trajs.starts], trajs.lonlat[trajs.ends]
    begun = np.zeros(len(trajs)) if trajs.t is None else trajs.t[trajs.starts].astype(np.float64)
    content = np.column_stack([first, last, begun, trajs.lengths.astype(np.float64)])
    salt = child_seed(seed, "sampler", "trips_per_user").to_bytes(8, "little")
    keys = np.array([hashlib.sha256(salt + row.tobytes()).digest()[:8] for row in np.ascontiguousarray(content)])
    by_user = np.lexsort((keys, trajs.user))
    users = trajs.user[by_user]
    rank = np.arange(len(users)) - np.searchsorted(users, users)
    return trajs.take(np.sort(by_user[rank < most]))


@dataclass(frozen=True)
class Kept:
    """What a cap leaves: ``users``, ``trajectories`` after it, of ``before``; ``capped_users`` had more than ``most``. Not private."""

    most: int
    users: int
    trajectories: int
    before: int
    capped_users: int

    @property
    def share(self) -> float:
        """Share of the trajectories that stays."""
        return self.trajectories / self.before


def kept_by_cap(trajs: Trajectories, most: int) -> Kept:
    """What a cap of ``most`` would leave of a set that is not empty, without drawing: the counts do not hang on the seed."""
    each = np.bincount(np.unique(trajs.user, return_inverse=True)[1])
    return Kept(most, len(each), int(np.minimum(each, most).sum()), len(trajs), int((each > most).sum()))
