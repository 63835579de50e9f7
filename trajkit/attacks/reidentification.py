"""Re-identification of raw targets in a release of generalized labels (cells, with or without time bins).

The adversary knows points of a person's RAW record, generalizes them by the public map of the release, and keeps every released class
that holds ALL of them. He names one of the persons behind these classes at random: success = 1 / their number if the target is among
them, 0 if not or if the target was suppressed. Where every class stands for k distinct persons this is at most 1/k, however many points
he knows. Isolating one class proves nothing of the kind: with many points the share that does tends to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.intervals import mean_interval, set_quantiles
from trajkit.attacks.inverted_index import index_of
from trajkit.attacks.known_points import Items, KnownPoints, Outcome, attack, draw_targets
from trajkit.attacks.origin import Origin
from trajkit.attacks.records import NOWHERE, Records, coded, dense_labels, records, without_time
from trajkit.attacks.uniqueness import interval_of, table
from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.ragged import equal_rows


@dataclass(frozen=True)
class ReidentifiedAt:
    """The attack with ``p`` known points.

    targets    attacked and with at least p distinct points, of which ``suppressed`` are not in the release at all (they count as failures);
               ``too_few``: attacked, but with fewer points, and in no figure here
    success    mean probability that the person named is the target
    certain    share of targets for whom nobody else is left
    one_class  share for which exactly one class is left: says little about persons
    no_match   share for which no class is left
    persons_matching  quantiles 5 … 95 % of the persons left, where any are; None where that never happens
    intervals are two-sided, for the draw of targets and points; None where every target and combination was looked at
    """

    p: int
    targets: int
    too_few: int
    suppressed: int
    success: float
    success_interval: tuple[float, float] | None
    certain: float
    certain_interval: tuple[float, float] | None
    one_class: float
    no_match: float
    persons_matching: tuple[float, ...] | None


@dataclass(frozen=True)
class Reidentification:
    """``by_p``: one entry for each p at which some target has enough points; ``no_target``: the other p.

    ``baseline`` = 1 / persons in the release (0 if it is empty): success of a guess that knows only that the target is in it.
    ``bound`` = 1 / k where the release claims k, else None.
    """

    by_p: tuple[ReidentifiedAt, ...]
    no_target: tuple[int, ...]
    target: str
    baseline: float
    bound: float | None
    space_only: bool
    exact: bool
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each p; intervals and quantiles in columns of their own (absent intervals: the figure itself)."""
        return table(self.by_p, self.baseline, self.bound)


@dataclass(frozen=True)
class KnownElsewhere:
    """Points known of the same people from other trajectories, as of another day: their ``labels`` and the ``user`` [n] of each."""

    labels: Signatures
    user: np.ndarray


