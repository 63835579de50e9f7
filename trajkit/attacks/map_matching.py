"""The adversary with a road map: which streets were driven, from what was released, and who is left once only real streets count.

Released places (points, centres of cells or regions, centre lines) are matched to a public road network (`hmm_matching`). Two figures say
what that brings: how much of the true street sequence is recovered, and how many people fit the released trajectory before and after
(`street_sets`). k-anonymity of cells counts the people in the cells: it says nothing about how many of them drove the same streets.
Places alone are used: people who were there at other times count too. Who fits the rebuilt streets is counted by everybody's true streets,
as by an adversary who knows how people drive; with only a few points of each he learns less.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from trajkit import seeds
from trajkit.anonymize.tessellation import SquareCells
from trajkit.attacks.hmm_matching import Matched, Matcher, MatchSettings
from trajkit.attacks.intervals import mean_interval, set_quantiles, share_interval
from trajkit.attacks.nearest_neighbour import effective
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.street_sequences import Agreement, Streets, agreement
from trajkit.attacks.street_sets import Regions, street_sets
from trajkit.attacks.uniqueness import flat
from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.ragged import concatenate_offsets, equal_rows, ragged_rows
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

NAME = "map matching"


class MapMatchingSettings(MatchSettings):
    """The model of `MatchSettings`, and:

    cells_m  side of the public squares (`SquareCells`) that were released; None: released places are taken as points
    about_m  points: half the side of the square about each of them in which people fit it; it must cover how far they may be off
    whole    a released trajectory stands for a whole raw one; false: for a part, or with points left out
    agree    of those who fit the places, the adversary keeps whose streets agree with the rebuilt ones at least so well, as a share of the best
    targets  how many released trajectories are attacked (None: all)
    """

    cells_m: float | None = Field(None, gt=0, allow_inf_nan=False)
    about_m: float = Field(100.0, gt=0, allow_inf_nan=False)
    whole: bool = True
    agree: float = Field(0.9, gt=0, le=1)
    targets: int | None = Field(2000, ge=1)
    level: float = Field(0.95, gt=0, lt=1)


@dataclass(frozen=True)
class MapMatching:
    """Streets rebuilt from ``targets`` released trajectories; ``suppressed``: raw trajectories of which nothing was released.

    no_roads   targets without any road about them: they count as failures
    exact      share whose street sequence is the true one edge by edge; ``but_ends``: after at most one edge is taken off at each end of
               either, as noise of a few metres may add or hide the edge in which a trip begins or ends
    precision, recall, f1, jaccard   means over targets, of the edges weighted by length
    guess_exact, guess_but_ends, guess_f1   the same for the streets of another raw trip, drawn at random: what a guess achieves
    fits_before, fits_after   share whose own person fits what was released, and the rebuilt streets as well
    persons_before, persons_after   quantiles 5 … 95 % of how many people do, over targets that somebody fits; None where nobody ever does
    alone_before, alone_after   share for whom that is their own person alone
    named_before, named_after   mean probability of naming that person by a draw among those who fit (0 where he does not)
    guess      1 / persons in the release: naming without knowledge. ``bound``: 1 / k where the release claims k, else None
    intervals are two-sided at ``level``, for the draw of people: trips of one person count as `nearest_neighbour.effective` says
    """

    targets: int
    suppressed: int
    no_roads: int
    exact: float
    exact_interval: tuple[float, float]
    but_ends: float
    but_ends_interval: tuple[float, float]
    precision: float
    recall: float
    f1: float
    f1_interval: tuple[float, float]
    jaccard: float
    jaccard_interval: tuple[float, float]
    guess_exact: float
    guess_but_ends: float
    guess_f1: float
    fits_before: float
    fits_after: float
    persons_before: tuple[float, ...] | None
    persons_after: tuple[float, ...] | None
    alone_before: float
    alone_before_interval: tuple[float, float]
    alone_after: float
    alone_after_interval: tuple[float, float]
    named_before: float
    named_before_interval: tuple[float, float]
    named_after: float
    named_after_interval: tuple[float, float]
    guess: float
    bound: float | None
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row; intervals and quantiles in columns of their own."""
        return pd.DataFrame([flat(asdict(self))])


