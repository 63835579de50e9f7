"""Every adversary of a hand-over on one release: what he finds, what a guess finds, or why he cannot be tried.

streets   map matching of the released places, and who is left once only driven streets count (`map_matching`)
parts     which released trip or part of a trip goes on as which other one of the same person (`segment_linking`)
homes     home and work within 200 m, from what stands together by name or was linked (`home_work`)
points    true points from perturbed ones (`reconstruction`)

He knows what is public: the method, its parameters, the printed setting, the street map. How well he does is counted by the private map
from released to raw trajectories. Places of generated trajectories are nobody's, so none of the four has anything to find there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trajkit.attacks.anchors import Anchors, from_table
from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.home_work import HomeWork, home_work, infer
from trajkit.attacks.map_matching import MapMatching, map_matching, named_by_places, rebuilt
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.public_model import PublicModel, link_model, noise_model, public_model
from trajkit.attacks.reconstruction import Reconstruction, reconstruction
from trajkit.attacks.segment_linking import (
    Links,
    SegmentLinking,
    TooManyPairsError,
    groups_of,
    link_parts,
    segment_linking,
)
from trajkit.attacks.street_sequences import Streets
from trajkit.datasets.city import simulate
from trajkit.datasets.city_routes import city_settings, known_to_city, true_streets
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

STREETS, PARTS, HOMES, POINTS = "streets", "parts", "homes", "points"
ADVERSARIES = (STREETS, PARTS, HOMES, POINTS)
ROUTES, F1, PLACES, MATCHED = "whole routes rebuilt", "streets rebuilt (F1)", "named by places", "named by streets"
FIT_PLACES, FIT_STREETS = "people who fit the places (median)", "people who fit the streets (median)"
NEXT, RIGHT, BY_NAME = "next trips found", "links that are right", "linked by their printed name"
HOME, WORK = "homes found", "works found"
OFF, BACK, NEAR = "mean error as released, m", "mean error once reconstructed, m", "points found within 100 m"
TARGETS = 500


@dataclass(frozen=True)
class Finding:
    """``measure`` of an ``adversary`` of `ADVERSARIES`: ``value`` with its 95 % interval and what a ``guess`` achieves; or, without a value, the
    ``reason`` why he was not tried. In errors (metres) less is a success, in all else more is."""

    adversary: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    guess: float | None = None
    reason: str = ""

    def as_row(self) -> dict[str, Any]:
        """The fields by their names."""
        return asdict(self)


class Truth:
    """What the auditor compares with, for the ``raw`` trajectories of whom releases were made; computed when first asked for.

    Of the simulated city streets, homes and works are known. Elsewhere they are what the same attack makes of the raw data (``inferred``), so
    that figures say how much of that is left.
    """

    def __init__(self, raw: Trajectories, network: RoadNetwork | None) -> None:
        self.raw, self.network = raw, network
        self.inferred = not known_to_city(raw)

    @cached_property
    def matcher(self) -> Matcher:
        """The matcher of `MatchSettings` as they stand."""
        assert self.network is not None
        return Matcher(self.network, MatchSettings())

    @cached_property
    def streets(self) -> Streets:
        """What each raw trip drove."""
        assert self.network is not None
        if self.inferred:
            return rebuilt(self.raw, self.network, matcher=self.matcher)
        return Streets(*true_streets(self.raw))

    @cached_property
    def anchors(self) -> Anchors:
        """Where everybody lives and works."""
        if self.inferred:
            return infer(self.raw)
        settings = city_settings(self.raw)
        city = simulate(people=settings["people"], days=settings["days"], seed=settings["seed"])
        return from_table(city.truth["people"], self.raw.meta.crs)


def attack(
    truth: Truth, method: str, parameters: Mapping[str, Any], release: Release, source: np.ndarray | None, *, seed: int,
    targets: int = TARGETS,
) -> list[Finding]:  # fmt: skip
    """All four on ``release`` of ``method`` with its full ``parameters``; ``source`` int64 [r] is the private map (-1: made, nobody's).

    ``targets``: how many trajectories are drawn for map matching and reconstruction.
    """
    out, origin = (release.trajectories, None) if source is None else Origin.behind(release.trajectories, source)
    left = Release(out, release.guarantee, release.report)
    model = public_model(method, parameters, left)
    found = _streets(truth, model, left, origin, seed=seed, targets=targets)
    linking = link_model(model, parameters, left)
    timed = origin is not None and out.t is not None and len(out) > 0
    try:
        links = link_parts(out, seed=seed, **linking) if timed else None
        found += _parts(truth, out, origin, links, linking, seed=seed)
    except TooManyPairsError as error:
        links, found = None, [*found, *_none(PARTS, str(error))]
    # where days are not released, no two trips follow each other
    evidence = "clock" if parameters.get("of") == "clock" else "stays"
    found += _homes(truth, out, origin, links, evidence)
    found += _points(truth, noise_model(method, parameters), out, origin, seed=seed, targets=targets)
    return found


def _none(adversary: str, reason: str) -> list[Finding]:
    return [Finding(adversary, "", None, reason=reason)]


def _rate(adversary: str, measure: str, found: Any, name: str, guess: float | None) -> Finding:
    value, (low, high) = getattr(found, name), getattr(found, f"{name}_interval") or (None, None)
    return Finding(adversary, measure, value, low, high, guess)


def _streets(
    truth: Truth, model: PublicModel, release: Release, origin: Origin | None, *, seed: int, targets: int
) -> list[Finding]:
    if origin is None:
        return _none(STREETS, "released trajectories were generated: none has a trip behind it to recover")
    if not len(release.trajectories):
        return _none(STREETS, "nothing was released")
    if len(truth.raw) < 2:
        return _none(STREETS, "the data is one trip: there is no other to guess")
    if truth.network is None:
        value, (low, high), fit = named_by_places(
            truth.raw, release.trajectories, origin, seed=seed, half_m=model.half_m, targets=targets, **model.settings
        )
        guess = 1 / len(np.unique(truth.raw.user[origin.source]))
        return [
            Finding(STREETS, PLACES, value, low, high, guess),
            Finding(STREETS, FIT_PLACES, None if fit is None else fit[len(fit) // 2]),
            *_none(STREETS, "no street map is known of this data set"),
        ]
    own = any(name in model.settings for name in MatchSettings.model_fields)
    found: MapMatching | NotPossible = map_matching(
        truth.raw, truth.streets, release.trajectories, origin, truth.network, seed=seed, half_m=model.half_m,
        k=release.guarantee.k if release.guarantee.holds else None, matcher=None if own else truth.matcher, targets=targets, **model.settings,
    )  # fmt: skip
    if isinstance(found, NotPossible):
        return _none(STREETS, found.reason)
    sizes = zip((FIT_PLACES, FIT_STREETS), (found.persons_before, found.persons_after), strict=True)
    return [
        _rate(STREETS, ROUTES, found, "but_ends", found.guess_but_ends),
        _rate(STREETS, F1, found, "f1", found.guess_f1),
        _rate(STREETS, PLACES, found, "named_before", found.guess),
        _rate(STREETS, MATCHED, found, "named_after", found.guess),
        *(Finding(STREETS, name, None if q is None else q[len(q) // 2]) for name, q in sizes),
    ]


def _parts(
    truth: Truth, out: Trajectories, origin: Origin | None, links: Links | None, model: dict[str, Any], *, seed: int
) -> Iterator[Finding]:
    if origin is not None and len(out) and out.t is None:
        yield from _none(PARTS, "the release has no times, so it is not known what follows what")
        return
    found: SegmentLinking | NotPossible = segment_linking(truth.raw, out, origin, seed=seed, links=links, **model)
    if isinstance(found, NotPossible):
        yield from _none(PARTS, found.reason)
        return
    yield Finding(PARTS, BY_NAME, found.by_name)
    yield _rate(PARTS, NEXT, found, "recall", found.guess_recall)
    if found.precision is not None:
        yield _rate(PARTS, RIGHT, found, "precision", found.guess_precision)


def _homes(
    truth: Truth, out: Trajectories, origin: Origin | None, links: Links | None, evidence: str
) -> Iterator[Finding]:
    """By printed names where some last, else by the groups that linking makes."""
    if truth.raw.t is None:
        yield from _none(HOMES, "the data has no times, so nights and working hours are not known")
        return
    group = None
    if links is not None and len(np.unique(out.user)) == len(out):
        group = groups_of(links, len(out))
    found: HomeWork | NotPossible = home_work(truth.raw, truth.anchors, out, origin, group=group, evidence=evidence)
    if isinstance(found, NotPossible):
        yield from _none(HOMES, found.reason)
        return
    for at in found.by_place:
        yield _rate(HOMES, HOME if at.place == "home" else WORK, at, "success", at.guess)


def _points(
    truth: Truth, noise_m: float, out: Trajectories, origin: Origin | None, *, seed: int, targets: int
) -> Iterator[Finding]:
    found: Reconstruction | NotPossible = reconstruction(
        truth.raw, out, origin, seed=seed, network=truth.network, noise_m=noise_m, targets=targets
    )
    if isinstance(found, NotPossible):
        yield from _none(POINTS, found.reason)
        return
    ways = found.by_way
    best = min(ways, key=lambda way: way.mean_m)
    yield _rate(POINTS, OFF, ways[0], "mean_m", found.guess_m)
    yield _rate(POINTS, BACK, best, "mean_m", found.guess_m)
    yield _rate(POINTS, NEAR, best, "found", found.guess_found)
