"""What an assessment recommends, and why: one table of rules, each with its threshold, asked in its order.

Thresholds are this package's own, chosen on simulated data and on the two public sets; they are no law and no standard, and stand in the
report beside what was measured. Rules of the first kind ("stop") are conditions; those of the second ("note") say what to mind; the
first of the third kind ("take") that applies is the recommendation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trajkit.handover.measures import ESCALATED, PARTS, WHOLE, Measures

MOST_REPLACED = 0.5  # where more than half is made, the bulk is not kept, and made trajectories alone promise more
ESCALATE = (
    "even parts of trips are too rare for this tolerance, but most of the points can be kept in useful cells (1 km): escalation keeps these for "
    "one release, and made trajectories with DP by user (trips_per_user; epsilon 1 to begin with) stand beside them, marked as made; DP alone "
    "(road_counts, privtrace) where true paths are not needed in detail, more releases will follow, or readers may know anything"
)
FLAT_CELLS, LEAST_PER_CELL = (
    64,
    10,
)  # at epsilon 1 a mean cell of 8 x 8 should hold ten scales of noise, whatever bound on trips scales both


@dataclass(frozen=True)
class Rule:
    """``applies`` where ``what`` passes ``threshold``; then ``advice`` holds."""

    kind: str
    what: str
    threshold: str
    value: Callable[[Measures], object]
    applies: Callable[[Measures], bool]
    advice: str


def _lost(m: Measures, method: str) -> float:
    return m.suppressed.get(method, 1.0)


RULES: tuple[Rule, ...] = (
    Rule("stop", "CRS projected in metres", "must be", lambda m: m.metric_crs, lambda m: not m.metric_crs,
         "declare a metric CRS (crs: EPSG:...): cells and distances mean nothing in degrees"),
    Rule("stop", "box inside the area of the CRS", "must be", lambda m: m.box_inside_crs, lambda m: not m.box_inside_crs,
         "declare the CRS of this place: distances are off where it is not made for"),
    Rule("stop", "users", "at least k", lambda m: m.users, lambda m: m.users < m.k,
         "publish nothing about single people: there are not even k of them"),
    Rule("note", "every trajectory has a user of its own", "should not", lambda m: m.own_user_each, lambda m: m.own_user_each,
         "k and the unit \"user\" count trajectories, not people: name the column of the person, or read every promise as one to trajectories"),
    Rule("note", "users", "at least 20 k", lambda m: m.users, lambda m: m.k <= m.users < 20 * m.k,
         "few people for this k: one odd person weighs much, and nothing can be said of small groups"),
    Rule("note", "share of people whom four points isolate", "at most 0.05", lambda m: m.unicity, lambda m: (m.unicity or 0.0) > 0.05,
         "other names in place of ids (pseudonyms) protect nobody here: do not publish the records as they are"),
    Rule("note", "share of points in cells of fewer than k people", "at most 0.05", lambda m: m.thin_points, lambda m: m.thin_points > 0.05,
         "people are alone in parts of the area: cut the box to where there are many, or publish nothing of the rest"),
    Rule("note", "share of points at hours that k people share", "at least 0.95", lambda m: m.shared_hours,
         lambda m: m.shared_hours is not None and m.shared_hours < 0.95,
         "people are seldom on the way together: take days together (of: clock) or leave time out"),
    Rule("note", "trajectories of a user (median, most)", "at most 1 of each", lambda m: m.trips_per_user,
         lambda m: m.trips_per_user[1] > 1,
         "protect users and not trajectories: trips_per_user with DP methods, count: user with anonymizers, and MOST_TRIPS in the ledger"),
    Rule("take", f"lost by {WHOLE}", "at most the tolerance ({tolerance:g})", lambda m: m.suppressed.get(WHOLE), lambda m: _lost(m, WHOLE) <= m.tolerance,
         "k_anonymity (whole trips) is possible for one release to readers who know little; DP (road_counts, privtrace) where more releases "
         "will follow or readers may know anything"),
    Rule("take", f"lost by {PARTS}", "at most the tolerance ({tolerance:g})", lambda m: m.suppressed.get(PARTS), lambda m: _lost(m, PARTS) <= m.tolerance,
         "whole trips are too rare to hide: k_anonymity with suppress: segments keeps parts of them for one release; DP (road_counts, privtrace) "
         "where more releases will follow or readers may know anything"),
    Rule("take", f"points lost in cells of 1 km by {ESCALATED}, with users for DP", f"at most {MOST_REPLACED}",
         lambda m: m.suppressed.get(ESCALATED),
         lambda m: _lost(m, ESCALATED) <= MOST_REPLACED and m.users >= FLAT_CELLS * LEAST_PER_CELL, ESCALATE),
    Rule("take", "users per cell of 8 x 8, epsilon 1", f"at least {LEAST_PER_CELL}", lambda m: m.users / FLAT_CELLS,
         lambda m: m.users >= FLAT_CELLS * LEAST_PER_CELL,
         "suppression would take too much: made trajectories with DP by user (road_counts or privtrace with trips_per_user; epsilon 1 to begin with)"),
    Rule("take", "trajectories per cell of 8 x 8, epsilon 1", f"at least {LEAST_PER_CELL}", lambda m: m.trajectories / FLAT_CELLS,
         lambda m: m.trajectories >= FLAT_CELLS * LEAST_PER_CELL,
         "suppression would take too much, and there are too few people for DP by user at epsilon 1: made trajectories with DP by trajectory "
         "(road_counts, privtrace) are possible, and protect a person with many trips weakly: say so, or publish totals"),
    Rule("take", "none of the above", "", lambda m: None, lambda m: True,
         "too few for DP at epsilon 1 and too rare for anonymity: publish totals with DP (flat, few cells), or nothing"),
)  # fmt: skip


def recommendation(m: Measures) -> tuple[str, list[str], list[tuple[str, str, str, object, bool]]]:
    """(what to take, the reasons, a row for each rule: kind, what, threshold, measured, applies)."""
    rows = [(r.kind, r.what, r.threshold.format(tolerance=m.tolerance), r.value(m), r.applies(m)) for r in RULES]
    stops = [r for r in RULES if r.kind == "stop" and r.applies(m)]
    notes = [r.advice for r in RULES if r.kind == "note" and r.applies(m)]
    first = next(r for r in RULES if r.kind == "take" and r.applies(m))
    if stops:
        return stops[0].advice, [*(r.advice for r in stops[1:]), *notes], rows
    return first.advice, notes, rows
