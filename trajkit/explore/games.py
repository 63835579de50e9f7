"""Games that audit a claim in seconds, played in pieces, and the finished audits of a study: what the audit viewer looks at.

A game makes many releases with and without one record; see `trajkit.attacks.mechanism_game` and `trajkit.attacks.worst_case`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cache

import numpy as np

from trajkit.attacks.audit_bounds import Curve, audit, claim_of, most_epsilon
from trajkit.attacks.gan_audit import noise_for
from trajkit.attacks.mechanism_game import METRIC, SCORE, TWICE, drawn_scores
from trajkit.attacks.verdict import SOUND, Verdict, judged
from trajkit.attacks.worst_case import Scheme, WorstCase, train
from trajkit.explore.work import Step
from trajkit.seeds import child_seed
from trajkit.study.audits import shown_audits
from trajkit.study.folders import OUTPUTS
from trajkit.study.results import StudyResults

BUDGETS = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
PIECES = 10
LEVEL = 0.95
DIMENSION = 8
N, BATCH, STEPS, DELTA = (
    69_500,
    512,
    200,
    4.72e-6,
)  # the one-parameter GAN at the published sizes; defaults of its audit
GAN: dict[str, Scheme] = {
    "GAN of one parameter, noise on the generator only": "generator",
    "the same GAN, DP-SGD on the critic": "critic",
}
NOISE = {
    f"{name} noise, {'as it should be' if flaw == SOUND else flaw}": (name, flaw)
    for name in ("laplace", "geometric", "gaussian", "vmf")
    for flaw in (SOUND, METRIC if name == "vmf" else TWICE)
}
SUBJECTS = (*GAN, *NOISE)


@dataclass(frozen=True)
class Played:
    """Scores ``a`` with and ``b`` without the record, one a release, of a ``subject`` that claims ``claimed`` epsilon at ``delta`` and a ``curve``."""

    subject: str
    a: np.ndarray
    b: np.ndarray
    claimed: float
    delta: float
    curve: Curve
    score: str

    def judged_by(self, n: int) -> Verdict:
        """What the first ``n`` releases of each world prove."""
        found = audit({self.score: (self.a[:n], self.b[:n])}, delta=self.delta, level=LEVEL, curve=self.curve)
        return judged(found, subject=self.subject, test="explored", claimed_epsilon=self.claimed, seconds=0.0)


@dataclass(frozen=True)
class Shown:
    """A verdict after each number of ``budgets``; of a finished audit there is one, and no scores. ``most``: what could be shown at most."""

    budgets: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    most: tuple[float, ...]
    played: Played | None = None


def playing(subject: str, claimed: float, *, releases: int, seed: int) -> Generator[Step, None, Shown]:
    """Play ``releases`` of ``subject`` (one of `SUBJECTS`) in each world, claimed at epsilon ``claimed``; then judge at every budget."""
    yield "calibrating the noise to the claim", 0.02
    config, curve, delta, claim = _claimed(subject, claimed)
    parts, size = [], -(-releases // PIECES)
    for i in range(PIECES):
        yield f"{i * size:,} of {releases:,} releases in each world", 0.1 + 0.7 * i / PIECES
        count = min(size, releases - i * size)
        if count > 0:
            parts.append(_scores(subject, config, claimed, count, child_seed(seed, "attack", "explore", subject, i)))
    a, b = (np.concatenate([part[world] for part in parts]) for world in (0, 1))
    played = Played(subject, a, b, claim, delta, curve, "generated value" if config else SCORE)
    budgets = (*(n for n in BUDGETS if n < releases), releases)
    verdicts = []
    for i, n in enumerate(budgets):
        yield f"judging the first {n:,} releases", 0.8 + 0.2 * i / len(budgets)
        verdicts.append(played.judged_by(n))
    return Shown(budgets, tuple(verdicts), _most(budgets, delta), played)


def _claimed(subject: str, claimed: float) -> tuple[WorstCase | None, Curve, float, float]:
    if subject not in GAN:
        name, flaw = NOISE[subject]
        _, _, curve, delta = drawn_scores(name, epsilon=claimed, dimension=DIMENSION, releases=4, seed=0, flaw=flaw)
        return None, curve, delta, claimed
    noise = noise_for(claimed, DELTA, n=N, batch=BATCH, noisy_steps=STEPS)
    config = WorstCase(n=N, batch=BATCH, steps=STEPS, noise_multiplier=noise, scheme=GAN[subject])
    claim, curve = claim_of(config.mechanism, delta=DELTA)
    return config, curve, DELTA, claim


def _scores(
    subject: str, config: WorstCase | None, claimed: float, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    if config is not None:
        thetas = train(config, count, seed=seed)
        return thetas.with_target, thetas.without
    name, flaw = NOISE[subject]
    a, b, _, _ = drawn_scores(name, epsilon=claimed, dimension=DIMENSION, releases=max(4, count), seed=seed, flaw=flaw)
    return a[:count], b[:count]


@cache
def _most(budgets: tuple[int, ...], delta: float) -> tuple[float, ...]:
    return tuple(most_epsilon({"perfect": (np.zeros(n), np.zeros(n))}, delta=delta, level=LEVEL) for n in budgets)


def finished_audits(question: str = "rq4") -> dict[str, Shown]:
    """Name and subject -> verdict, of every finished audit of ``question`` that bounds epsilon and may be shown; {} where there is no such study."""
    folder = OUTPUTS / question
    if not (folder / "plan.json").is_file():
        return {}
    study = StudyResults(folder)
    found = {}
    for name, report in shown_audits(study.plan.get("audits", []), study.audits, raw=study.may_show_raw).items():
        for v in report.verdicts:
            if v.epsilon_lower is not None and v.scores:
                budgets = (v.trials,)
                found[f"{question}, {name}: {v.subject}"] = Shown(budgets, (v,), _most(budgets, v.claimed_delta))
    return found
