"""A measured risk, as records and pages show it."""

from __future__ import annotations

from dataclasses import dataclass

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Figure:
    """One measured risk, of one kind: ``before`` and ``after`` with their 95 % intervals, ``guess``: what no knowledge achieves.

    None where there is nothing to attack, with the reason in ``note``.
    """

    kind: str
    what: str
    before: float | None
    before_interval: tuple[float, float] | None
    after: float | None
    after_interval: tuple[float, float] | None
    guess: float | None
    note: str = ""
