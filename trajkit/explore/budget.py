"""What a budget means: n, batch, steps, epsilon and delta to noise and back, per trajectory and per user, in words and pictures.

All figures are those of `trajkit.privacy.accounting` and `trajkit.privacy.user_level`; `trajkit.explore.budget_panel` has the controls.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from trajkit.errors import ParameterError
from trajkit.explore.work import Step
from trajkit.privacy import accountants
from trajkit.privacy.accounting import calibrate, epsilon_of, user_level_epsilon
from trajkit.privacy.gdp import central_limit_mu, gdp_epsilon
from trajkit.privacy.ledger import DpSgd, Spent
from trajkit.privacy.user_level import els_noise, group_privacy
from trajkit.viz import budget as figures
from trajkit.viz.pictures import Picture, Text, View

TRIPS = (1, 2, 4, 8, 16, 32)
ALARM = 0.01
ALARMS = np.geomspace(1e-4, 1, 80)
NO_CLAIM = "central limit (no claim)"


@dataclass(frozen=True)
class Question:
    """DP-SGD of ``steps`` steps on an expected ``batch`` of ``n`` trajectories, of at most ``trips`` of one user.

    Either ``epsilon``, to be spent per ``unit`` ("trajectory" or "user") at ``delta``, or ``noise``, the noise multiplier; the other is
    None. Raises ParameterError for a batch above n, or fewer trajectories than one user may add.
    """

    n: int
    batch: int
    steps: int
    delta: float
    unit: str
    trips: int
    epsilon: float | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        if self.batch > self.n:
            raise ParameterError(f"batch = {self.batch}: at most n, which is {self.n}")
        if self.trips > self.n:
            raise ParameterError(f"trips = {self.trips}: at most n, which is {self.n}")
        if (self.epsilon is None) == (self.noise is None):
            raise ParameterError("give epsilon or noise, and not both")

    @property
    def key(self) -> Question:
        """What decides the answer: trips do only where noise is sought for a promise to users."""
        by_user = self.unit == "user" and self.noise is None
        return self if by_user else replace(self, trips=1, unit="trajectory")


@dataclass(frozen=True)
class Answer:
    """``trajectory``: spent per trajectory; ``users``: per user of at most m trips, for each m of `TRIPS` and the one asked for.

    replace_one   epsilon per trajectory under replace-one; None where it is not computed
    central_limit epsilon by the central limit of Gaussian DP: no claim
    by_user_noise noise multiplier where users are drawn and clipped as one (ULS), for a promise to users; else None
    """

    mechanism: DpSgd
    trajectory: Spent
    users: dict[int, Spent]
    replace_one: float | None
    central_limit: float
    by_user_noise: float | None = None


def answering(q: Question) -> Generator[Step, None, Answer]:
    """Compute the answer in pieces; seconds in all, more for many steps. Raises what the accountants raise."""
    rate = q.batch / q.n
    yield "finding the noise (for many steps this piece takes a minute or more)", 0.05
    noise, by_user = q.noise, None
    if noise is None and q.unit == "trajectory":
        noise = calibrate(
            target_epsilon=float(q.epsilon or 0), delta=q.delta, sample_rate=rate, steps=q.steps, unit="trajectory"
        ).noise_multiplier
    elif noise is None:
        noise = els_noise(
            target_epsilon=float(q.epsilon or 0),
            delta=q.delta,
            sample_rate=rate,
            steps=q.steps,
            max_records_per_user=q.trips,
        )
        yield "the noise if whole users were drawn", 0.3
        users = q.n / q.trips
        by_user = calibrate(
            target_epsilon=float(q.epsilon or 0), delta=q.delta, sample_rate=min(q.batch, users) / users, steps=q.steps,
            unit="user", record="user",
        ).noise_multiplier  # fmt: skip
    mechanism = DpSgd(rate, noise, q.steps)
    yield "asking the accountants", 0.4
    trajectory = epsilon_of(mechanism, delta=q.delta, unit="trajectory")
    replaced = None if trajectory.is_bound_only else accountants.pld_epsilon(mechanism, q.delta, "replace-one")
    mu = central_limit_mu(sample_rate=rate, noise_multiplier=noise, steps=q.steps)
    found = {}
    caps = sorted({*(m for m in TRIPS if m <= q.n), q.trips})
    for i, m in enumerate(caps):
        yield f"per user of at most {m} trips", 0.5 + 0.5 * i / len(caps)
        found[m] = user_level_epsilon(mechanism, delta=q.delta, max_records_per_user=m)
    return Answer(mechanism, trajectory, found, replaced, gdp_epsilon(mu, q.delta), by_user)


def most_hits(epsilon: float, delta: float, alarm: float | np.ndarray) -> np.ndarray:
    """Largest share of targets that any test recognises at ``alarm`` false alarms under (``epsilon``, ``delta``)-DP (Kairouz, Oh, Viswanath 2015)."""
    alarm = np.asarray(alarm, dtype=np.float64)
    rising = np.exp(min(epsilon, 700.0)) * alarm + delta
    falling = 1 - math.exp(-min(epsilon, 700.0)) * np.maximum(0.0, 1 - delta - alarm)
    return np.minimum(1.0, np.minimum(rising, falling))


def odds(epsilon: float) -> str:
    """The factor e^epsilon in words."""
    if not math.isfinite(epsilon):
        return "without any limit"
    if epsilon < 14:
        return f"{math.exp(epsilon):,.3g}" if epsilon < 6 else f"{math.exp(epsilon):,.0f}"
    return f"10^{epsilon / math.log(10):,.0f}"


def views(q: Question, found: Answer) -> list[View]:
    """The answer in words, per user, by each accountant, and to the best attacker."""
    user, one = found.users[q.trips], found.trajectory
    caps = sorted(found.users)
    title = f"noise multiplier {found.mechanism.noise_multiplier:.3g}, delta {q.delta:g}"
    shown = [found.users[m] for m in caps]
    curve = figures.per_user(
        caps,
        [s.epsilon for s in shown],
        loose=[s.is_bound_only for s in shown],
        trajectory=one.epsilon,
        chosen=q.trips,
        title=title,
    )
    alt = f"Epsilon per user against trips of one user ({title}): {one.epsilon:.3g} per trajectory, "
    alt += ", ".join(f"{s.epsilon:.3g} with {m}" for m, s in zip(caps, shown, strict=True))
    both = {
        f"one trajectory, epsilon {one.epsilon:.3g}": most_hits(one.epsilon, q.delta, ALARMS),
        f"one user, epsilon {user.epsilon:.3g}": most_hits(user.epsilon, q.delta, ALARMS),
    }
    second = figures.accountants_and_attacker(
        _by_accountant(found), ALARMS, both, title="per trajectory, by each accountant"
    )
    names = ", ".join(f"{name} {value:.4g}" for name, (value, _) in _by_accountant(found).items())
    return [
        _words(q, found),
        Picture(curve, alt),
        Picture(second, f"Epsilon by each accountant: {names}. {_attacker(q, found)}"),
    ]


def _by_accountant(found: Answer) -> dict[str, tuple[float, str]]:
    one = found.trajectory
    rows = {"reported": (one.epsilon, "claim")}
    rows |= {"PRV, upper value": (one.prv_upper, "bound")} if one.prv_upper is not None else {}
    rows |= {"PLD": (one.pld, "bound")} if one.pld is not None else {}
    rows |= {"RDP (loose)": (one.rdp, "bound")} if one.rdp is not None else {}
    rows |= {"PLD, replace-one": (found.replace_one, "bound")} if found.replace_one is not None else {}
    return rows | {NO_CLAIM: (found.central_limit, "no claim")}


def _attacker(q: Question, found: Answer) -> str:
    one, user = (float(most_hits(s.epsilon, q.delta, ALARM)) for s in (found.trajectory, found.users[q.trips]))
    return (
        f"With {ALARM:.0%} false alarms the best attacker may recognise up to {_percent(one)} of the trajectories and {_percent(user)} of "
        "the users in the data"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %" if share < 0.9999 else "practically all"


def _words(q: Question, found: Answer) -> Text:
    user, one, m = found.users[q.trips], found.trajectory, found.mechanism
    k_epsilon, k_delta = (
        group_privacy(one.epsilon, q.delta, q.trips)
        if math.isfinite(one.epsilon) and one.epsilon > 0
        else (math.inf, 1.0)
    )
    loose = " (a loose upper bound)" if user.is_bound_only else ""
    nothing = "nothing at all, as its delta reaches 1" if k_delta >= 1 else f"({k_epsilon:.3g}, {k_delta:.2g})"
    items = [
        f"<b>Noise multiplier {m.noise_multiplier:.4g}</b> (noise over clip norm), sampling rate {m.sample_rate:.3g}, {q.steps:,} steps, delta {q.delta:g}.",
        f"<b>Odds.</b> Whatever odds somebody gives to a trip being in the data, the result multiplies them by at most {odds(one.epsilon)}; to a "
        f"person being in it, by at most {odds(user.epsilon)} (outside a chance of about delta).",
        f"<b>Attacker.</b> {escape(_attacker(q, found))}.",
        f"<b>Group privacy</b>, without looking at the mechanism, would promise {q.trips} trips of one person {nothing}.",
        "Two accountants must agree on what is reported. RDP is valid and loose. The central limit is <b>no claim</b>: it can understate.",
    ]
    if found.by_user_noise is not None:
        items.insert(
            1,
            f"Where whole users are drawn and clipped as one instead (as many a step), the noise multiplier is {found.by_user_noise:.4g}.",
        )
    if q.trips > 1:
        items.append(
            "The bound on the trips of a user must be public and enforced (<code>trips_per_user</code>), or the figure per user is void."
        )
    most = f"{q.trips} trip{'s' if q.trips > 1 else ''}"
    asked = one.epsilon if q.epsilon is None or q.unit == "user" else q.epsilon
    spent = "" if asked == one.epsilon else f" ({one.epsilon:.3g} is spent)"
    headline = f"Epsilon {asked:.3g} per trajectory{spent} is epsilon {user.epsilon:.3g}{loose} per user who adds at most {most}."
    return Text(
        f'<p style="font-size: 1.35em"><b>{escape(headline)}</b></p><ul>{"".join(f"<li>{i}</li>" for i in items)}</ul>',
        wide=True,
    )
