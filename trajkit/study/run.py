"""`Run`: what a method notebook works with. It loads the fold, fits or reuses, releases, evaluates and leaves the files behind.

The same notebook serves by hand (a scratch folder) and under the runner (the folder of the planned run).
"""

from __future__ import annotations

import inspect
import json
import resource
import time
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trajkit import datasets, metrics, seeds
from trajkit.errors import DataContractError, ParameterError, RunFailedError
from trajkit.methods import Method, make_method, method_class, number_for
from trajkit.parameters import checked
from trajkit.preprocess import to_fixed_length
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.split import Fold, fold
from trajkit.study.folders import ORIGIN, OUTPUTS, RELEASE_FILES, SENTINEL, write_params
from trajkit.study.identity import code_fingerprint
from trajkit.study.run_config import RunConfig
from trajkit.study.tables import drop_table
from trajkit.trajectories import Trajectories
from trajkit.yamlio import load_yaml, private_mark, write_text


def open_run(run_dir: str = "", **config: Any) -> Run:
    """Open the planned run in ``run_dir``, or, where that is empty, a scratch run made from ``config`` (fields of `RunConfig`).

    Raises ParameterError when the given values differ from the folder's own.
    """
    if not run_dir:
        made = checked(RunConfig, config, where="notebook parameters")
        cls = method_class(made.method)
        given = {"length": made.length, **made.parameters} if "length" in cls.Config.model_fields else made.parameters
        full = checked(cls.Config, given, where=f"method {made.method}").model_dump(mode="json")
        made = made.model_copy(update={"parameters": full})
        folder = OUTPUTS / "scratch" / f"{made.method}-{time.strftime('%Y%m%d-%H%M%S')}"
        folder.mkdir(parents=True, exist_ok=True)
        write_params(folder, made)
        return Run(folder, made)
    folder = Path(run_dir)
    planned = checked(RunConfig, load_yaml(folder / "params.yaml"), where=str(folder / "params.yaml"))
    differs = [k for k, v in config.items() if getattr(planned, k) != v]
    if differs:
        raise ParameterError(
            f"{', '.join(differs)} in the notebook differ from {folder / 'params.yaml'}: run the notebook through `python -m trajkit run`"
        )
    return Run(folder, planned)


def mark_private(folder: Path) -> None:
    """Mark a folder made from private data, before anything is written into it."""
    private_mark(
        folder,
        "made from a private data set: nothing here may leave but release.parquet, and that only if guarantee.json says that it "
        "holds and that the noise came from os entropy (`noise: os`)",
    )


def mark_figures_private(folder: Path) -> None:
    """Mark a study's folder whose figures were computed on a private data set."""
    private_mark(folder, "figures here were computed on private data and are not covered by any guarantee")


