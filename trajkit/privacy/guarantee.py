"""`Guarantee`: the frozen record of what a release promises, to whom, under which conditions, or why it promises nothing."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trajkit.errors import ParameterError

TRAINING, CONDITIONING = "training set", "conditioning set"
KINDS = ("dp", "k-anonymity", "(k,delta)-anonymity", "none")
UNITS = ("trajectory", "user", "point")
ADJACENCIES = ("add-remove", "replace-one")
RNG_SEEDED = "seeded: reproducible, do not release"
RNG_OS = "os entropy"
NUMERICS = ("exact", "idealised floating point")


@dataclass(frozen=True)
class Part:
    """The promise to one protected set (training set, conditioning set …) with its own epsilon and delta.

    It stands also where the whole does not hold because another set is unprotected. ``adjacency``, ``unit`` None: those of the whole.
    """

    protects: str
    mechanism: str
    epsilon: float
    delta: float
    details: dict[str, Any]
    adjacency: str | None = None
    unit: str | None = None

    def in_words(self) -> str:
        """The promise in a few words."""
        adjacent = f", {self.adjacency}" if self.adjacency else ""
        unit = f" per {self.unit}" if self.unit else ""
        return f"{self.protects}: ({self.epsilon:.3g}, {self.delta:.2g}){unit}{adjacent}"

    def promise(self) -> str:
        """The same without the set, as a DP promise."""
        return (
            f"({self.epsilon:.3g}, {self.delta:.2g})-DP"
            + (f" per {self.unit}" if self.unit else "")
            + (f", {self.adjacency}" if self.adjacency else "")
        )


@dataclass(frozen=True)
class Guarantee:
    """See ``architecture.md``, core types. ``holds`` is true only for what the code enforces; else ``reason`` says why not.

    epsilon may be infinite (written "inf"); k is set for syntactic kinds only. Raises ParameterError for a record that
    contradicts itself: a DP claim without unit, adjacency, accountant, epsilon or delta, a syntactic claim without k or unit,
    an epsilon or delta that is no number, or a failure without a reason.
    """

    holds: bool
    kind: str
    epsilon: float | None = None
    delta: float | None = None
    k: int | None = None
    unit: str | None = None
    adjacency: str | None = None
    mechanism: str | None = None
    accountant: str | None = None
    parts: tuple[Part, ...] = ()
    rng: str = RNG_SEEDED
    numerics: str = "idealised floating point"
    assumptions: tuple[str, ...] = ()
    reason: str | None = None

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in KINDS:
            problems.append(f"kind {self.kind!r} is not one of {KINDS}")
        if self.kind == "none" and self.holds:
            problems.append("kind none cannot hold")
        if not self.holds and not self.reason:
            problems.append("a guarantee that does not hold needs a reason")
        if any(value is not None and not value >= 0 for value in (self.epsilon, self.delta)):
            problems.append(f"epsilon {self.epsilon} and delta {self.delta} must be numbers of at least 0")
        if self.holds and "anonymity" in self.kind and not (self.k and self.k >= 2 and self.unit):
            problems.append(f"{self.kind} needs a k of at least 2 and a unit, not k = {self.k}, unit {self.unit!r}")
        if self.holds and self.kind == "dp":
            missing = [
                name
                for name in ("epsilon", "delta", "unit", "adjacency", "mechanism", "accountant")
                if getattr(self, name) is None
            ]
            if missing:
                problems.append(f"a DP claim needs {', '.join(missing)}")
            elif not (0 <= self.epsilon < math.inf and 0 <= self.delta < 1):  # type: ignore[operator]
                problems.append(f"epsilon {self.epsilon} and delta {self.delta} are no DP claim")
        if self.unit not in (None, *UNITS) or self.adjacency not in (None, *ADJACENCIES):
            problems.append(f"unit {self.unit!r} or adjacency {self.adjacency!r} is unknown")
        if self.rng not in (RNG_SEEDED, RNG_OS) or self.numerics not in NUMERICS:
            problems.append(f"rng {self.rng!r} or numerics {self.numerics!r} is unknown")
        if problems:
            raise ParameterError("guarantee: " + "; ".join(problems))

    def to_json(self) -> str:
        """Serialise; infinity is written "inf"."""
        return json.dumps(_inf_out(asdict(self)), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Guarantee:
        """Read what `to_json` wrote. Raises ParameterError for anything else."""
        try:
            d = _inf_in(json.loads(text))
            return cls(**{**d, "parts": tuple(Part(**p) for p in d["parts"]), "assumptions": tuple(d["assumptions"])})
        except (ValueError, KeyError, TypeError) as error:
            raise ParameterError(
                f"guarantee: not a guarantee record ({error}); write it with Guarantee.to_json"
            ) from error

    @classmethod
    def read(cls, path: str | Path) -> Guarantee:
        """Read a ``guarantee.json``."""
        return cls.from_json(Path(path).read_text())

    @property
    def threat_model(self) -> str:
        """Whose data an attacker may be after and is kept from by DP: "none", "training set", "conditioning set" or "both".

        Of a release that is k-anonymous in one part and DP in another it is "none": the first part tells of the same people.
        """
        if "anonymity" in self.kind:
            return "none"
        protected = dict.fromkeys(part.protects for part in self.parts)
        return "both" if len(protected) > 1 else next(iter(protected), "none")

    def in_words(self) -> str:
        """One sentence for tables and captions."""
        sets = "; ".join(part.in_words() for part in self.parts)
        if not self.holds:
            return f"no guarantee: {self.reason}" + (f" (what does hold: {sets})" if sets else "")
        if self.kind == "dp":
            apart = f" ({sets})" if len(self.parts) > 1 else ""
            return f"({self.epsilon:.3g}, {self.delta:.2g})-DP per {self.unit}, {self.adjacency}{apart}, {self.accountant}; {self.numerics}; noise {self.rng}"
        words = f"{self.kind} with k = {self.k} per {self.unit}" + (f": {self.mechanism}" if self.mechanism else "")
        return words + (
            f"; not DP as a whole, of the made part alone: {'; '.join(p.promise() for p in self.parts)}"
            if self.parts
            else ""
        )


def no_guarantee(reason: str, **fields: Any) -> Guarantee:
    """The record of a release without any promise: kind "none", infinite epsilon."""
    return Guarantee(holds=False, kind="none", epsilon=math.inf, reason=reason, **fields)


def _inf_out(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _inf_out(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_inf_out(v) for v in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _inf_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _inf_in(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_inf_in(v) for v in value]
    return math.inf if value == "inf" else value
