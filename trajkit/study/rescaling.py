"""Errors on the scale of their own study: 0 is real data against real data, 1 is no information, fold by fold."""

from __future__ import annotations

import pandas as pd

from trajkit.metrics import METRICS, rescale

FLOOR = "real"


def rescaled(table: pd.DataFrame) -> pd.DataFrame:
    """Return ``table`` (columns data, method, vary, fold, metric, value) with floor, ceiling and the value between them.

    Floor and ceiling are those of the same fold of the same data. Undefined where a fold has no floor or ceiling, or where real data scores no better than no information.
    """
    key = ["data", "fold", "metric"]
    reference = table[table["vary"] == "fold"]
    floor = reference[reference["method"] == FLOOR].groupby(key)["value"].first()
    is_ceiling = reference["method"] == reference["metric"].map(lambda m: METRICS[m].ceiling)
    ceiling = reference[is_ceiling].groupby(key)["value"].first()
    at = pd.MultiIndex.from_frame(table[key])
    table = table.assign(floor=floor.reindex(at).to_numpy(), ceiling=ceiling.reindex(at).to_numpy())
    # a metric on which real data scores no better than no information has no scale between the two
    known = table["floor"] < table["ceiling"]
    table["rescaled"] = [
        rescale(v, f, c) if ok else None
        for v, f, c, ok in zip(table["value"], table["floor"], table["ceiling"], known, strict=True)
    ]
    return table.astype({"rescaled": "float64"})
