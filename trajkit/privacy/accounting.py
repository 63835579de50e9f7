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

import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import Any

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.privacy import calibration_cache
from trajkit.privacy.ledger import (
    POISSON,
    Calibration,
    DpSgd,
    Spent,
    check_adjacency,
    check_cap,
    check_delta,
    check_epsilon,
    check_sample_rate,
    check_steps,
    check_unit,
)

__all__ = ["Calibration", "DpSgd", "Spent", "calibrate", "delta_for", "epsilon_of", "user_level_epsilon"]

CEILING = 100.0  # an RDP bound beyond this is reported alone: the fine accountants stall there and nobody is protected
PRV_EPS_ERROR = 0.01  # resolution of the PRV accountant: its upper value lies this much above its estimate
PLD_INTERVAL = 1e-3
MAX_GRID_POINTS = 1e8  # PRV grid; 1e8 points take about 10 GB and some minutes
SLOW_GRID_POINTS = 5e6  # beyond this PRV takes seconds to minutes and says so first
MAX_NOISE_MULTIPLIER = 1e4
AIM = 0.997  # calibration aims at this share of the target …
CLOSE_ENOUGH = 0.99  # … and accepts what lies between this share and the target
Spend = Callable[[float], float]


def delta_for(n: int) -> float:
    """Return ``n ** -1.1``, the delta that Ponomareva et al. (2023) advise for ``n`` records; whoever sees it learns n.

    Raises ParameterError unless ``n`` is a whole number of at least 2.
    """
    if isinstance(n, bool) or int(n) != n or n < 2:
        raise ParameterError(f"n = {n!r}: must be a whole number of at least 2, the training records")
    return float(n) ** -1.1


def epsilon_of(
    mechanism: DpSgd,
    *,
    delta: float,
    unit: str,
    adjacency: str = "add-remove",
    ceiling: float = CEILING,
    max_grid_points: float = MAX_GRID_POINTS,
) -> Spent:
    """Return what ``mechanism`` spends at ``delta`` for one ``unit``.

    No noise gives an infinite epsilon and no steps give 0. Where the RDP bound exceeds ``ceiling`` that bound is returned
    alone, flagged ``is_bound_only``. Adjacency "replace-one" is computed by the PLD accountant only, which ``accountant``
    then says; it is not twice the add-remove value in general. ``max_grid_points`` limits time and memory of PRV.

    Raises ParameterError for values out of range, PrivacyAccountingError where no accountant covers the mechanism (any
    sampling but Poisson, a unit other than the record that is clipped), where none can compute it, or where they disagree.
    """
    check_delta(delta)
    check_unit(unit)
    check_adjacency(adjacency)
    _check_covered(mechanism, unit)
    if mechanism.steps == 0 or mechanism.noise_multiplier == 0:
        nothing = 0.0 if mechanism.steps == 0 else math.inf
        return Spent(nothing, delta, unit, adjacency, "exact: no steps" if nothing == 0 else "exact: no noise")
    rdp = _rdp(mechanism, delta)
    if rdp > ceiling:
        return _beyond_ceiling(mechanism, delta, unit, adjacency, rdp, ceiling)
    pld = _checked_pld(mechanism, delta, adjacency)
    if adjacency == "replace-one":
        return Spent(pld, delta, unit, adjacency, _pld_name(), pld=pld)
    prv = _prv_upper(mechanism, delta, max_grid_points)
    if abs(prv - pld) > max(0.02, 0.02 * max(prv, pld)):
        raise PrivacyAccountingError(
            f"the accountants disagree for {_numbers(mechanism, delta)}: PRV upper value {prv:.6g}, PLD {pld:.6g}; no epsilon "
            "is reported; use a larger delta, more noise, or other versions of opacus and dp-accounting"
        )
    name = f"max(opacus PRV {version('opacus')} upper, {_pld_name()})"
    return Spent(max(prv, pld), delta, unit, adjacency, name, prv_upper=prv, pld=pld, rdp=rdp)


