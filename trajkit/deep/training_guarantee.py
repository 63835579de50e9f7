"""From a training plan to noise, and from the steps really taken to the guarantee of everything the model releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from trajkit.contributions import ONE_PERSON, capped_words
from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED, Guarantee, Part, no_guarantee

UNIT = "trajectory"
ADJACENCY = "add-remove"
PUBLIC_N = {
    "trajectory": "n, the number of training trajectories, is public: sample_rate and the default delta follow from it",
    "user": "n, the number of users in training, is public: sample_rate and the default delta follow from it",
}
ASSUMPTIONS = (
    "the box is public and was not computed from the data",
    "hyper-parameters are not accounted: they must be chosen on other data",
    "which {} each step drew stay secret, as do the noise, the gradients, the losses and the checkpoints",
)
PLURALS = {"trajectory": "trajectories", "user": "users"}
ONE_TRAJECTORY = "one trajectory is protected; a person with several of them is protected less"
RNG_ASSUMPTION = {
    RNG_SEEDED: "the noise can be recomputed by whoever knows the seed, and runs with one seed share it: no two of them may be released",
    RNG_OS: "sampling and noise come from a pseudo-random generator (not cryptographic) keyed with 63 bits of operating-system entropy",
}
BFLOAT16 = "gradients of a record were computed in bfloat16; they were clipped, summed and noised in single precision, which bounds them whatever their rounding"
PLAIN = "trained without differential privacy: gradients are neither clipped nor noised"
CLIPPED = "gradients are clipped but no noise is added: clipping alone promises nothing"


class DpParameters(Protocol):
    """The parameters of a method that decide its budget."""

    @property
    def regime(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def trips_per_user(self) -> int | None: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def delta(self) -> float | None: ...

    @property
    def noise_multiplier(self) -> float | None: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def accounted_steps(self) -> int: ...


RECORDS = {"trajectory": "record", "user": "user"}  # what is drawn and clipped as one
BOUND_ONLY = "epsilon is a loose RDP bound: beyond the ceiling of the fine accountants nothing sharper was computed"


@dataclass(frozen=True)
class Budget:
    """``sample_rate`` = batch_size / n is both the rate drawn with and the rate accounted; ``n`` counts what is drawn as one, by ``unit``."""

    n: int
    sample_rate: float
    delta: float | None
    noise_multiplier: float
    unit: str = UNIT
    trips_per_user: int | None = None

    def assumptions(self) -> tuple[str, ...]:
        """What the training's guarantee assumes, besides where its noise comes from."""
        shared = (a.format(PLURALS[self.unit]) for a in ASSUMPTIONS)
        who = (ONE_TRAJECTORY,) if self.trips_per_user is None else (capped_words(self.trips_per_user), ONE_PERSON)
        return (PUBLIC_N[self.unit], *shared, *who)


def plan(config: DpParameters, n: int) -> Budget:
    """Return the rate, delta and noise multiplier of a training on ``n`` examples; calibrates where an epsilon is given."""
    rate = config.batch_size / n
    if config.regime != "private":
        return Budget(n, rate, None, 0.0, config.unit, config.trips_per_user)
    from trajkit.privacy.accounting import calibrate, delta_for

    delta = config.delta if config.delta is not None else delta_for(n)
    noise = config.noise_multiplier
    if noise is None:
        assert config.epsilon is not None
        noise = calibrate(
            target_epsilon=config.epsilon,
            delta=delta,
            sample_rate=rate,
            steps=config.accounted_steps,
            unit=config.unit,
            record=config.unit,
        ).noise_multiplier
    return Budget(n, rate, delta, noise, config.unit, config.trips_per_user)


def training_guarantee(
    regime: str, budget: Budget, ledger: dict[str, Any], *, target: float | None, noise_source: str
) -> Guarantee:
    """Return the guarantee of a training whose ``ledger`` records the steps taken, their rate and their noise.

    Raises PrivacyAccountingError when the ledger differs from the plan or epsilon exceeds the target.
    """
    rng = RNG_OS if noise_source == "os" else RNG_SEEDED
    if regime != "private":
        return no_guarantee(PLAIN if regime == "plain" else CLIPPED, unit=budget.unit, rng=rng)
    from trajkit.privacy.accounting import DpSgd, epsilon_of

    planned = (budget.sample_rate, budget.noise_multiplier)
    if (ledger["sample_rate"], ledger["noise_multiplier"]) != planned or budget.delta is None:
        raise PrivacyAccountingError(f"trained with {ledger}, planned {budget}: nothing may be released")
    mechanism = DpSgd(ledger["sample_rate"], ledger["noise_multiplier"], ledger["steps"], record=budget.unit)
    spent = epsilon_of(mechanism, delta=budget.delta, unit=budget.unit, adjacency=ADJACENCY)
    if target is not None and spent.epsilon > target:
        raise PrivacyAccountingError(
            f"epsilon {spent.epsilon:.6g} after {ledger['steps']} steps exceeds the target {target}: nothing may be released"
        )
    words = (
        f"DP-SGD: {ledger['steps']} steps, each {RECORDS[budget.unit]} drawn with probability {ledger['sample_rate']:.6g} (Poisson), gradients "
        f"clipped to {ledger['max_grad_norm']:g}, Gaussian noise of {ledger['noise_multiplier']:.6g} times that"
    )
    details = {**ledger, "n": budget.n, "sampling": "poisson"}
    if budget.trips_per_user is not None:
        details["trips_per_user"] = budget.trips_per_user
    part = Part("training set", words, spent.epsilon, spent.delta, details)
    return Guarantee(
        holds=True,
        kind="dp",
        epsilon=spent.epsilon,
        delta=spent.delta,
        unit=budget.unit,
        adjacency=ADJACENCY,
        mechanism=words,
        accountant=spent.accountant,
        parts=(part,),
        rng=rng,
        assumptions=(*budget.assumptions(), RNG_ASSUMPTION[rng], *([BOUND_ONLY] if spent.is_bound_only else [])),
    )


def generator_only_guarantee(budget: Budget, *, batch: int, steps: int) -> Guarantee:
    """Return the record of DP-SGD on a GAN's generator alone, the published scheme: it does not hold.

    The clipped gradients belong to latent vectors, not to records, and the critic between them is trained without noise: one
    record can move all ``batch`` of them at every step. What can be proved is mu-GDP with mu = 2 B sqrt(T) / sigma.
    """
    from trajkit.privacy.gdp import gdp_epsilon, generator_only_mu

    assert budget.delta is not None
    mu = generator_only_mu(batch=batch, steps=steps, noise_multiplier=budget.noise_multiplier)
    proved = gdp_epsilon(mu, budget.delta)
    reason = (
        "noise was added to the generator's gradients, but data reaches the generator through a critic trained without noise: "
        f"one record can move all {batch} clipped gradients of every step, not one of them with probability q. What can be "
        f"proved for {steps} steps with noise {budget.noise_multiplier:.4g} is mu-GDP with mu = {mu:.4g}, "
        f"that is an epsilon of {proved:.3g} at delta {budget.delta:.2g}{', which protects nobody' if proved > 20 else ''}"
    )
    return no_guarantee(reason, unit=budget.unit, adjacency=ADJACENCY, rng=RNG_SEEDED)
