"""Escalation: coarser cells first, then suppression, and made trajectories where suppression would take too much.

1. *Generalise and suppress*: the lattice of `k_anonymity` up to the coarsest setting that the use bears; parts of trips that k persons share
   are kept, the rest is suppressed. Where the share suppressed is within ``tolerance``, the finest such setting is the release.
2. *Replace*: else what can be kept at the coarsest useful setting is kept, and trajectories of a DP synthesizer are added, marked as made.

The synthesizer is fitted on ALL trajectories as they were given, never on the suppressed ones alone: whether a trajectory is suppressed
depends on the others (one person more or less may move up to k - 1 others over the line, or the setting), so that a set of suppressed
trajectories has no bounded sensitivity and noise for one of them would promise nothing. As given, because one silence more in a record
makes several trajectories of it. How many are made is the public ``n_made``; the number suppressed is a private figure.

The whole is not differentially private. See `escalation_report` for what is claimed.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from trajkit.anonymize.anonymizer import MADE, Anonymizer, AnonymizerConfig, all_of_them
from trajkit.anonymize.clock import PublicDay
from trajkit.anonymize.escalation_report import guarantee_of, report_of
from trajkit.anonymize.k_anonymity import KAnonymity, KAnonymityConfig
from trajkit.errors import ParameterError
from trajkit.methods import FromList, Method, fitted_attribute, make_method
from trajkit.parameters import checked
from trajkit.release import HIDDEN, Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories, concatenate_offsets

TIMED = "road_counts"  # the synthesizer that can make times
OWN = ("epsilon", "length", "noise", "trips_per_user", "times", "day", "variant")


class EscalationConfig(AnonymizerConfig):
    """``cells_m`` (squares), ``minutes``, ``of``, ``order``, ``min_labels``, ``day``: as in `k_anonymity`, but settings coarser than
    ``coarsest_useful_m`` and ``coarsest_useful_minutes`` (null, the coarsest: no time at all) are not tried, since nobody could use them.

    ``tolerance``: share that may be suppressed before trajectories are made. It is a share of the points where ``suppress`` is "segments":
    a trajectory of which one short part is left counts as released, but most of it is missing; of the trajectories where it is "trajectory".
    ``synthesizer`` with its ``epsilon`` (spent only where it comes to that), ``trips_per_user``, ``length``, ``noise`` as in every classical
    method, and what else it takes, ``synthesizer_parameters``. ``n_made``: how many it makes, a public number.
    """

    cells_m: Annotated[tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...], FromList, Field(min_length=1)] = (
        250.0, 500.0, 1000.0,
    )  # fmt: skip
    minutes: Annotated[tuple[int | None, ...], FromList, Field(min_length=1)] = (30, 60, 120, None)
    of: Literal["clock", "absolute"] = "clock"
    order: Literal["volume", "cells", "minutes"] = "volume"
    suppress: Literal["segments", "trajectory"] = "segments"
    min_labels: int = Field(2, ge=1)
    day: PublicDay = "2000-01-03"
    tolerance: float = Field(0.3, ge=0, le=1)
    coarsest_useful_m: float = Field(1000.0, gt=0, allow_inf_nan=False)
    coarsest_useful_minutes: int | None = None
    synthesizer: Literal["road_counts", "prefix_tree", "privtrace"] = "road_counts"
    epsilon: float = Field(1.0, gt=0, allow_inf_nan=False)
    trips_per_user: int | None = Field(None, ge=1)
    n_made: int = Field(1000, ge=1)
    length: int = Field(64, ge=2)
    noise: Literal["seeded", "os"] = "seeded"
    synthesizer_parameters: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class EscalationModel:
    """What a fit leaves; private. ``search``: the first stage over all useful settings; ``kept``: what true trajectories are kept by (the same
    where it did not escalate); ``maker``: the fitted synthesizer, None where nothing is replaced."""

    search: KAnonymity
    kept: KAnonymity
    maker: Method | None


class Escalation(Anonymizer):
    """See the module. Raises ParameterError, naming the parameter, for what does not fit together."""

    Config = EscalationConfig
    TEMPLATE = "method-escalation"

    def __init__(self, config: EscalationConfig) -> None:
        self.config = config
        if config.coarsest_useful_minutes is not None and config.synthesizer != TIMED:
            raise ParameterError(
                f"coarsest_useful_minutes = {config.coarsest_useful_minutes}: {config.synthesizer} makes no times, so made trajectories could not "
                f"stand beside timed ones: use synthesizer {TIMED}, or null"
            )
        if twice := sorted(set(OWN) & set(config.synthesizer_parameters)):
            raise ParameterError(
                f"synthesizer_parameters: {', '.join(twice)} cannot be given there: escalation has parameters of its own for what it passes on"
            )
        self._generalizer(self._settings())
        self._maker(timed=config.coarsest_useful_minutes is not None)

    def fit(self, train: Trajectories, *, seed: int, roads: Any = None) -> Escalation:
        """Search the lattice; escalate where the tolerance is passed. ``roads``: the public road network, for a synthesizer that takes it.

        Raises DataContractError for a set that breaks the contract, or that the synthesizer cannot be fitted on.
        """
        c, prepared = self.config, self.prepared(train)
        search = self._generalizer(self._settings()).fit(prepared, seed=seed)
        if search.model_.report["within budget"]:
            self.model_ = EscalationModel(search, search, None)
            return self
        coarsest = {
            "cells_m": (c.coarsest_useful_m,),
            "minutes": (c.coarsest_useful_minutes,),
            "suppression_budget": 1.0,
        }
        kept = self._generalizer(coarsest).fit(prepared, seed=seed)
        maker = self._maker(timed=train.t is not None and c.coarsest_useful_minutes is not None)
        more = {"roads": roads} if "roads" in inspect.signature(maker.fit).parameters else {}
        maker.fit(train, seed=child_seed(seed, "noise", "escalation"), **more)
        self.model_ = EscalationModel(search, kept, maker)
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return all that is kept and, where it came to that, ``n_made`` made trajectories (``n`` must be None).

        ``origin_`` is -1 for made ones. Raises PrivacyAccountingError where a class of kept ones holds fewer than k persons, or the
        synthesizer's promise does not hold.
        """
        all_of_them(n)
        model: EscalationModel = fitted_attribute(self, "model_")
        kept = model.kept.release(None, seed=seed)
        self.origin_ = self.source_[model.kept.origin_]
        made = None
        out = kept.trajectories
        if model.maker is not None:
            made = model.maker.release(self.config.n_made, seed=child_seed(seed, "sampling", "escalation"))
            out = joined(out, made.trajectories)
            self.origin_ = np.append(self.origin_, np.full(len(made.trajectories), -1, dtype=np.int64))
        report = report_of(self.config, model.search.model_.report, kept, made)
        report[HIDDEN]["preparation"] = self.steps_
        return Release(out, guarantee_of(self.config, kept.guarantee, made), report)

    def _settings(self) -> dict[str, Any]:
        """The useful part of the lattice, its coarsest setting included."""
        c = self.config
        widest = c.coarsest_useful_minutes
        minutes = [m for m in c.minutes if widest is None or (m is not None and m < widest)]
        cells = [m for m in c.cells_m if m < c.coarsest_useful_m]
        return {
            "cells_m": (*cells, c.coarsest_useful_m),
            "minutes": tuple(dict.fromkeys((*minutes, widest))),
            "suppression_budget": c.tolerance,
        }

    def _generalizer(self, tried: dict[str, Any]) -> KAnonymity:
        """k-anonymity of what was prepared already."""
        c = self.config
        own = {name: getattr(c, name) for name in ("k", "count", "of", "order", "suppress", "min_labels", "day")}
        return KAnonymity(checked(KAnonymityConfig, {**own, **tried}, where="method escalation"))

    def _maker(self, *, timed: bool) -> Method:
        c = self.config
        own = {name: getattr(c, name) for name in ("epsilon", "trips_per_user", "length", "noise")}
        times = {"times": timed, "day": c.day} if c.synthesizer == TIMED else {}
        return make_method(c.synthesizer, **own, **times, **c.synthesizer_parameters)


def joined(kept: Trajectories, made: Trajectories) -> Trajectories:
    """Kept trajectories and then made ones, whose ids (and users) are `MADE` and a number: a mark that every reader sees."""
    marks = np.array([f"{MADE}{i}" for i in range(len(made))], dtype=str)
    ids = np.concatenate([kept.traj_ids.astype(str), marks])
    return replace(
        kept,
        lonlat=np.concatenate([kept.lonlat, made.lonlat]),
        offsets=concatenate_offsets(np.concatenate([kept.lengths, made.lengths])),
        t=None if kept.t is None or made.t is None else np.concatenate([kept.t, made.t]),
        user=np.arange(len(ids), dtype=np.int64),
        user_ids=ids,
        traj_ids=ids,
    )