def map_matching(
    raw: Trajectories, true: Streets, released: Trajectories, origin: Origin | None, network: RoadNetwork, *, seed: int,
    half_m: np.ndarray | None = None, k: int | None = None, matcher: Matcher | None = None, **settings: Any,
) -> MapMatching | NotPossible:  # fmt: skip
    """Attack ``released``; settings: `MapMatchingSettings`.

    true    the streets that each raw trajectory drove (`city_routes.true_streets`), or, where nobody knows them, what the same matcher makes
            of the raw fixes (`rebuilt`): then the figures say how much of that is recovered
    origin  the private map; None (generated trajectories) is `NotPossible`: there is no trip whose streets could be recovered
    half_m  [N] half the side of the square that each released point stands for (regions of different sizes), in place of ``cells_m``
    matcher a `Matcher` of this network, to use its table again; its settings count then
    Raises ParameterError for settings out of range, another CRS, an origin, streets or half sides that do not fit, fewer than two raw trips.
    """
    chosen = checked(MapMatchingSettings, settings, where="map_matching")
    if origin is None:
        return NotPossible(NAME, "released trajectories were generated: none has a trip behind it to recover")
    if not len(released):
        return NotPossible(NAME, "nothing was released")
    origin.check(len(released), len(raw))
    if not len(origin.source):
        return NotPossible(NAME, "all released trajectories were generated: none has a trip behind it to recover")
    true.check(len(raw), len(network), "true")
    if len(raw) < 2:
        raise ParameterError("map_matching: a guess needs another trip: give at least two raw trajectories")
    if k is not None and k < 2:
        raise ParameterError(f"k = {k!r}: what a release claims is at least 2; leave it out where it claims nothing")
    rows, at, source, regions = _targets(released, origin, half_m, chosen, seed)
    found = _matched(released.take(rows), regions, network, chosen, matcher)
    other = (source + 1 + seeds.rng(seed, "attack", NAME, "guess").integers(0, len(raw) - 1, len(source))) % len(raw)
    got = agreement(found.streets, at, true, source, network.length_m)
    guessed = agreement(true, other, true, source, network.length_m)
    sets = street_sets(
        _wide(regions, chosen),
        found.streets,
        at,
        raw,
        true,
        source,
        network.length_m,
        agree=chosen.agree,
        whole=chosen.whole,
    )
    roadless = np.bincount(np.repeat(np.arange(len(rows)), np.diff(regions.offsets)), found.found) == 0
    persons = len(np.unique(raw.user[origin.source]))
    return MapMatching(
        targets=len(source),
        suppressed=len(raw) - len(np.unique(origin.source)),
        no_roads=int(roadless[at].sum()),
        **_streets_found(got, guessed, effective(raw.user[source]), chosen.level),
        **_people_left(sets, effective(raw.user[source]), chosen.level),
        guess=1 / persons,
        bound=None if k is None else 1 / k,
        level=chosen.level,
    )


def named_by_places(
    raw: Trajectories, released: Trajectories, origin: Origin, *, seed: int, half_m: np.ndarray | None = None, **settings: Any
) -> tuple[float, tuple[float, float], tuple[float, ...] | None]:  # fmt: skip
    """What needs no street map: ``named_before``, its interval and ``persons_before`` of `MapMatching`; settings: `MapMatchingSettings`.

    Raises ParameterError for settings out of range, an origin or half sides that do not fit.
    """
    chosen = checked(MapMatchingSettings, settings, where="named_by_places")
    origin.check(len(released), len(raw))
    rows, at, source, regions = _targets(released, origin, half_m, chosen, seed)
    none = [Streets(np.zeros(0, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)) for n in (len(rows), len(raw))]
    sets = street_sets(
        _wide(regions, chosen), none[0], at, raw, none[1], source, np.zeros(1), agree=chosen.agree, whole=chosen.whole
    )
    left = _people_left(sets, effective(raw.user[source]), chosen.level)
    return left["named_before"], left["named_before_interval"], left["persons_before"]


def rebuilt(trajs: Trajectories, network: RoadNetwork, *, matcher: Matcher | None = None, **settings: Any) -> Streets:
    """The streets of ``trajs`` by the matcher; settings: `MapMatchingSettings`. Raises ParameterError for settings and another CRS."""
    chosen = checked(MapMatchingSettings, settings, where="rebuilt")
    return _matched(trajs, _regions(trajs, None, chosen), network, chosen, matcher).streets


def _targets(
    released: Trajectories, origin: Origin, half_m: np.ndarray | None, chosen: MapMatchingSettings, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Regions]:
    """Of the pairs that are drawn: the released rows, each once; which of them each pair is about; its source; the regions of the rows."""
    pairs = _drawn(len(origin.released), chosen, seed)
    rows, at = np.unique(origin.released[pairs], return_inverse=True)
    regions = _regions(released.take(rows), None if half_m is None else _sides(half_m, released, rows), chosen)
    return rows, at, origin.source[pairs], regions