def reidentification(
    raw: Signatures,
    user: np.ndarray,
    released: Signatures,
    origin: Origin,
    *,
    seed: int,
    known: Signatures | KnownElsewhere | None = None,
    space_only: bool = False,
    k: int | None = None,
    **settings: Any,
) -> Reidentification:
    """Attack ``released`` with points of ``raw``; both are signatures by the map of the release. ``settings``: `KnownPoints`.

    user    [n] person of each raw trajectory, any names
    origin  the private map from released to raw trajectories
    known   what is believed of each raw label (`knowledge.known_labels`), or points of the same people from elsewhere (targets are
            users then); None: the raw labels themselves
    space_only  times are dropped on both sides
    k       that the release claims, for the bound
    With ``target`` "trajectory" a success needs the target's own released record, with "user" any of the user's.
    Raises ParameterError for settings out of range, an origin that does not fit, or an enumeration that is too large.
    """
    chosen = checked(KnownPoints, settings, where="reidentification")
    origin.check(len(released), len(raw))
    if k is not None and k < 2:
        raise ParameterError(f"k = {k!r}: what a release claims is at least 2; leave it out where it claims nothing")
    person, n_persons = dense_labels(user, len(raw), "user")
    source = raw if known is None else known.labels if isinstance(known, KnownElsewhere) else known
    parts = [raw, released, source]
    tokens, n_tokens = coded(*map(without_time, parts) if space_only else parts)
    members = Signatures(tokens[1], tokens[1], released.offsets).take(origin.released)
    pairs = len(origin.source)
    shown = records(members.cells.astype(np.int32), members.offsets, np.arange(pairs), pairs, n_tokens)
    group, n_groups = equal_rows(tokens[1], released.offsets)
    by_user = chosen.target == "user"
    items = Items(
        person[origin.source] if by_user else origin.source,
        person[origin.source], group[origin.released], n_persons, n_groups,
    )  # fmt: skip
    held, n = _held(raw, tokens, n_tokens, person, n_persons, np.unique(user), known, chosen)
    targets = draw_targets(n, chosen, seed, "reidentification")
    outcome = attack(
        _codes_of(held, shown), targets, index_of(shown), items, chosen, seed=seed, stream="reidentification"
    )
    there = np.isin(targets, items.own)
    everything = chosen.exact and len(targets) == n
    some = [c for c in range(len(chosen.p)) if outcome.enough[:, c].any()]
    return Reidentification(
        tuple(_at(c, outcome, there, chosen, everything) for c in some),
        tuple(p for c, p in enumerate(chosen.p) if c not in some),
        chosen.target,
        baseline=1 / len(np.unique(items.person)) if pairs else 0.0,
        bound=None if k is None else 1 / k,
        space_only=space_only,
        exact=chosen.exact,
        level=chosen.level,
    )


def _held(
    raw: Signatures, tokens: list[np.ndarray], n_tokens: int, person: np.ndarray, n_persons: int, names: np.ndarray,
    known: Signatures | KnownElsewhere | None, chosen: KnownPoints,
) -> tuple[Records, int]:  # fmt: skip
    """What is known of each target (distinct true labels, as believed), and the number of targets."""
    if isinstance(known, KnownElsewhere):
        if chosen.target != "user":
            raise ParameterError("points known from elsewhere are of users: set target to user")
        names_there = np.asarray(known.user)
        dense_labels(names_there, len(known.labels), "user of the points known from elsewhere")
        keep = np.flatnonzero(np.isin(names_there, names))
        part = Signatures(tokens[2], tokens[2], known.labels.offsets).take(keep)
        group = np.searchsorted(names, names_there[keep])
        return records(part.cells.astype(np.int32), part.offsets, group, n_persons, n_tokens), n_persons
    if known is not None and not np.array_equal(known.offsets, raw.offsets):
        raise ParameterError("known must hold one label beside each of raw: make both with knowledge.known_labels")
    group, n = (person, n_persons) if chosen.target == "user" else (np.arange(len(raw)), len(raw))
    true = records(tokens[0], raw.offsets, group, n, n_tokens)
    return Records(tokens[2][true.where], true.offsets, n_tokens, true.where), n


def _codes_of(held: Records, shown: Records) -> Records:
    """``held`` with the labels that no released record holds marked as such."""
    released = np.zeros(held.n_tokens, dtype=bool)
    released[shown.tokens] = True
    return Records(np.where(released[held.tokens], held.tokens, NOWHERE), held.offsets, held.n_tokens, held.where)


def _at(c: int, outcome: Outcome, there: np.ndarray, settings: KnownPoints, everything: bool) -> ReidentifiedAt:
    enough = outcome.enough[:, c]
    n = int(enough.sum())
    success, certain = float(outcome.guess[enough, c].mean()), outcome.alone[enough, c]
    return ReidentifiedAt(
        settings.p[c],
        targets=n,
        too_few=int((~enough).sum()),
        suppressed=int((enough & ~there).sum()),
        success=success,
        success_interval=None if everything else mean_interval(success, n, settings.level),
        certain=float(certain.mean()),
        certain_interval=None if everything else interval_of(certain, settings),
        one_class=float(outcome.one_group[enough, c].mean()),
        no_match=float(outcome.none[enough, c].mean()),
        persons_matching=set_quantiles(outcome.weights[c]) if outcome.weights[c, 1:].any() else None,
    )
