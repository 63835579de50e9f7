"""The gradient-space game on the deep methods' own training code: does one step of DP-SGD keep the claim of one step?

Each method builds its network, objective and trainer as in a fit, at a tiny size, on a few ordinary trajectories with or without a
canary. The weights stand still (`watched.FlawedTrainer`), the sampler, the objective's draws, clipping and noise are the method's, and
every step is a release of its own, claimed as `DpSgd` of one step. The attacker knows everything but whether the canary is there and
sees the whole noisy sum; the score is its length along the canary's own mean gradient, turned away from what varies with who else was
drawn (Fisher's direction). A generator that a GAN trains beside its critic stands still too: it is post-processing.

The claim of a step is far above what 400 of them prove at delta 1e-5 (epsilon 10 against 2): its whole curve is what is tested.

What it sees: how gradients are clipped (record by record, all parameters together, all draws of a record as one), the noise on every
parameter, the rate. What it does not: how steps depend on each other (`broken` plays a whole epoch) and what is derived from the weights.

Subjects: `METHODS`. The GAN's is its critic (dp_target critic). The published scheme, noise on the generator alone, is no subject here: its
noisy sums are over latent vectors, and one record changes the critic between them, which moves all of them at every step. That is seen in
whole trainings, by `worst_case` and `tiny_game`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from trajkit.attacks.audit_bounds import audit, claim_of
from trajkit.attacks.audit_sets import CORNER, canary, neighbours, ordinary
from trajkit.attacks.verdict import SOUND, Verdict, judged
from trajkit.attacks.watched import HALVED, UNCLIPPED, FlawedTrainer, check_flaw
from trajkit.deep.engines import of_records
from trajkit.deep.generator import DeepGenerator
from trajkit.deep.trainer import Trainer
from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.privacy.ledger import DpSgd, check_sample_rate
from trajkit.privacy.release_checks import check_whole
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

FLAWS = (HALVED, UNCLIPPED)
DELTA = 1e-5
OTHERS, LENGTH = 2, 8
DRAWS = 64  # of the objective, for a mean gradient
TINY: dict[str, Any] = {
    "length": LENGTH, "channels": 2, "channel_multipliers": (1,), "groups": 1, "attention": False, "device": "cpu",
    "physical_batch": 16, "max_grad_norm": 0.01,
}  # fmt: skip
METHODS: dict[str, dict[str, Any]] = {
    "diffusion": {**TINY, "diffusion_steps": 20, "sampling_steps": 5, "noise_draws_per_example": 8},
    "vae": {**TINY, "latent": 4, "kl_warmup_steps": 0, "noise_draws_per_example": 8},
    "gan": {**TINY, "latent": 4, "dp_target": "critic", "penalty_weight": 1e-4},
}


def step_game(
    method: str,
    *,
    steps: int = 400,
    seed: int,
    flaw: str = SOUND,
    added: str = CORNER,
    sample_rate: float = 1.0,
    noise_multiplier: float = 0.5,
    level: float = 0.95,
) -> Verdict:
    """Audit one step of ``method``, one of `METHODS`, by ``steps`` of them in each world; ``added`` names the canary (`audit_sets.CANARIES`).

    Raises ParameterError for what is unknown or out of range.
    """
    _check(method, flaw, steps, sample_rate)
    started = time.monotonic()
    claim = DpSgd(sample_rate, noise_multiplier, 1)
    others = ordinary(OTHERS, LENGTH, seed=seed)
    sets = neighbours(list(others), canary(added, LENGTH))
    subject: Any = make_method(
        method,
        **METHODS[method],
        regime="private",
        noise_multiplier=noise_multiplier,
        batch_size=1,
        **_endless(method, steps),
    )
    direction = _direction(subject, sets[0], claim, partial(FlawedTrainer, flaw=flaw), seed)
    a, b = (
        _scores(subject, trajs, claim, steps, direction, flaw, seed, world)
        for trajs, world in zip(sets, ("with", "without"), strict=True)
    )
    epsilon, curve = claim_of(claim, delta=DELTA)
    found = audit({"noisy sum along the canary's gradient": (a, b)}, delta=DELTA, level=level, curve=curve)
    return judged(
        found,
        subject=f"{method}, canary {added}, {flaw}",
        test="step",
        claimed_epsilon=epsilon,
        seconds=time.monotonic() - started,
    )


def _scores(
    method: DeepGenerator,
    trajs: Trajectories,
    claim: DpSgd,
    steps: int,
    direction: np.ndarray,
    flaw: str,
    seed: int,
    world: str,
) -> np.ndarray:
    """float64 [steps]: the noisy sum of each step along ``direction``, in clip norms. The weights are those of ``seed`` in either world."""
    made = partial(FlawedTrainer, flaw=flaw, see=lambda gradient: float(gradient @ direction))
    trainer = _trainer(method, trajs, seed, made)
    assert isinstance(trainer, FlawedTrainer)
    trainer.reseed(child_seed(seed, "attack", "step", method.name, flaw, world))
    trainer.take(replace(trainer.settings, sample_rate=claim.sample_rate, steps=steps))
    return trainer.sums / trainer.settings.max_grad_norm


def _trainer(method: DeepGenerator, trajs: Trajectories, seed: int, kind: Any) -> Trainer:
    trainer, _, _ = method.trainer_for(trajs, seed=seed, identity="audit", kind=kind)
    trainer.companion = None  # what a GAN trains beside its critic stands still
    return trainer


def _endless(method: str, steps: int) -> dict[str, Any]:
    """A GAN's generator moves after ``n_critic`` steps: not within the game."""
    return {"steps": 1, "n_critic": steps} if method == "gan" else {"steps": steps}


