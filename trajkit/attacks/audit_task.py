"""An audit as a task: typed parameters, a run from a seed, and a report that is kept as JSON.

A task is one line of a study (``audits:`` in params/rq4.yaml); its kind is looked up in `AUDITS`. What it finds depends on its parameters,
its seed and, where ``NEEDS_DATA``, on the data set of the study. A task of several shards is done in parts, side by side or on other machines,
and judged over all of them.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from trajkit.attacks.verdict import Verdict
from trajkit.errors import ParameterError
from trajkit.methods import MethodConfig
from trajkit.trajectories import Trajectories

# kind -> "module:class", a subclass of `AuditConfig`
AUDITS: dict[str, str] = {
    "worst_case": "trajkit.attacks.gan_tasks:WorstCaseTask",
    "tiny_gan": "trajkit.attacks.gan_tasks:TinyGanTask",
    "one_run": "trajkit.attacks.gan_tasks:OneRunTask",
    "true_guarantee": "trajkit.attacks.gan_tasks:TrueGuaranteeTask",
    "shadow": "trajkit.attacks.member_tasks:ShadowTask",
    "membership": "trajkit.attacks.member_tasks:MembershipTask",
    "step": "trajkit.attacks.subject_tasks:StepTask",
    "release": "trajkit.attacks.subject_tasks:ReleaseTask",
    "mechanism": "trajkit.attacks.subject_tasks:MechanismTask",
    "broken": "trajkit.attacks.subject_tasks:BrokenTask",
    "user_level": "trajkit.attacks.subject_tasks:UserLevelTask",
}


@dataclass(frozen=True)
class AuditReport:
    """What a task found: its verdicts, and tables by name, each a list of rows of plain values."""

    verdicts: tuple[Verdict, ...] = ()
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def to_json(self) -> str:
        """As text; numbers that are not finite stay so."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> AuditReport:
        """The inverse of `to_json`."""
        found = json.loads(text)
        return cls(tuple(Verdict.from_dict(v) for v in found["verdicts"]), found["tables"])


@dataclass(frozen=True)
class Part:
    """What a task is run with. ``folder`` is its own, for what it keeps while it works; ``shard`` counts from 0; ``data`` that of the study."""

    seed: int
    folder: Path
    shard: int = 0
    shards: int = 1
    data: Trajectories | None = None


class AuditConfig(MethodConfig):
    """Base of the parameters of every kind of audit."""

    NEEDS_DATA: ClassVar[bool] = False
    JUDGES: ClassVar[bool] = True  # whether there is a verdict

    @property
    def most_shards(self) -> int:
        """In how many shards it can be done."""
        return 1

    def run(self, part: Part) -> AuditReport:
        """Do the audit, or one shard of it."""
        raise NotImplementedError

    def judged(self, reports: Sequence[AuditReport], folders: Sequence[Path]) -> AuditReport:
        """The report over all shards, each with its folder."""
        (report,) = reports
        return report


def audit_class(kind: str) -> type[AuditConfig]:
    """The class of a kind of audit. Raises ParameterError naming the known ones."""
    if kind not in AUDITS:
        raise ParameterError(f"audit {kind!r} is unknown: use one of {', '.join(AUDITS)}")
    module, _, name = AUDITS[kind].partition(":")
    found: type[AuditConfig] = getattr(importlib.import_module(module), name)
    return found
