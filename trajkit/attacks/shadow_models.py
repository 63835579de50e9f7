"""Many trainings of the kit's own UNet GAN, each without some of the targets: the data of the experiment that nobody has done.

Targets are ``planted`` canaries, routes that nobody takes, a user each and so one record each, and ``natural`` people of the data with all their
trips. A fair coin of its own says for every model and every target whether the target is in the training set; everybody else
always is. Each model releases trajectories, and about every target some numbers are kept: what `trajkit.attacks.shadow_audit` judges.

Made for a cluster: models have numbers, a shard takes every ``shards``-th of them, and a model's coins and seeds follow from its number
alone, so that any division gives the same. Each finished model is a file of its own, written at once or not at all, so that shards may share
a folder and whoever comes back trains only what is missing. The files tell about true records: they are as private as the data.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import nn

from trajkit.attacks.audit_sets import unit_rows
from trajkit.attacks.gan_audit import noise_for
from trajkit.attacks.member_scores import POINTS, nearest
from trajkit.attacks.shadow_targets import ShadowAudit, Targets, targets_of
from trajkit.deep.gan import Gan
from trajkit.deep.trainer import Trainer
from trajkit.deep.training_guarantee import Budget
from trajkit.errors import DataContractError, MissingDataError, ParameterError, PrivacyAccountingError
from trajkit.privacy.guarantee import Guarantee, no_guarantee
from trajkit.privacy.ledger import DpSgd
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories
from trajkit.yamlio import write_text

Says = Callable[[Trajectories], np.ndarray]  # trajectories -> one number each
ReleaseOf = Callable[[Trajectories, int], Trajectories]  # (training set, seed) -> what is handed over


def train_models(
    config: ShadowAudit, trajs: Trajectories, folder: str | Path, *,
    seed: int, shard: int = 0, shards: int = 1, release_of: ReleaseOf | None = None,
) -> int:  # fmt: skip
    """Train the models of shard ``shard`` (0 to ``shards`` - 1) whose files are not in ``folder`` yet; return how many that were.

    ``release_of`` stands for another method than the GAN; it is judged by the GAN's claim. Raises ParameterError for a bad shard or a batch that
    is larger than a training set, CheckpointError or DataContractError for a folder of another audit, and whatever training raises.
    """
    if not (shards >= 1 and 0 <= shard < shards):
        raise ParameterError(f"shard = {shard!r} of shards = {shards!r}: must be 0 to shards - 1")
    targets = targets_of(config, trajs, seed=seed)
    claim = mechanism(config, targets.least)
    about = {
        "config": config.model_dump(mode="json"),
        "claim": [claim.sample_rate, claim.noise_multiplier, claim.steps],
    }
    method = "gan" if release_of is None else getattr(release_of, "__qualname__", "given")
    parts = {**about, "seed": seed, "data": trajs.fingerprint(), "method": method, "version": Gan.version}
    identity = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    folder, trained = Path(folder), 0
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(shard, config.models, shards):
        file = folder / f"model-{i:06d}.json"
        if file.is_file():
            _same(json.loads(file.read_text()), identity, file)
            continue
        started, own = time.monotonic(), child_seed(seed, "attack", "shadow model", i)
        train = targets.training_set(i)
        if release_of is None:
            released, says = _gan(config, claim.noise_multiplier, train, own, folder / f"model-{i:06d}.pt")
        else:
            released, says = release_of(train, own), None
        row = {name: values.tolist() for name, values in statistics_of(targets, released, says).items()}
        row = {"statistics": row, "inside": targets.inside[i].astype(int).tolist(), "n": len(train)}
        write_text(
            file, json.dumps({**about, "identity": identity, "model": i, **row, "seconds": time.monotonic() - started})
        )
        trained += 1
    return trained


def mechanism(config: ShadowAudit, n: int) -> DpSgd:
    """What the scheme says it is on ``n`` records, those of the smallest training set: on all others it claims less.

    For "generator" batch / n and the generator's steps, for "critic" all critic steps; noise calibrated to the claimed epsilon.
    """
    gan = config.parameters(1.0)
    if gan.batch_size > n:
        raise ParameterError(f"gan.batch_size = {gan.batch_size}: the smallest training set has {n} trajectories")
    steps = gan.accounted_steps
    noise = noise_for(config.epsilon, config.delta, n=n, batch=gan.batch_size, noisy_steps=steps)
    return DpSgd(gan.batch_size / n, noise, steps)


class _Audited(Gan):
    """The GAN; what is released is audited as it is, collapsed or not, and its critic is kept where the claim covers it."""

    def _released(self, trainer: Trainer) -> nn.Module:
        found = super()._released(trainer)
        self.critic_ = trainer.model
        return found

    def _check_collapse(self) -> None:
        """Whether a training was given up would be a release as well."""

    def _guarantee(self, trainer: Trainer, budget: Budget) -> Guarantee:
        """None: nothing of an audit is published, and the accountant need not say again what it said of the claim."""
        taken = self._player.updates if self.config.dp_target == "generator" else trainer.ledger["steps"]
        if taken != self.config.accounted_steps:
            raise PrivacyAccountingError(
                f"{taken} noisy steps were taken, {self.config.accounted_steps} are accounted for"
            )
        return no_guarantee("a model of an audit is attacked, not released")

    @torch.no_grad()
    def says(self, trajs: Trajectories) -> np.ndarray:
        """The critic's output, float64 [n]."""
        x = self._scaled(trajs).to(self.device_)
        return torch.cat([self.critic_(part) for part in x.split(512)])[:, 0].double().cpu().numpy()


