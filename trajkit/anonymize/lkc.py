"""LKC-privacy, or k^m-anonymity, of trajectories by local suppression: protection against who knows at most L points.

Whole-signature k-anonymity asks that entire routes be shared, which few are. Here any L points of a released route, in their order, are
shared by at least k persons, and single labels are taken out until that is so. Fung et al. (Mohammed, Fung, Debbabi 2009; Chen, Fung,
Mohammed, Desai, Wang 2013); the algorithm is in `trajkit.anonymize.lkc_search`, the final verification in `trajkit.anonymize.lkc_check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from trajkit import geo
from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.anonymizer import WHO, Anonymizer, AnonymizerConfig, all_of_them, persons, published
from trajkit.anonymize.clock import PublicDay
from trajkit.anonymize.diversity import sensitive_place
from trajkit.anonymize.emission import midnight, times
from trajkit.anonymize.lkc_check import violations
from trajkit.anonymize.lkc_search import suppress
from trajkit.anonymize.signatures import Signatures, signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.baselines import public_meta
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.ragged import equal_rows
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Meta, Trajectories, concatenate_offsets

SETTLING = 8


class LkcConfig(AnonymizerConfig):
    """``k`` persons (``count``) share every ``known`` (L) labels; at most ``confidence`` (C) of them share a sensitive value.

    ``cells_m``: side of the public squares; ``minutes``: length of the time bins, None for a release without times; ``of``: bins of the
    local clock, shown on the public date ``day``, or of absolute time. ``sensitive``: "destination" is the last point's square of
    ``sensitive_m``; needed where confidence is below 1.
    """

    known: int = Field(2, ge=1, le=4)
    confidence: float = Field(1.0, gt=0, le=1)
    cells_m: float = Field(1000.0, gt=0)
    minutes: int | None = None
    of: Literal["clock", "absolute"] = "clock"
    day: PublicDay = "2000-01-03"
    sensitive: Literal["none", "destination"] = "none"
    sensitive_m: float = Field(5000.0, gt=0)

    @model_validator(mode="after")
    def _fits(self) -> LkcConfig:
        if self.confidence < 1 and self.sensitive == "none":
            raise ValueError(
                "confidence below 1 needs a sensitive value: set sensitive to destination, or confidence to 1"
            )
        return self


@dataclass(frozen=True)
class LkcModel:
    """What a fit leaves, all of it to be released: points in degrees, offsets, times, class of each trajectory; but for its private ``origin``, a
    trajectory of the input."""

    meta: Meta
    lonlat: np.ndarray
    offsets: np.ndarray
    t: np.ndarray | None
    group: np.ndarray
    origin: np.ndarray
    guarantee: Guarantee
    report: dict[str, Any]


class Lkc(Anonymizer):
    """See the module."""

    Config = LkcConfig
    TEMPLATE = "method-k-anonymity"

    def __init__(self, config: LkcConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> Lkc:
        """Suppress, write out, and count the written again. ``seed`` is not used: nothing is drawn.

        Raises DataContractError for a set that breaks the contract or has sequences too long to search, ParameterError for bins
        without times.
        """
        train = self.prepared(train)
        c = self.config
        who = persons(train, c.count)
        cells, bins = SquareCells(c.cells_m), TimeBins(c.minutes, c.of, train.meta.tz)
        whole = canonical(signatures(train, cells, bins), settled(cells, train.meta))
        value = sensitive_place(train, SquareCells(c.sensitive_m)) if c.sensitive == "destination" else None
        keep, met = suppress(
            _labels(whole), whole.offsets, who, k=c.k, known=c.known, confidence=c.confidence, sensitive=value
        )
        left, alive = _kept(whole, keep)
        lonlat = train.meta.box.clip(geo.unproject(cells.centres(left.cells), train.meta.crs))
        t = times(left, bins, midnight(c.day, train.meta.tz))
        self._verify(left, lonlat, t, who[alive], None if value is None else value[alive], train.meta)
        group, routes = equal_rows(np.column_stack([left.cells, left.bins]), left.offsets)
        self.model_ = LkcModel(
            meta=public_meta(train.meta),
            lonlat=lonlat,
            offsets=left.offsets,
            t=t,
            group=group,
            origin=np.flatnonzero(alive),
            guarantee=self._guarantee(),
            report={
                "labels released": len(left.cells),
                "trajectories released": len(left),
                "different routes released": routes,
                HIDDEN: _losses(train, whole, left, alive, met),
            },
        )
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return all that is left, in an order and under ids drawn from ``seed``. Raises ParameterError for any ``n`` but None."""
        all_of_them(n)
        m: LkcModel = fitted_attribute(self, "model_")
        out, order = published(m.lonlat, m.offsets, m.t, m.group, meta=m.meta, seed=seed)
        self.origin_ = self.source_[m.origin[order]]
        hidden = {**m.report[HIDDEN], "preparation": self.steps_}
        return Release(out, m.guarantee, {**m.report, HIDDEN: hidden})

    def _verify(
        self, left: Signatures, lonlat: np.ndarray, t: np.ndarray | None, who: np.ndarray, value: np.ndarray | None, meta: Meta
    ) -> None:  # fmt: skip
        """Read the points and times to be released as anybody would, and count. Raises DataContractError where the promise is broken."""
        c = self.config
        out = Trajectories.generated(lonlat, left.offsets, meta=meta, t=t)
        again = signatures(out, SquareCells(c.cells_m), TimeBins(c.minutes, c.of, meta.tz))
        if not all(
            np.array_equal(a, b)
            for a, b in ((again.cells, left.cells), (again.bins, left.bins), (again.offsets, left.offsets))
        ):
            raise DataContractError(
                f"{meta.dataset}: the points to be released do not read as the labels that were checked: cut trajectories "
                "that last for weeks, or use other cells"
            )
        found = violations(
            _labels(again), again.offsets, who, k=c.k, known=c.known, confidence=c.confidence, sensitive=value
        )
        if any(found):
            raise DataContractError(
                f"{meta.dataset}: {found} subsequences of length 1.. still break LKC-privacy: nothing may be released"
            )

    def _guarantee(self) -> Guarantee:
        c = self.config
        time = "no times" if c.minutes is None else f"bins of {c.minutes} min of {c.of} time"
        learned = (
            f"; at most {c.confidence:.3g} of them share a destination ({c.sensitive_m:g} m)"
            if c.sensitive != "none"
            else ""
        )
        alone = "one person may own all k trajectories" if c.count == "trajectory" else WHO
        return Guarantee(
            holds=True,
            kind="k-anonymity",
            k=c.k,
            unit=c.count,
            mechanism=f"LKC-privacy by local suppression, L = {c.known}, C = {c.confidence:g}",
            accountant="subsequences counted again in the released points and times",
            numerics="exact",
            assumptions=(
                f"the attacker knows at most {c.known} point(s) of one trajectory, as squares of {c.cells_m:g} m and {time}, in their order; "
                "who knows more, or points of several trajectories of a person, may find fewer than k",
                f"these points, where the release holds them, fit trajectories of at least {c.k} different {c.count}s{learned}",
                f"counted by {c.count}: {alone}",
                "squares, bins and box are public; that somebody is missing or has fewer points than were made is visible to who knows the route",
                "does not compose: two releases together may tell apart who one does not",
            ),
        )


