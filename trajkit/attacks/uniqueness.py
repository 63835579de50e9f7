"""Uniqueness of mobility traces, or unicity (de Montjoye et al. 2013): how often do p points of a raw record match nobody else?

The figure belongs to its data: to the resolution, to how many people there are and for how long. "Four points identify 95 %" was
said of hourly antenna data of 1.5 million people and is not a law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.intervals import QUANTILES, mean_interval, rate_interval, set_quantiles
from trajkit.attacks.inverted_index import index_of
from trajkit.attacks.known_points import Items, KnownPoints, Outcome, attack, draw_targets
from trajkit.attacks.records import coded, dense_labels, records
from trajkit.parameters import checked


@dataclass(frozen=True)
class UniquenessAt:
    """Uniqueness with ``p`` known points.

    targets       attacked and with at least p distinct points; ``too_few``: attacked, but with fewer, and in no figure here
    unicity       share of them whose p points match one person only, themselves
    guess_success mean of 1 / persons that match: what naming one of them at random achieves
    ..._interval  two-sided at ``level``, for the draw of targets and points; None where every target and combination was looked at
    persons_matching  quantiles 5, 25, 50, 75, 95 % of how many persons match
    """

    p: int
    targets: int
    too_few: int
    unicity: float
    unicity_interval: tuple[float, float] | None
    guess_success: float
    guess_interval: tuple[float, float] | None
    persons_matching: tuple[float, ...]


@dataclass(frozen=True)
class Uniqueness:
    """``by_p``: one entry for each p at which some target has enough points; ``no_target``: the other p.

    ``persons`` in the data; ``baseline`` = 1 / persons: success of a guess that knows nothing.
    """

    by_p: tuple[UniquenessAt, ...]
    no_target: tuple[int, ...]
    target: str
    persons: int
    exact: bool
    level: float

    @property
    def baseline(self) -> float:
        return 1 / self.persons

    def to_frame(self) -> pd.DataFrame:
        """One row for each p; intervals and quantiles in columns of their own (absent intervals: the figure itself)."""
        return table(self.by_p, self.baseline)


def uniqueness(labels: Signatures, user: np.ndarray, *, seed: int, **settings: Any) -> Uniqueness:
    """Attack raw data with points drawn from its own records; ``settings`` are those of `KnownPoints`.

    labels: signatures of the raw trajectories at the resolution asked for; user: person of each trajectory [n], any names. Whatever
    ``target`` is, those who match are counted as distinct persons: a commuter whose trips all look alike is not hidden by them.
    Raises ParameterError for settings out of range, an empty set, or an exact enumeration that is too large.
    """
    chosen = checked(KnownPoints, settings, where="uniqueness")
    person, n_persons = dense_labels(user, len(labels), "user")
    by_user = chosen.target == "user"
    group, n = (person, n_persons) if by_user else (np.arange(len(labels)), len(labels))
    (tokens,), n_tokens = coded(labels)
    sets = records(tokens, labels.offsets, group, n, n_tokens)
    targets = draw_targets(n, chosen, seed, "uniqueness")
    items = Items(np.arange(n), np.arange(n) if by_user else person, np.zeros(0, dtype=np.int64), n_persons, 0)
    outcome = attack(sets, targets, index_of(sets), items, chosen, seed=seed, stream="uniqueness")
    everything = chosen.exact and len(targets) == n
    found = [_at(p, c, outcome, chosen, everything) for c, p in enumerate(chosen.p) if outcome.enough[:, c].any()]
    missing = tuple(p for c, p in enumerate(chosen.p) if not outcome.enough[:, c].any())
    return Uniqueness(tuple(found), missing, chosen.target, n_persons, chosen.exact, chosen.level)


def _at(p: int, c: int, outcome: Outcome, settings: KnownPoints, everything: bool) -> UniquenessAt:
    enough = outcome.enough[:, c]
    n = int(enough.sum())
    alone, guess = outcome.alone[enough, c], float(outcome.guess[enough, c].mean())
    return UniquenessAt(
        p,
        targets=n,
        too_few=int((~enough).sum()),
        unicity=float(alone.mean()),
        unicity_interval=None if everything else interval_of(alone, settings),
        guess_success=guess,
        guess_interval=None if everything else mean_interval(guess, n, settings.level),
        persons_matching=set_quantiles(outcome.weights[c]),
    )


def interval_of(values: np.ndarray, settings: KnownPoints) -> tuple[float, float]:
    """Interval of the mean of ``values``: Clopper-Pearson where each is 0 or 1 (drawn points), else (means over combinations) Hoeffding's."""
    if settings.exact:
        return mean_interval(float(values.mean()), len(values), settings.level)
    return rate_interval(int(values.sum()), len(values), settings.level)


def table(by_p: Sequence[Any], baseline: float, bound: float | None = None) -> pd.DataFrame:
    """One row for each of the figures ``by_p`` (dataclasses, `flat`), each with the baseline and, where there is one, the bound."""
    more = {"baseline": baseline} | ({} if bound is None else {"bound": bound})
    return pd.DataFrame([{**flat(asdict(a)), **more} for a in by_p])


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """One plain value a column: an interval becomes ``<name>_lower`` and ``_upper``, quantiles ``<name>_q05`` … ``_q95``."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_interval"):
            stem = name.removesuffix("_interval")
            figure = row.get(stem, row.get(f"{stem}_success"))
            low, high = value if value is not None else (figure, figure)
            out |= {f"{stem}_lower": low, f"{stem}_upper": high}
        elif isinstance(value, tuple):
            out |= {f"{name}_q{round(100 * q):02d}": v for q, v in zip(QUANTILES, value, strict=True)}
        else:
            out[name] = value
    return out
