"""Who is not in a release, for its publishable page: rules in words, and shares rounded as `anonymize.suppression` rounds them.

Rounded shares are care and no guarantee. A release with a DP promise therefore shows rules alone, unless figures are asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit.anonymize.suppression import FEWEST, START_M, STEP, missing, rounded
from trajkit.geo import unproject
from trajkit.trajectories import Trajectories

BY_START = "by start"
SUPPRESSED = {
    "trajectories": "of a person's trajectories, those of which nothing is released (mean over persons)",
    "users": "persons of whom nothing is released",
    "points": "of a person's points, those not released (mean over persons)",
}
NEVER_MORE = (
    f"shares are rounded to {STEP:.0%}, and nothing is said of fewer than {FEWEST} persons; those of the method are of persons, those of "
    "preparation of records, so that one person with many can move them"
)


@dataclass(frozen=True)
class LeftOut:
    """``rules`` in words. ``shares``: (what, rounded share in words); ``strata``: name of a division -> the same."""

    rules: tuple[str, ...]
    shares: tuple[tuple[str, str], ...]
    strata: dict[str, tuple[tuple[str, str], ...]]


def left_out(
    trajs: Trajectories, report: dict[str, Any], origin: np.ndarray | None, k: int, *, figures: bool
) -> LeftOut:
    """Of the data as loaded (``meta.steps``), the method's ``report`` and, where it has one, its private map ``origin``."""
    rules = tuple(w for step in trajs.meta.steps if (w := in_words(step)))
    shares: list[tuple[str, str]] = []
    strata: dict[str, tuple[tuple[str, str], ...]] = {}
    if figures and len(np.unique(trajs.user)) >= max(k, FEWEST):
        shares += _dropped(trajs.meta.steps)
    public = report.get("suppressed") or _by_origin(trajs, origin, k)
    for name, value in (public or {}).items():
        if isinstance(value, dict):
            what, place, _ = name.partition(BY_START)
            title = f"{what}{BY_START} (middle of a square of {START_M / 1000:g} km)" if place else name
            strata[title] = tuple(
                (_where(label, trajs.meta.crs) if place else label, percent(s)) for label, s in value.items()
            )
        elif name in SUPPRESSED:
            shares.append((SUPPRESSED[name], percent(value)))
    return LeftOut(rules, tuple(shares), {k: v for k, v in strata.items() if v})


def _where(label: str, crs: str) -> str:
    """The middle, in degrees, of the public square whose column and row ``label`` names."""
    middle = (np.array([label.split()], dtype=np.float64) + 0.5) * START_M
    return in_degrees(*unproject(middle, crs)[0])


def in_degrees(lon: float, lat: float) -> str:
    """A place in words."""
    return f"{abs(lat):.3f} {'north' if lat >= 0 else 'south'}, {abs(lon):.3f} {'east' if lon >= 0 else 'west'}"


def percent(share: float) -> str:
    """A rounded share in words."""
    value = rounded(share)
    if value <= 0:
        return f"under {STEP / 2:.1%}"
    return f"over {1 - STEP / 2:.1%}" if value >= 1 else f"about {value:.0%}"


def _by_origin(trajs: Trajectories, origin: np.ndarray | None, k: int) -> dict[str, Any]:
    """`suppression.missing` of whole trajectories, for methods that do not tell it themselves."""
    if origin is None:
        return {}
    kept, origin = np.zeros(len(trajs), dtype=np.int64), origin[origin >= 0]
    kept[np.unique(origin)] = trajs.lengths[np.unique(origin)]
    public, _ = missing(trajs, kept, k)
    return {name: value for name, value in public.items() if name != "points"}


def _dropped(steps: tuple[dict[str, Any], ...]) -> list[tuple[str, str]]:
    """Rounded share of what each step of preparation found that it dropped."""
    found = []
    for step in steps:
        for reason, (trajectories, points) in step["dropped"].items():
            of, gone = (step["trajectories_in"], trajectories) if trajectories else (step["points_in"], points)
            what = "trajectories" if trajectories else "points"
            found.append((f"share of all {what} dropped in preparation: {reason}", percent(gone / max(of, 1))))
    return found


def in_words(step: dict[str, Any]) -> str:
    """The rule of a step of preparation; empty for steps that drop nothing by a rule."""
    s = step["settings"]
    if step["step"] == "filter_box":
        return f"{s['drop']} outside the public box are left out"
    if step["step"] == "filter_length" and (s["min_points"] > 1 or s.get("max_points")):
        most = f" and more than {s['max_points']}" if s.get("max_points") else ""
        return f"trajectories of fewer than {s['min_points']} points{most} are left out"
    return {
        "split_at_gaps": f"records are cut where fixes are more than {s.get('gap_s')} s apart",
        "truncate": f"points after the first {s.get('max_points')} of a trajectory are left out",
        "resample": f"one point is kept in every {s.get('interval_s')} s",
        "duplicate_trajectories": "trajectories stored twice are left out" if s.get("drop") else "",
        "suppress_stays": f"stays of {s.get('dwell_s')} s and more are cut out",
    }.get(step["step"], "")
