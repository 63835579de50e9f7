"""``make release``: from private data to a folder that may leave, or a refusal; nothing in between.

Order: parameters are checked; the budget is entered in the ledger; only then is noise drawn; the files are written to a folder beside OUT,
looked through, and renamed into place in one step; last the entry is completed. Whatever stops the process, OUT is whole or absent, and what
may have been drawn is counted.
"""

from __future__ import annotations

import inspect
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trajkit import datasets
from trajkit.datasets import registry
from trajkit.datasets.cache import content_hash, project_root
from trajkit.errors import DataContractError, ParameterError, TrajkitError
from trajkit.handover.budget import Asked
from trajkit.handover.choice import Choice
from trajkit.handover.ledger import BudgetLedger, Ticket
from trajkit.handover.left_out import left_out
from trajkit.handover.page import Facts, release_page
from trajkit.handover.publishable import (
    check_files,
    check_places,
    fresh_seed,
    published,
    published_guarantee,
    published_parameters,
    scrubbed,
    spent_by,
)
from trajkit.methods import Method, number_for
from trajkit.release import Release
from trajkit.trajectories import Trajectories

FILES = ("release.parquet", "guarantee.json", "page.html", "page.md")
LEDGER = "trajkit-ledger"
OWN_TABLE = "tables"


@dataclass(frozen=True)
class Source:
    """Where the data is: registered ``dataset``, its ``data`` (file or folder), ``trajs`` as loaded, ``content``: what identifies them."""

    dataset: str
    data: str | None
    path: Path | None
    content: str
    trajs: Trajectories

    @classmethod
    def load(cls, dataset: str | None, data: str | None, settings: dict[str, Any] | None = None) -> Source:
        """Load; without a ``dataset`` the data is the owner's own table. Raises ParameterError where neither is named."""
        if dataset is None and data is None:
            raise ParameterError(
                "say which data: DATA=my.yaml for your own table, or DATASET=city (porto, geolife) as well"
            )
        name = dataset or OWN_TABLE
        spec = registry.dataset(name)
        path, typed = registry.prepared_source(spec, data, settings)
        content = content_hash(path) if path else json.dumps([name, typed.model_dump(mode="json")], sort_keys=True)
        return cls(name, data, path, content, datasets.load(name, data=data, settings=settings))

    def paths(self) -> list[str]:
        """Paths of this machine and of the data, which must not leave."""
        home = os.path.expanduser("~")
        found = [str(project_root()), str(Path.cwd()), home, self.data or ""]
        found += [str(self.path), str(self.path.parent)] if self.path else []
        return [p for p in found if p not in ("/", ".", "")]


@dataclass(frozen=True)
class Budget:
    """What the ledger is asked: see `BudgetLedger.reserve`. ``folder`` None: beside the data."""

    folder: Path | None = None
    cap: float | None = None
    cap_delta: float | None = None
    cap_unit: str | None = None
    raise_cap: bool = False
    most_trips: int | None = None
    account: str | None = None


def make_release(
    choice: Choice, source: Source, out: Path, budget: Budget, *, n: int = 1000, purpose: str = "", figures: bool = False,
    at: Callable[[str], None] = lambda stage: None,
) -> Ticket:  # fmt: skip
    """Release and hand over to ``out``; returns the ledger's ticket. ``at`` is told each stage that was reached, for tests.

    figures: show rounded shares of what preparation dropped on the page of a DP release as well, which its promise does not cover.
    Raises ParameterError or PrivacyAccountingError before or after the ledger's entry; after it, the entry stays and counts.
    """
    folder = _free(out)
    ledger = BudgetLedger(ledger_folder(source, budget.folder))
    _apart(folder, ledger.folder)
    most = _bound(source.trajs, budget.most_trips)
    ticket = ledger.reserve(
        source.content, spend=choice.spend, method=choice.name, cap=Asked(budget.cap, budget.cap_delta, budget.cap_unit),
        raise_cap=budget.raise_cap, most_trips=most, account=budget.account, anonymous=choice.keeps_true_ones,
    )  # fmt: skip
    at("reserved")
    try:
        _handed_over(choice, source, folder, ledger, ticket, n, purpose, figures, at)
    except TrajkitError as error:
        counts = (
            ""
            if choice.spend is None
            else f". The {choice.spend.in_words()} entered for this release count all the same"
        )
        raise type(error)(f"{error}{counts}") from error
    return ticket


