"""From a promise to trajectories to a promise to people: what a user of at most m trajectories has, and what it costs to give him more.

Three ways, all add-remove of a whole user, all with a public and enforced bound m (`trajkit.contributions.at_most`):

* group privacy (Vadhan 2017, lemma 2.2): (epsilon, delta) for one trajectory gives (m epsilon, delta (e^(m epsilon) - 1) / (e^epsilon - 1))
  for m of them, whatever the mechanism. It explodes; minimised over the whole curve of the mechanism, not taken at one point of it.
* ELS, example-level sampling (Charles et al. 2024, arXiv:2407.07737): DP-SGD as it is, each trajectory drawn and clipped by itself; a step
  holds Binomial(m, q) clipped gradients of the user, so the dominating pair is that mixture of Gaussians against the noise.
* ULS, user-level sampling (same paper): users are drawn, the mean gradient over a user's trajectories is clipped. It is ordinary DP-SGD
  with the user as the record, and m does not enter the accounting: `epsilon_of(DpSgd(…, record="user"), unit="user")`.

Noise on counts (pure DP) is simpler: m trajectories cost m epsilon, or m times the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from trajkit.contributions import kept_by_cap
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.privacy import accountants
from trajkit.privacy.accounting import CEILING, calibrate, user_level_epsilon
from trajkit.privacy.ledger import DpSgd, Spent, check_cap, check_delta, check_epsilon
from trajkit.trajectories import Trajectories

__all__ = ["els_noise", "epsilon_table", "group_level_epsilon", "group_privacy", "user_level_epsilon"]

GRID = 4000  # points of the curve among which group privacy takes the best
FARTHEST = 20.0  # and how far beyond the epsilon of one record they lie, in multiples of it
LEAST_EPSILON = 1e-4
LEAST_NOISE, MOST_NOISE = 0.2, 1e4


def group_privacy(epsilon: float, delta: float, k: int) -> tuple[float, float]:
    """What an (epsilon, delta)-DP mechanism promises to ``k`` records together: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)).

    A delta of 1 or more promises nothing. Raises ParameterError for values out of range.
    """
    check_epsilon(epsilon, name="epsilon")
    check_cap(k)
    if not 0 <= delta < 1:
        raise ParameterError(f"delta = {delta!r}: must be a number in [0, 1)")
    with np.errstate(over="ignore"):
        return k * epsilon, float(delta * np.exp(_log_growth(np.array([epsilon]), k))[0])


def group_level_epsilon(
    mechanism: DpSgd, *, delta: float, max_records_per_user: int, interval: float | None = None
) -> Spent:
    """Least m epsilon over the mechanism's privacy curve by `group_privacy` at ``delta``; infinite where no point of it suffices.

    ``interval``: grid of the PLD accountant in nats; None takes the one that `epsilon_of` takes, which is finer where a step loses little.
    A coarse grid is as valid and larger. Raises what `user_level_epsilon` raises.
    """
    check_delta(delta)
    check_cap(max_records_per_user)
    m = int(max_records_per_user)
    # the same refusals: Poisson sampling only, and a mechanism that draws trajectories
    if mechanism.steps == 0 or mechanism.noise_multiplier == 0 or accountants.rdp_epsilon(mechanism, delta) > CEILING:
        spent = user_level_epsilon(mechanism, delta=delta, max_records_per_user=1)
        return replace(spent, epsilon=spent.epsilon if spent.epsilon == 0 else math.inf, max_records_per_user=m)
    least = max(LEAST_EPSILON, user_level_epsilon(mechanism, delta=delta, max_records_per_user=1).epsilon)
    curve = accountants.pld_curve(mechanism, interval)
    epsilons = least * np.linspace(1.0, FARTHEST, GRID)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond e^709 the curve is NaN, which no target meets
        deltas = np.asarray(curve(epsilons), dtype=np.float64)
    enough = np.log(np.maximum(deltas, 1e-300)) + _log_growth(epsilons, m) <= math.log(delta)
    epsilon = m * float(epsilons[np.argmax(enough)]) if enough.any() else math.inf
    name = f"{accountants.pld_name()}, group privacy over its curve"
    return Spent(epsilon, delta, "user", "add-remove", name, max_records_per_user=m)


def els_noise(
    *, target_epsilon: float, delta: float, sample_rate: float, steps: int, max_records_per_user: int
) -> float:
    """Noise multiplier with which DP-SGD over trajectories gives a user (``target_epsilon``, ``delta``) by ELS, within 1 % below the target.

    Raises ParameterError for values out of range, PrivacyAccountingError for a target that no noise reaches.
    """
    check_epsilon(target_epsilon, name="target_epsilon")
    spend = partial(user_level_epsilon, delta=delta, max_records_per_user=max_records_per_user)

    def excess(log_noise: float) -> float:
        spent = spend(DpSgd(sample_rate, math.exp(log_noise), steps)).epsilon
        return math.log(min(max(spent, 1e-6), 1e6) / (0.995 * target_epsilon))

    low, high = math.log(LEAST_NOISE), math.log(MOST_NOISE)
    if excess(high) > 0:
        raise PrivacyAccountingError(
            f"epsilon {target_epsilon:g} per user of at most {max_records_per_user} trajectories is out of reach at noise {MOST_NOISE:g}: "
            "allow a larger epsilon or delta, or take fewer steps, a smaller batch or a smaller bound"
        )
    if excess(low) <= 0:
        return LEAST_NOISE
    noise = math.exp(brentq(excess, low, high, xtol=2e-3))
    while spend(DpSgd(sample_rate, noise, steps)).epsilon > target_epsilon:
        noise *= 1.002
    return noise


def epsilon_table(
    trajs: Trajectories, *, caps: Sequence[int], epsilon: float, delta: float, batch_size: int, steps: int
) -> pd.DataFrame:
    """One row for each public bound m of ``caps``: what the same training and the same counts promise one trajectory and one user.

    DP-SGD of ``steps`` steps on an expected ``batch_size`` records is calibrated to ``epsilon`` per trajectory on what the bound leaves of
    ``trajs``; then the same noise is read per user (group privacy, ELS), and it is said how much noise ``epsilon`` per user takes with ELS
    and with ULS (as many users a step as before trajectories, but at most all). Group privacy is infinite where the accountant's curve ends
    before it suffices; ELS is a loose closed form where it says so. "x the noise": standard deviation of the noise in the
    averaged gradient over that of the per-trajectory training. The last two columns are for noise on counts: epsilon per user at the noise
    of ``epsilon`` per trajectory, and what ``epsilon`` per user multiplies that noise by. Numbers of users and trajectories are those of
    ``trajs``: the table is for people who may see them. Raises DataContractError for an empty set, else what accounting raises.
    """
    if not len(trajs):
        raise DataContractError(f"{trajs.meta.dataset} has no trajectories, so there is nothing to bound")
    return pd.DataFrame([_row(trajs, int(m), epsilon, delta, batch_size, steps) for m in caps])


def _row(trajs: Trajectories, m: int, epsilon: float, delta: float, batch: int, steps: int) -> dict[str, Any]:
    check_cap(m)
    kept = kept_by_cap(trajs, m)
    if batch > kept.trajectories:
        raise ParameterError(
            f"batch_size = {batch}: a bound of {m} leaves {kept.trajectories} trajectories, fewer than a batch"
        )
    rate, users = batch / kept.trajectories, min(batch, kept.users)
    made = calibrate(target_epsilon=epsilon, delta=delta, sample_rate=rate, steps=steps, unit="trajectory")
    mechanism = DpSgd(rate, made.noise_multiplier, steps)
    els = user_level_epsilon(mechanism, delta=delta, max_records_per_user=m)
    by_record = els_noise(target_epsilon=epsilon, delta=delta, sample_rate=rate, steps=steps, max_records_per_user=m)
    per_user = calibrate(
        target_epsilon=epsilon, delta=delta, sample_rate=users / kept.users, steps=steps, unit="user", record="user"
    )
    by_user = per_user.noise_multiplier
    return {
        "trajectories of a user, at most": m,
        "users": kept.users,
        "users above it": kept.capped_users,
        "trajectories kept": kept.trajectories,
        "share kept": kept.share,
        "noise multiplier": made.noise_multiplier,
        "epsilon per trajectory": made.spent.epsilon,
        "epsilon per user, ELS": els.epsilon,
        "ELS is a loose bound": els.is_bound_only,
        "epsilon per user, group privacy": group_level_epsilon(mechanism, delta=delta, max_records_per_user=m).epsilon,
        "users a step, ULS": users,
        "noise multiplier per user, ELS": by_record,
        "noise multiplier per user, ULS": by_user,
        "x the noise, ELS": by_record / made.noise_multiplier,
        "x the noise, ULS": by_user / users / (made.noise_multiplier / batch),
        "counts: epsilon per user": m * epsilon,
        "counts: x the noise": m,
    }


def _log_growth(epsilon: np.ndarray, k: int) -> np.ndarray:
    """log((e^(k epsilon) - 1) / (e^epsilon - 1)) without overflow."""
    return (k - 1) * epsilon + np.log(-np.expm1(-k * epsilon)) - np.log(-np.expm1(-epsilon))
