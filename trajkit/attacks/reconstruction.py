"""Reconstruction of perturbed trajectories: points that were each moved at random are brought back by what joins them.

The adversary knows the noise and that people move: he smooths the printed points (`smoothing`), and where a public road map covers them he
puts them on the streets of the most likely way. The noise of a point is averaged over its neighbours in time, so that a promise for single points
(`privacy.planar_laplace`) is worth less in a trajectory. Errors are to the true points, before and after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from trajkit import seeds
from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.intervals import mean_interval, share_interval
from trajkit.attacks.nearest_neighbour import effective
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.smoothing import smoothed
from trajkit.attacks.uniqueness import flat
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.parameters import checked
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

NAME = "reconstruction"
RESAMPLES = 1000
FEWEST = 5  # people: drawing fewer again says next to nothing of others, and one person's mean would be certain


class ReconstructionSettings(MethodConfig):
    """What the adversary knows of noise and movement.

    noise_m       standard deviation of the noise along one axis, public (`PlanarLaplace.variance_m2` ** 0.5)
    speed_mps     what people drive along one axis, standard deviation
    acceleration  of the smoother, m^2 / s^3: how fast speeds change
    interval_s    seconds between neighbouring points where the release has no times; None: then nothing can be smoothed
    roads_within_m  with a road map: how far from a smoothed point roads are looked for, and its error there; None: the noise over 3, at least 10 m
    radius_m      a point is found where it is reconstructed within it
    """

    noise_m: float = Field(gt=0, allow_inf_nan=False)
    speed_mps: float = Field(10.0, gt=0, allow_inf_nan=False)
    acceleration: float = Field(1.0, gt=0, allow_inf_nan=False)
    interval_s: float | None = Field(None, gt=0, allow_inf_nan=False)
    roads_within_m: float | None = Field(None, gt=0, allow_inf_nan=False)
    radius_m: float = Field(100.0, gt=0, allow_inf_nan=False)
    targets: int | None = Field(2000, ge=1)
    level: float = Field(0.95, gt=0, lt=1)


@dataclass(frozen=True)
class ReconstructedBy:
    """Errors of ``way``: "as released", "smoothed", "on roads".

    mean_m   mean over trajectories of the mean distance from the true points; interval by bootstrap over people, 0 to
             infinity where they are fewer than `FEWEST`
    nearer   share of trajectories whose mean distance is less than as released (0 as released), Clopper-Pearson
    found    mean share of a trajectory's points within the radius, interval by Hoeffding's bound
    """

    way: str
    mean_m: float
    mean_m_interval: tuple[float, float]
    nearer: float
    nearer_interval: tuple[float, float]
    found: float
    found_interval: tuple[float, float]


@dataclass(frozen=True)
class Reconstruction:
    """Of ``targets`` released trajectories; ``suppressed``: raw ones not released. ``guess_m``: error of naming the middle of all released points."""

    by_way: tuple[ReconstructedBy, ...]
    targets: int
    suppressed: int
    guess_m: float
    guess_found: float
    radius_m: float
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each way."""
        about = {"targets": self.targets, "suppressed": self.suppressed, "guess_m": self.guess_m}
        about |= {"guess_found": self.guess_found, "radius_m": self.radius_m}
        return pd.DataFrame([{**flat(asdict(a)), **about} for a in self.by_way])


