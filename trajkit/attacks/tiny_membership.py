"""LiRA in quick: membership inference on stacks of tiny GANs, shadow and attacked models alike, with a canary among the targets.

Every model is a `tiny_gan.Training` of its own on the trips whose coins fell so, from one publicly pre-trained start. What an average-case attack
shows: whether people like these can be found in releases like these, by somebody who can train such models himself. What it does not show:
anything about an epsilon, which is a promise to every record. The canary, a target in the far corner of the box, is one that fares
worse than typical ones; its own game of two worlds bounds epsilon from below, where the average over natural trips may be a guess.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from trajkit.attacks.audit_bounds import Audit, audit, claim_of, most_epsilon
from trajkit.attacks.gan_audit import SCHEMES, noise_for
from trajkit.attacks.membership import Membership, judged
from trajkit.attacks.roc import Roc
from trajkit.attacks.tiny_game import BLOCK, RELEASED, corner
from trajkit.attacks.tiny_gan import TinyGan, Training
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.seeds import child_seed, rng

BANDWIDTH = 0.25  # half boxes: width of the normal density around a target, root mean square over its numbers
CURVE_POINTS = 60  # of a ROC curve that is kept
Start = tuple[Tensor | None, Tensor | None]


@dataclass(frozen=True)
class Regime:
    """Where noise is and what is claimed; ``epsilon`` None: no noise."""

    scheme: Literal["generator", "critic"]
    epsilon: float | None

    @property
    def name(self) -> str:
        """In words."""
        return "no noise" if self.epsilon is None else f"{SCHEMES[self.scheme]}, epsilon {self.epsilon:g}"


REGIMES = (
    Regime("generator", None),
    *(Regime(scheme, epsilon) for scheme in ("generator", "critic") for epsilon in (1.0, 10.0)),  # type: ignore[arg-type]
)


class TinyMembership(MethodConfig):
    """``shadows`` and ``attacked`` models, each on the trips that a fair coin gave it: half of them, as a mean, which is the n of the claim.

    gan: parameters of `TinyGan`, but for scheme and noise.
    """

    shadows: int = Field(256, ge=16, multiple_of=2)
    attacked: int = Field(64, ge=4)
    delta: float = Field(1e-5, gt=0, lt=1)
    gan: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class TinyFound:
    """One regime. ``natural``: attacks on natural trips, average case. ``canary``: its own two worlds, corrected over the scores; ``most``: the bound of
    a perfect game with as many models. ``claimed``: the accountant's epsilon, None without noise.
    """

    regime: Regime
    targets: int
    claimed: float | None
    natural: Membership
    canary: Audit
    most: float
    seconds: float = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, without times: figures of every attack with a thinned curve, and those of the canary."""
        curves = {name: _thinned(roc) for name, roc in self.natural.attacks}
        by_score = [
            {
                "score": s.score,
                "AUC": s.auc,
                "AUC low": s.auc_interval[0],
                "AUC high": s.auc_interval[1],
                "epsilon lower": s.epsilon,
            }
            for s in self.canary.by_score
        ]
        return {
            "regime": self.regime.name, "scheme": self.regime.scheme, "target epsilon": self.regime.epsilon, "claimed epsilon": self.claimed,
            "delta": self.canary.delta, "targets": self.targets, "attacks": self.natural.to_frame().to_dict("records"), "curves": curves,
            "canary": {
                "by score": by_score, "epsilon lower": self.canary.epsilon, "most that could be shown": self.most, "level": self.canary.level,
                "refutes the curve": self.canary.refutes_curve, "correction": self.canary.correction, "models": self.canary.trials,
            },
        }  # fmt: skip


def infer(
    regime: Regime, trips: Tensor, config: TinyMembership, *, start: Start, seed: int, level: float = 0.95, placebo: bool = False
) -> TinyFound:  # fmt: skip
    """Attack one regime: ``trips`` [targets, size] as `tiny_game.rows_of` makes them, none of them public; ``start`` as `tiny_game.pretrain`.

    With ``placebo`` every model is trained on the same half, whatever the coins say, and without the canary. Raises ParameterError for fewer than 8 trips.
    """
    started, n = time.monotonic(), len(trips) // 2
    if n < 4:
        raise ParameterError(f"trips: {len(trips)} of them, need at least 8 targets")
    gan = _gan(regime, config, trips.shape[1], n)
    coins = rng(seed, "attack", "tiny coins").random((config.shadows + config.attacked, len(trips) + 1)) < 0.5
    fixed = np.arange(len(trips) + 1) < n
    members = np.broadcast_to(fixed, coins.shape) if placebo else coins
    targets = torch.cat([trips, corner(trips.shape[1])[None]])
    # the same start and coins in every regime, draws of its own
    own = child_seed(seed, "attack", "tiny membership", regime.scheme, str(regime.epsilon))
    statistics = _statistics(gan, targets, members, n, start, own)
    natural = judged(
        {name: v[:, :-1] for name, v in statistics.items()}, coins[:, :-1],
        shadows=config.shadows, attacked=config.attacked, unit="trajectory", level=level,
    )  # fmt: skip
    canary, claimed, most = _canary(statistics, coins[:, -1], gan, n, config.delta, level)
    return TinyFound(regime, len(trips), claimed, natural, canary, most, time.monotonic() - started)


