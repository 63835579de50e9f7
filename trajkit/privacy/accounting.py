"""What DP-SGD spends, by two accountants that must agree, and how much noise a target needs.

For newcomers. One step of DP-SGD draws each record by its own coin (probability ``sample_rate``), clips every drawn
record's gradient to norm C, sums, and adds Gaussian noise of standard deviation ``noise_multiplier`` x C. Somebody who
sees all ``steps`` noisy sums cannot tell whether one given record was in the data, up to ``epsilon``, except with
probability about ``delta``. What is accounted is exactly that sequence of sums, with Poisson sampling, a fixed clip norm
and noise in real numbers; everything computed from them afterwards (weights, EMA, samples) is free. Not accounted, and to be
declared public or paid for elsewhere: n, the box, scaling by data statistics, hyper-parameters tuned on the same data.
``epsilon_of`` reports the larger of two figures: the upper value of the PRV accountant (Gopi et al. 2021, opacus) and the
pessimistic privacy loss distribution (Doroshenko et al. 2022, dp-accounting). They must agree, or there is no number. RDP
(Mironov 2017) only guards the way: it is quick and loose. Gaussian DP is not offered: its central limit can understate.

>>> from trajkit.privacy.accounting import DpSgd, epsilon_of
>>> spent = epsilon_of(DpSgd(sample_rate=0.01, noise_multiplier=1.0, steps=1000), delta=1e-5, unit="trajectory")
>>> round(spent.epsilon, 2), spent.unit
(1.84, 'trajectory')
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy import accountants, calibration_cache
from trajkit.privacy.ledger import (
    POISSON,
    Calibration,
    DpSgd,
    Spent,
    check_adjacency,
    check_cap,
    check_delta,
    check_epsilon,
    check_n,
    check_sample_rate,
    check_steps,
    check_unit,
)

__all__ = ["Calibration", "DpSgd", "Spent", "calibrate", "delta_for", "epsilon_of", "user_level_epsilon"]

BOUND = "(loose bound; the fine accountants are not run here)"
CEILING = 100.0  # an RDP bound beyond this is reported alone: the fine accountants stall there and nobody is protected
MAX_GRID_POINTS = 5e7  # PRV grid, about 200 bytes a point
SLOW_GRID_POINTS = 2e6  # beyond this PRV takes seconds to minutes and says so first
MAX_NOISE_MULTIPLIER = 1e4
AIM = 0.997  # calibration aims at this share of the target …
CLOSE_ENOUGH = 0.99  # … and accepts what lies between this share and the target


def delta_for(n: int) -> float:
    """Return ``n ** -1.1``, the delta that Ponomareva et al. (2023) advise for ``n`` records; whoever sees it learns n.

    Raises ParameterError unless ``n`` is a whole number of at least 2.
    """
    check_n(n)
    return float(n) ** -1.1


def epsilon_of(
    mechanism: DpSgd,
    *,
    delta: float,
    unit: str,
    adjacency: str = "add-remove",
    max_grid_points: float = MAX_GRID_POINTS,
) -> Spent:
    """Return what ``mechanism`` spends at ``delta`` for one ``unit``.

    No noise gives an infinite epsilon and no steps give 0. Where the RDP bound exceeds CEILING that bound is returned
    alone, flagged ``is_bound_only``. Adjacency "replace-one" is computed by the PLD accountant only, which ``accountant``
    then says; it is not twice the add-remove value in general. ``max_grid_points`` limits time and memory of PRV.

    Raises ParameterError for values out of range, PrivacyAccountingError where no accountant covers the mechanism (any
    sampling but Poisson, a unit other than the record that is clipped), where none can compute it, or where they disagree.
    """
    check_delta(delta)
    check_unit(unit)
    check_adjacency(adjacency)
    _check_covered(mechanism, unit)
    spent = partial(Spent, delta=delta, unit=unit, adjacency=adjacency)
    if mechanism.steps == 0 or mechanism.noise_multiplier == 0:
        return spent(**_without_noise(mechanism))
    rdp = accountants.rdp_epsilon(mechanism, delta)
    if rdp > CEILING:
        if adjacency == "replace-one":
            raise _cannot(mechanism, delta, f"the add-remove bound alone is {rdp:.6g}, above {CEILING:g}", "more noise")
        return spent(rdp, accountant=f"{accountants.rdp_name()} {BOUND}", rdp=rdp, is_bound_only=True)
    pld = accountants.pld_epsilon(mechanism, delta, adjacency)
    if not math.isfinite(pld):
        why = f"PLD gives infinity where the RDP bound is {rdp:.4g}, as it cuts tails heavier than delta off"
        raise _cannot(mechanism, delta, why, "a larger delta")
    if adjacency == "replace-one":
        return spent(pld, accountant=accountants.pld_name(), pld=pld)
    prv = _prv_upper(mechanism, delta, max_grid_points)
    if abs(prv - pld) > max(0.02, 0.02 * max(prv, pld)):
        why = f"the accountants disagree, PRV upper value {prv:.6g}, PLD {pld:.6g}"
        raise _cannot(
            mechanism, delta, why, "a larger delta, more noise, or other versions of opacus and dp-accounting"
        )
    name = f"max({accountants.prv_name()}, {accountants.pld_name()})"
    return spent(max(prv, pld), accountant=name, prv_upper=prv, pld=pld, rdp=rdp)


def user_level_epsilon(mechanism: DpSgd, *, delta: float, max_records_per_user: int) -> Spent:
    """Convert record-level noise into what it means for a person with at most ``max_records_per_user`` records.

    Charles et al. 2024 (arXiv:2407.07737), example-level sampling: in each step Binomial(m, q) of the person's clipped
    gradients are in the sum, so the dominating pair is that mixture of Gaussians against the noise alone. Add-remove of a
    whole person; PLD accountant only. The cap must be public and enforced, or the figure is void. Where the mean privacy
    loss alone exceeds CEILING a loose closed-form bound is returned, flagged ``is_bound_only``.

    Raises ParameterError for values out of range, PrivacyAccountingError where the accountant does not cover or cannot
    compute the mechanism.
    """
    check_delta(delta)
    check_cap(max_records_per_user)
    _check_covered(mechanism, mechanism.record)
    if mechanism.record == "user":
        raise ParameterError("record = 'user': the mechanism clips per user already; use epsilon_of with unit='user'")
    cap = int(max_records_per_user)
    spent = partial(Spent, delta=delta, unit="user", adjacency="add-remove", max_records_per_user=cap)
    if mechanism.steps == 0 or mechanism.noise_multiplier == 0:
        return spent(**_without_noise(mechanism))
    if accountants.user_mean_loss(mechanism, cap) > CEILING:
        bound = accountants.user_bound_epsilon(mechanism, delta, cap)
        return spent(bound, accountant=f"Gaussian tail without amplification {BOUND}", is_bound_only=True)
    epsilon = accountants.user_pld_epsilon(mechanism, delta, cap)
    if not math.isfinite(epsilon):
        raise _cannot(mechanism, delta, f"PLD gives infinity for a user with {cap} records", "a larger delta")
    return spent(epsilon, accountant=f"{accountants.pld_name()}, mixture of Gaussians", pld=epsilon)


def calibrate(
    *,
    target_epsilon: float,
    delta: float,
    sample_rate: float,
    steps: int,
    unit: str,
    adjacency: str = "add-remove",
    record: str = "trajectory",
) -> Calibration:
    """Return the noise multiplier whose reported epsilon (as by `epsilon_of`) is at most ``target_epsilon``, within 1 % below.

    Where the RDP bound of that noise would exceed CEILING (targets from about 85) the smallest noise below it is taken, and
    for targets beyond CEILING the RDP bound itself is calibrated, so that `epsilon_of` reports the same figure later.

    The answer is kept on disk (see `calibration_cache`) under all inputs and the accountants' versions; a stored answer is
    used only if the PLD accountant confirms it again. For 100,000 steps the first call takes minutes.

    Raises ParameterError for values out of range, PrivacyAccountingError for a target that no noise reaches.
    """
    check_epsilon(target_epsilon, name="target_epsilon")
    check_delta(delta)
    check_sample_rate(sample_rate)
    check_steps(steps, least=1)
    check_unit(unit)
    check_adjacency(adjacency)
    make = partial(DpSgd, sample_rate, steps=int(steps), record=record)
    _check_covered(make(noise_multiplier=1.0), unit)
    question = {
        "target_epsilon": float(target_epsilon),
        "delta": float(delta),
        "sample_rate": float(sample_rate),
        "steps": int(steps),
        "unit": unit,
        "adjacency": adjacency,
        "record": record,
        "versions": {name: version(name) for name in ("opacus", "dp-accounting")},
        "settings": [accountants.PRV_EPS_ERROR, accountants.PLD_INTERVAL, CEILING, AIM, CLOSE_ENOUGH],
    }
    known = _confirmed(question, make)
    if known is None:
        known = _search(target_epsilon, delta, unit, adjacency, make)
        calibration_cache.write(question, asdict(known))
    return known


def _search(target: float, delta: float, unit: str, adjacency: str, make: Callable[..., DpSgd]) -> Calibration:
    """Solve on the PLD accountant, which is quick, then shift by what the reported value adds to it."""
    refuse = partial(_unreachable, target, delta, make(noise_multiplier=1.0))
    spend = partial(epsilon_of, delta=delta, unit=unit, adjacency=adjacency)

    def rdp(noise: float) -> float:
        return accountants.rdp_epsilon(make(noise_multiplier=noise), delta)

    def pld(noise: float) -> float:
        return accountants.pld_epsilon(make(noise_multiplier=noise), delta, adjacency)

    least = _noise_for(AIM * max(target, CEILING), rdp, 0.01, refuse)  # below it the fine accountants are not run
    excess = 0.0 if adjacency == "replace-one" else accountants.PRV_EPS_ERROR
    for _ in range(6):
        if AIM * target <= excess:
            raise refuse(f"the accountants resolve epsilon to {accountants.PRV_EPS_ERROR} only")
        noise = least if target >= CEILING else _noise_for(AIM * target - excess, pld, least, refuse)
        try:
            spent = spend(make(noise_multiplier=noise))
        except PrivacyAccountingError as error:
            raise refuse(str(error)) from error
        if spent.epsilon <= target and (noise == least or spent.epsilon >= CLOSE_ENOUGH * target):
            return Calibration(noise, spent)
        excess = spent.epsilon - (spent.pld or 0.0)
    raise refuse(f"the search ended at {spent.epsilon:.6g}")


def _noise_for(
    aim: float, epsilon: Callable[[float], float], least: float, refuse: Callable[[str], Exception]
) -> float:
    """Return the noise multiplier of at least ``least`` where ``epsilon``, which falls in it, meets ``aim``."""
    from scipy.optimize import brentq

    low = high = least
    while not epsilon(high) <= aim:
        if high > MAX_NOISE_MULTIPLIER:
            raise refuse(f"not even noise_multiplier {MAX_NOISE_MULTIPLIER:g} suffices")
        low, high = high, 2 * high
    if high == least:
        return least

    def log_ratio(log_noise: float) -> float:
        return math.log(min(max(epsilon(math.exp(log_noise)), 1e-9), 1e9) / aim)

    return math.exp(brentq(log_ratio, math.log(low), math.log(high), xtol=1e-5))


def _unreachable(target: float, delta: float, mechanism: DpSgd, why: str) -> PrivacyAccountingError:
    return PrivacyAccountingError(
        f"epsilon {target:g} at delta {delta:g} is out of reach for sample_rate {mechanism.sample_rate:g} and "
        f"{mechanism.steps} steps: {why}; allow a larger epsilon or delta, or take fewer steps or a smaller batch"
    )


def _confirmed(question: dict[str, Any], make: Callable[..., DpSgd]) -> Calibration | None:
    """Return the stored calibration if it is well-formed, meets the target and PLD still says the same."""
    answer = calibration_cache.read(question)
    if answer is None:
        return None
    try:
        found = Calibration(float(answer["noise_multiplier"]), Spent(**answer["spent"]))
        spent, mechanism = found.spent, make(noise_multiplier=found.noise_multiplier)
        same = (spent.delta, spent.unit, spent.adjacency) == tuple(question[k] for k in ("delta", "unit", "adjacency"))
        meets = same and spent.epsilon <= question["target_epsilon"]
        again = _quick_figure(mechanism, spent)
        if meets and math.isclose(again, spent.epsilon, rel_tol=1e-6):
            return found
        why = f"the accountants now say {again:.6g}, which does not fit what is stored"
    except (KeyError, TypeError, ValueError, ParameterError) as error:
        why = str(error)
    calibration_cache.report_damage(question, why)
    return None


def _check_covered(mechanism: DpSgd, unit: str) -> None:
    if mechanism.sampling != POISSON:
        raise PrivacyAccountingError(
            f"sampling {mechanism.sampling!r} is not covered: these accountants assume that every record is drawn by its own "
            "coin in each step, and the true epsilon of shuffled or fixed-size batches can be far larger; use Poisson sampling"
        )
    if unit != mechanism.record:
        raise PrivacyAccountingError(
            f"unit {unit!r} is not covered: this mechanism draws and clips one {mechanism.record} at a time; for the promise to "
            "a user cap the records of each and call user_level_epsilon, or train with one clipped contribution per user"
        )


def _quick_figure(mechanism: DpSgd, spent: Spent) -> float:
    """Return what ``spent`` should report, with its PRV figure believed and the quick accountant asked again."""
    if spent.is_bound_only:
        return accountants.rdp_epsilon(mechanism, spent.delta)
    return max(accountants.pld_epsilon(mechanism, spent.delta, spent.adjacency), spent.prv_upper or 0.0)


def _without_noise(mechanism: DpSgd) -> dict[str, Any]:
    if mechanism.steps == 0:
        return {"epsilon": 0.0, "accountant": "exact: no steps"}
    return {"epsilon": math.inf, "accountant": "exact: no noise"}


def _prv_upper(mechanism: DpSgd, delta: float, max_grid_points: float) -> float:
    """Ask the PRV accountant; its grid is sized first, so that a hopeless case is refused instead of tried."""
    points = accountants.prv_grid_points(mechanism, delta)
    if points > max_grid_points:
        why = f"the PRV accountant needs a grid of {points:.2g} points, above {max_grid_points:.2g}"
        raise _cannot(mechanism, delta, why, "more noise, fewer steps or a larger max_grid_points (200 bytes a point)")
    if points > SLOW_GRID_POINTS:
        print(f"accounting {_numbers(mechanism, delta)}: up to some minutes", file=sys.stderr, flush=True)
    try:
        return accountants.prv_epsilon(mechanism, delta)
    except (ValueError, RuntimeError) as error:
        raise _cannot(
            mechanism, delta, f"the PRV accountant refuses ({error})", "a larger delta or more noise"
        ) from error


def _cannot(mechanism: DpSgd, delta: float, why: str, what_to_change: str) -> PrivacyAccountingError:
    return PrivacyAccountingError(f"no epsilon for {_numbers(mechanism, delta)}: {why}; use {what_to_change}")


def _numbers(mechanism: DpSgd, delta: float) -> str:
    m = mechanism
    return f"noise_multiplier {m.noise_multiplier:g}, sample_rate {m.sample_rate:g}, {m.steps} steps, delta {delta:g}"
