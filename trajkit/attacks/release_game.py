"""The black-box game on whole methods: what do their released trajectories alone say of one trajectory more?

Every release is a fit and a draw of `RELEASED` trajectories from it, on 48 trajectories on two ways or on these and a canary that crosses
cells of a public grid where nobody else is. The attacker knows all but whether the canary is there, and sees the trajectories only; the
claim is that of the release's own guarantee, in its unit. Scores: ``touch``, the share of released trajectories with a point in the
canary's own cells; ``ends``, the share that starts where it starts and ends where it ends; ``cells``, Fisher's discriminant on the
shares that visit each cell and that lead from each cell to each other (`tiny_game.discriminant`). A release that the method itself
refuses as empty is one too, with shares of 0. Where a method has several looks, nearly all of its budget goes to one that sees the canary.

What a stronger adversary sees: the noisy counts behind the trajectories, every one of them, whose log-likelihood ratio is exact (the classical
methods' own tests play that one, look by look). From a release only what thresholds, clipping and normalising leave of them can be read,
so a bound far below the claim says little here, and an AUC near 0.5 that the game saw nothing: private_evolution and road_counts at
epsilon 1, for which the canary is one vote among noise of several. ``TWICE`` is a broken copy: the method is given twice the
epsilon, half the noise or nearly so, and claims what it would have claimed. It is caught where a single look shows (flat, prefix_tree,
adatrace); at 1,000 releases it is missed for privtrace and private_evolution, at 300 for road_counts.

`K_ANONYMITY` is the contrast: it claims no epsilon. With the canary a route has k people and is released, without it k - 1 and is
not, so that one look at one release says which: the bound is limited by the number of releases alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajkit import geo
from trajkit.attacks.audit_bounds import audit
from trajkit.attacks.audit_sets import META, neighbours
from trajkit.attacks.tiny_game import discriminant
from trajkit.attacks.verdict import SOUND, Verdict, judged
from trajkit.attacks.watched import check_flaw
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.grid import Grid
from trajkit.methods import make_method, number_for
from trajkit.privacy.guarantee import Guarantee
from trajkit.privacy.release_checks import check_whole
from trajkit.release import Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

TWICE = "noise for twice the epsilon"
FLAWS = (TWICE,)
SOME = 20  # releases of a sound method beside a broken one, which say what is claimed
RELEASED = 200  # trajectories of each release; more of them cost no privacy, as the guarantee covers the model
SIDE = 2  # cells along each side of the attacker's grid, which is that of the methods
LOW, HIGH = -0.6, 0.6
MANY = 24  # trajectories on each of the two ways that others take, so that the noise on their number moves no share by much
OTHERS = MANY * (np.array([[LOW, LOW], [LOW, LOW + 0.01]]), np.array([[LOW, LOW], [HIGH, LOW]]))
CANARY = np.array([[HIGH, HIGH], [LOW, HIGH]])
STAYS = np.array([[HIGH, HIGH], [HIGH, HIGH + 0.01]])
K_ANONYMITY, K = "k_anonymity", 3


@dataclass(frozen=True)
class _Subject:
    """Parameters of a method besides its epsilon, the neighbouring sets, and whether chance is in a release, so that there is something to learn."""

    parameters: dict[str, Any]
    others: tuple[np.ndarray, ...] = OTHERS
    added: np.ndarray = field(default_factory=lambda: CANARY)
    random: bool = True


COARSE = {"length": 16, "trips": len(OTHERS), "per_cell": 1e9, "per_coarse_cell": 1e9}
SUBJECTS: dict[str, _Subject] = {
    "flat": _Subject({"cells": 2, "length": 8}),
    "prefix_tree": _Subject({"cells": 2, "height": 2, "length": 8, "threshold": 1.0}),
    "privtrace": _Subject({**COARSE, "split": [0.02, 0.96, 0.02]}, added=STAYS),
    "adatrace": _Subject({**COARSE, "split": [0.01, 0.02, 0.02, 0.92, 0.02, 0.01]}),
    "road_counts": _Subject(
        {
            "map": "lattice",
            "lattice_m": 5000.0,
            "coarse": 2,
            "halvings": 0,
            "fine": 2,
            "rounds": 0,
            "length": 16,
            "split": [0.97, 0.01, 0.01, 0.01],
        }
    ),
    "private_evolution": _Subject(
        {"population": 64, "rounds": 1, "threshold": 0.0, "degree": 0.01, "length": 8, "embedding_points": 2}
    ),
    K_ANONYMITY: _Subject({"k": K, "cells_m": [4000.0]}, (*OTHERS, *[CANARY] * (K - 1)), random=False),
}


def release_game(
    method: str,
    *,
    releases: int = 1000,
    seed: int,
    epsilon: float = 1.0,
    flaw: str = SOUND,
    level: float = 0.95,
) -> Verdict:
    """Audit ``method``, one of `SUBJECTS`, at ``epsilon`` (which k-anonymity has none of) by ``releases`` fits in each world.

    Raises ParameterError for what is unknown, and PrivacyAccountingError where a guarantee does not hold or is not the same in all releases.
    """
    _check(method, flaw, releases)
    started = time.monotonic()
    s = SUBJECTS[method]
    sets = neighbours(s.others, s.added)

    def world(name: str, times: float, number: int) -> tuple[np.ndarray, list[Guarantee]]:
        budget = {} if method == K_ANONYMITY else {"epsilon": times * epsilon}
        own = child_seed(seed, "attack", "release", method, flaw, name)
        return _world(method, {**s.parameters, **budget}, sets[name == "without"], number, own)

    times = 2.0 if flaw == TWICE else 1.0
    (a, promised), (b, more) = (world(name, times, releases) for name in ("with", "without"))
    if flaw == TWICE:  # claimed is what the sound method claims
        (_, promised), more = world("with", 1.0, SOME), []
    claim = _claim(method, promised + more)
    found = audit(_scores(s.random, a, b), delta=claim.delta or 0.0, level=level)
    return judged(
        found,
        subject=f"{method}, {flaw}",
        test=f"releases, per {claim.unit}",
        claimed_epsilon=claim.epsilon if claim.kind == "dp" else None,
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True)
class _Places:
    """The attacker's grid, the canary's ``own`` cells, bool [cells], and the cells (start, end) of it."""

    grid: Grid
    own: np.ndarray
    ends: tuple[int, int]

    @classmethod
    def of(cls, s: _Subject) -> _Places:
        grid = Grid(geo.box_xy(META.box, META.crs), SIDE, SIDE)
        others = [w for w in s.others if not np.array_equal(w, s.added)]  # who goes the same way hides no cell
        whole, rest = neighbours(others, s.added)
        visited = _visits(whole, grid)
        start, end = (int(grid.cell_of(whole.xy[i[-1:]])[0]) for i in (whole.starts, whole.ends))
        return cls(grid, visited[-1] & ~_visits(rest, grid).any(axis=0), (start, end))

    def shares(self, release: Trajectories) -> np.ndarray:
        """float64 [2 + cells + cells^2]: ``touch``, ``ends``, and the shares that ``cells`` learns from; all 0 for no trajectory."""
        k = self.grid.n_cells
        found = np.zeros(2 + k + k * k)
        if len(release):
            visited = _visits(release, self.grid)
            first, last = (self.grid.cell_of(release.xy[i]) for i in (release.starts, release.ends))
            found[0] = visited[:, self.own].any(axis=1).mean()
            found[1] = ((first == self.ends[0]) & (last == self.ends[1])).mean()
            found[2 : 2 + k] = visited.mean(axis=0)
            found[2 + k :] = np.bincount(first * k + last, minlength=k * k) / len(release)
        return found


def _visits(trajs: Trajectories, grid: Grid) -> np.ndarray:
    """bool [n, cells]: which trajectory has a point in which cell."""
    found = np.zeros((len(trajs), grid.n_cells), dtype=bool)
    found[trajs.traj_of_point, grid.cell_of(trajs.xy)] = True
    return found


def _world(
    method: str, parameters: dict[str, Any], trajs: Trajectories, releases: int, seed: int
) -> tuple[np.ndarray, list[Guarantee]]:
    """`_Places.shares` of each release, [releases, …], and what those that were not refused promise."""
    places, nothing = _Places.of(SUBJECTS[method]), trajs.take(np.zeros(0, dtype=np.int64))
    rows, guarantees = [], []
    for i in range(releases):
        found = _released(method, parameters, trajs, child_seed(seed, "attack", "fit", i))
        rows.append(places.shares(nothing if found is None else found.trajectories))
        guarantees += [] if found is None else [found.guarantee]
    return np.stack(rows), guarantees


def _released(method: str, parameters: dict[str, Any], trajs: Trajectories, seed: int) -> Release | None:
    """One release; None where the fitted model has nothing to draw from and says so."""
    made: Any = make_method(method, **parameters)
    made.fit(trajs, seed=seed)
    try:
        return made.release(number_for(made, RELEASED), seed=seed)
    except DataContractError:  # the set was found to be good by the fit
        return None


def _claim(method: str, guarantees: list[Guarantee]) -> Guarantee:
    """What all releases promise alike."""
    claims = {(g.kind, g.epsilon, g.delta, g.unit) for g in guarantees}
    if len(claims) != 1 or not guarantees[0].holds:
        raise PrivacyAccountingError(f"{method}: {len(claims)} different claims, {guarantees[:1]}: no release to audit")
    return guarantees[0]


def _scores(random: bool, a: np.ndarray, b: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Score name -> (with the canary, without). Where no chance is in a release, there is nothing to learn."""
    scores = {name: (a[:, i], b[:, i]) for i, name in enumerate(("touch", "ends"))}
    return {**scores, "cells": discriminant(a[:, 2:], b[:, 2:])} if random else scores


def _check(method: str, flaw: str, releases: int) -> None:
    if method not in SUBJECTS:
        raise ParameterError(f"method = {method!r}: use one of {', '.join(SUBJECTS)}")
    check_flaw(flaw, FLAWS)
    if flaw != SOUND and method == K_ANONYMITY:
        raise ParameterError(f"flaw = {flaw!r}: {method} has no noise that could be too little; use {SOUND!r}")
    check_whole(releases, "releases", 16, "fits in each world, as the discriminant needs them")