def infer_all(
    trips: Tensor, config: TinyMembership, *, start: Start, seed: int, regimes: Sequence[Regime] = REGIMES
) -> tuple[TinyFound, ...]:  # fmt: skip
    """`infer` for every regime, in their order."""
    return tuple(infer(regime, trips, config, start=start, seed=seed) for regime in regimes)


def in_words(found: Sequence[TinyFound]) -> str:
    """What the average case shows beside the canary, one sentence a regime."""
    said = []
    for f in found:
        name, best = max(f.natural.attacks, key=lambda a: a[1].auc)
        low = best.at[0]
        canary = max(f.canary.by_score, key=lambda s: s.auc)
        said.append(
            f"{f.regime.name}: natural trips AUC {best.auc:.2f} at best ({name}), {100 * low.tpr:.1f} % found at {100 * low.fpr:g} % false; the canary's "
            f"AUC {canary.auc:.2f}, epsilon at least {f.canary.epsilon:.2f} of {f.most:.2f} that could be shown."
        )
    return "\n".join(said)


def _gan(regime: Regime, config: TinyMembership, size: int, n: int) -> TinyGan:
    made = TinyGan(**{"size": size, **config.gan, "scheme": regime.scheme, "noise_multiplier": 0.0})
    if regime.epsilon is None:
        return made
    if made.batch > n:
        raise ParameterError(f"gan.batch = {made.batch}: half of the trips are {n}, so use at most that")
    steps = made.mechanism(n).steps
    noise = noise_for(regime.epsilon, config.delta, n=n, batch=made.batch, noisy_steps=steps)
    return made.model_copy(update={"noise_multiplier": noise})


def _statistics(
    gan: TinyGan, targets: Tensor, members: np.ndarray, n: int, start: Start, seed: int
) -> dict[str, np.ndarray]:
    """name -> float64 [models, targets], `BLOCK` models at once; each block's draws follow from where it begins."""
    parts = []
    for at in range(0, len(members), BLOCK):
        inside = torch.from_numpy(members[at : at + BLOCK].copy())
        block = Training(
            gan, targets, rate=gan.batch / n, models=len(inside), seed=child_seed(seed, "attack", "block", at), start=start, members=inside
        )  # fmt: skip
        parts.append(_seen(block.run(), targets))
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def _seen(done: Training, targets: Tensor) -> dict[str, np.ndarray]:
    """Of each model about each target: minus the distance to the nearest release, log density of the releases, how far their mean lies towards it."""
    samples = done.samples(RELEASED)
    nearest, density = [], []
    for one in samples:  # a model at a time: all distances at once would not fit into the cache
        distance = torch.cdist(one, targets)
        nearest.append(-distance.min(0).values)
        density.append(torch.logsumexp(-distance.square() / (2 * BANDWIDTH**2 * targets.shape[1]), 0))
    toward = samples.mean(1) @ (targets / targets.norm(dim=1, keepdim=True).clamp(min=1e-9)).T
    found: Mapping[str, Tensor] = {"nearest": torch.stack(nearest), "density": torch.stack(density), "toward": toward}
    if done.config.scheme == "critic":  # covered by the claim, so the attacker may have it
        found = {**found, "critic": done.judged(targets) - done.judged(samples).mean(1, keepdim=True)}
    return {name: x.double().numpy() for name, x in found.items()}


def _canary(
    statistics: Mapping[str, np.ndarray], inside: np.ndarray, gan: TinyGan, n: int, delta: float, level: float
) -> tuple[Audit, float | None, float]:
    """(its audit, the accountant's epsilon, the bound of a perfect game). All other coins are tossed alike in both worlds."""
    scores = {name: (v[inside, -1], v[~inside, -1]) for name, v in statistics.items()}
    claimed, curve = claim_of(gan.mechanism(n), delta=delta) if gan.noise_multiplier > 0 else (None, None)
    found = audit(scores, delta=delta, level=level, curve=curve)
    return found, claimed, most_epsilon(scores, delta=delta, level=level)


def _thinned(roc: Roc) -> dict[str, list[float]]:
    """At most `CURVE_POINTS` points of a curve, evenly spaced on the logarithmic axis, the first and the last among them."""
    least = 1 / roc.others
    marks = np.append(0.0, np.geomspace(least, 1, CURVE_POINTS - 1))
    at = np.searchsorted(roc.fpr, marks * (1 + 1e-12), side="right") - 1
    return {"fpr": roc.fpr[at].tolist(), "tpr": roc.tpr[at].tolist()}
