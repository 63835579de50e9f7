"""Params files to typed runs: one YAML per question, each with the profiles smoke, quick, full and paper."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from trajkit.classical.prefix_experiments import ExperimentSettings
from trajkit.errors import ParameterError
from trajkit.methods import method_class
from trajkit.metrics import MetricSettings
from trajkit.parameters import checked
from trajkit.split import N_FOLDS
from trajkit.study.cells import is_tiny
from trajkit.study.folders import ROOT
from trajkit.study.run_config import STRICT, Resources, RunConfig
from trajkit.yamlio import load_yaml

PROFILES = ("smoke", "quick", "full", "paper")


class _Strict(BaseModel):
    model_config = STRICT


class Cell(_Strict):
    """One row of a study: a method, its parameters, and a grid over some of them (the product is taken).

    Repetition i has root seed i + ``seed_offset``: a cell that differs in nothing else shows what chance alone does. A cell named
    ``…-tiny`` may release another number (``n_release``), be judged by other settings (``evaluation``, over the profile's) and
    repeat beyond the five folds: its ``seeds`` stand whatever SEEDS says, repetition i takes fold i % 5.
    A cell with ``datasets`` runs on those data sets alone, each with the given settings over the profile's, and is rescaled by the baselines
    that have the same.
    """

    name: str
    method: str
    parameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    train_size: int | None = None
    vary: Literal["fold", "init"] = "fold"
    seeds: int | None = Field(default=None, gt=0)
    seed_offset: int = Field(default=0, ge=0)
    n_release: int | None = Field(default=None, gt=0)
    evaluation: dict[str, Any] = {}
    datasets: dict[str, dict[str, Any]] = {}
    resources: Resources | None = None

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        own = [name for name in ("n_release", "evaluation") if getattr(self, name)]
        own += ["seeds"] if (self.seeds or 0) > N_FOLDS else []
        if own and not is_tiny(self.name):
            raise ValueError(
                f"cell {self.name} has {' and '.join(own)} of its own, so nothing of it compares with the other cells: "
                "only a cell that is looked at alone, named …-tiny, may have that"
            )
        return self

    def repetitions(self, asked: int) -> int:
        """How often the cell is repeated where ``asked`` repetitions are wanted of each."""
        if self.seeds is not None and is_tiny(self.name):
            return self.seeds
        return min(asked, self.seeds or asked)


class AuditCell(_Strict):
    """One audit of a study: its kind (`trajkit.attacks.audit_task.AUDITS`), its parameters, and in how many shards it is done.

    ``expect``: what must come out, or the study ends with an error after its report: every verdict contradicted, or none (stands), or of copies
    every broken one caught by some test and no sound one (caught). Leave it out for audits whose result is open.
    """

    name: str
    audit: str
    parameters: dict[str, Any] = {}
    expect: Literal["contradicted", "stands", "caught"] | None = None
    seed: int = Field(default=1, ge=0)
    shards: int = Field(default=1, ge=1)
    resources: Resources | None = None


class PlannedAudit(_Strict):
    """One shard of an audit, ready to be run; ``dataset`` is empty for audits that do not look at the study's data."""

    name: str
    audit: str
    parameters: dict[str, Any]
    seed: int
    expect: str | None = None
    shard: int = 0
    shards: int = 1
    dataset: str = ""
    data: str | None = None
    dataset_settings: dict[str, Any] = {}
    resources: Resources

    @property
    def title(self) -> str:
        """Its name, and which shard."""
        return self.name if self.shards == 1 else f"{self.name}, shard {self.shard + 1} of {self.shards}"


class Profile(_Strict):
    """Sizes of one profile; ``sequences``: of the experiments on sequences, and ``audits``, for questions that have them."""

    about: str
    seeds: int = Field(gt=0, le=N_FOLDS)
    length: int
    n_release: int
    allow_raw: bool = False
    unit: Literal["trajectory", "user"] = "trajectory"
    datasets: dict[str, dict[str, Any]] = {}
    evaluation: dict[str, Any] = {}
    resources: Resources = Resources()
    sequences: ExperimentSettings | None = None
    audits: list[AuditCell] = []
    cells: list[Cell] = Field(min_length=1)

    @model_validator(mode="after")
    def _own_data_has_baselines(self) -> Self:
        for cell in self.cells:
            alike = {c.method for c in self.cells if c.datasets == cell.datasets}
            missing = {"real", "uniform", "straight"} - alike if cell.datasets else set()
            if missing:
                raise ValueError(
                    f"cell {cell.name} has data of its own, but no cell with the same `datasets` runs {', '.join(sorted(missing))}: "
                    "its errors would have no scale"
                )
        names = [a.name for a in self.audits]
        if len(set(names)) != len(names):
            raise ValueError("two audits have the same name: give each its own")
        return self


class Question(_Strict):
    """One params file."""

    question: str
    title: str
    report: str | None
    claims: list[str] = []
    profiles: dict[Literal["smoke", "quick", "full", "paper"], Profile]


class PlannedRun(_Strict):
    """A run with its place in the study: which row, which repetition."""

    cell: str
    replicate: int
    vary: Literal["fold", "init"]
    config: RunConfig
    resources: Resources


def read_question(name: str) -> Question:
    """Read ``params/<name>.yaml``, or the file ``name`` where it ends in .yaml (a study of your own).

    Raises ParameterError naming the dotted parameter, or the questions there are.
    """
    path = Path(name) if name.endswith(".yaml") else ROOT / "params" / f"{name}.yaml"
    if not path.is_file() and not name.endswith(".yaml"):
        known = sorted(p.stem for p in path.parent.glob("*.yaml") if p.stem.startswith(("rq", "tune")))
        raise ParameterError(f"question {name!r} is unknown: there are {', '.join(known)}")
    return checked(Question, load_yaml(path), where=str(path))


def select_profile(question: Question, profile: str) -> Profile:
    """Return one profile. Raises ParameterError naming those that exist."""
    if profile not in question.profiles:
        raise ParameterError(f"profile {profile!r} is unknown: {question.question} has {', '.join(question.profiles)}")
    return question.profiles[profile]  # type: ignore[index]


def plan_runs(
    profile: Profile,
    *,
    dataset: str,
    data: str | None = None,
    settings: dict[str, Any] | None = None,
    seeds: int | None = None,
) -> list[PlannedRun]:
    """Expand a profile into runs; every method's parameters are checked and completed with their defaults here.

    Raises ParameterError for anything unknown, mistyped or out of range, before any work is done.
    """
    n_seeds = profile.seeds if seeds is None else seeds
    if not 1 <= n_seeds <= N_FOLDS:
        raise ParameterError(f"SEEDS must be 1 to {N_FOLDS} (there are {N_FOLDS} folds), got {n_seeds}")
    checked(MetricSettings, profile.evaluation, where="evaluation")
    of_profile = {**profile.datasets.get(dataset, {}), **(settings or {})}
    runs = []
    for cell in profile.cells:
        if cell.datasets and dataset not in cell.datasets:
            continue
        dataset_settings = {**of_profile, **cell.datasets.get(dataset, {})}
        settings_of = {**profile.evaluation, **cell.evaluation}
        evaluation = checked(MetricSettings, settings_of, where=f"cell {cell.name}: evaluation").model_dump()
        for parameters, suffix in _expand(cell):
            complete = _complete(cell, parameters, profile)
            for i in range(cell.repetitions(n_seeds)):
                config = RunConfig(
                    dataset=dataset, data=data, dataset_settings=dataset_settings, unit=profile.unit,
                    fold=i % N_FOLDS if cell.vary == "fold" else 0, seed=i + cell.seed_offset, train_size=cell.train_size,
                    length=profile.length, n_release=cell.n_release or profile.n_release, method=cell.method, parameters=complete,
                    evaluation=evaluation,
                )  # fmt: skip
                resources = cell.resources or profile.resources
                runs.append(
                    PlannedRun(cell=cell.name + suffix, replicate=i, vary=cell.vary, config=config, resources=resources)
                )
    names = [(r.cell, r.replicate) for r in runs]
    if len(set(names)) != len(names):
        raise ParameterError("two cells of the profile have the same name: give each its own")
    return runs


def _expand(cell: Cell) -> list[tuple[dict[str, Any], str]]:
    keys = list(cell.grid)
    return [
        (
            {**cell.parameters, **dict(zip(keys, values, strict=True))},
            "".join(f"-{k}-{v}" for k, v in zip(keys, values, strict=True)),
        )
        for values in itertools.product(*(cell.grid[k] for k in keys))
    ]


def _complete(cell: Cell, parameters: dict[str, Any], profile: Profile) -> dict[str, Any]:
    cls = method_class(cell.method)
    if "length" in cls.Config.model_fields:
        parameters = {"length": profile.length, **parameters}
    return checked(cls.Config, parameters, where=f"cell {cell.name}").model_dump(mode="json")