def user_level_epsilon(mechanism: DpSgd, *, delta: float, max_records_per_user: int) -> Spent:
    """Convert record-level noise into what it means for a person with at most ``max_records_per_user`` records.

    Charles et al. 2024 (arXiv:2407.07737), example-level sampling: in each step Binomial(m, q) of the person's clipped
    gradients are in the sum, so the dominating pair is that mixture of Gaussians against the noise alone. Add-remove of a
    whole person; PLD accountant only. The cap must be public and enforced, or the figure is void.

    Raises ParameterError for values out of range, PrivacyAccountingError where the accountant does not cover or cannot
    compute the mechanism.
    """
    check_delta(delta)
    check_cap(max_records_per_user)
    _check_covered(mechanism, mechanism.record)
    spent = partial(
        Spent, delta=delta, unit="user", adjacency="add-remove", max_records_per_user=int(max_records_per_user)
    )
    if mechanism.steps == 0 or mechanism.noise_multiplier == 0:
        nothing = 0.0 if mechanism.steps == 0 else math.inf
        return spent(epsilon=nothing, accountant="exact: no steps" if nothing == 0 else "exact: no noise")
    epsilon = _user_pld(mechanism, delta, int(max_records_per_user))
    if not math.isfinite(epsilon):
        raise _cannot(mechanism, delta, "PLD gives an infinite user-level epsilon", "a larger delta")
    return spent(epsilon=epsilon, pld=epsilon, accountant=f"{_pld_name()}, mixture of Gaussians")


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
        "settings": [PRV_EPS_ERROR, PLD_INTERVAL, AIM, CLOSE_ENOUGH],
    }
    known = _confirmed(question, make)
    if known is None:
        known = _search(target_epsilon, delta, unit, adjacency, make)
        calibration_cache.write(question, asdict(known))
    return known


def _search(target: float, delta: float, unit: str, adjacency: str, make: Callable[..., DpSgd]) -> Calibration:
    """Solve on the PLD accountant, which is quick, then shift by what the reported value adds to it."""
    excess = 0.0 if adjacency == "replace-one" else PRV_EPS_ERROR
    for _ in range(8):
        aim = AIM * target - excess
        if aim <= 0:
            break
        noise = _noise_for(aim, lambda s: _pld(make(noise_multiplier=s), delta, adjacency), make, delta, target)
        spent = epsilon_of(make(noise_multiplier=noise), delta=delta, unit=unit, adjacency=adjacency, ceiling=math.inf)
        if CLOSE_ENOUGH * target <= spent.epsilon <= target:
            return Calibration(noise, spent)
        excess = spent.epsilon - (spent.pld or 0.0)
    raise _unreachable(target, delta, make, f"the accountants resolve epsilon to {PRV_EPS_ERROR} only")


def _noise_for(aim: float, epsilon: Spend, make: Callable[..., DpSgd], delta: float, target: float) -> float:
    """Return the noise multiplier where ``epsilon``, which falls in it, meets ``aim``."""
    from scipy.optimize import brentq

    high = 1.0
    while not epsilon(high) <= aim:
        high *= 2
        if high > MAX_NOISE_MULTIPLIER:
            raise _unreachable(target, delta, make, f"not even noise_multiplier {MAX_NOISE_MULTIPLIER:g} suffices")
    low = high / 2
    while _rdp(make(noise_multiplier=low), delta) <= 20 * (aim + 1) and epsilon(low) <= aim:
        high, low = low, low / 2

    def excess(log_noise: float) -> float:
        return min(epsilon(math.exp(log_noise)), 1e6) - aim

    return math.exp(brentq(excess, math.log(low), math.log(high), xtol=1e-7))