def _direction(method: DeepGenerator, whole: Trajectories, claim: DpSgd, kind: Any, seed: int) -> np.ndarray:
    """float64 [parameters], of length 1: S^-1 times the last record's mean gradient, where S is the covariance of a noisy sum.

    That is Fisher's direction: S = (sigma C)^2 I + q (1 - q) G G', with the others' mean gradients the columns of G.
    """
    trainer = _trainer(method, whole, seed, kind)
    *others, own = (_mean_gradient(trainer, i, seed) for i in range(len(whole)))
    g = np.stack(others, axis=1)
    noise = (claim.noise_multiplier * trainer.settings.max_grad_norm) ** 2
    blur = claim.sample_rate * (1 - claim.sample_rate)
    found = own - blur * g @ np.linalg.solve(noise * np.eye(len(others)) + blur * g.T @ g, g.T @ own)  # Woodbury
    length = float(np.linalg.norm(found))
    if not length > 0:
        raise ParameterError("added: the canary's gradient is that of all others, so that no step can show it")
    return found / length


def _mean_gradient(trainer: Trainer, record: int, seed: int) -> np.ndarray:
    """float64 [parameters]: over `DRAWS` draws of the objective."""
    trainer.objective.begin_step(0)
    random = torch.Generator().manual_seed(child_seed(seed, "attack", "step", "direction", record))
    inputs = {
        "record": trainer.records[record].expand(DRAWS, *trainer.records.shape[1:]),
        **trainer.objective.draw(DRAWS, random),
    }
    _, total, _ = trainer.engine.summed(of_records(trainer.objective), inputs, torch.ones(DRAWS))
    return torch.cat([g.flatten() for g in total]).double().numpy() / DRAWS


def _check(method: str, flaw: str, steps: int, sample_rate: float) -> None:
    if method not in METHODS:
        raise ParameterError(f"method = {method!r}: use one of {', '.join(METHODS)}")
    check_flaw(flaw, FLAWS)
    check_whole(steps, "steps", 4, "releases in each world")
    check_sample_rate(sample_rate)
