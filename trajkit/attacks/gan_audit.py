"""The claim of a GAN scheme before the distinguishing game: worst case, crafted and natural, as one `Verdict` each.

What a contradiction says: this scheme, accounted so, does not keep its promise. It is shown for GANs of one to some thousand weights on
at most a few hundred records (the one-parameter one: at any n); how much a large one leaks in practice is not measured here, but
a promise is for every data set. What no contradiction says: these scores, at this budget, saw nothing that the claim forbids.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from trajkit.attacks.audit_bounds import audit, claim_of
from trajkit.attacks.tiny_game import Setting, play
from trajkit.attacks.tiny_gan import TinyGan
from trajkit.attacks.verdict import Verdict, judged
from trajkit.attacks.worst_case import WorstCase, train
from trajkit.privacy.accounting import calibrate
from trajkit.privacy.ledger import DpSgd

UNIT = "trajectory"
SCHEMES = {"generator": "noise on the generator only", "critic": "DP-SGD on the critic"}


def noise_for(epsilon: float, delta: float, *, n: int, batch: int, noisy_steps: int) -> float:
    """The noise multiplier at which ``noisy_steps`` Poisson steps at batch / n are claimed to spend ``epsilon``."""
    found = calibrate(target_epsilon=epsilon, delta=delta, sample_rate=batch / n, steps=noisy_steps, unit=UNIT)
    return found.noise_multiplier


def audit_worst_case(
    config: WorstCase, *, delta: float, models: int, seed: int, level: float = 0.95, placebo: bool = False
) -> Verdict:
    """Audit the one-parameter WGAN by its released parameter, black box: what it generates is that number."""
    started = time.monotonic()
    thetas = train(config, models, seed=seed, placebo=placebo)
    subject = f"{SCHEMES[config.scheme]}, one parameter, n = {config.n}, critic sees {config.critic_sees}"
    scores = {"generated value": (thetas.with_target, thetas.without)}
    return _judged(scores, config.mechanism, subject + _of(placebo), "worst case", delta, level, started)


def audit_tiny(
    setting: Setting,
    config: TinyGan,
    *,
    delta: float,
    models: int,
    seed: int,
    level: float = 0.95,
    placebo: bool = False,
) -> Verdict:
    """Audit ``models`` tiny GANs in each world of ``setting`` by the scores of `tiny_game`, black box and white box."""
    started = time.monotonic()
    scores = play(setting, config, models, seed=seed, placebo=placebo)
    subject = f"{SCHEMES[config.scheme]}, {setting.name}, n = {len(setting.records)}"
    mechanism = config.mechanism(len(setting.records))
    return _judged(scores, mechanism, subject + _of(placebo), "tiny GANs", delta, level, started)


def _judged(
    scores: Mapping[str, tuple[Any, Any]],
    mechanism: DpSgd,
    subject: str,
    test: str,
    delta: float,
    level: float,
    started: float,
) -> Verdict:
    claim, curve = claim_of(mechanism, delta=delta)
    found = audit(scores, delta=delta, level=level, curve=curve)
    return judged(found, subject=subject, test=test, claimed_epsilon=claim, seconds=time.monotonic() - started)


def _of(placebo: bool) -> str:
    return ", placebo: two equal worlds" if placebo else ""
