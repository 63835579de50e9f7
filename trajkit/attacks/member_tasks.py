"""Attacks on typical records as tasks of a study: the GAN at any size with shadow models, and LiRA on stacks of tiny GANs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from trajkit.attacks.audit_task import AuditConfig, AuditReport, Part
from trajkit.attacks.gan_tasks import CITY, city_rows
from trajkit.attacks.shadow_audit import ShadowVerdict, judge, read_models, train_models
from trajkit.attacks.shadow_targets import TINY, ShadowAudit
from trajkit.attacks.tiny_game import pretrain
from trajkit.attacks.tiny_gan import TinyGan
from trajkit.attacks.tiny_membership import REGIMES, TinyFound, TinyMembership, in_words, infer_all
from trajkit.errors import DataContractError, ParameterError
from trajkit.seeds import rng
from trajkit.trajectories import Trajectories


class ShadowTask(ShadowAudit, AuditConfig):
    """`ShadowAudit` on the data of the study, in any number of shards; without ``gan`` the smallest one.

    ``people``: so many people of the data, drawn by the seed; None takes all. Where few steps meet many people, no canary is ever drawn.
    """

    NEEDS_DATA: ClassVar[bool] = True
    people: int | None = Field(None, ge=5)
    gan: dict[str, Any] = Field(default_factory=lambda: dict(TINY))

    @property
    def most_shards(self) -> int:
        """One for each model."""
        return self.models

    def run(self, part: Part) -> AuditReport:
        """Train this shard's models; they are judged together."""
        if part.data is None:
            raise DataContractError("shadow: needs the data set of the study, and there is none")
        config = ShadowAudit(**self.model_dump(exclude={"people"}))
        data = some_people(part.data, self.people, seed=part.seed)
        train_models(config, data, part.folder, seed=part.seed, shard=part.shard, shards=part.shards)
        return AuditReport()

    def judged(self, reports: Sequence[AuditReport], folders: Sequence[Path]) -> AuditReport:
        """Both tests of the claim, and the table "shadow" of membership inference."""
        found = judge(read_models(folders))
        return AuditReport(
            (found.planted, found.one_run), {"shadow": _rows(found), "in words": [{"text": found.in_words()}]}
        )


def some_people(trajs: Trajectories, n: int | None, *, seed: int) -> Trajectories:
    """All trajectories of ``n`` people. Raises ParameterError for more than there are."""
    if n is None:
        return trajs
    users = np.unique(trajs.user)
    if n > len(users):
        raise ParameterError(f"people = {n}: the data set has {len(users)}")
    return trajs.take(np.isin(trajs.user, rng(seed, "attack", "some people").permutation(users)[:n]))


def _rows(found: ShadowVerdict) -> list[dict[str, Any]]:
    """One row a test or attack."""
    rows = []
    for targets, membership in (("natural", found.natural), ("planted", found.canaries)):
        for name, roc in membership.attacks:
            one = roc.at[0]
            rows.append(
                {
                    "targets": targets, "attack": name, "AUC": roc.auc, "low": roc.auc_interval[0], "high": roc.auc_interval[1],
                    "found at 1 % false": one.tpr, "found, low": one.tpr_interval[0], "found, high": one.tpr_interval[1],
                }
            )  # fmt: skip
    return rows


class MembershipTask(TinyMembership, AuditConfig):
    """LiRA on ``trips`` trips of the simulated city, tiny GANs that start from public trips; one of `tiny_membership.REGIMES` after the other."""

    JUDGES: ClassVar[bool] = False

    trips: int = Field(128, ge=8)
    city_seed: int = Field(CITY, ge=0)

    def run(self, part: Part) -> AuditReport:
        """Tables "membership" (one row a regime and attack), "roc" and "in words"."""
        rows, private, public = city_rows(
            self.trips, size=TinyGan.model_fields["size"].default, city_seed=self.city_seed, seed=part.seed
        )
        plain = TinyGan(scheme="generator", noise_multiplier=0.0)
        start = pretrain(rows[public], plain, seed=part.seed)
        found = infer_all(rows[private], self, start=start, seed=part.seed, regimes=REGIMES)
        table = [row for f in found for row in _regime(f)]
        curves = [
            {"regime": f.regime.name, "attack": name, "fpr": c["fpr"], "tpr": c["tpr"]}
            for f in found
            for name, c in f.to_dict()["curves"].items()
        ]
        return AuditReport(tables={"membership": table, "roc": curves, "in words": [{"text": in_words(found)}]})


def _regime(found: TinyFound) -> list[dict[str, Any]]:
    """One row an attack on natural trips, with what the canary's own game shows beside it."""
    canary = max(found.canary.by_score, key=lambda s: s.auc)
    rows = []
    for name, roc in found.natural.attacks:
        one, rare = roc.at[0], roc.at[1]
        rows.append(
            {
                "noise": found.regime.name, "attack": name, "AUC": roc.auc, "low": roc.auc_interval[0], "high": roc.auc_interval[1],
                "found at 1 % false": one.tpr, "found, low": one.tpr_interval[0], "found, high": one.tpr_interval[1],
                "found at 0.1 % false": rare.tpr, "canary: AUC": canary.auc, "canary: epsilon at least": found.canary.epsilon,
                "of at most": found.most,
            }
        )  # fmt: skip
    return rows
