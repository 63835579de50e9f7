"""What may leave of a release: trajectories under fresh names, a guarantee without figures of the data, and a last look at the files.

The number of training records is kept back: a DP training names it, its sampling rate and its noise multiplier tell it, and so do the digits
of what its accountant adds up (the epsilon of one n is not that of the next). None of them is needed to read the promise, which is the one
asked for, just above it.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from trajkit.anonymize.anonymizer import MADE
from trajkit.baselines import public_meta
from trajkit.errors import PrivacyAccountingError
from trajkit.handover.budget import COUNTED_UNITS, Spend
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED, Guarantee
from trajkit.trajectories import Trajectories

SAFE_DETAILS = ("rounds", "trips_per_user", "max_grad_norm", "sampling", "l2_sensitivity")
MACHINE = ("device", "bf16", "physical_batch", "checkpoint_every_s", "compile", "records_on", "condition")
WITHHELD = (
    "figures from which the number of records follows (sampling rate, noise multiplier, the last digits of epsilon) are kept back, and epsilon "
    "is the one asked for, at least what the accountant found"
)
OS_IDS = "order and ids were drawn from the operating system's entropy and kept nowhere"
MOVED_PLACES = "(k,delta)-anonymity"
SAME_PLACE_DEG = 1e-8  # about a millimetre
A_FILE = "(a file of the owner)"
OF_CLASS = re.compile(rf"(c\d+-|{MADE})\d+")  # ids that an anonymizer gives
SHORTEST_SECRET = 6  # characters: shorter ones are found in any file


def published(trajs: Trajectories) -> Trajectories:
    """The same points under ids ``r0``, ``r1`` … (each its own user), nothing of the input's processing in ``meta``.

    Ids of classes, ``c<class>-<number>``, and the mark of made trajectories among them are part of what an anonymizer releases and stay.
    """
    of_class = len(trajs) > 0 and all(OF_CLASS.fullmatch(str(i)) for i in trajs.traj_ids)
    ids = np.array([str(i) if of_class else f"r{k}" for k, i in enumerate(trajs.traj_ids)], dtype=str)
    meta = replace(public_meta(trajs.meta), visibility="public")
    return replace(trajs, user=np.arange(len(ids)), user_ids=ids, traj_ids=ids, meta=meta)


def published_guarantee(g: Guarantee, spend: Spend | None) -> Guarantee:
    """``g`` as it may leave. Raises PrivacyAccountingError where it does not hold, its noise can be repeated, or it costs more than ``spend``."""
    if not g.holds:
        raise PrivacyAccountingError(f"the guarantee does not hold, nothing leaves: {g.reason}")
    if spend is None:
        return replace(g, rng=RNG_OS, assumptions=(*g.assumptions, OS_IDS))
    if "anonymity" in g.kind:
        return _of_two_parts(g, spend)
    if g.kind != "dp" or g.rng == RNG_SEEDED:
        raise PrivacyAccountingError(f"the noise of this release is {g.rng} and its kind {g.kind}: nothing leaves")
    if g.unit != spend.unit or g.unit not in COUNTED_UNITS or g.adjacency != "add-remove":
        raise PrivacyAccountingError(
            f"the release protects one {g.unit} under {g.adjacency}, the ledger counted one {spend.unit} under add-remove: nothing leaves"
        )
    _check_cost(spent_by(g, spend.unit), spend)
    trained = any("sample_rate" in part.details for part in g.parts)
    words = (
        f"DP-SGD with Poisson sampling, clipped gradients and Gaussian noise; {WITHHELD}" if trained else g.mechanism
    )
    cost: dict[str, Any] = {"epsilon": spend.epsilon, "delta": spend.delta}
    parts = tuple(
        replace(p, mechanism=str(words), details={k: v for k, v in p.details.items() if k in SAFE_DETAILS}, **cost)
        for p in g.parts
    )
    return replace(g, mechanism=words, parts=parts, **cost)


def _of_two_parts(g: Guarantee, spend: Spend) -> Guarantee:
    """``g`` of a release that keeps anonymized true trajectories and, where it has a part, made ones that cost no more than ``spend``."""
    for part in g.parts:
        if g.rng == RNG_SEEDED:
            raise PrivacyAccountingError(f"the noise of the made trajectories is {g.rng}: nothing leaves")
        if part.unit != spend.unit or part.adjacency != "add-remove":
            raise PrivacyAccountingError(
                f"made trajectories protect one {part.unit} under {part.adjacency}, the ledger counted one {spend.unit} under add-remove: nothing leaves"
            )
    _check_cost(spent_by(g, spend.unit), spend)
    parts = tuple(replace(p, details={k: v for k, v in p.details.items() if k in SAFE_DETAILS}) for p in g.parts)
    return replace(g, rng=RNG_OS, parts=parts, assumptions=(*g.assumptions, OS_IDS))


def spent_by(g: Guarantee, unit: str) -> Spend:
    """What a release cost: its epsilon and delta, or where it is anonymous those of the part that was made."""
    if "anonymity" in g.kind:
        return Spend(math.fsum(p.epsilon for p in g.parts), math.fsum(p.delta for p in g.parts), unit)
    return Spend(float(g.epsilon or 0.0), float(g.delta or 0.0), unit)


def _check_cost(cost: Spend, spend: Spend) -> None:
    if cost.epsilon > spend.epsilon * (1 + 1e-9) or cost.delta > spend.delta * (1 + 1e-9):
        raise PrivacyAccountingError(
            f"the release cost epsilon {cost.epsilon:.6g}, delta {cost.delta:.3g}, more than the {spend.in_words()} entered for it: nothing leaves"
        )


def check_places(released: Trajectories, raw: Trajectories, kind: str) -> None:
    """Raise PrivacyAccountingError where a release of places that were moved (not drawn, nor centres of public cells) holds a true one."""
    if kind != MOVED_PLACES or not len(released):
        return
    found = np.isin(_keys(released.lonlat), _keys(raw.lonlat)).sum()
    if found:
        raise PrivacyAccountingError(
            f"{found / released.n_points:.1%} of the released places are true ones, to the millimetre, so nothing leaves: use edit: centre"
        )


def _keys(lonlat: np.ndarray) -> np.ndarray:
    steps = np.rint(lonlat / SAME_PLACE_DEG).astype(np.int64)
    return steps[:, 0] * np.int64(36_000_000_019) + steps[:, 1]


def clean(text: str, private: Iterable[str]) -> str:
    """``text`` with each of the ``private`` strings (paths: a method may name the file of its public map) taken out."""
    for secret in sorted({s for s in private if len(s) >= SHORTEST_SECRET}, key=len, reverse=True):
        text = text.replace(secret, A_FILE)
    return text


def scrubbed(g: Guarantee, private: Sequence[str]) -> Guarantee:
    """``g`` with its words `clean`."""
    return replace(
        g,
        mechanism=clean(g.mechanism or "", private),
        accountant=clean(g.accountant or "", private),
        assumptions=tuple(clean(a, private) for a in g.assumptions),
        parts=tuple(replace(p, mechanism=clean(p.mechanism, private)) for p in g.parts),
    )


def published_parameters(config: BaseModel, private: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Names and values of a method's parameters, which its guarantee takes as public; machine settings left out."""
    values = config.model_dump(mode="json", exclude=set(MACHINE))
    return tuple((name, clean(str(value), private)) for name, value in values.items() if value is not None)


def check_files(folder: Path, expected: Sequence[str], private: Iterable[str]) -> None:
    """Raise PrivacyAccountingError where ``folder`` holds other files than ``expected``, or one of them a ``private`` string."""
    names = sorted(p.name for p in folder.iterdir())
    if names != sorted(expected):
        raise PrivacyAccountingError(f"the folder to hand over holds {names}, not {sorted(expected)}: nothing leaves")
    wanted = [s.encode() for s in private if len(s) >= SHORTEST_SECRET]
    for name in names:
        data = (folder / name).read_bytes()
        if any(secret in data for secret in wanted):
            raise PrivacyAccountingError(f"{name} holds a path, seed or fingerprint of the data: nothing leaves")


def fresh_seed() -> int:
    """63 bits of the operating system's entropy, for one draw, kept nowhere."""
    return secrets.randbits(63)
