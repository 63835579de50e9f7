"""What an adversary makes of each release of a study, who knows a few points of a target or all of his trips, kept beside the run that was attacked.

All figures are for the first repetition. They are measured on true records, so they are shown where raw data may be, and they are what one
attack achieves: no bound, and nothing that compares with an epsilon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from trajkit.anonymize.clock import compared_times
from trajkit.anonymize.lkc import canonical, settled
from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.member_scores import nearest
from trajkit.attacks.nearest_neighbour import nearest_advantage, nearest_linkage
from trajkit.attacks.origin import Origin
from trajkit.attacks.reidentification import reidentification
from trajkit.attacks.roc import roc_of
from trajkit.privacy.guarantee import Guarantee
from trajkit.seeds import rng
from trajkit.study.cells import CONTRASTS, is_tiny, label, parsed
from trajkit.study.kept_rows import keep_rows, kept_rows
from trajkit.study.results import StudyResults
from trajkit.study.run import Run
from trajkit.trajectories import Trajectories

KNOWN, TARGETS = 4, 400
# membership inference: people on a side, trips of each, places of a trip; share of others taken for members
PEOPLE, TRIPS, PLACES, FALSE = 400, 2, 8, 0.01
FOUND, GUESSED = "members found at 1 % false", "members a guess finds"
NO_INFORMATION = ("uniform", "straight", "cloud")
SPACE, ALL = "places alone", "all fields"
POINTWISE = "k-anonymity of points"
BY_CLASSES = ("k_anonymity", "escalation")  # what is kept are whole trajectories, or parts, that k have in common
COLUMNS = (
    *("cell", "release", "guarantee", "kind", "fields", "auc", "auc_low", "auc_high"),
    *("member auc", "member auc low", "member auc high", FOUND, f"{FOUND} low", f"{FOUND} high", GUESSED),
    *("named", "named_low", "named_high", "named by cells", "bound", "guess", "suppressed"),
)


def risk_table(study: StudyResults) -> pd.DataFrame:
    """One row a release and what is used of it (`SPACE`, and `ALL` where it has times): the columns of `COLUMNS`.

    auc     probability that a person of the training set lies nearer to the release than one held out, with its 95 % interval; a guess
            has 0.5. Of *real* the members are those who were released.
    member auc   the same where the adversary knows the whole of some trips of a person and no times (`members_found`); ``FOUND``: share of members
            that he finds where he takes 1 % of the others for members; ``GUESSED``: share that a guess finds, 1 % or, where fewer than a hundred are held out, 1 / (their number + 1), the chance to lie
            before all of them. With 95 % intervals; only in rows of `SPACE`.
    named   mean probability of naming a target by the nearest released trajectory, where the private map is known; "named by cells": by the
            classes that hold 1 to 4 known cells (and time bins), the largest of the four figures, where the release is made of cells. guess:
            1 / persons in the release; bound: 1 / k where k-anonymity by users of whole trajectories or of their parts is promised.
            suppressed: share of targets who are not in it.
    No row where no trajectory has `KNOWN` points; empty where nothing raw may be shown.
    """
    if not study.may_show_raw:
        return pd.DataFrame(columns=COLUMNS)
    runs = attackable(study)
    keep_rows([*runs.values()], "risk", risk_of)
    rows = [{"cell": cell, "release": named(cell), **row} for cell, run in runs.items() for row in risk_of(run)]
    return pd.DataFrame(rows, columns=COLUMNS)


def attackable(study: StudyResults) -> dict[str, Run]:
    """The first complete run of each cell that says something of anybody."""
    cells = [str(c) for c in dict.fromkeys(study.runs["cell"]) if c not in NO_INFORMATION and not is_tiny(c)]
    return {cell: run for cell in cells if (run := study.run(cell)) is not None}


def named(cell: str) -> str:
    """A cell in words."""
    name = parsed(cell)
    if name is None:
        return {"real": "real trajectories"}.get(cell, cell)
    rest = name.rest.replace("-", " ")
    return " ".join(
        filter(
            None,
            (
                label(name.contestant),
                "without DP" if name.regime == "plain" and name.model not in CONTRASTS else "",
                rest,
            ),
        )
    )


def in_short(g: Guarantee) -> str:
    """A guarantee in a word or two."""
    if not g.holds:
        return "none"
    if g.kind == "dp":
        return f"epsilon {g.epsilon:.3g}, {g.unit}"
    # k for any L known points is much less than k for whole trajectories
    kind = g.mechanism if g.mechanism and g.mechanism.startswith("LKC-privacy") else g.kind
    made = "".join(f"; made ones: epsilon {p.epsilon:.3g}, {p.unit}" for p in g.parts)
    return f"{kind}, k = {g.k}, {g.unit}{made}"


def risk_of(run: Run) -> list[dict[str, Any]]:
    """The rows of one run, computed once for this code and kept in its folder."""
    return kept_rows(run, "risk", _attacked)


def _attacked(run: Run) -> list[dict[str, Any]]:
    release, source, seed = run.release(None), run.origin(), run.config.seed
    train, test, out = run.fold.train, run.fold.test, release.trajectories
    if run.config.method == "real" and source is not None:
        kept, source = np.unique(source, return_inverse=True)
        train = train.take(kept)
    people = source is not None and bool((source >= 0).any())  # else all of it was made, and there is nobody to name
    # LKC-privacy bounds who knows fewer points than this attacker does, cloaking bounds no trajectory
    whole = run.config.method in BY_CLASSES and release.guarantee.holds and release.guarantee.unit == "user"
    about = {
        "guarantee": in_short(release.guarantee),
        "kind": _kind(release.guarantee, run.config.method),
    }
    rows = []
    for fields in (SPACE, ALL):
        if fields == ALL and (out.t is None or train.t is None):
            continue
        a, b, c = (on_the_clock(x) if fields == ALL else replace(x, t=None) for x in (train, test, out))
        settings: dict[str, Any] = {
            "p": (KNOWN,),
            "targets": TARGETS,
            "target": "trajectory",
            "space_only": fields == SPACE,
        }
        compared = nearest_advantage(a, b, c, seed=seed, **settings).by_p
        if not compared:  # no trajectory has so many points
            continue
        found = compared[0]
        row: dict[str, Any] = {
            "fields": fields,
            "auc": found.auc,
            "auc_low": found.auc_interval[0],
            "auc_high": found.auc_interval[1],
        }
        if fields == SPACE:
            row |= members_found(a, b, c, seed=seed)
        if people:
            assert source is not None
            row["named by cells"] = _by_cells(run, source, fields)
            k = release.guarantee.k if whole else None
            linked = nearest_linkage(a, c, Origin.of_rows(source), seed=seed, k=k, **settings)
            for at in linked.by_p:
                row |= {
                    "named": at.success, "named_low": at.success_interval[0], "named_high": at.success_interval[1],
                    "bound": linked.bound, "guess": linked.baseline, "suppressed": at.suppressed / at.targets,
                }  # fmt: skip
        rows.append({**about, **row})
    return rows


def members_found(members: Trajectories, others: Trajectories, released: Trajectories, *, seed: int) -> dict[str, Any]:
    """Membership inference by the nearest released path to each known trip, mean over the trips of a person; times are not compared.

    At most `PEOPLE` of each side and `TRIPS` trips of each, drawn at random; people who are on both sides (folds by trajectory) are left out. Empty
    where a side has nobody left.
    """
    both = np.intersect1d(*(x.user_ids[np.unique(x.user)] for x in (members, others)))
    sides = []
    for name, trajs in (("in", members), ("out", others)):
        asked = _asked(trajs.take(~np.isin(trajs.user_ids[trajs.user], both)), rng(seed, "attack", "members", name))
        if not len(asked):
            return {}
        _, person = np.unique(asked.user, return_inverse=True)
        sides.append(np.bincount(person, nearest(asked, released, points=PLACES)) / np.bincount(person))
    roc = roc_of(*sides, fpr=(FALSE,))
    (at,) = roc.at
    return {
        "member auc": roc.auc, "member auc low": roc.auc_interval[0], "member auc high": roc.auc_interval[1],
        FOUND: at.tpr, f"{FOUND} low": at.tpr_interval[0], f"{FOUND} high": at.tpr_interval[1],
        GUESSED: max(FALSE, 1 / (len(sides[1]) + 1)),
    }  # fmt: skip


def _asked(trajs: Trajectories, random: np.random.Generator) -> Trajectories:
    """At most `TRIPS` trips of at most `PEOPLE` people."""
    drawn = random.permutation(np.unique(trajs.user))[:PEOPLE]
    order = random.permutation(np.flatnonzero(np.isin(trajs.user, drawn)))
    order = order[np.argsort(trajs.user[order], kind="stable")]
    user = trajs.user[order]
    rank = np.arange(len(user)) - np.searchsorted(user, user, side="left")
    return trajs.take(np.sort(order[rank < TRIPS]))


def _by_cells(run: Run, source: np.ndarray, fields: str) -> float | None:
    """Mean success of the attack by classes (`attacks.reidentification`), largest over 1 to `KNOWN` known cells; None where the release is not made of squares and bins of one size."""
    report, given = run.release(None).report, run.config.parameters
    if run.config.method in BY_CLASSES and given.get("cells", "square") == "square":
        metres, minutes = float(report["setting"]["cells"].split()[1]), report["setting"]["minutes"]
    elif run.config.method == "lkc":
        metres, minutes = given["cells_m"], given["minutes"]
    else:
        return None
    if fields == ALL and minutes is None:
        return None
    train, out = run.fold.train, run.release(None).trajectories
    cells, bins = SquareCells(metres), TimeBins(minutes if fields == ALL else None, given["of"], train.meta.tz)
    settle = settled(cells, train.meta)  # the adversary knows where the centre of a square on the border was moved to
    raw, released = (canonical(signatures(x, cells, bins), settle) for x in (train, out))
    found = reidentification(
        raw, train.user, released, Origin.of_rows(source), seed=run.config.seed,
        p=tuple(range(1, KNOWN + 1)), targets=TARGETS, target="trajectory",
    )  # fmt: skip
    return max((at.success for at in found.by_p), default=None)


def _kind(g: Guarantee, method: str) -> str:
    """What a mark in a figure stands for: anonymity of points or of few known points is not that of whole trajectories."""
    if not g.holds:
        return "none"
    return POINTWISE if g.kind == "k-anonymity" and method not in BY_CLASSES else g.kind


def on_the_clock(trajs: Trajectories) -> Trajectories:
    """The same with times since local midnight of the day of the first point: what days are released says nothing about real ones."""
    return replace(trajs, t=compared_times(trajs, "clock"))