def settled(cells: SquareCells, meta: Meta) -> Any:
    """Map of labels to those whose published point (centre, moved into the public box) lies in the square itself.

    A square that the box's border just touches may have its point in the next one; it is counted there, by a rule that reads no data.
    """

    def settle(labels: np.ndarray) -> np.ndarray:
        for _ in range(SETTLING):
            point = meta.box.clip(geo.unproject(cells.centres(labels), meta.crs))
            there = cells.cell_of(geo.project(point, meta.crs))
            if np.array_equal(there, labels):
                return labels
            labels = there
        raise ParameterError(f"squares of {cells.size_m:g} m do not fit the box of {meta.dataset}: use another size")

    return settle


def canonical(sig: Signatures, settle: Any) -> Signatures:
    """Signatures with each cell replaced by the one it settles in, adjacent repeats merged again."""
    kinds, of = np.unique(sig.cells, return_inverse=True)
    cells = settle(kinds)[of.ravel()] if len(kinds) else sig.cells
    first, per = kernels.label_starts(cells, sig.bins, sig.offsets)
    return Signatures(cells[first], sig.bins[first], concatenate_offsets(per))


def _labels(sig: Signatures) -> np.ndarray:
    """int64 [M]: one number for each (cell, bin)."""
    cell, bin_ = (np.unique(a, return_inverse=True)[1].ravel() for a in (sig.cells, sig.bins))
    return cell * (int(bin_.max(initial=0)) + 1) + bin_


def _kept(sig: Signatures, keep: np.ndarray) -> tuple[Signatures, np.ndarray]:
    """What is left, without the sequences of which nothing is; and bool [n]: which of them there are."""
    owner = np.repeat(np.arange(len(sig)), np.diff(sig.offsets))
    lengths = np.bincount(owner[keep], minlength=len(sig))
    return Signatures(sig.cells[keep], sig.bins[keep], concatenate_offsets(lengths[lengths > 0])), lengths > 0


def _losses(
    train: Trajectories, whole: Signatures, left: Signatures, alive: np.ndarray, met: list[int]
) -> dict[str, Any]:
    """What was suppressed, in shares; from true counts, which the guarantee does not cover."""
    n_users = len(np.unique(train.user))

    def share(gone: int, of: int) -> float:
        return gone / of if of else 0.0

    return {
        "minimal violating subsequences by length": met,
        "share of labels suppressed": share(len(whole.cells) - len(left.cells), len(whole.cells)),
        "share of trajectories suppressed": share(int((~alive).sum()), len(train)),
        "share of users suppressed": share(n_users - len(np.unique(train.user[alive])), n_users),
    }
