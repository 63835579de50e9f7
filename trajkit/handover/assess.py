"""``make assess``: is this data fit to be published, how exposed are the people in it, what would each method lose, and what to take.

The report is made from true data and covered by no guarantee: it is PRIVATE and stays with the owner. Counts in it are rounded all the
same, as figures of it travel.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure

from trajkit.handover.document import Page, shown
from trajkit.handover.measures import CELL_M, ESCALATED, PARTS, WHOLE, Measured, Measures, measure
from trajkit.handover.recommend import recommendation
from trajkit.handover.release import Source
from trajkit.study.folders import OUTPUTS
from trajkit.study.run import mark_figures_private
from trajkit.study.tables import about, drop_table
from trajkit.viz.colours import ORANGE
from trajkit.viz.figures import finished, subplots
from trajkit.yamlio import write_text

PRIVATE = "PRIVATE: made from the raw data, covered by no guarantee. It stays with the owner of the data"


WORDS = {
    "k": "k, how many should stand together", "tolerance": "share that may be lost", "trajectories": "trajectories", "users": "users",
    "points": "points", "trips_per_user": "trajectories of a user", "own_user_each": "every trajectory has a user of its own",
    "has_times": "has times", "metric_crs": "CRS in metres", "box_inside_crs": "CRS made for this place", "days": "days from first to last point",
    "thin_points": "share of points in cells of fewer than k people", "shared_hours": "share of points at hours that k people share",
    "unicity": "share of people whom four points isolate",
}  # fmt: skip


def folder_of(source: Source) -> Path:
    """Where everything private about this data set is kept."""
    return OUTPUTS / "assess" / f"{source.trajs.meta.dataset}-{hashlib.sha256(source.content.encode()).hexdigest()[:8]}"


def assess(source: Source, *, k: int = 5, tolerance: float = 0.3) -> Path:
    """Write ``report.html`` and ``assessment.json`` and return their folder."""
    folder = folder_of(source)
    folder.mkdir(parents=True, exist_ok=True)
    mark_figures_private(folder)
    found = measure(source.trajs, k=k, tolerance=tolerance)
    advice, reasons, rules = recommendation(found.measures)
    reasons = [_resolutions(found), *reasons]
    names = ("kind", "what", "threshold", "measured", "applies")
    record = {
        "private": PRIVATE,
        "measures": _rounded(found.measures),
        "uniqueness": _uniqueness(found),
        "predicted suppression": found.predicted.round(3).to_dict("records"),
        "people per cell": density_classes(found),
        "prepared": drop_table(source.trajs.meta.steps, exact=False).to_dict("records"),
        "rules": [dict(zip(names, (*row[:3], _told(row[1], row[3]), row[4]), strict=True)) for row in rules],
        "recommendation": advice,
        "reasons": reasons,
    }
    write_text(folder / "assessment.json", json.dumps(record, indent=1))
    write_text(folder / "report.html", _page(source, found, record).html())
    return folder


def _resolutions(found: Measured) -> str:
    """How coarse the anonymizers would have to be: what a share lost does not say."""
    rows = found.predicted[found.predicted["method"].isin((WHOLE, PARTS, ESCALATED))].to_dict("records")
    said = "; ".join(f"{r['method']}: {r['setting']}, loses {r['lost']:.2f} of the {r['of']}" for r in rows)
    return f"look at how coarse it would be, not at the loss alone (make dpia measures what is left of use): {said}"


def _uniqueness(found: Measured) -> list[dict[str, Any]]:
    counts = ("people", "with too few points")
    rows = found.unicity.round(3).astype(object).where(found.unicity.notna(), None).to_dict("records")
    return [{str(name): about(v) if name in counts else v for name, v in row.items()} for row in rows]


def _rounded(m: Measures) -> dict[str, Any]:
    """Measures with counts to one significant digit and shares to two decimals."""
    out: dict[str, Any] = m.as_dict() | {name: about(getattr(m, name)) for name in ("trajectories", "users", "points")}
    out["trips_per_user"] = {"median": about(m.trips_per_user[0]), "most": about(m.trips_per_user[1])}
    out["suppressed"] = {name: round(share, 2) for name, share in m.suppressed.items()}
    for name in ("thin_points", "shared_hours", "unicity", "days"):
        out[name] = None if out[name] is None else round(out[name], 2)
    return out


def _told(what: str, value: object) -> object:
    """What a rule measured, as it stands in the report: counts rounded."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, tuple):
        return ", ".join(about(v) for v in value)
    return round(float(value), 2) if "share" in what or "lost" in what else about(float(value))  # type: ignore[arg-type]


