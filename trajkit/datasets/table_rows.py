"""From rows of a table to trajectories: who and which, in what order, cut where, and what was left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from trajkit.datasets.table_files import NO_TIME
from trajkit.errors import DataContractError
from trajkit.preprocess import DropReport
from trajkit.trajectories import Meta, Trajectories


@dataclass(frozen=True)
class _Layout:
    """Rows in their final order.

    order  int64 [rows]: row numbers by trajectory and time
    part   int64 [rows]: the part (trajectory, or its piece between two changes of the cut column) of each ordered row
    first  int64 [trajectories]: the first part of each trajectory
    found  what was noticed on the way
    """

    order: np.ndarray
    part: np.ndarray
    first: np.ndarray
    found: dict[str, int]


def assemble(rows: pd.DataFrame, meta: Meta, settings: Any, *, where: str) -> Trajectories:
    """Return the trajectories of ``rows`` (columns of `read_frames`); ``meta.steps`` accounts for every row.

    Raises DataContractError where rows lack a time (unless they may be dropped) or none is left.
    """
    traj, user = _names(rows)
    t = rows["t"].to_numpy(dtype=np.int64) if "t" in rows else None
    layout = _layout(rows, traj.codes, t, settings)
    lost = _lost(rows, t, settings, where)
    keep = ~np.logical_or.reduce(list(lost.values()))[layout.order]
    at, part = layout.order[keep], layout.part[keep]
    if not len(at):
        raise DataContractError(f"{where}: none of {len(rows)} rows is left ({', '.join(lost)}): check the column map")
    start = np.flatnonzero(np.diff(part, prepend=-1))
    owner = traj.codes[at[start]]
    ids = np.asarray(traj.categories, dtype=object).astype(str)[owner]
    if settings.cut.column is not None:
        ids = np.char.add(np.char.add(ids, "_"), (part[start] - layout.first[owner]).astype(str))
    trajs = Trajectories(
        lonlat=rows[["lon", "lat"]].to_numpy(dtype=np.float64)[at],
        offsets=np.append(start, len(at)).astype(np.int64),
        t=None if t is None else t[at],
        user=user.codes[at[start]].astype(np.int64),
        user_ids=np.asarray(user.categories, dtype=object).astype(str),
        traj_ids=ids.astype(str),
        meta=meta,
    )
    return _reported(trajs, lost, layout, settings)


def _names(rows: pd.DataFrame) -> tuple[pd.Categorical, pd.Categorical]:
    """Return (trajectory, user) of each row; a trajectory id that two users share is prefixed with the user."""
    text = {c: rows[c].astype(str) for c in ("user", "traj") if c in rows}
    traj = text.get("traj", text.get("user", rows["file"]))
    user = text.get("user", traj)
    if "traj" in text and "user" in text:
        pairs = pd.DataFrame({"u": user, "t": traj}).drop_duplicates()
        shared = pairs["t"][pairs["t"].duplicated()].unique()
        traj = traj.where(~traj.isin(shared), user + "_" + traj)
    return _in_order(traj), _in_order(user)


def _in_order(names: pd.Series) -> pd.Categorical:
    codes, categories = pd.factorize(names)
    return pd.Categorical.from_codes(codes, categories=pd.Index(categories))


def _layout(rows: pd.DataFrame, traj: np.ndarray, t: np.ndarray | None, settings: Any) -> _Layout:
    """Order the rows by trajectory and then as ``settings.order`` says (equal times as in the file), and cut them."""
    index = np.arange(len(rows))
    if settings.order == "newest_first":
        index = index[::-1]
    order = index[np.argsort(traj[index], kind="stable")]
    found = {}
    if t is not None and settings.order != "as_is":
        back = int(((np.diff(t[order]) < 0) & (np.diff(traj[order]) == 0)).sum())
        found = {"steps back in time (sorted)": back} if back else {}
        order = index[np.lexsort((t[index], traj[index]))]
    change = np.diff(traj[order], prepend=-1) != 0
    new = np.flatnonzero(change)
    if settings.cut.column is not None:
        value, _ = pd.factorize(rows["cut"])
        change |= np.diff(value[order], prepend=-2) != 0
    part = np.cumsum(change) - 1
    first = np.empty(len(new), dtype=np.int64)
    first[traj[order[new]]] = part[new]
    return _Layout(order, part, first, found)


def _lost(rows: pd.DataFrame, t: np.ndarray | None, settings: Any, where: str) -> dict[str, np.ndarray]:
    """Return bool [rows] for each reason to leave rows out; a row has one reason at most."""
    no_place = ~np.isfinite(rows[["lon", "lat"]].to_numpy(dtype=np.float64)).all(axis=1)
    no_time = np.zeros(len(rows), dtype=bool) if t is None else (t == NO_TIME) & ~no_place
    if no_time.any() and settings.time.missing == "error":
        row = int(np.flatnonzero(no_time)[0]) + 1
        raise DataContractError(
            f"{where}: {int(no_time.sum())} of {len(rows)} points have no time (first in row {row}): set "
            "`columns: {t: null}` to do without times, or `time: {missing: drop}` to leave those points out"
        )
    lost = {"coordinate missing": no_place, "time missing": no_time}
    if settings.cut.keep is not None and "cut" in rows:
        unwanted = ~rows["cut"].astype(str).isin(settings.cut.keep).to_numpy()
        lost[f"cut column is not {' or '.join(settings.cut.keep)}"] = unwanted & ~no_place & ~no_time
    return lost


def _reported(trajs: Trajectories, lost: dict[str, np.ndarray], layout: _Layout, settings: Any) -> Trajectories:
    """Append the report of the reading step: which rows went, and which trajectories with the last of their rows."""
    left = np.bincount(layout.part)
    groups, parts = len(layout.first), len(left)
    dropped = {}
    for reason, rows in lost.items():
        gone = np.bincount(layout.part[rows[layout.order]], minlength=parts)
        emptied = (left > 0) & (left == gone)
        left = left - gone
        if rows.any():
            dropped[reason] = [int(emptied.sum()), int(rows.sum())]
    report = DropReport(
        "read",
        settings.model_dump(mode="json", exclude={"roads"}),
        groups,
        len(trajs),
        len(layout.order),
        trajs.n_points,
        dropped,
        created=parts - groups,
        found=layout.found,
    )
    return trajs.with_meta(steps=(asdict(report),))
