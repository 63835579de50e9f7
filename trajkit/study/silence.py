"""Errors that a release has where it says nothing (`trajkit.metrics.silence`), on the scale of the study: 0 is real data, 1 no information."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pandas as pd

from trajkit.metrics import rescale
from trajkit.metrics.silence import od_by_hour, uncovered
from trajkit.study.cells import is_tiny
from trajkit.study.results import StudyResults
from trajkit.trajectories import Trajectories

HOURS, PLACES = "trips by hour", "places never visited"
ERRORS: dict[str, Callable[[Trajectories, Trajectories], float]] = {HOURS: od_by_hour, PLACES: uncovered}
CEILING = "uniform"


@lru_cache(maxsize=2)
def silence_table(study: StudyResults) -> pd.DataFrame:
    """One row a cell: the two errors of its first repetition and "trips by hour" rescaled; empty where nothing raw may be shown. Computed once
    for a study, since several tables of a report read it: leave it as it is.

    The floor of "trips by hour" is the training set itself, its ceiling *uniform*. No row where the data set has no times, for that column.
    """
    if not study.may_show_raw or not len(study.complete):
        return pd.DataFrame(columns=["cell", *ERRORS, f"{HOURS}, rescaled"])
    fold = study.first.fold
    found = {str(c): study.released(str(c)) for c in dict.fromkeys(study.runs["cell"]) if not is_tiny(c)}
    timed = fold.test.t is not None
    errors = {
        cell: {what: error(fold.test, out) for what, error in ERRORS.items() if timed or what != HOURS}
        for cell, out in found.items()
        if out is not None
    }
    table = pd.DataFrame(errors).T.rename_axis("cell").reset_index()
    if timed and CEILING in errors:
        floor, ceiling = od_by_hour(fold.test, fold.train), errors[CEILING][HOURS]
        if floor < ceiling:
            table[f"{HOURS}, rescaled"] = [rescale(v, floor, ceiling) for v in table[HOURS]]
    return table.reindex(columns=["cell", *ERRORS, f"{HOURS}, rescaled"])
