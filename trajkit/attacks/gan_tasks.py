"""Audits of the two GAN schemes as tasks of a study: one parameter, tiny GANs, and one run with many canaries."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from trajkit.attacks.audit_bounds import one_run_epsilon
from trajkit.attacks.audit_task import AuditConfig, AuditReport, Part
from trajkit.attacks.gan_audit import SCHEMES, audit_tiny, audit_worst_case, noise_for
from trajkit.attacks.tiny_game import Setting, corner, crafted, natural, one_run, pretrain, rows_of, zigzag
from trajkit.attacks.tiny_gan import TinyGan
from trajkit.attacks.verdict import Verdict
from trajkit.attacks.worst_case import WorstCase
from trajkit.datasets.city import simulate
from trajkit.methods import FromList
from trajkit.privacy.gdp import gdp_epsilon, generator_only_mu
from trajkit.seeds import rng

Scheme = Literal["generator", "critic"]
# the simulated city whose trips are the natural data: other people's are the public ones
PEOPLE, DAYS, CITY = 400, 2, 3


class _GanTask(AuditConfig):
    """``claimed``: epsilon that the scheme is said to spend at ``delta``, with ``steps`` noisy steps of ``batch`` of ``n`` records; ``placebo``:
    the canary is in neither world."""

    scheme: Scheme = "generator"
    claimed: float = Field(1.0, gt=0)
    placebo: bool = False
    delta: float = Field(1e-5, gt=0, lt=1)
    n: int = Field(64, ge=2)
    batch: int = Field(16, ge=1)
    steps: int = Field(200, ge=1)

    @property
    def noise_multiplier(self) -> float:
        """The noise at which that is said to be spent."""
        return noise_for(self.claimed, self.delta, n=self.n, batch=self.batch, noisy_steps=self.steps)


class WorstCaseTask(_GanTask):
    """The one-parameter Wasserstein GAN, see `trajkit.attacks.worst_case`; ``models`` trainings in each world."""

    delta: float = Field(4.72e-6, gt=0, lt=1)
    n: int = Field(69_500, ge=2)
    batch: int = Field(512, ge=1)
    critic_sees: Literal["all", "batch"] = "all"
    models: int = Field(20_000, ge=16)

    def run(self, part: Part) -> AuditReport:
        """One verdict."""
        config = WorstCase(
            n=self.n, batch=self.batch, steps=self.steps, noise_multiplier=self.noise_multiplier, scheme=self.scheme, critic_sees=self.critic_sees
        )  # fmt: skip
        return AuditReport(
            (audit_worst_case(config, delta=self.delta, models=self.models, seed=part.seed, placebo=self.placebo),)
        )


class TinyGanTask(_GanTask):
    """Tiny perceptron GANs, see `trajkit.attacks.tiny_gan`; ``models`` trainings in each world, on ``n`` records.

    ``data``: crafted records (all in the middle, where the generator starts), or trips of the simulated city with networks from a
    training on other people's trips (natural), or from nothing (scratch); one trip of each person, and how much leaks differs from city to
    city (``city_seed``). ``canary``: in the far corner, a jump between corners, a record
    that is there already (duplicate), or the public trip that is nearest to their mean (typical).
    """

    data: Literal["crafted", "natural", "scratch"] = "crafted"
    canary: Literal["corner", "zigzag", "duplicate", "typical"] = "corner"
    models: int = Field(1000, ge=16)
    city_seed: int = Field(CITY, ge=0)
    penalty: float = Field(0.0, ge=0)
    generator_rate: float = Field(2e-3, gt=0)
    critic_rate: float = Field(2e-3, gt=0)

    def run(self, part: Part) -> AuditReport:
        """One verdict."""
        config = TinyGan(
            scheme=self.scheme, noise_multiplier=self.noise_multiplier, batch=self.batch, steps=self.steps, penalty=self.penalty,
            generator_rate=self.generator_rate, critic_rate=self.critic_rate,
        )  # fmt: skip
        found = audit_tiny(
            self._setting(config, part.seed), config, delta=self.delta, models=self.models, seed=part.seed, placebo=self.placebo
        )  # fmt: skip
        about = [f"{self.canary} canary"] if self.canary != "corner" else []
        about += ["gradient penalty"] if self.penalty else []
        about += ["another city"] if self.city_seed != CITY and self.data != "crafted" else []
        return AuditReport((replace(found, subject=", ".join([found.subject, *about])),))

    def _setting(self, config: TinyGan, seed: int) -> Setting:
        if self.data == "crafted":
            made = crafted(config, n=self.n)
            return replace(made, canary=self._canary(made.records, made.records))
        rows, private, public = city_rows(self.n, size=config.size, city_seed=self.city_seed, seed=seed)
        start = pretrain(rows[public], config, seed=seed) if self.data == "natural" else None
        return natural(rows[private], canary=self._canary(rows[private], rows[public]), start=start)

    def _canary(self, records: Tensor, public: Tensor) -> Tensor:
        if self.canary == "duplicate":
            return records[0]
        if self.canary == "typical":
            return public[int((public - public.mean(0)).square().sum(1).argmin())]
        return {"corner": corner, "zigzag": zigzag}[self.canary](records.shape[1])


def city_rows(n: int, *, size: int, city_seed: int, seed: int) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """(trips of a simulated city as rows [m, ``size``], the ``n`` private ones, the public ones): one private trip a person, whose others are
    neither."""
    trips = simulate(people=max(PEOPLE, 4 * n), days=DAYS, seed=city_seed, workers=1).trajectories
    first = np.unique(trips.user, return_index=True)[1]
    private = first[rng(seed, "attack", "people").permutation(len(first))[:n]]
    public = np.flatnonzero(~np.isin(trips.user, trips.user[private]))
    return rows_of(trips, size // 2), private, public


class OneRunTask(_GanTask):
    """Many canaries in every training, ``runs`` trainings pooled (`audit_bounds.one_run_epsilon`); crafted data."""

    runs: int = Field(20, ge=1)
    level: float = Field(0.95, gt=0, lt=1)

    def run(self, part: Part) -> AuditReport:
        """One verdict; no epsilon but that of the guesses is bounded."""
        started = time.monotonic()
        config = TinyGan(scheme=self.scheme, noise_multiplier=self.noise_multiplier, batch=self.batch, steps=self.steps)
        canaries, guesses, right = one_run(config, n=self.n, runs=self.runs, seed=part.seed)
        found = one_run_epsilon(canaries=canaries, guesses=guesses, right=right, delta=self.delta, level=self.level)
        by = ("epsilon",) if found > self.claimed else ()
        tried = f"{right} of {guesses} guesses right, {canaries} canaries in {self.runs} trainings"
        subject, seconds = f"{SCHEMES[self.scheme]}, {config.size} canaries at once", time.monotonic() - started
        verdict = Verdict(
            subject, "one run", self.claimed, self.delta, found, None, None, by, tried, self.runs, self.level, seconds
        )
        return AuditReport((verdict,))


class TrueGuaranteeTask(AuditConfig):
    """What noise on the generator alone really promises: mu = 2 B sqrt(T) / sigma, beside what is claimed.

    ``settings``: rows of records n, batch B, noisy steps T and delta; the noise is that at which ``claimed`` is said to be spent.
    """

    JUDGES: ClassVar[bool] = False

    claimed: float = Field(10.0, gt=0)
    settings: Annotated[tuple[Annotated[tuple[int, int, int, float], FromList], ...], FromList]

    def run(self, part: Part) -> AuditReport:
        """The table "true guarantee"."""
        rows = []
        for n, batch, steps, delta in self.settings:
            sigma = noise_for(self.claimed, delta, n=n, batch=batch, noisy_steps=steps)
            mu = generator_only_mu(batch=batch, steps=steps, noise_multiplier=sigma)
            rows.append(
                {
                    "records": n, "batch": batch, "generator steps": steps, "delta": delta, "claimed epsilon": self.claimed,
                    "noise multiplier": sigma, "mu": mu, "epsilon that holds": gdp_epsilon(mu, delta),
                }
            )  # fmt: skip
        return AuditReport(tables={"true guarantee": rows})
