"""Audits of everything but GANs as tasks of a study, and what a promise to trajectories is worth to people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from trajkit.attacks.audit_task import AuditConfig, AuditReport, Part
from trajkit.attacks.broken import table
from trajkit.attacks.mechanism_game import mechanism_table
from trajkit.attacks.release_game import SUBJECTS, release_game
from trajkit.attacks.step_game import METHODS, step_game
from trajkit.attacks.verdict import SOUND
from trajkit.attacks.watched import HALVED
from trajkit.errors import DataContractError
from trajkit.methods import FromList


def known(names: tuple[str, ...], subjects: Iterable[str]) -> tuple[str, ...]:
    """Return ``names``. Raises ValueError for one that is not among ``subjects``, naming these."""
    for name in names:
        if name not in subjects:
            raise ValueError(f"{name!r} is no subject: use {', '.join(subjects)}")
    return names


class BrokenTask(AuditConfig):
    """Sound and broken copies before every test that might see the break, see `trajkit.attacks.broken`."""

    steps: int = Field(5000, ge=100)
    releases: int = Field(2000, ge=20)

    def run(self, part: Part) -> AuditReport:
        """A verdict for each copy and test."""
        return AuditReport(table(steps=self.steps, releases=self.releases, seed=part.seed))


class StepTask(AuditConfig):
    """Single steps of the deep methods' own DP-SGD, sound and with half the noise, see `trajkit.attacks.step_game`."""

    methods: Annotated[tuple[str, ...], FromList] = ("diffusion", "vae", "gan")
    steps: int = Field(400, ge=4)
    flaws: Annotated[tuple[str, ...], FromList] = (SOUND, HALVED)

    @field_validator("methods")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return known(value, METHODS)

    def run(self, part: Part) -> AuditReport:
        """A verdict for each method and flaw."""
        return AuditReport(
            tuple(step_game(m, steps=self.steps, seed=part.seed, flaw=f) for m in self.methods for f in self.flaws)
        )


class ReleaseTask(AuditConfig):
    """What whole methods release, see `trajkit.attacks.release_game`; some see nothing at epsilon 1 and more at a larger one."""

    methods: Annotated[tuple[str, ...], FromList] = (*SUBJECTS,)
    releases: int = Field(1000, ge=16)
    epsilon: float = Field(1.0, gt=0)

    @field_validator("methods")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return known(value, SUBJECTS)

    def run(self, part: Part) -> AuditReport:
        """A verdict for each method."""
        return AuditReport(
            tuple(release_game(m, releases=self.releases, seed=part.seed, epsilon=self.epsilon) for m in self.methods)
        )


class MechanismTask(AuditConfig):
    """The noise mechanisms on their worst inputs, as they are and with noise for twice the epsilon, see `trajkit.attacks.mechanism_game`."""

    epsilon: float = Field(1.0, gt=0)
    dimension: int = Field(8, ge=2)
    releases: int = Field(100_000, ge=4)

    def run(self, part: Part) -> AuditReport:
        """Two verdicts for each mechanism."""
        return AuditReport(
            mechanism_table(epsilon=self.epsilon, dimension=self.dimension, releases=self.releases, seed=part.seed)
        )


class UserLevelTask(AuditConfig):
    """Epsilon per trajectory against epsilon per user, for each bound of ``caps``: `trajkit.privacy.user_level.epsilon_table`."""

    NEEDS_DATA: ClassVar[bool] = True
    JUDGES: ClassVar[bool] = False

    caps: Annotated[tuple[int, ...], FromList] = (1, 4, 16)
    epsilon: float = Field(10.0, gt=0)
    delta: float = Field(1e-5, gt=0, lt=1)
    batch_size: int = Field(128, ge=1)
    steps: int = Field(720, ge=1)

    def run(self, part: Part) -> AuditReport:
        """The table "user level"."""
        from trajkit.privacy.user_level import epsilon_table

        if part.data is None:
            raise DataContractError("user_level: needs the data set of the study, and there is none")
        found = epsilon_table(
            part.data,
            caps=self.caps,
            epsilon=self.epsilon,
            delta=self.delta,
            batch_size=self.batch_size,
            steps=self.steps,
        )
        return AuditReport(tables={"user level": found.to_dict("records")})