def density_classes(found: Measured) -> dict[str, int]:
    """How many cells of about `CELL_M` m hold how many people, in classes."""
    people, k = found.density.ravel(), found.measures.k
    bounds = [0, 1, k, 2 * k, 10 * k, 100 * k]
    names = [
        "nobody",
        f"1 to {k - 1}",
        f"{k} to {2 * k - 1}",
        f"{2 * k} to {10 * k - 1}",
        f"{10 * k} to {100 * k - 1}",
        f"{100 * k} and more",
    ]
    which = np.searchsorted(bounds, people, side="right") - 1
    return dict(zip(names, np.bincount(which, minlength=len(names)).tolist(), strict=True))


def density_map(found: Measured) -> Figure:
    """Distinct people per cell, on a logarithmic scale, rounded down to powers of two; cells of fewer than k people in one colour."""
    people, k = found.density.astype(float), found.measures.k
    steps = np.where(people >= k, np.maximum(2.0 ** np.floor(np.log2(np.maximum(people, 1))), k), np.nan)
    x0, y0, x1, y1 = (v / 1000 for v in found.grid.bounds)
    fig, ax = subplots(figsize=(6.2, 5.2), layout="constrained")
    ax.imshow(
        np.where((people > 0) & (people < k), 1.0, np.nan), origin="lower", extent=(x0, x1, y0, y1), cmap=ListedColormap([ORANGE])
    )  # fmt: skip
    high = float(np.nanmax(steps)) if np.isfinite(steps).any() else 2.0 * k
    image = ax.imshow(
        steps, origin="lower", extent=(x0, x1, y0, y1), cmap=sns.color_palette("crest", as_cmap=True), norm=LogNorm(k, max(high, k + 1.0))
    )  # fmt: skip
    powers = 2.0 ** np.arange(np.ceil(np.log2(k)), np.log2(max(high, k + 1.0)) + 0.01)
    ticks = np.union1d([float(k)], powers[powers >= 1.3 * k])
    bar = fig.colorbar(image, ax=ax, shrink=0.8, label="at least so many people in the cell", ticks=ticks.tolist())
    bar.minorticks_off()
    bar.set_ticklabels([f"{t:g}" for t in ticks])
    ax.set_xticks([x0, x1], ["0", f"{x1 - x0:.0f} km"])
    ax.set_yticks([y0, y1], ["0", f"{y1 - y0:.0f} km"])
    ax.set_title(f"cells of {CELL_M / 1000:g} km; orange: fewer than {k} people, white: nobody", fontsize=10)
    return finished(
        fig,
        f"Map of how many people were in each cell of {CELL_M / 1000:g} km; orange: fewer than {k} people, white: nobody.",
    )


def _page(source: Source, found: Measured, record: dict[str, Any]) -> Page:
    m = found.measures
    page = Page(f"Assessment: {source.trajs.meta.dataset}, k = {m.k}", PRIVATE)
    page.say(f"Recommended: {record['recommendation']}.")
    page.listed(record["reasons"])
    page.heading("Rules and what was measured")
    page.table(
        ("kind", "rule", "threshold", "measured", "applies"),
        [
            [r["kind"], r["what"], r["threshold"], _cell(r["measured"]), "yes" if r["applies"] else "no"]
            for r in record["rules"]
        ],
    )
    page.say(
        "Thresholds are the package's own (trajkit/handover/recommend.py). The first rule of kind take that applies is recommended."
    )
    page.heading("What the data is")
    told = record["measures"]
    page.table(("what", "value"), [[WORDS[name], _cell(value)] for name, value in told.items() if name in WORDS])
    page.heading("What preparation dropped (rounded)")
    page.table(
        tuple(record["prepared"][0]) if record["prepared"] else (), [list(r.values()) for r in record["prepared"]]
    )
    page.heading("Where people are")
    page.table((f"people in a cell of {CELL_M:g} m", "cells"), list(record["people per cell"].items()))
    page.figure(density_map(found), "distinct people per cell")
    page.heading("Who is alone with a few known points")
    columns = ("resolution", "p", "unicity", "low", "high")
    page.table(
        ("resolution", "known points", "share alone", "95 % from", "to"),
        [[r[c] for c in columns] for r in record["uniqueness"]],
    )
    page.heading("What each method would lose")
    page.table(tuple(found.predicted.columns), [list(r.values()) for r in record["predicted suppression"]])
    page.say("'at least' is a bound from below by one necessary condition; the method itself may lose more.")
    return page


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(v)}" for name, v in value.items())
    return ("yes" if value else "no") if isinstance(value, bool) else shown(value)