def _unreachable(target: float, delta: float, make: Callable[..., DpSgd], why: str) -> PrivacyAccountingError:
    m = make(noise_multiplier=1.0)
    return PrivacyAccountingError(
        f"epsilon {target:g} at delta {delta:g} is out of reach for sample_rate {m.sample_rate:g} and {m.steps} steps: {why}; "
        "allow a larger epsilon or delta, or take fewer steps or a smaller batch"
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
        pld = _pld(mechanism, spent.delta, spent.adjacency)
        top = max(pld, spent.prv_upper or 0.0)
        if same and spent.epsilon <= question["target_epsilon"] and math.isclose(top, spent.epsilon, rel_tol=1e-6):
            return found
        why = f"PLD now says {pld:.6g}, which does not fit what is stored"
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


def _beyond_ceiling(mechanism: DpSgd, delta: float, unit: str, adjacency: str, rdp: float, ceiling: float) -> Spent:
    if adjacency != "add-remove":
        raise _cannot(mechanism, delta, f"the add-remove bound alone is {rdp:.6g}, above {ceiling:g}", "more noise")
    name = f"dp-accounting RDP {version('dp-accounting')} (bound; above {ceiling:g} the fine accountants are not run)"
    return Spent(rdp, delta, unit, adjacency, name, rdp=rdp, is_bound_only=True)


def _cannot(mechanism: DpSgd, delta: float, why: str, what_to_change: str) -> PrivacyAccountingError:
    return PrivacyAccountingError(f"no epsilon for {_numbers(mechanism, delta)}: {why}; use {what_to_change}")


def _numbers(mechanism: DpSgd, delta: float) -> str:
    m = mechanism
    return f"noise_multiplier {m.noise_multiplier:g}, sample_rate {m.sample_rate:g}, {m.steps} steps, delta {delta:g}"


def _pld_name() -> str:
    return f"dp-accounting PLD {version('dp-accounting')}"


def _event(mechanism: DpSgd) -> Any:
    from dp_accounting import dp_event

    step = dp_event.PoissonSampledDpEvent(
        float(mechanism.sample_rate), dp_event.GaussianDpEvent(float(mechanism.noise_multiplier))
    )
    return dp_event.SelfComposedDpEvent(step, int(mechanism.steps))


def _rdp(mechanism: DpSgd, delta: float) -> float:
    from dp_accounting import rdp

    with _quiet():
        return float(rdp.RdpAccountant().compose(_event(mechanism)).get_epsilon(delta))


def _pld(mechanism: DpSgd, delta: float, adjacency: str) -> float:
    import dp_accounting
    from dp_accounting import pld

    relation = dp_accounting.NeighboringRelation
    chosen = relation.REPLACE_ONE if adjacency == "replace-one" else relation.ADD_OR_REMOVE_ONE
    accountant = pld.PLDAccountant(chosen, value_discretization_interval=PLD_INTERVAL)
    return float(accountant.compose(_event(mechanism)).get_epsilon(delta))


def _checked_pld(mechanism: DpSgd, delta: float, adjacency: str) -> float:
    pld = _pld(mechanism, delta, adjacency)
    if not math.isfinite(pld):
        raise _cannot(
            mechanism, delta, "PLD gives infinity, as it truncates tails heavier than delta", "a larger delta"
        )
    return pld


def _user_pld(mechanism: DpSgd, delta: float, cap: int) -> float:
    from dp_accounting import dp_event, pld
    from scipy.stats import binom

    counts = list(range(cap + 1))
    weights = binom.pmf(counts, cap, mechanism.sample_rate)
    step = dp_event.MixtureOfGaussiansDpEvent(float(mechanism.noise_multiplier), counts, list(weights / weights.sum()))
    accountant = pld.PLDAccountant(value_discretization_interval=PLD_INTERVAL)
    return float(accountant.compose(dp_event.SelfComposedDpEvent(step, int(mechanism.steps))).get_epsilon(delta))


def _prv_upper(mechanism: DpSgd, delta: float, max_grid_points: float) -> float:
    """Upper value of the PRV accountant; its grid is sized first, so that a hopeless case is refused instead of tried."""
    points = _prv_grid_points(mechanism, delta)
    if points > max_grid_points:
        why = f"the PRV accountant needs a grid of {points:.2g} points, above {max_grid_points:.2g}"
        raise _cannot(
            mechanism, delta, why, "more noise, fewer steps, or a larger max_grid_points (about 100 bytes each)"
        )
    if points > SLOW_GRID_POINTS:
        print(f"accounting {_numbers(mechanism, delta)}: this takes up to some minutes", file=sys.stderr, flush=True)
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(float(mechanism.noise_multiplier), float(mechanism.sample_rate), int(mechanism.steps))]
    try:
        with _quiet():
            return float(accountant.get_epsilon(delta, eps_error=PRV_EPS_ERROR))
    except (ValueError, RuntimeError) as error:
        raise _cannot(
            mechanism, delta, f"the PRV accountant refuses ({error})", "a larger delta or more noise"
        ) from error


def _prv_grid_points(mechanism: DpSgd, delta: float) -> float:
    """Grid of Gopi et al. 2021, remark 5.6, as opacus sizes it with a delta error of delta / 1000."""
    error = delta / 1000
    half_width = 3 + max(
        _rdp(mechanism, error / 4), _rdp(replace(mechanism, steps=1), error / (8 * mechanism.steps)), PRV_EPS_ERROR
    )
    return 2 * half_width * math.sqrt(mechanism.steps * math.log(12 / error) / 2) / PRV_EPS_ERROR


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop remarks that cost tightness only: RDP orders left out, the largest order used, log 0 at full batches."""
    logger = logging.getLogger("absl")
    level = logger.level
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Optimal order is the (largest|smallest) alpha")
        warnings.filterwarnings("ignore", message="divide by zero encountered in log", category=RuntimeWarning)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