def reconstruction(
    raw: Trajectories, released: Trajectories, origin: Origin | None, *, seed: int, network: RoadNetwork | None = None, **settings: Any
) -> Reconstruction | NotPossible:  # fmt: skip
    """Reconstruct ``released``, whose trajectories have the points of their raw ones, perturbed. Settings: `ReconstructionSettings`.

    `NotPossible` without origin, where points are not those of the raw trajectories one by one (generalized, resampled or cut: then see
    `map_matching`), and without times or ``interval_s``. Raises ParameterError for settings, origins and networks that do not fit.
    """
    chosen = checked(ReconstructionSettings, settings, where=NAME)
    if origin is None:
        return NotPossible(NAME, "released trajectories were generated: there are no true points to come back to")
    if not len(released):
        return NotPossible(NAME, "nothing was released")
    released, origin = origin.check(len(released), len(raw)).of_people(released)
    if not len(released):
        return NotPossible(NAME, "all released trajectories were generated: there are no true points to come back to")
    pairs = np.arange(len(origin.released))
    if chosen.targets is not None and chosen.targets < len(pairs):
        pairs = np.sort(seeds.rng(seed, "attack", NAME, "targets").choice(len(pairs), chosen.targets, replace=False))
    out, true = released.take(origin.released[pairs]), raw.take(origin.source[pairs])
    if not np.array_equal(out.lengths, true.lengths):
        return NotPossible(
            NAME, "released points are not the true ones moved, one for one: they were merged, cut or resampled"
        )
    if out.t is None and chosen.interval_s is None:
        return NotPossible(
            NAME, "the release has no times: give interval_s, the time between neighbouring points, to smooth it"
        )
    person = true.user
    ways = {"as released": out.xy, "smoothed": smooth(out, chosen)}
    if network is not None:
        ways["on roads"] = _on_roads(ways["smoothed"], out, network, chosen)
    error = {name: np.hypot(*(xy - true.xy).T) for name, xy in ways.items()}
    mean = {name: _by_trip(e, out) for name, e in error.items()}
    far = np.hypot(*(true.xy - released.xy.mean(axis=0)).T)
    return Reconstruction(
        tuple(_by(name, error[name], mean, out, person, chosen, seed) for name in ways),
        len(pairs),
        len(raw) - len(np.unique(origin.source)),
        float(_by_trip(far, out).mean()),
        float(_by_trip(far <= chosen.radius_m, out).mean()),
        chosen.radius_m,
        chosen.level,
    )


def smooth(released: Trajectories, chosen: ReconstructionSettings) -> np.ndarray:
    """float64 [N, 2], metres: the places that the adversary believes in, from points and times (or equal steps) alone."""
    if released.t is None:
        assert chosen.interval_s is not None
        seconds = np.arange(released.n_points) * chosen.interval_s
    else:
        seconds = (released.t - np.repeat(released.t[released.starts], released.lengths)) / 1000
    return smoothed(
        released.xy, seconds, released.offsets,
        variance_m2=chosen.noise_m**2, acceleration=chosen.acceleration, speed_mps=chosen.speed_mps,
    )  # fmt: skip


def _on_roads(
    xy: np.ndarray, released: Trajectories, network: RoadNetwork, chosen: ReconstructionSettings
) -> np.ndarray:
    if network.crs != released.meta.crs:
        raise ParameterError(
            f"the release is in {released.meta.crs}, the roads in {network.crs}: read the roads in its CRS"
        )
    off = chosen.roads_within_m or max(chosen.noise_m / 3, 10.0)
    settings = MatchSettings(sigma_m=off, radius_m=3 * off, beta_m=off, candidates=16)
    return Matcher(network, settings).match(xy, released.offsets).xy


def _by_trip(values: np.ndarray, trajs: Trajectories) -> np.ndarray:
    return np.bincount(trajs.traj_of_point, values, minlength=len(trajs)) / trajs.lengths


def _by(
    name: str, error: np.ndarray, mean: dict[str, np.ndarray], out: Trajectories, person: np.ndarray,
    chosen: ReconstructionSettings, seed: int,
) -> ReconstructedBy:  # fmt: skip
    people, each = effective(person), mean[name]
    nearer = each < mean["as released"]
    found = float(_by_trip(error <= chosen.radius_m, out).mean())
    return ReconstructedBy(
        name,
        float(each.mean()),
        _bootstrap(each, person, chosen.level, seed),
        float(nearer.mean()),
        share_interval(nearer, people, chosen.level),
        found,
        mean_interval(found, people, chosen.level),
    )


def _bootstrap(values: np.ndarray, person: np.ndarray, level: float, seed: int) -> tuple[float, float]:
    """Percentile interval of the mean, people drawn again with all their trajectories (Efron and Tibshirani 1993, ch. 13)."""
    if len(np.unique(person)) < FEWEST:
        return 0.0, np.inf
    _, label = np.unique(person, return_inverse=True)
    total, count = np.bincount(label, values), np.bincount(label)
    random, n = seeds.rng(seed, "attack", NAME, "bootstrap"), len(total)
    means = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn = np.bincount(random.integers(0, n, n), minlength=n)
        means[i] = (drawn @ total) / (drawn @ count)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
