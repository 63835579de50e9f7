"""Are single trips realistic? Detours of every release, and hours, speeds and stops of those that have times, against real test trips."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from trajkit.classical.route_choice import detour_ratios
from trajkit.classical.trip_habits import crows_m, hour_counts, speeds_mps, ways_m
from trajkit.study.cells import label, parsed
from trajkit.study.publish_text import settings
from trajkit.study.results import StudyResults
from trajkit.trajectories import Trajectories

MOST_DETOUR = 10.0
TIMED = "-timed"
STILL_MPS = 1.0


def realism_table(study: StudyResults) -> pd.DataFrame:
    """One row a release of the first private setting, and each timed one: distances to real test trips (first repetition).

    detour: 1-Wasserstein distance of way over crow flight; speed: the same of mean speeds, m/s; stops: the same of shares of a trip's time
    spent standing (`standing_shares`); hours: half the sum of differences of shares of departures by hour. "real (train)" is the floor. Empty where nothing raw may be shown, since its figures are exact.
    """
    if not study.may_show_raw or not len(study.complete):
        return pd.DataFrame()
    test, train = study.first.fold.test, study.first.fold.train
    timed = [c for c in dict.fromkeys(study.runs["cell"]) if str(c).endswith(TIMED)]
    cells = [c for s in settings(study)[:1] for c in s.cells.values()]
    rows = [{"release": "real (train)", **distances(test, train)}]
    for cell in [*cells, *timed]:
        released = study.released(str(cell))
        if released is not None:
            name = parsed(str(cell))
            rows.append(
                {
                    "release": label(name.contestant if name else str(cell))
                    + (", with times" if cell in timed else ""),
                    **distances(test, released),
                }
            )
    return pd.DataFrame(rows)


def distances(real: Trajectories, released: Trajectories) -> dict[str, float | None]:
    """See `realism_table`; None for what needs times that are not there, or moving trips that are not."""
    a, b = detours(real), detours(released)
    found: dict[str, float | None] = {
        "detour": float(wasserstein_distance(a, b)) if len(a) and len(b) else None,
        "speed, m/s": None,
        "stops": None,
        "hours": None,
    }
    if real.t is not None and released.t is not None:
        found["speed, m/s"] = float(wasserstein_distance(speeds_mps(real), speeds_mps(released)))
        found["stops"] = float(wasserstein_distance(standing_shares(real), standing_shares(released)))
        shares = [hour_counts(t) / len(t) for t in (real, released)]
        found["hours"] = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    return found


def detours(trajs: Trajectories) -> np.ndarray:
    """float64: way over crow flight of each trip that moves, capped at `MOST_DETOUR` so that a few round trips do not decide."""
    return np.minimum(detour_ratios(ways_m(trajs), crows_m(trajs)), MOST_DETOUR)


def standing_shares(trajs: Trajectories) -> np.ndarray:
    """float64 [n]: share of each trip's time between fixes that are less than `STILL_MPS` apart; 0 for trips without duration."""
    assert trajs.t is not None
    inside = np.diff(trajs.traj_of_point) == 0
    seconds = np.where(inside, np.diff(trajs.t) / 1000, 0.0)
    still = np.hypot(*np.diff(trajs.xy, axis=0).T) < STILL_MPS * seconds
    whole, stood = (np.bincount(trajs.traj_of_point[1:], w, minlength=len(trajs)) for w in (seconds, seconds * still))
    return np.divide(stood, whole, out=np.zeros(len(trajs)), where=whole > 0)
