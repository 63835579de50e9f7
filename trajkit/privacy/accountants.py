"""The accountants that `accounting` compares, one plain function each; opacus and dp-accounting are imported when called."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from trajkit.privacy.ledger import DpSgd

PRV_EPS_ERROR = 0.01  # resolution of the PRV accountant: its upper value lies this much above its estimate
PLD_INTERVAL = 1e-3  # grid of the PLD accountant, made finer where one step's privacy loss is smaller than it
USER_GRID_POINTS = 5e3  # the mixture accountant solves one equation a grid point, so its grid is made coarser instead
USER_TAIL = 1e-3  # share of delta spent on a person's improbably many draws


def rdp_name() -> str:
    """Return the RDP accountant's name with its version."""
    return f"dp-accounting RDP {version('dp-accounting')}"


def pld_name() -> str:
    """Return the PLD accountant's name with its version."""
    return f"dp-accounting PLD {version('dp-accounting')}"


def prv_name() -> str:
    """Return the PRV accountant's name with its version."""
    return f"opacus PRV {version('opacus')} upper"


def rdp_epsilon(mechanism: DpSgd, delta: float) -> float:
    """Return the quick, loose Rényi bound (Mironov 2017), add-remove."""
    from dp_accounting import rdp

    with _quiet():
        return float(rdp.RdpAccountant().compose(_event(mechanism)).get_epsilon(delta))


def pld_epsilon(mechanism: DpSgd, delta: float, adjacency: str) -> float:
    """Return the pessimistic figure of the privacy loss distribution (Doroshenko et al. 2022); infinite for tiny deltas."""
    return float(_pld(mechanism, adjacency).get_epsilon(delta))


def _pld(mechanism: DpSgd, adjacency: str) -> Any:
    import dp_accounting
    from dp_accounting import pld

    relation = dp_accounting.NeighboringRelation
    chosen = relation.REPLACE_ONE if adjacency == "replace-one" else relation.ADD_OR_REMOVE_ONE
    spread = mechanism.sample_rate * math.sqrt(math.expm1(min(mechanism.noise_multiplier**-2, 500.0)))
    accountant = pld.PLDAccountant(chosen, value_discretization_interval=_interval(spread, mechanism.steps))
    return accountant.compose(_event(mechanism))


def pld_curve(mechanism: DpSgd, interval: float | None = None) -> Callable[[Any], Any]:
    """Return epsilon -> delta (arrays) of the pessimistic privacy loss distribution, add-remove, on a grid of ``interval`` nats."""
    from dp_accounting.pld import privacy_loss_distribution as loss

    spread = mechanism.sample_rate * math.sqrt(math.expm1(min(mechanism.noise_multiplier**-2, 500.0)))
    one = loss.from_gaussian_mechanism(
        float(mechanism.noise_multiplier),
        value_discretization_interval=interval or _interval(spread, mechanism.steps),
        sampling_prob=float(mechanism.sample_rate),
    )
    return one.self_compose(int(mechanism.steps)).get_delta_for_epsilon


def prv_epsilon(mechanism: DpSgd, delta: float) -> float:
    """Return the upper value of the PRV accountant (Gopi et al. 2021), add-remove. Raises ValueError where it refuses."""
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(float(mechanism.noise_multiplier), float(mechanism.sample_rate), int(mechanism.steps))]
    with _quiet():
        return float(accountant.get_epsilon(delta, eps_error=PRV_EPS_ERROR))


def prv_grid_points(mechanism: DpSgd, delta: float) -> float:
    """Return the PRV grid's size, Gopi et al. 2021, remark 5.6, as opacus chooses it (delta error = delta / 1000)."""
    error = delta / 1000
    one_step = replace(mechanism, steps=1)
    half_width = 3 + max(rdp_epsilon(mechanism, error / 4), rdp_epsilon(one_step, error / (8 * mechanism.steps)))
    return 2 * half_width * math.sqrt(mechanism.steps * math.log(12 / error) / 2) / PRV_EPS_ERROR


def user_pld_epsilon(mechanism: DpSgd, delta: float, cap: int) -> float:
    """Return PLD's figure for a person with ``cap`` records: Charles et al. 2024, mixture of Gaussians, add-remove.

    Draws of more than ``most`` records in one step have probability at most USER_TAIL x delta over all steps; they are
    left out of the mixture and paid for from delta.
    """
    from dp_accounting import dp_event, pld
    from scipy.stats import binom

    sigma, steps = float(mechanism.noise_multiplier), int(mechanism.steps)
    most = most_records(mechanism, delta, cap)
    weights = binom.pmf(range(most + 1), cap, mechanism.sample_rate)
    event = dp_event.MixtureOfGaussiansDpEvent(sigma, list(range(most + 1)), list(weights / weights.sum()))
    spread = cap * mechanism.sample_rate / sigma
    widest = most**2 / (2 * sigma**2) + 8 * most / sigma
    interval = max(_interval(spread, steps), min(widest / USER_GRID_POINTS, spread / 5))
    accountant = pld.PLDAccountant(value_discretization_interval=interval)
    return float(accountant.compose(dp_event.SelfComposedDpEvent(event, steps)).get_epsilon(delta * (1 - USER_TAIL)))


def user_bound_epsilon(mechanism: DpSgd, delta: float, cap: int) -> float:
    """Return a closed-form, very loose bound for a person with ``cap`` records.

    It ignores that drawing hides: at most ``most`` records in each step against the noise is Gaussian DP with
    mu = most sqrt(steps) / sigma, whose privacy loss is N(mu^2 / 2, mu^2), bounded by its Chernoff tail.
    """
    mu = most_records(mechanism, delta, cap) * math.sqrt(mechanism.steps) / mechanism.noise_multiplier
    return mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta * (1 - USER_TAIL)))


def user_mean_loss(mechanism: DpSgd, cap: int) -> float:
    """Return a lower bound of the mean privacy loss of a person over all steps, in nats.

    Talagrand's inequality: KL of the mixture against the noise >= W2^2 / (2 sigma^2) >= (mean shift)^2 / (2 sigma^2).
    """
    shift = cap * mechanism.sample_rate / mechanism.noise_multiplier
    return mechanism.steps * shift**2 / 2


def most_records(mechanism: DpSgd, delta: float, cap: int) -> int:
    """Return the number of one person's records that a step exceeds with probability at most USER_TAIL x delta / steps."""
    from scipy.stats import binom

    return max(1, int(binom.isf(USER_TAIL * delta / mechanism.steps, cap, mechanism.sample_rate)))


def _interval(spread: float, steps: int) -> float:
    """Grid width for one step's privacy loss of standard deviation ``spread``.

    A grid wider than the loss adds variance of its own: a fifth of it costs under 1 %, and below 0.002 / sqrt(steps) the
    sum over all steps no longer shows it.
    """
    return min(PLD_INTERVAL, max(spread / 5, 2e-3 / math.sqrt(steps)))


def _event(mechanism: DpSgd) -> Any:
    from dp_accounting import dp_event

    noise = dp_event.GaussianDpEvent(float(mechanism.noise_multiplier))
    return dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(float(mechanism.sample_rate), noise), int(mechanism.steps)
    )


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