def _handed_over(
    choice: Choice, source: Source, folder: Path, ledger: BudgetLedger, ticket: Ticket, n: int, purpose: str, figures: bool,
    at: Callable[[str], None],
) -> None:  # fmt: skip
    """All that follows the ledger's entry."""
    release, seeds = _drawn(choice, source, n, at)
    paths = [*source.paths(), str(folder.parent), str(ledger.folder)]
    guarantee = scrubbed(published_guarantee(release.guarantee, choice.spend), paths)
    check_places(release.trajectories, source.trajs, guarantee.kind)
    made = published(release.trajectories)
    anonymous = choice.keeps_true_ones
    facts = Facts(
        title=source.trajs.meta.dataset, purpose=purpose, method=choice.name, guarantee=guarantee, released=made,
        account=ticket.account,
        left_out=left_out(
            source.trajs, release.report if anonymous else {}, getattr(choice.method, "origin_", None) if anonymous else None,
            guarantee.k or 0, figures=figures or anonymous,
        ),
        trips_per_user=choice.protects_user_by,
        parameters=published_parameters(choice.method.config, paths), reserved=choice.spend,
    )  # fmt: skip
    part = _written(facts, folder, [*paths, source.content, source.trajs.fingerprint(), *map(str, seeds)])
    at("written")
    _into_place(part, folder)
    at("renamed")
    spent = choice.spend and spent_by(guarantee, choice.spend.unit)
    ledger.complete(ticket, spend=spent)
    at("released")


def _drawn(choice: Choice, source: Source, n: int, at: Callable[[str], None]) -> tuple[Release, tuple[int, int]]:
    """The release from all of the data, and the seeds, fresh from the operating system, that must be nowhere in it."""
    seeds = fresh_seed(), fresh_seed()
    fitted(choice.method, source, source.trajs, seeds[0])
    at("fitted")
    release = choice.method.release(number_for(choice.method, n), seed=seeds[1])
    at("drawn")
    if not len(release.trajectories):
        raise DataContractError(
            "everything was suppressed, so there is nothing to hand over: coarser cells and bins, or a lower k"
        )
    return release, seeds


def fitted(method: Method, source: Source, train: Trajectories, seed: int) -> Method:
    """Fit ``method`` on ``train``, all or part of the data, with the public road network where it takes one; nothing is kept on the disk."""
    accepts = inspect.signature(method.fit).parameters
    offered: dict[str, Any] = {"progress": False}
    if "roads" in accepts:
        offered["roads"] = datasets.roads_of(source.dataset, data=source.data)
    return method.fit(train, seed=seed, **{k: v for k, v in offered.items() if k in accepts})


def _written(facts: Facts, folder: Path, private: list[str]) -> Path:
    """The files in a new folder beside ``folder``, looked through and flushed to the disk."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o700)
    try:
        facts.released.to_parquet(part / "release.parquet")
        page = release_page(facts)
        (part / "guarantee.json").write_text(facts.guarantee.to_json())
        (part / "page.html").write_text(page.html())
        (part / "page.md").write_text(page.markdown())
        check_files(part, FILES, private)
        for path in (*(part / name for name in FILES), part):
            _flush(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    part.chmod(0o755)
    return part


def _into_place(part: Path, folder: Path) -> None:
    try:
        part.rename(folder)  # an empty folder of that name is replaced
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise ParameterError(
            f"OUT={folder} was filled by something else meanwhile ({error.strerror}); nothing was handed over, and the budget entered for "
            "it is counted: name another folder"
        ) from error
    _flush(folder.parent)


def _free(out: Path) -> Path:
    """``out``, absent or empty, in a folder that exists; what a killed release left beside it is removed. Raises ParameterError."""
    folder = out.expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            f"OUT={out} is not empty: a release is written to a new folder, so that nothing else is in it"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    for old in folder.parent.glob(f".{folder.name}.*.part"):
        if not _alive(old.name):
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _alive(name: str) -> bool:
    """Whether the process that began the folder ``.<out>.<pid>-<random>.part`` still runs."""
    pid = name.split(".")[-2].partition("-")[0]
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def ledger_folder(source: Source, asked: Path | None) -> Path:
    """Where the ledger is kept: as ``asked``, else beside the data."""
    return asked or (source.path.parent if source.path else project_root() / "data") / LEDGER


def _apart(out: Path, ledger: Path) -> None:
    out = out.resolve()
    if ledger == out or out in ledger.parents:
        raise ParameterError(f"LEDGER={ledger} lies inside OUT, which is handed over: keep it elsewhere")


def _bound(trajs: Trajectories, most: int | None) -> int | None:
    """``most``, if every user keeps to it. Raises ParameterError where one does not."""
    if most is None:
        return None
    if most < 1 or (len(trajs) and int(np.bincount(trajs.user).max()) > most):
        raise ParameterError(
            f"MOST_TRIPS={most}: some user has more trajectories than that, so the bound is no bound for him: take a larger public number"
        )
    return most


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
