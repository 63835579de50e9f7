"""The first tables before the last run ends: ``partial.html`` in the study's folder and one line on the screen, while runs go on."""

from __future__ import annotations

import html
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from trajkit.study.cells import BASELINES
from trajkit.study.folders import OUTPUTS
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.run import mark_figures_private
from trajkit.study.tables import tidy
from trajkit.yamlio import write_text

PARTIAL = "partial.html"
LOOK_EVERY_S, WRITE_EVERY_S = 5.0, 60.0


class Watch:
    """Looks at a study's folder now and then; ``look`` writes when other runs are complete than at the last time."""

    def __init__(self, folder: Path, *, side_by_side: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder, self.side_by_side, self.clock = folder, side_by_side, clock
        self.begun = time.time()  # a failure noted before is about to be tried again
        self.seen = set(StudyResults(folder).complete["run_id"])
        self.written = clock() - WRITE_EVERY_S

    def wait(self, child: subprocess.Popen[bytes]) -> int:
        """Wait for ``child``, looking at the folder meanwhile; return its exit code."""
        while True:
            try:
                return child.wait(timeout=LOOK_EVERY_S)
            except subprocess.TimeoutExpired:
                self.look()

    def look(self) -> None:
        """Write the partial report and print one line, when there is news and the last was at least a minute ago."""
        if self.clock() - self.written < WRITE_EVERY_S:
            return
        path = self.folder / PARTIAL
        try:
            study = StudyResults(self.folder)
            done = set(study.complete["run_id"])
            if done == self.seen:
                return
            self.seen, self.written = done, self.clock()
            line = in_one_line(study, self.side_by_side, since=self.begun)
            if study.plan["private"]:
                mark_figures_private(self.folder)
            write_text(path, page(study, line))
        except Exception as problem:  # whatever it is: the runs are worth more than their preview
            self.written = self.clock()
            print(f"{path} could not be written: {problem}", flush=True)
            return
        print(f"{line}: {path}", flush=True)


def in_one_line(study: StudyResults, side_by_side: int, *, since: float) -> str:
    """How many runs are complete, how many failed ``since`` (seconds since 1970), and about how long the others will take."""
    runs = study.runs.drop_duplicates("run_id")
    failed = runs[~runs["complete"] & runs["run_id"].map(lambda rid: _failed_since(rid, since))]
    waiting = runs[~runs["complete"] & ~runs["run_id"].isin(failed["run_id"])]
    seconds = seconds_left(study, waiting, side_by_side)
    when = "" if seconds is None else f", about {max(1, round(seconds / 60))} min left"
    said = f" ({len(failed)} failed)" if len(failed) else ""
    return f"{int(runs['complete'].sum())} of {len(runs)} runs{said}{when}"


def seconds_left(study: StudyResults, waiting: pd.DataFrame, side_by_side: int) -> float | None:
    """Seconds that the runs ``waiting`` will take, by the wall time of complete ones of the same cell, else the same method,
    else all that train; None while there is none to go by."""
    done = study.complete.drop_duplicates("run_id")
    if not len(done):
        return None
    done = done.assign(wall_s=[study.read(rid, "manifest.json")["wall_s"] for rid in done["run_id"]])
    by_cell, by_method = done.groupby("cell")["wall_s"].mean(), done.groupby("method")["wall_s"].mean()
    trained = done.loc[~done["method"].isin(BASELINES), "wall_s"]
    other = float(trained.mean() if len(trained) else done["wall_s"].mean())
    expected = [by_cell.get(r.cell, by_method.get(r.method, other)) for r in waiting.itertuples()]
    return float(sum(expected)) / max(1, min(side_by_side, len(expected)))


def _failed_since(rid: str, since: float) -> bool:
    note = OUTPUTS / "runs" / rid / "FAILED.json"
    return note.is_file() and note.stat().st_mtime >= since


def page(study: StudyResults, line: str) -> str:
    """The partial report: cells x primary metrics over the complete runs, as one HTML page that needs no network."""
    plan = study.plan
    tables = {v: study.summary(value=v) for v in ("rescaled", "value")}
    table = pd.DataFrame(
        {f"{m}, {v}": t[m] for m in PRIMARY for v, t in tables.items() if m in t}, index=tables["value"].index
    )
    counts = study.runs.groupby("cell", sort=False)["complete"].agg(["sum", "size"])
    table.insert(0, "runs", [f"{a} of {b}" for a, b in counts.loc[table.index].itertuples(index=False)])
    title = html.escape(f"{plan['title']} ({plan['profile']}, {plan['dataset']}): not complete yet")
    note = (
        "Means with 95 % intervals over the repetitions that are complete. Rescaled: 0 is real data, 1 is no information. "
        "The report replaces this page."
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="60"><title>{title}</title></head>'
        f"<body style='font-family: sans-serif'><h1>{title}</h1><p>{html.escape(line)}.</p>{tidy(table, index=True).to_html()}<p>{note}</p></body></html>"
    )