class Run:
    """One run in one folder. Attributes: ``folder``, ``config``, ``fold`` (train and test), ``private``."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config
        self._started = time.monotonic()
        self._seconds: dict[str, float] = {}

    # ---- data ---------------------------------------------------------------------------------------------------

    @cached_property
    def data(self) -> Trajectories:
        """The processed data set, before the split."""
        return datasets.load(self.config.dataset, data=self.config.data, settings=self.config.dataset_settings)

    @cached_property
    def fold(self) -> Fold:
        """Train and test of this run; where ``train_size`` is set, a seeded draw of that many training trajectories."""
        whole = fold(self.data, self.config.fold, unit=self.config.unit)
        size = self.config.train_size
        if size is None:
            return whole
        if size > len(whole.train):
            raise DataContractError(
                f"train_size is {size}, but fold {whole.index} of {self.config.dataset} has {len(whole.train)} training trajectories: lower it"
            )
        chosen = np.sort(seeds.rng(self.config.seed, "split", "train_size").permutation(len(whole.train))[:size])
        return Fold(whole.index, whole.unit, whole.train.take(chosen), whole.test)

    @property
    def private(self) -> bool:
        """Whether the data set is declared private: then nothing raw may be shown."""
        return self.data.meta.visibility == "private"

    @cached_property
    def real(self) -> Trajectories:
        """The test set at the fixed length that released trajectories have (study.md 1.4)."""
        test = self.fold.test
        return Trajectories.from_fixed(to_fixed_length(test, length=self.config.length), meta=test.meta, prefix="r")

    @cached_property
    def roads(self) -> RoadNetwork | None:
        """The public road network of the data set, where one is known."""
        return datasets.roads_of(self.config.dataset, data=self.config.data, settings=self.config.dataset_settings)

    @property
    def may_show_raw(self) -> bool:
        """Run notebooks show raw records of public data sets only."""
        return not self.private

    # ---- work ---------------------------------------------------------------------------------------------------

    def fit(self, *, progress: bool = True) -> Method | None:
        """Fit the method on the training set, from its checkpoint where there is one; None where this folder has a finished release."""
        if self._has_release():
            return None
        started = time.monotonic()
        method = make_method(self.config.method, **self.config.parameters)
        accepts = inspect.signature(method.fit).parameters
        prefixes = OUTPUTS / "prefixes" / code_fingerprint(type(method).__module__)[:16]  # other code, other trainings
        # the test set is for methods that are asked to take their conditions from it, as published
        offered = {
            "test": self.fold.test,
            "checkpoint": self.folder / "checkpoint.pt",
            "prefixes": prefixes,
            "roads": self.roads,
            "progress": progress,
        }
        try:
            method.fit(self.fold.train, seed=self.config.seed, **{k: v for k, v in offered.items() if k in accepts})
        except RunFailedError:
            write_text(self.folder / "history.csv", self.history(method).to_csv(index=False))
            raise
        self._seconds["fit"] = time.monotonic() - started
        return method

    def release(self, method: Method | None) -> Release:
        """Release ``n_release`` trajectories (anonymizers: all they may), save them with their guarantee, and return them (read back where they exist)."""
        if self._has_release():
            report = json.loads((self.folder / "release.json").read_text())
            saved = Trajectories.from_parquet(self.folder / "release.parquet")
            return Release(saved, Guarantee.read(self.folder / "guarantee.json"), report)
        if method is None:
            raise ParameterError("there is no release in this folder yet: call fit() first and pass its result")
        started = time.monotonic()
        n, there = number_for(method, self.config.n_release), len(self.fold.train)
        short = (
            self.config.method == "real" and self.config.n_release > there
        )  # the floor cannot have more than there is
        release = method.release(there if short else n, seed=self.config.seed)
        if short:
            release.report["note"] = "all of the training set was released, which is smaller than n_release"
        self._seconds["release"] = time.monotonic() - started
        release.trajectories.to_parquet(self.folder / "release.parquet")
        if hasattr(method, "origin_"):
            np.save(self.folder / ORIGIN, method.origin_)
        write_text(self.folder / "history.csv", self.history(method).to_csv(index=False))
        write_text(self.folder / "release.json", json.dumps(release.report, indent=2, default=str))
        write_text(self.folder / "guarantee.json", release.guarantee.to_json())
        return release

    def evaluate(self, release: Release) -> pd.DataFrame:
        """Judge the release against the test set by every metric that applies, save ``metrics.json``, return it as a table."""
        started = time.monotonic()
        settings = checked(metrics.MetricSettings, self.config.evaluation, where="evaluation")
        released = release.trajectories
        if not len(released):
            raise RunFailedError(
                "the release is empty: everything was suppressed, so there is nothing to judge; allow coarser cells and bins, or a lower k"
            )
        if (released.lengths != self.config.length).any():  # as the real ones were: metrics compare point by point
            released = Trajectories.from_fixed(to_fixed_length(released, length=self.config.length), meta=released.meta)
        results = metrics.evaluate(self.real, released, settings=settings, seed=self.config.seed, roads=self.roads)
        rows = [asdict(r) for r in results]
        write_text(
            self.folder / "metrics.json",
            json.dumps({"n_train": len(self.fold.train), "n_test": len(self.fold.test), "results": rows}, indent=1),
        )
        self._seconds["evaluate"] = time.monotonic() - started
        return pd.DataFrame(rows)[["metric", "level", "value", "unit", "direction"]]

    def finish(self) -> str:
        """Check that every file is there, drop secrets from the checkpoint, note the cost, and return the sentinel line."""
        missing = [name for name in (*RELEASE_FILES, "metrics.json") if not (self.folder / name).is_file()]
        if missing:
            raise ParameterError(
                f"{', '.join(missing)} not written in {self.folder}: call release() and evaluate() before finish()"
            )
        checkpoint = self.folder / "checkpoint.pt"
        if checkpoint.is_file():
            from trajkit.deep.checkpoint import finalise_checkpoint

            finalise_checkpoint(checkpoint, keep_state=False)
        if self.private:
            mark_private(self.folder)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cost = {"seconds": {**self._seconds, "total": time.monotonic() - self._started}, "peak_mb": peak_mb}
        write_text(self.folder / "cost.json", json.dumps(cost, indent=1))
        return f"{SENTINEL} {self.folder.name}"

    # ---- to look at ---------------------------------------------------------------------------------------------

    def describe(self) -> pd.DataFrame:
        """The parameters of the run, one a row."""
        flat = self.config.model_dump(mode="json")
        rows = {k: v for k, v in flat.items() if k not in ("parameters", "evaluation")} | flat["parameters"]
        return pd.DataFrame({"value": {k: str(v) for k, v in rows.items()}})

    def drop_report(self) -> pd.DataFrame:
        """The processing steps of the data set; counts are rounded where the set is private."""
        return drop_table(self.data.meta.steps, exact=self.may_show_raw)

    def real_panel(self) -> Trajectories | None:
        """Real test trajectories to draw; None where nothing raw may be shown."""
        return self.real if self.may_show_raw else None

    def history(self, method: Method | None = None) -> pd.DataFrame:
        """The training history of ``method``, or the one saved with the release (empty for methods that do not train)."""
        if method is not None:
            return pd.DataFrame(getattr(method, "history_", None) or [])
        try:
            return pd.read_csv(self.folder / "history.csv")
        except (FileNotFoundError, pd.errors.EmptyDataError):
            return pd.DataFrame()

    def origin(self) -> np.ndarray | None:
        """int64 [r]: the training trajectory that each released one was made from (private; for audits); None where there is no such map."""
        return np.load(self.folder / ORIGIN) if (self.folder / ORIGIN).is_file() else None

    def _has_release(self) -> bool:
        # guarantee.json is written last of the four
        return (self.folder / "guarantee.json").is_file()
