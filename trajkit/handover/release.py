"""``make release``: from private data to a folder that may leave, or a refusal; nothing in between.

Order: parameters are checked; the budget is entered in the ledger; only then is noise drawn; the files are written to a folder beside OUT,
looked through, and renamed into place in one step; last the entry is completed. Whatever stops the process, OUT is whole or absent, and what
may have been drawn is counted.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trajkit import datasets
from trajkit.datasets import registry
from trajkit.datasets.cache import content_hash, project_root
from trajkit.errors import DataContractError, ParameterError, TrajkitError
from trajkit.handover.budget import Asked, Spend
from trajkit.handover.choice import Choice
from trajkit.handover.journal import flush
from trajkit.handover.ledger import BudgetLedger, Ticket
from trajkit.handover.left_out import left_out
from trajkit.handover.out_folder import free_folder, into_place
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
FIX_STEPS = 1e7  # to a degree: about a centimetre
OWN_TABLE = "tables"


TABLES = (".csv", ".csv.gz", ".txt", ".parquet", ".geoparquet", ".gpx")


@dataclass(frozen=True)
class Source:
    """Where the data is: registered ``dataset``, its ``data`` (file or folder), ``trajs`` as loaded, ``content``: what identifies them;
    ``persons``: whether its users are people, and not each trajectory one of its own for want of a column that names them."""

    dataset: str
    data: str | None
    path: Path | None
    content: str
    trajs: Trajectories
    persons: bool = True

    @classmethod
    def load(cls, dataset: str | None, data: str | None, settings: dict[str, Any] | None = None) -> Source:
        """Load; without a ``dataset`` the data is the owner's own table. Raises ParameterError where neither is named."""
        if dataset is None and data is None:
            raise ParameterError(
                "say which data: DATA=my.yaml for your own table, or DATASET=city (porto, geolife) as well"
            )
        if dataset is None and str(data).lower().endswith(TABLES):
            raise ParameterError(
                f'DATA={data} is a table: DATA takes the YAML file that describes it (README, "Your data"), or name a DATASET as well'
            )
        name = dataset or OWN_TABLE
        spec = registry.dataset(name)
        path, typed = registry.prepared_source(spec, data, settings)
        content = content_hash(path) if path else json.dumps([name, typed.model_dump(mode="json")], sort_keys=True)
        persons = getattr(getattr(typed, "columns", None), "user", "named elsewhere") is not None
        return cls(name, data, path, content, datasets.load(name, data=data, settings=settings), persons)

    @cached_property
    def marks(self) -> tuple[str, str, str]:
        """What the ledger knows the data by: the bytes of its files, its fixes (places, times) in no order, whatever file they are in, and how
        these are cut into trajectories."""
        t = self.trajs.t if self.trajs.t is not None else np.zeros(self.trajs.n_points, dtype=np.int64)
        lon, lat = np.rint(self.trajs.lonlat * FIX_STEPS).astype(np.int64).T
        each = pd.util.hash_pandas_object(pd.DataFrame({"lon": lon, "lat": lat, "t": t}), index=False).to_numpy()
        fixes = f"fixes {len(each)} {int(each.sum()):x} {int(np.bitwise_xor.reduce(each)):x}"
        lengths = hashlib.sha256(np.sort(self.trajs.lengths).astype("<i8").tobytes()).hexdigest()
        return self.content, fixes, f"{fixes} cut {lengths} {_largest(self.trajs)}"

    def paths(self) -> list[str]:
        """Paths of this machine and of the data, which must not leave. A bare name in place of a path (DATA=geolife) is none."""
        given = [Path(p) for p in (self.data, self.path) if p]
        found = [
            project_root(),
            Path.cwd(),
            Path.home(),
            *given,
            *(p.absolute() for p in given),
            *(p.absolute().parent for p in given),
        ]
        return [str(p) for p in found if os.sep in str(p).strip(os.sep) or p.suffix]


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
    _promised_to_people(choice, source, budget)
    ledger = BudgetLedger(ledger_folder(source, budget.folder))
    folder = free_folder(out, ledger.folder, source.path)
    ticket = ledger.reserve(
        source.marks, spend=choice.spend, method=choice.name, cap=Asked(budget.cap, budget.cap_delta, budget.cap_unit),
        raise_cap=budget.raise_cap, most_trips=budget.most_trips, largest=_largest(source.trajs), account=budget.account,
        anonymous=choice.keeps_true_ones,
    )  # fmt: skip
    try:
        at("reserved")
        _handed_over(choice, source, folder, ledger, ticket, n, purpose, figures, at)
    except (TrajkitError, OSError, KeyboardInterrupt) as error:
        raise _all_the_same(error, choice.spend) from error
    return ticket


def _promised_to_people(choice: Choice, source: Source, budget: Budget) -> None:
    """Raise ParameterError where a promise to persons is asked for of data that does not tell persons apart."""
    counted = {choice.spend.unit if choice.spend else "", getattr(choice.method.config, "count", "")}
    if not source.persons and ("user" in counted or budget.most_trips is not None):
        raise ParameterError(
            "the data names no person (columns: user), so each trajectory would count as one and a promise to persons would be false: name that "
            "column, or promise what holds: count: trajectory (anonymizers), no trips_per_user (DP), no MOST_TRIPS"
        )


def _all_the_same(error: BaseException, spend: Spend | None) -> TrajkitError:
    """What stopped a release after its entry, as one message that says that the entry counts."""
    known = type(error) if isinstance(error, TrajkitError) else ParameterError
    why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error)
    if isinstance(error, OSError):
        why = f"the release could not be written to OUT or the ledger ({error.strerror or error}), and nothing half of it is left"
    counts = "" if spend is None else f". The {spend.in_words()} entered for this release count all the same"
    return known(f"{why}{counts}")


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
    steps = source.trajs.meta.steps
    if anonymous:  # what the method cuts out first is missing, too
        steps = (*steps, *choice.method.steps_)  # type: ignore[attr-defined]
    facts = Facts(
        title=source.trajs.meta.dataset, purpose=purpose, method=choice.name, guarantee=guarantee, released=made,
        account=ticket.account,
        left_out=left_out(
            source.trajs.with_meta(steps=steps), release.report if anonymous else {}, getattr(choice.method, "origin_", None) if anonymous else None,
            guarantee.k or 0, figures=figures or anonymous,
        ),
        trips_per_user=choice.protects_user_by,
        parameters=published_parameters(choice.method.config, paths), reserved=choice.spend,
        setting=release.report.get("setting") if anonymous else None,
        within_budget=release.report.get("within budget", True), figures=figures,
    )  # fmt: skip
    part = _written(facts, folder, [*paths, *source.marks, source.trajs.fingerprint(), *map(str, seeds)])
    at("written")
    into_place(part, folder)
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
            flush(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    part.chmod(0o755)
    return part


def ledger_folder(source: Source, asked: Path | None) -> Path:
    """Where the ledger is kept: as ``asked``, else beside the data. Raises ParameterError where the one beside it knows the data already."""
    beside = (source.path.parent if source.path else project_root() / "data") / LEDGER
    if asked is None:
        return beside
    if (
        beside.is_dir()
        and asked.resolve() != beside.resolve()
        and BudgetLedger(beside).state(source.marks).fingerprints
    ):
        raise ParameterError(
            f"this data is booked in {beside} already, where its budget is counted: leave LEDGER={asked} out"
        )
    return asked


def _largest(trajs: Trajectories) -> int:
    """The most trajectories that some user has."""
    return int(np.bincount(trajs.user).max()) if len(trajs) else 0
