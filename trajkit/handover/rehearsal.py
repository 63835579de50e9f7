"""What adversaries make of a method, measured before it is used in earnest: a rehearsal on four fifths of the people, the rest held out.

Nothing of a rehearsal leaves, so it costs no budget. The same attacks are run on the records as they are ("before") and on what the method
makes of them ("after"), with the same targets and the same known points. Each figure is what one attack achieves: no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajkit import datasets, metrics
from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.suppression import shares
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.nearest_neighbour import nearest_advantage, nearest_linkage
from trajkit.attacks.origin import Origin
from trajkit.attacks.uniqueness import uniqueness
from trajkit.handover.choice import Choice
from trajkit.handover.figure import INFERENCE, LINKABILITY, SINGLING_OUT, Figure
from trajkit.handover.knowing_more import by_adversaries
from trajkit.handover.publishable import fresh_seed
from trajkit.handover.release import Source, fitted
from trajkit.methods import make_method, number_for
from trajkit.metrics import METRICS, MetricSettings
from trajkit.preprocess import to_fixed_length
from trajkit.release import HIDDEN, Release
from trajkit.split import Fold, fold
from trajkit.study.risk import FOUND, GUESSED, KNOWN, TARGETS, members_found
from trajkit.study.unicity import ANTENNAS
from trajkit.trajectories import Trajectories

ATTACK_SEED = 0
LENGTH = 64
UTILITY = ("SWD", "JSD", "TE", "TTD", "DTW")
EMPTY = "nothing was released"
OWN_RECORDS = (
    "points are drawn from each side's own records, of a person all that was released of him: what a promise to single trajectories or parts "
    "does not cover"
)
RESOLVES = (
    300  # people held out that a rate of 1 % needs: none of 299 false is still compatible with it (Clopper-Pearson)
)


@dataclass(frozen=True)
class Rehearsed:
    """``figures``; ``suppressed``: shares of trajectories, users and points (None: made trajectories, nobody's); ``utility``: metric ->
    error on the scale where real data scores 0 and no information 1 (None: no scale, or nothing released)."""

    release: Release
    fold: Fold
    figures: tuple[Figure, ...]
    suppressed: dict[str, float] | None
    utility: dict[str, float | None]


def rehearse(choice: Choice, source: Source, *, n: int) -> Rehearsed:
    """Fit and release on a fold by user, and attack. Raises DataContractError for fewer than five users."""
    parts = fold(source.trajs, 0, unit="user")
    fitted(choice.method, source, parts.train, fresh_seed())
    release = choice.method.release(number_for(choice.method, n), seed=fresh_seed())
    origin: np.ndarray | None = getattr(choice.method, "origin_", None)
    out = release.trajectories if len(release.trajectories) else None
    roads = datasets.roads_of(source.dataset, data=source.data)
    found = (
        *_figures(parts, out, origin),
        *by_adversaries(choice, parts.train, release, origin, roads, seed=ATTACK_SEED),
    )
    lost = None if origin is None else _lost(parts.train, release, origin[origin >= 0])
    return Rehearsed(release, parts, found, lost, utility(parts, out) if out is not None else dict.fromkeys(UTILITY))


def _figures(parts: Fold, out: Trajectories | None, origin: np.ndarray | None) -> Iterator[Figure]:
    train, test = parts.train, parts.test
    kept: Trajectories | None = out
    if out is not None and origin is not None:  # made trajectories are marked: only the others are somebody's
        kept, pairs = Origin.behind(out, origin)
        origin = None if pairs is None else pairs.source
    yield from _singled_out(train, kept, origin)
    yield from _linked(train, kept, origin)
    yield from _inferred(train, test, out)


def _singled_out(train: Trajectories, out: Trajectories | None, origin: np.ndarray | None) -> Iterator[Figure]:
    """Share of people whom p points of their own records isolate among all records, in cells of 1 km (and hours where both sides have times)."""
    timed = train.t is not None and (origin is None or out is None or out.t is not None)
    bins = TimeBins(ANTENNAS[1] if timed else None, "clock", train.meta.tz)
    sides: list[tuple[Trajectories, np.ndarray] | None] = [(train, train.user)]
    sides += [None if origin is None or out is None else (out, train.user[origin])]
    found: list[dict[int, Any]] = []
    for side in sides:
        if side is None:
            found.append({})
            continue
        labels = signatures(side[0], SquareCells(ANTENNAS[0]), bins)
        at = uniqueness(labels, side[1], seed=ATTACK_SEED, targets=TARGETS).by_p
        found.append({a.p: a for a in at})
    what = f"share of people whom {{}} isolate ({ANTENNAS[0]:g} m{f', {ANTENNAS[1]} min of the day' if timed else ', no times'})"
    for p in (1, KNOWN):
        a, b = (x.get(p) for x in found)
        own = "no released record has so many points" if b is None else OWN_RECORDS
        note = _note(origin, out, "made trajectories: there is no record of a person to isolate", own)
        yield Figure(
            SINGLING_OUT, what.format("1 point" if p == 1 else f"{p} points"), _of(a, "unicity"), _of(a, "unicity_interval"), _of(b, "unicity"), _of(b, "unicity_interval"), None, note
        )  # fmt: skip


def _of(found: Any, name: str) -> Any:
    return None if found is None else getattr(found, name)


def _note(origin: np.ndarray | None, out: Trajectories | None, made: str, else_: str = "") -> str:
    return EMPTY if out is None else made if origin is None else else_


def _linked(train: Trajectories, out: Trajectories | None, origin: np.ndarray | None) -> Iterator[Figure]:
    """Mean probability of naming a target by the record nearest to `KNOWN` of his true places."""
    settings: dict[str, Any] = {
        "p": (KNOWN,),
        "targets": TARGETS,
        "target": "trajectory",
        "space_only": True,
        "seed": ATTACK_SEED,
    }
    raw, what = replace(train, t=None), f"probability to name a person by the record nearest to {KNOWN} known places"
    own = nearest_linkage(raw, raw, Origin.one_each(np.arange(len(raw))), **settings)
    after = (
        None
        if origin is None or out is None
        else nearest_linkage(raw, replace(out, t=None), Origin.one_each(origin), **settings)
    )
    a, b = (next(iter(x.by_p), None) if x else None for x in (own, after))
    note = _note(origin, out, "made trajectories: none is anyone's")
    yield Figure(
        LINKABILITY, what, _of(a, "success"), _of(a, "success_interval"), _of(b, "success"), _of(b, "success_interval"),
        after.baseline if after else own.baseline, note,
    )  # fmt: skip


def _inferred(train: Trajectories, test: Trajectories, out: Trajectories | None) -> Iterator[Figure]:
    """Whether somebody's data was used: by `KNOWN` places, and by whole trips."""
    members, others = (replace(x, t=None) for x in (train, test))
    settings: dict[str, Any] = {
        "p": (KNOWN,),
        "targets": TARGETS,
        "target": "trajectory",
        "space_only": True,
        "seed": ATTACK_SEED,
    }
    sides = [None if c is None else replace(c, t=None) for c in (train, out)]
    asked = [None if c is None else nearest_advantage(members, others, c, **settings).by_p for c in sides]
    a, b = (next(iter(x), None) if x else None for x in asked)
    yield Figure(
        INFERENCE, f"telling people in the data from others by {KNOWN} known places (AUC)", _of(a, "auc"), _of(a, "auc_interval"),
        _of(b, "auc"), _of(b, "auc_interval"), 0.5, EMPTY if out is None else "" if a else f"no trajectory has {KNOWN} points",
    )  # fmt: skip
    known = [{} if c is None else members_found(members, others, c, seed=ATTACK_SEED) for c in sides]
    few = len(np.unique(others.user)) < RESOLVES
    guessed = next((k[GUESSED] for k in known if GUESSED in k), None)
    for name, words, guess in (
        ("member auc", "telling them apart by whole trips (AUC)", 0.5),
        (FOUND, "people of the data found by whole trips, at 1 % false alarms", guessed),
    ):
        (a0, ai), (b0, bi) = ((k.get(name), (k[f"{name} low"], k[f"{name} high"]) if k else None) for k in known)
        note = f"fewer than {RESOLVES} people are held out, so that 1 % is coarse" if few and name == FOUND else ""
        yield Figure(INFERENCE, words, a0, ai, b0, bi, guess, EMPTY if out is None else note)


def _lost(train: Trajectories, release: Release, origin: np.ndarray) -> dict[str, float]:
    """Suppressed shares: the method's own where it tells them, else by its private map (of trajectories and users)."""
    told = release.report.get(HIDDEN, {}).get("suppressed")
    if told:
        return {name: float(told[name]) for name in ("trajectories", "users", "points") if name in told}
    kept = np.zeros(len(train), dtype=np.int64)
    kept[np.unique(origin)] = 1
    found = shares(train, kept)
    return {name: float(found[name]) for name in ("trajectories", "users")}


def utility(parts: Fold, out: Trajectories) -> dict[str, float | None]:
    """Errors against people held out, on the scale where the training records score 0 and no information scores 1."""
    real, train, made = (_fixed(x) for x in (parts.test, parts.train, out))
    blind = {
        name: make_method(name, length=LENGTH)
        .fit(parts.train, seed=0)
        .release(len(made), seed=ATTACK_SEED)
        .trajectories
        for name in ("uniform", "straight")
    }
    sides = {"floor": train, "made": made, **blind}
    values = {
        side: {r.metric: r.value for r in metrics.evaluate(real, x, settings=MetricSettings(), seed=0, names=UTILITY)}
        for side, x in sides.items()
    }  # fmt: skip
    found: dict[str, float | None] = {}
    for name in UTILITY:
        floor, ceiling = values["floor"][name], values[METRICS[name].ceiling][name]
        found[name] = metrics.rescale(values["made"][name], floor, ceiling) if floor < ceiling else None
    return found


def _fixed(trajs: Trajectories) -> Trajectories:
    return Trajectories.from_fixed(trajs.meta.box.clip(to_fixed_length(trajs, length=LENGTH)), meta=trajs.meta)
