"""Figures of the adversaries who know more than four places: a street map, what follows what, nights and working hours, the noise of points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajkit import seeds
from trajkit.anonymize.unprotected import Pseudonyms, PseudonymsConfig
from trajkit.attacks.adversaries import (
    HOME,
    MATCHED,
    NEAR,
    NEXT,
    PLACES,
    RIGHT,
    ROUTES,
    STREETS,
    WORK,
    Finding,
    Truth,
    attack,
)
from trajkit.handover.choice import Choice
from trajkit.handover.figure import INFERENCE, LINKABILITY, Figure
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

MOST = 50_000  # trips that are matched to the map; of larger sets a draw of people
GUESSES = 0.05  # what guesses may differ by without a word
SHOWN = {
    PLACES: (LINKABILITY, "probability to name a person by all places of a released trajectory, among everybody's known trips"),
    MATCHED: (LINKABILITY, "the same once a street map tells which streets were driven"),
    NEXT: (LINKABILITY, "trips (or parts) whose next one of the same person is found by where one ends and the other begins"),
    RIGHT: (LINKABILITY, "such links that are right"),
    ROUTES: (INFERENCE, "whole routes rebuilt street by street"),
    HOME: (INFERENCE, "people whose home is found within 200 m, by their nights"),
    WORK: (INFERENCE, "people whose place of work is found within 200 m, by working hours"),
    NEAR: (INFERENCE, "points found within 100 m, smoothed and put on streets"),
}  # fmt: skip
MAPPED = (MATCHED, ROUTES)
OWN = "each side is asked of its own trips: where they were released in parts, of the next part, not of the next trip"
INFERRED = (
    "compared with what the same attack makes of the raw data, as nobody knows the truth: before is 1 by construction"
)


def by_adversaries(
    choice: Choice, train: Trajectories, release: Release, origin: np.ndarray | None, roads: RoadNetwork | None, *, seed: int
) -> Iterator[Figure]:  # fmt: skip
    """`attacks.adversaries` on ``train`` under new names ("before") and on ``release`` of it ("after"); ``origin`` is its private map.

    Of more than `MOST` trips a random draw of people is attacked and told so: among all of them each has more company.
    """
    some, source, drawn = _drawn(train, release, origin, seed)
    truth = Truth(some, roads)
    bare = Pseudonyms(PseudonymsConfig()).fit(some, seed=seed)
    before = attack(truth, "pseudonyms", {}, bare.release(None, seed=seed), bare.origin_, seed=seed)
    after = attack(truth, choice.name, choice.method.config.model_dump(), drawn, source, seed=seed)
    sides = [{f.measure: f for f in found} for found in (before, after)]
    why = {f.adversary: f.reason for f in (*before, *after) if f.reason}
    for measure, (kind, what) in SHOWN.items():
        a, b = (side.get(measure) for side in sides)
        if a is None or a.value is None:
            if measure in MAPPED and STREETS in why:
                yield Figure(kind, what, None, None, None, None, None, f"not tried: {why[STREETS]}")
            continue
        note = why.get(a.adversary, "nothing was found to try it on") if b is None or b.value is None else ""
        inferred = truth.inferred and measure in (ROUTES, MATCHED, HOME, WORK)
        notes = [note or _compared(measure, a, b), INFERRED if inferred else "", _sampled(train, some)]
        guess = b.guess if b is not None and b.guess is not None else a.guess
        yield Figure(
            kind,
            what,
            a.value,
            _span(a),
            None if b is None else b.value,
            _span(b),
            guess,
            "; ".join(filter(None, notes)),
        )


def _compared(measure: str, before: Finding, after: Finding | None) -> str:
    """What to mind where both are there: other questions, another guess (that of "after" has a column)."""
    said = [OWN] if measure in (NEXT, RIGHT) else []
    if after is not None and before.guess is not None and after.guess is not None:
        a, b = before.guess, after.guess
        said += [f"before, a guess finds {a:.3g}"] if abs(a - b) > GUESSES else []
    return "; ".join(said)


def _span(found: Finding | None) -> tuple[float, float] | None:
    return None if found is None or found.low is None or found.high is None else (found.low, found.high)


def _sampled(train: Trajectories, some: Trajectories) -> str:
    return "" if len(some) == len(train) else "among a random draw of people; all of them are more company"


def _drawn(
    train: Trajectories, release: Release, origin: np.ndarray | None, seed: int
) -> tuple[Trajectories, np.ndarray | None, Release]:
    """People with at most `MOST` trips in all, the private map to their trips, and what was released of them."""
    if len(train) <= MOST:
        return train, origin, release
    people = seeds.rng(seed, "attack", "people").permutation(len(train.user_ids))
    trips = np.bincount(train.user, minlength=len(people))[people]
    chosen = people[: max(2, int(np.searchsorted(np.cumsum(trips), MOST, side="right")))]
    kept = np.flatnonzero(np.isin(train.user, chosen))
    if origin is None or (len(origin) and (origin < 0).all()):  # all of it was made
        return train.take(kept), origin, release
    rows = np.flatnonzero(np.isin(origin, kept))
    left = Release(release.trajectories.take(rows), release.guarantee, release.report)
    return train.take(kept), np.searchsorted(kept, origin[rows]), left
