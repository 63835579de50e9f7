"""Read a study's runs into tables. Every row names the run that made it; a run without a manifest is a hole, never a number."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trajkit.attacks.audit_task import AuditReport
from trajkit.deep.condition_config import ConditionConfig
from trajkit.errors import MissingDataError
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import HIDDEN, Release
from trajkit.study.audits import read_audits, shown_audits
from trajkit.study.cells import BASELINES, core, is_tiny, label
from trajkit.study.claim import Found
from trajkit.study.claims import Verdict, judge, read_claims
from trajkit.study.folders import OUTPUTS
from trajkit.study.rescaling import FLOOR, rescaled
from trajkit.study.rule_audits import refuted
from trajkit.study.rule_isolated import isolated
from trajkit.study.run import Run
from trajkit.study.run_config import RunConfig
from trajkit.study.sequence_study import read_experiments
from trajkit.study.stability import stability_runs
from trajkit.study.stats import corrected_interval, paired_difference, variance_components
from trajkit.study.tables import drop_table
from trajkit.study.unicity import ANTENNAS, unicity_of
from trajkit.trajectories import Trajectories

PRIMARY = ("SWD", "JSD")
K_ANONYMOUS = "k_anonymity-syntactic"
COLUMNS = (
    *(
        "run_id",
        "cell",
        "replicate",
        "vary",
        "data",
        "method",
        "fold",
        "seed",
        "train_size",
        "regime",
        "target_epsilon",
    ),
    *("condition", "epsilon_c", "d_out", "metric", "level", "value", "unit", "direction", "n_train", "n_test"),
    *("epsilon", "holds", "threat_model", "floor", "ceiling", "rescaled"),
)


class StudyResults:
    """The runs of one study folder. Raises MissingDataError when there is no plan in it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / "plan.json").is_file():
            raise MissingDataError(f"{self.folder} holds no plan.json: it is not the folder of a study")
        self.plan: dict[str, Any] = json.loads((self.folder / "plan.json").read_text())
        self.runs = pd.DataFrame([self._row(r) for r in self.plan["runs"]])

    @staticmethod
    def _row(planned: dict[str, Any]) -> dict[str, Any]:
        config, folder = planned["config"], OUTPUTS / "runs" / planned["run_id"]
        regime = config["parameters"].get("regime", "")
        target = math.inf if regime == "clipped" else config["parameters"].get("epsilon")
        if config["parameters"].get("dp_target") == "generator":  # no epsilon may stand beside it
            target = None
        keys = ("method", "fold", "seed", "train_size")
        condition = ConditionConfig(**config["parameters"].get("condition", {}))
        return {
            "run_id": planned["run_id"], "cell": planned["cell"], "replicate": planned["replicate"], "vary": planned["vary"],
            "data": json.dumps(config["dataset_settings"], sort_keys=True), **{k: config[k] for k in keys}, "regime": regime, "target_epsilon": target,
            "condition": condition.name if config["method"] not in BASELINES else "",
            "epsilon_c": condition.epsilon, "d_out": condition.d_out if condition.compresses else None,
            "complete": (folder / "manifest.json").is_file(),
        }  # fmt: skip

    def read(self, rid: str, name: str) -> dict[str, Any]:
        """One JSON file of one run."""
        return json.loads((OUTPUTS / "runs" / rid / name).read_text())

    @property
    def complete(self) -> pd.DataFrame:
        """The runs that are sealed by a manifest."""
        return self.runs[self.runs["complete"]]

    @property
    def models(self) -> list[str]:
        """The methods that are judged, in the order of the study."""
        return [m for m in dict.fromkeys(self.runs["method"]) if m not in BASELINES]

    def cells_of(self, model: str) -> list[str]:
        """The core cells of one model."""
        return core(self.runs.loc[self.runs["method"] == model, "cell"])

    @cached_property
    def audits(self) -> dict[str, AuditReport | str]:
        """Name of each planned audit -> its report, or a sentence that says why there is none."""
        return read_audits(self.plan.get("audits", []))

    @property
    def may_show_raw(self) -> bool:
        """Whether raw trajectories and exact counts may be shown: public data, or ``allow_raw: true`` in the params."""
        return not self.plan["private"] or self.plan["allow_raw"]

    @cached_property
    def results(self) -> pd.DataFrame:
        """One row a run and metric, with floor, ceiling and the rescaled value (0 = real against real, 1 = no information).

        Cells that are there for their stability alone have sizes of their own and no place here: see ``tiny``.
        """
        table = self._judged[~self._judged["cell"].map(is_tiny).astype(bool)]
        return rescaled(table) if len(table) else pd.DataFrame(columns=COLUMNS)

    @property
    def tiny(self) -> pd.DataFrame:
        """One row a run and metric of the cells that are there for their stability alone; their errors have no scale."""
        return self._judged[self._judged["cell"].map(is_tiny).astype(bool)]

    @cached_property
    def _judged(self) -> pd.DataFrame:
        rows = []
        for run in self.complete.to_dict("records"):
            judged, guarantee = self.read(run["run_id"], "metrics.json"), self.guarantee(run["run_id"])
            for r in judged["results"]:
                kept = {k: r[k] for k in ("metric", "level", "value", "unit", "direction")}
                rows.append(
                    {
                        **run,
                        **kept,
                        "n_train": judged["n_train"],
                        "n_test": judged["n_test"],
                        "epsilon": guarantee.epsilon,
                        "holds": guarantee.holds,
                        "threat_model": guarantee.threat_model,
                    }
                )
        return pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("floor", "ceiling", "rescaled")])

    @property
    def test_ratio(self) -> float | None:
        """n_test / n_train of a full fold (for the corrected variance); None where no run is complete."""
        if not len(self.results):
            return None
        largest = self.results.loc[self.results["n_train"].idxmax()]
        return float(largest["n_test"] / largest["n_train"])

    def summary(self, *, value: str = "rescaled") -> pd.DataFrame:
        """Mean and corrected 95 % interval of ``value`` ("value" or "rescaled") for each cell and metric, as text; cells are rows."""
        ratio, order = self.test_ratio, [c for c in dict.fromkeys(self.runs["cell"]) if not is_tiny(c)]
        cells = {}
        for (cell, metric), group in self.results.groupby(["cell", "metric"], sort=False):
            values = group[value].dropna()
            cells[cell, metric] = (
                str(corrected_interval(values, test_ratio=ratio)) if len(values) and ratio else "undefined"
            )
        table = pd.Series(cells).unstack() if cells else pd.DataFrame()
        return table.reindex(index=order, columns=list(dict.fromkeys(self.results["metric"]))).fillna("no complete run")

    def differences(
        self, pairs: list[tuple[str, str, str]], *, value: str = "rescaled", metrics: tuple[str, ...] | None = None
    ) -> pd.DataFrame:
        """Paired differences over folds. ``pairs`` holds (what, cell a, cell b): mean of a - b with its corrected 95 % interval."""
        rows, ratio = [], self.test_ratio
        for what, a, b in pairs:
            for metric in metrics or tuple(dict.fromkeys(self.results.get("metric", []))):
                chosen = self.results[self.results["metric"] == metric].set_index("replicate")
                both = pd.concat([chosen.loc[chosen["cell"] == c, value] for c in (a, b)], axis=1).dropna()
                if len(both) and ratio:
                    d = paired_difference(both.iloc[:, 0], both.iloc[:, 1], test_ratio=ratio)
                    rows.append(
                        {
                            "effect": what,
                            "metric": metric,
                            "mean": d.mean,
                            "low": d.low,
                            "high": d.high,
                            "folds": d.k,
                            "seen": d.excludes(0.0),
                        }
                    )
        return pd.DataFrame(rows, columns=["effect", "metric", "mean", "low", "high", "folds", "seen"])

    def variances(self, cell: str, init_cell: str, *, metrics: tuple[str, ...] = PRIMARY) -> pd.DataFrame:
        """Standard deviation over folds and seeds, from initialisation alone, and from the fold, per metric."""
        rows = {}
        for metric in metrics:
            chosen = self.results[self.results["metric"] == metric]
            both = [chosen.loc[chosen["cell"] == c, "value"] for c in (cell, init_cell)]
            rows[metric] = variance_components(*both)
        return pd.DataFrame(rows).T

    def guarantee(self, rid: str) -> Guarantee:
        """The guarantee of one run."""
        return Guarantee.read(OUTPUTS / "runs" / rid / "guarantee.json")

    def guarantees(self) -> pd.DataFrame:
        """One row a cell: threat model, epsilon, delta, unit, adjacency, whether it holds, and the sentence that says so."""
        rows = {}
        for cell, group in self.complete[~self.complete["cell"].map(is_tiny).astype(bool)].groupby("cell", sort=False):
            g = self.guarantee(group["run_id"].iloc[0])
            rows[cell] = {
                "threat model": g.threat_model,
                "holds": g.holds,
                "epsilon": g.epsilon,
                "delta": None if g.delta is None else f"{g.delta:.2g}",
                "unit": g.unit,
                "adjacency": g.adjacency,
                "in words": g.in_words(),
            }
        return pd.DataFrame(rows).T

    def has_failed(self, rid: str) -> bool:
        """Whether the last try of one run failed (one that was stopped or never started has not)."""
        return (OUTPUTS / "runs" / rid / "FAILED.json").is_file()

    def holes(self) -> pd.DataFrame:
        """Runs that are not complete, with the reason."""
        rows = []
        for run in self.runs[~self.runs["complete"]].to_dict("records"):
            failed = OUTPUTS / "runs" / run["run_id"] / "FAILED.json"
            reason = "was stopped or never started"
            if self.has_failed(run["run_id"]):
                reason = json.loads(failed.read_text())["message"]
            if failed.is_file() and not self.may_show_raw:
                reason = "failed; FAILED.json in its folder says why (a message may quote private data)"
            rows.append({"run_id": run["run_id"], "cell": run["cell"], "replicate": run["replicate"], "reason": reason})
        return pd.DataFrame(rows, columns=["run_id", "cell", "replicate", "reason"])

    def run(self, cell: str, replicate: int = 0) -> Run | None:
        """The run of one cell, to look into; None where it is not complete."""
        found = self.complete[(self.complete["cell"] == cell) & (self.complete["replicate"] == replicate)]
        if not len(found):
            return None
        rid = found["run_id"].iloc[0]
        planned = next(r for r in self.plan["runs"] if r["run_id"] == rid)
        return Run(OUTPUTS / "runs" / rid, RunConfig(**planned["config"]))

    def released(self, cell: str, replicate: int = 0) -> Trajectories | None:
        """Released trajectories of one run; None where it is not complete."""
        release = self._release(cell, replicate)
        return None if release is None else release.trajectories

    def _release(self, cell: str, replicate: int = 0) -> Release | None:
        run = self.run(cell, replicate)
        if run is None or (run.config.method == FLOOR and not self.may_show_raw):
            return None
        return run.release(None)

    @cached_property
    def first(self) -> Run:
        """The first planned run, complete or not: its data set and its first fold are the ones that the report shows."""
        planned = self.plan["runs"][0]
        return Run(OUTPUTS / "runs" / planned["run_id"], RunConfig(**planned["config"]))

    def real_panel(self) -> Trajectories | None:
        """Real test trajectories of the first fold, to draw; None where nothing raw may be shown."""
        return self.first.real if self.may_show_raw else None

    def panels(self, cells: Iterable[str]) -> dict[str, Trajectories | None]:
        """What maps show side by side: real test trajectories, then the releases of ``cells`` that are complete.

        None where nothing raw may be shown, which of private data goes for every release without a guarantee that holds:
        it may be the data under other names.
        """
        shown = {"real (test)": self.real_panel()}
        for cell in cells:
            release = self._release(cell)
            if release is not None:
                protected = self.may_show_raw or release.guarantee.holds
                shown[cell] = release.trajectories if protected else None
        return shown

    def road_segments(self) -> np.ndarray | None:
        """Road segments [s, 4] in metres beneath the maps; None where no road network is known."""
        roads = self.first.roads
        return None if roads is None else roads.segments()

    def drop_report(self) -> pd.DataFrame:
        """The chain of processing steps: what went in, what was left out and why. Counts are rounded where nothing exact may be shown."""
        return drop_table(self.first.data.meta.steps, exact=self.may_show_raw)

    def histories(self, model: str) -> dict[str, pd.DataFrame]:
        """Training histories of the core cells of ``model``, one ``replicate`` after another; failed runs are entries of their own."""
        parts: dict[str, list[pd.DataFrame]] = {}
        for run in self.runs[self.runs["cell"].isin(self.cells_of(model))].to_dict("records"):
            history = self.history(run["run_id"])
            if len(history):
                name = run["cell"] + ("" if run["complete"] else " (failed)")
                parts.setdefault(name, []).append(history.assign(replicate=run["replicate"]))
        return {name: pd.concat(found, ignore_index=True) for name, found in parts.items()}

    def history(self, rid: str) -> pd.DataFrame:
        """Training history of one run, empty where it has none."""
        file = OUTPUTS / "runs" / rid / "history.csv"
        return pd.read_csv(file) if file.is_file() and file.stat().st_size > 1 else pd.DataFrame()

    def training_seconds(self, rid: str) -> float:
        """Seconds of all training steps behind one run, whichever run took them; NaN for a method that does not train."""
        history = self.history(rid)
        return float(history["seconds"].iloc[-1]) if "seconds" in history else math.nan

    @cached_property
    def experiments(self) -> pd.DataFrame:
        """Figures of the experiments on sequences, as `trajkit.classical.prefix_experiments`; empty where there are none."""
        return read_experiments(self.plan.get("sequences"))

    def verdicts(self) -> list[Verdict]:
        """Every claim of the question, judged for each model that it is about."""
        known = read_claims()
        where = {"dataset": self.plan["dataset"], "profile": self.plan["profile"], "test_ratio": self.test_ratio}
        more: dict[str, Any] = {"small": stability_runs(self), "experiments": self.experiments}
        planned = self.plan.get("audits", [])
        more["own"] = {
            "isolated": self._isolated,
            "audits": lambda: refuted(planned, shown_audits(planned, self.audits, raw=self.may_show_raw)),
        }
        return [v for name in self.plan["claims"] for v in judge(name, known[name], self.results, **more, **where)]

    @cached_property
    def unicity(self) -> pd.DataFrame:
        """See `trajkit.study.unicity`, of the first training set; empty where nothing raw may be shown."""
        return unicity_of(self.first.fold.train) if self.may_show_raw else pd.DataFrame()

    def report_of(self, cell: str) -> dict[str, Any] | None:
        """What the release of a cell says of itself (first repetition), without what no promise covers; None where it is not complete."""
        found = self.complete[(self.complete["cell"] == cell) & (self.complete["replicate"] == 0)]
        if not len(found):
            return None
        report = self.read(found["run_id"].iloc[0], "release.json")
        return {k: v for k, v in report.items() if k != HIDDEN}

    def _isolated(self) -> Found:
        return isolated(self.unicity, ANTENNAS, self.report_of(K_ANONYMOUS))

    def verdict_table(self) -> pd.DataFrame:
        """The verdicts with the figures they rest on, one row a claim and model."""
        rows = [
            {
                "claim": v.claim,
                "says": v.statement,
                "model": label(v.model) or "all",
                "verdict": v.verdict,
                "figures": "; ".join(f"{name}: {text}" for name, text in v.figures.items()),
                "why": "; ".join(filter(None, (v.why, v.scope))),
            }
            for v in self.verdicts()
        ]
        return pd.DataFrame(rows)
