"""How many people of a data set are alone with a few known points, at several resolutions."""

from __future__ import annotations

import pandas as pd

from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.uniqueness import uniqueness
from trajkit.trajectories import Trajectories

# (metres, minutes; None: no time): resolutions at which people are looked for in the raw data
RESOLUTIONS = ((500.0, 30), (1000.0, 60), (2000.0, 60), (4000.0, 240), (1000.0, None), (4000.0, None))
ANTENNAS = (1000.0, 60)  # nearest to the hourly antenna data of de Montjoye et al. (2013)
TARGETS = 2000


def unicity_of(train: Trajectories) -> pd.DataFrame:
    """One row a resolution and number of known points: share of people who are alone with them, 95 % interval. Absolute times."""
    rows = []
    for metres, minutes in RESOLUTIONS:
        if minutes is not None and train.t is None:
            continue
        labels = signatures(train, SquareCells(metres), TimeBins(minutes, "absolute", train.meta.tz))
        for at in uniqueness(labels, train.user, seed=0, targets=TARGETS).by_p:
            low, high = at.unicity_interval or (at.unicity, at.unicity)
            name = f"{metres:g} m, {'no time' if minutes is None else f'{minutes} min'}"
            rows.append(
                {
                    "resolution": name, "p": at.p, "unicity": at.unicity, "low": low, "high": high, "people": at.targets,
                    "with too few points": at.too_few, "metres": metres, "minutes": minutes,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)