def _wide(regions: Regions, chosen: MapMatchingSettings) -> Regions:
    """The same, points as the squares about them in which people fit."""
    return Regions(regions.xy, np.where(regions.half > 0, regions.half, chosen.about_m), regions.offsets)


def _drawn(n: int, chosen: MapMatchingSettings, seed: int) -> np.ndarray:
    if chosen.targets is None or chosen.targets >= n:
        return np.arange(n)
    return np.sort(seeds.rng(seed, "attack", NAME, "targets").choice(n, size=chosen.targets, replace=False))


def _sides(half_m: np.ndarray, released: Trajectories, rows: np.ndarray) -> np.ndarray:
    half = np.asarray(half_m, dtype=np.float64)
    if half.shape != (released.n_points,) or not (np.isfinite(half) & (half > 0)).all():
        raise ParameterError("half_m must be one positive number of metres for each released point")
    return half[ragged_rows(released.offsets, rows)[0]]


def _regions(released: Trajectories, half: np.ndarray | None, chosen: MapMatchingSettings) -> Regions:
    """The squares that the adversary takes the released places for; where the cells are public, wherever in the cell a place was printed."""
    if half is not None:
        return Regions(np.ascontiguousarray(released.xy), half, released.offsets)
    if chosen.cells_m is None:
        return Regions(np.ascontiguousarray(released.xy), np.zeros(released.n_points), released.offsets)
    cells = SquareCells(chosen.cells_m)
    label = cells.cell_of(released.xy)
    first = np.append(True, (np.diff(label) != 0) | (np.diff(released.traj_of_point) != 0))[: len(label)]
    offsets = concatenate_offsets(np.bincount(released.traj_of_point[first], minlength=len(released)))
    xy = cells.centres(label[first])
    return Regions(xy, np.full(len(xy), chosen.cells_m / 2), offsets)


def _matched(
    released: Trajectories, regions: Regions, network: RoadNetwork, chosen: MapMatchingSettings, matcher: Matcher | None
) -> Matched:
    """Match each distinct row of places once."""
    if released.meta.crs != network.crs:
        raise ParameterError(
            f"the release is in {released.meta.crs}, the roads in {network.crs}: read the roads in its CRS"
        )
    if matcher is not None and matcher.network is not network:
        raise ParameterError("the matcher was made for another network: make one for this network")
    of, n = equal_rows(np.column_stack([regions.xy, regions.half]), regions.offsets)
    if matcher is None:
        matcher = Matcher(
            network, MatchSettings(**{name: getattr(chosen, name) for name in MatchSettings.model_fields})
        )
    first = np.empty(n, dtype=np.int64)
    first[of[::-1]] = np.arange(len(of))[::-1]
    rows, offsets = ragged_rows(regions.offsets, first)
    one = matcher.match(regions.xy[rows], offsets, regions.half[rows])
    again = ragged_rows(offsets, of)[0]
    return Matched(one.streets.take(of), one.xy[again], one.found[again], one.breaks[of])


def _streets_found(got: Agreement, guessed: Agreement, people: int, level: float) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, values in (("exact", got.same), ("but_ends", got.but_ends)):
        out |= {name: float(values.mean()), f"{name}_interval": share_interval(values, people, level)}
    for name in ("f1", "jaccard"):
        mean = float(getattr(got, name).mean())
        out |= {name: mean, f"{name}_interval": mean_interval(mean, people, level)}
    out |= {"precision": float(got.precision.mean()), "recall": float(got.recall.mean())}
    for name, values in (("exact", guessed.same), ("but_ends", guessed.but_ends), ("f1", guessed.f1)):
        out[f"guess_{name}"] = float(values.mean())
    return out


def _people_left(sets: Any, people: int, level: float) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for when, persons, there in (("before", sets.before, sets.in_before), ("after", sets.after, sets.in_after)):
        sizes = np.bincount(persons)
        alone, named = there & (persons == 1), float((there / np.maximum(persons, 1)).mean())
        out |= {
            f"fits_{when}": float(there.mean()),
            f"persons_{when}": set_quantiles(sizes) if sizes[1:].any() else None,
            f"alone_{when}": float(alone.mean()),
            f"alone_{when}_interval": share_interval(alone, people, level),
            f"named_{when}": named,
            f"named_{when}_interval": mean_interval(named, people, level),
        }
    return out