def _gan(
    config: ShadowAudit, noise: float, train: Trajectories, seed: int, checkpoint: Path
) -> tuple[Trajectories, Says | None]:
    made = _Audited(config.parameters(noise)).fit(train, seed=seed, checkpoint=checkpoint)
    released = made.release(config.n_release, seed=child_seed(seed, "sampling")).trajectories
    checkpoint.unlink(missing_ok=True)
    return released, made.says if config.dp_target == "critic" else None


def statistics_of(targets: Targets, released: Trajectories, says: Says | None) -> dict[str, np.ndarray]:
    """Float64 [targets] each, high where a member would be; means over the trips of a person.

    nearest   minus log(1 + metres) to the nearest released path; mean distance: minus the mean one, as fractions of half the box
    toward    how far the mean released trajectory lies in the direction of the target, from the middle of the box
    critic    what the critic says of the target beside the mean of what was released; only where the claim covers the critic
    """
    asked, label = targets.trajs.take(targets.label >= 0), targets.label[targets.label >= 0]
    rows, made = unit_rows(asked, POINTS), unit_rows(released, POINTS)
    length = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    found = {
        "nearest": nearest(asked, released),
        "mean distance": -cdist(rows, made).mean(axis=1),
        "toward": rows @ made.mean(axis=0) / length,
    }
    if says is not None:
        found["critic"] = says(asked) - says(released).mean()
    return {name: np.bincount(label, values) / np.bincount(label) for name, values in found.items()}


@dataclass(frozen=True)
class ShadowRuns:
    """``statistics``: name -> float64 [models, targets]; ``inside`` bool [models, targets]; ``claim``: what the scheme says it is."""

    config: ShadowAudit
    claim: DpSgd
    statistics: dict[str, np.ndarray]
    inside: np.ndarray
    seconds: float


def read_models(folders: str | Path | Iterable[str | Path]) -> ShadowRuns:
    """Put the files of all shards together; none of the data is needed for it.

    Raises MissingDataError for models that no folder has, DataContractError for files of different audits.
    """
    wanted = [folders] if isinstance(folders, (str, Path)) else list(folders)
    files = sorted((f for folder in wanted for f in Path(folder).glob("model-*.json")), key=lambda f: f.name)
    if not files:
        raise MissingDataError(f"no model in {', '.join(map(str, wanted))}: run train_models first")
    rows: dict[int, dict[str, Any]] = {}
    for file in files:
        row = json.loads(file.read_text())
        rows[row["model"]] = _same(row, rows[min(rows)]["identity"] if rows else row["identity"], file)
    config = ShadowAudit(**rows[min(rows)]["config"])
    missing = sorted(set(range(config.models)) - set(rows))
    if missing:
        raise MissingDataError(
            f"{len(missing)} of {config.models} models are missing (first: {missing[0]}): train their shards"
        )
    ordered = [rows[i] for i in range(config.models)]
    statistics = {k: np.array([r["statistics"][k] for r in ordered]) for k in ordered[0]["statistics"]}
    inside = np.array([r["inside"] for r in ordered], dtype=bool)
    rate, noise, steps = ordered[0]["claim"]
    return ShadowRuns(config, DpSgd(rate, noise, steps), statistics, inside, sum(r["seconds"] for r in ordered))


def _same(row: dict[str, Any], identity: str, file: Path) -> dict[str, Any]:
    if row["identity"] != identity:
        raise DataContractError(f"{file} is of another audit (other settings, data or seed): use a folder for each")
    return row
