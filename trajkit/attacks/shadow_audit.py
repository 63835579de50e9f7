"""The named experiment: is epsilon 10 kept by the GAN that is released? Shadow models, planted and natural targets, one verdict each.

``train_models`` (any shard, anywhere), ``read_models``, ``judge``; sizes are `ShadowAudit`'s, from seconds on one core to a cluster's. What
is judged:

- every planted record by the game of two worlds, models with it against models without it. The coins of all other targets are
  tossed alike in both worlds; averaged over them, P[S | with] <= e^epsilon P[S | without] + delta holds as it does for each outcome of
  these coins, so that the bounds are bounds. All records x statistics go into one `audit`, corrected together;
- all planted records of the attacked models at once, by one-run auditing (Steinke, Nasr, Jagielski 2023): the rule is learned on the shadow
  models, each attacked model is a run of its own. The two share the error rate evenly, so that both hold together;
- membership inference on natural people and on planted ones, an average case: it certifies nothing, and is no bound.

n, and so the rate of the draws, differs by one between the worlds, as the claim takes n for public. No accuracy settles a claim of epsilon
10: it allows 0.99995. What so few models could have shown at most is said beside what they show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit.attacks.audit_bounds import AIMS, Curve, audit, claim_of, most_epsilon, one_run_epsilon
from trajkit.attacks.gan_audit import SCHEMES
from trajkit.attacks.lira import log_ratio
from trajkit.attacks.membership import Membership
from trajkit.attacks.membership import judged as membership_of
from trajkit.attacks.roc import Roc
from trajkit.attacks.shadow_models import ShadowRuns, read_models, train_models
from trajkit.attacks.shadow_targets import ShadowAudit
from trajkit.attacks.threshold_audit import LEAST_SCORES
from trajkit.attacks.verdict import Verdict, judged
from trajkit.errors import ParameterError

__all__ = [
    "ShadowAudit",
    "ShadowRuns",
    "ShadowVerdict",
    "judge",
    "models_needed",
    "most_accurate",
    "read_models",
    "train_models",
]


@dataclass(frozen=True)
class ShadowVerdict:
    """What the experiment says of one scheme.

    planted, one_run   the two tests of the claim; ``most``, ``most_one_run``: the bounds that they would have given had every model told every
                       target: whatever leaks, so many models show no more
    needed             models with which the first test could refute the claim at all, see `models_needed`
    natural, canaries  membership inference, attacks by name; ``left_out`` targets had too few models on a side for one of the parts
    """

    config: ShadowAudit
    planted: Verdict
    one_run: Verdict
    most: float
    most_one_run: float
    needed: int
    natural: Membership
    canaries: Membership
    left_out: int

    @property
    def contradicted(self) -> bool:
        """Whether either test refutes the claim; at the level of both together."""
        return self.planted.contradicted or self.one_run.contradicted

    @property
    def claimed(self) -> float:
        """The accountant's epsilon."""
        assert self.planted.claimed_epsilon is not None
        return self.planted.claimed_epsilon

    def in_words(self) -> str:
        """A paragraph."""
        claim, best = self.claimed, max(_accuracy(roc) for _, roc in self.natural.attacks)
        allowed = most_accurate(claim, self.config.delta)
        said = "contradicted" if self.contradicted else "not contradicted, which proves nothing"
        return (
            f"{self.planted.subject}: claimed epsilon {claim:.3g} at delta {self.config.delta:.2g} is {said}. Audited lower bound "
            f"{self.planted.epsilon_lower:.2f} by single records, of at most {self.most:.2f} that {self.config.models} models can show; "
            f"{self.one_run.epsilon_lower:.2f} of at most {self.most_one_run:.2f} by all records at once; with as many scores, "
            f"single records that every model tells rightly refute the claimed curve with {self.needed:,} models or more. The best attack on natural people is right in "
            f"{100 * best:.1f} % of cases; epsilon {claim:.3g} allows {100 * allowed:.3f} %, so that accuracy cannot settle the claim."
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able figures, without times."""
        tests = {}
        for name, v, most in (("planted", self.planted, self.most), ("one run", self.one_run, self.most_one_run)):
            tests[name] = {
                "epsilon lower": v.epsilon_lower, "most that could be shown": most, "by": list(v.by),
                "verdict": v.verdict, "best AUC": v.best_auc, "tried": v.tried, "trials": v.trials, "level": v.level,
            }  # fmt: skip
        attacks = {
            k: m.to_frame().to_dict("records") for k, m in (("natural", self.natural), ("planted", self.canaries))
        }
        return {
            "subject": self.planted.subject, "claimed epsilon": self.planted.claimed_epsilon, "claimed delta": self.config.delta,
            "accuracy allowed": most_accurate(self.claimed, self.config.delta), "tests": tests,
            "models needed": self.needed, "membership": attacks, "left out": self.left_out, "settings": self.config.model_dump(mode="json"),
        }  # fmt: skip


def most_accurate(epsilon: float, delta: float) -> float:
    """The largest share of right answers on "was it in?", asked for members and others alike often, under (epsilon, delta)-DP (Kairouz et al. 2015)."""
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def models_needed(curve: Curve, *, scores: int, level: float = 0.95) -> int:
    """Models in both worlds with which ``scores`` scores could refute ``curve`` at all, were every one of them told rightly.

    A fourth of them is counted in each world, the others choose the thresholds: n right ones of n bound a rate by alpha^(1/n). Refuting a
    single (epsilon, delta) of the curve takes more, for epsilon 10 some thousand times as many.
    """
    alpha = (1 - level) / (2 * len(AIMS) * scores)

    def refutes(n: int) -> bool:
        hit = alpha ** (1 / n)
        return hit > curve.most_hits(1 - hit)

    high = 1
    while not refutes(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return 4 * high


def judge(runs: ShadowRuns, *, level: float = 0.95) -> ShadowVerdict:
    """Judge the claim at ``level``, both tests together. Raises ParameterError where no planted record has enough models in both worlds."""
    c, planted = runs.config, runs.config.planted
    if not 0 < level < 1:
        raise ParameterError(f"level = {level!r}: must be in (0, 1)")
    each = 1 - (1 - level) / 2
    taught = runs.inside[: c.shadows].sum(axis=0)
    known = np.minimum(taught, c.shadows - taught) >= 2  # by coins alone, never by what a model says
    claim, curve = claim_of(runs.claim, delta=c.delta)
    single, most, needed, skipped = _two_worlds(runs, claim, curve, each)
    pooled, most_pooled = _one_run(runs, np.flatnonzero(known[:planted]), claim, each)
    groups = []
    for part in (np.arange(planted, len(known)), np.arange(planted)):
        part = part[known[part]]
        values = {name: found[:, part] for name, found in runs.statistics.items()}
        sizes = {"shadows": c.shadows, "attacked": c.attacked, "level": level}
        groups.append(membership_of(values, runs.inside[:, part], **sizes))
    left_out = int((~known[planted:]).sum()) + max(skipped, int((~known[:planted]).sum()))
    return ShadowVerdict(c, single, pooled, most, most_pooled, needed, groups[0], groups[1], left_out)


def _subject(runs: ShadowRuns) -> str:
    c = runs.config
    placebo = ", placebo: no target in any model" if c.placebo else ""
    return f"UNet GAN, {SCHEMES[c.dp_target]}, {c.models} models{placebo}"


def _two_worlds(runs: ShadowRuns, claim: float, curve: Curve, level: float) -> tuple[Verdict, float, int, int]:
    """(the verdict of the game, the bound of a perfect one, `models_needed`, records that were left out)."""
    c, scores, skipped = runs.config, {}, 0
    for j in range(c.planted):
        inside = runs.inside[:, j]
        if min(inside.sum(), (~inside).sum()) < LEAST_SCORES:
            skipped += 1
            continue
        for name, values in runs.statistics.items():
            scores[f"{name} {j}"] = values[inside, j], values[~inside, j]
    if not scores:
        raise ParameterError(f"shadows + attacked = {c.models}: too few models with and without each planted record")
    found = audit(scores, delta=c.delta, level=level, curve=curve)
    most = most_epsilon(scores, delta=c.delta, level=level)
    test = "planted records, two worlds"
    single = judged(found, subject=_subject(runs), test=test, claimed_epsilon=claim, seconds=runs.seconds)
    return single, most, models_needed(curve, scores=len(scores), level=level), skipped


def _one_run(runs: ShadowRuns, known: np.ndarray, claim: float, level: float) -> tuple[Verdict, float]:
    """(the verdict of one-run auditing, the bound of the best guesses that the coins allow), over the attacked models.

    In each of them the quarter of the planted records ``known`` with the largest sum of log ratios is guessed to be in, the quarter with the smallest
    to be out; the ratios were learned on the shadow models, which share no coin and no draw with the attacked ones.
    """
    c, k = runs.config, len(known) // 4
    if not k:
        raise ParameterError(f"planted = {c.planted}: {len(known)} have enough shadow models, at least 4 are needed")
    inside, taught = runs.inside[c.shadows :, known], runs.inside[: c.shadows, known]
    total = np.zeros(inside.shape)
    for values in runs.statistics.values():
        shadow, own = values[: c.shadows, known], values[c.shadows :, known]
        total += np.stack([log_ratio(t, shadow, taught) for t in own])
    order = np.argsort(total, axis=1, kind="stable")
    right = int(
        np.take_along_axis(inside, order[:, -k:], 1).sum() + (~np.take_along_axis(inside, order[:, :k], 1)).sum()
    )
    given = {"canaries": c.attacked * len(known), "guesses": c.attacked * 2 * k, "delta": c.delta, "level": level}
    epsilon = one_run_epsilon(right=right, **given)  # type: ignore[arg-type]
    could = int(sum(np.minimum(side.sum(axis=1), k).sum() for side in (inside, ~inside)))  # as the coins fell
    most = one_run_epsilon(right=could, **given)  # type: ignore[arg-type]
    tried = f"{right} of {c.attacked * 2 * k} guesses right, by log ratios of {', '.join(runs.statistics)} learned on {c.shadows} shadow models"
    by = ("epsilon",) if epsilon > claim else ()
    return Verdict(
        _subject(runs),
        "planted records, one run",
        claim,
        c.delta,
        epsilon,
        None,
        None,
        by,
        tried,
        c.attacked,
        level,
        runs.seconds,
    ), most


def _accuracy(roc: Roc) -> float:
    """Share of right answers at the best threshold, members and others alike often: chosen afterwards, so rather too high."""
    return float(np.max((roc.tpr + 1 - roc.fpr) / 2))
