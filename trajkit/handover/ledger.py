"""The budget ledger: what every real release of a data set has spent, kept beside the data and never in what is handed over.

A folder holds a random key, a lock, and one append-only file of JSON lines for each account. An account is a data set, known by keyed
fingerprints (HMAC-SHA256 of the bytes of its files and of its fixes in no order), which say nothing without the key; a corrected, longer or
shorter version is booked on the same account by its name, and data that is not recognised opens a second account only under a name of its
own. An entry is written and flushed to the disk BEFORE any noise is drawn ("reserved") and completed
after ("released"); whatever happens in between, it counts. All is done under an exclusive lock of the folder, so that two releases at
once see each other's entries.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.handover.budget import COMPOSITION, Asked, Cap, Spend, own_total, total
from trajkit.handover.journal import append_lines, flush, read_lines, write_flushed

KEY_BYTES = 32
NAME_LENGTH = 16
CUT_OTHERWISE = (
    "releases by trajectory were made of data that was cut or chosen in several ways: where a trajectory of one is several of another, the sum by "
    "trajectory is of the pieces"
)
NOTHING = Asked()
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Account:
    """What the lines of an account say. ``spends``: every entry, the reserved ones included; ``anonymous``: releases that hold
    trajectories made from true ones, in no epsilon, whether or not they have one for others; ``unbounded``: marks of the data of which
    releases by trajectory were made while nothing bounded the trajectories of a user; ``cuts``: in how many ways the data of releases by
    trajectory was cut into them."""

    name: str
    cap: Cap | None
    most_trips: int | None
    fingerprints: frozenset[str]
    spends: tuple[Spend, ...]
    open: int
    anonymous: int
    unbounded: frozenset[str | None] = frozenset()
    cuts: int = 0

    def sums(self, more: Spend | None = None) -> dict[str, Spend]:
        """Sums by unit ("trajectory", "user"), and all of it converted to either ("all, per trajectory", "all, per user")."""
        spends = [*self.spends, *([more] if more else [])]
        own = {unit: own_total(spends, unit) for unit in ("trajectory", "user")}
        return own | {f"all, per {unit}": total(spends, unit, self.most_trips) for unit in own}

    def in_words(self) -> str:
        """The sums in one sentence."""
        s, m = self.sums(), self.most_trips
        bound = (
            f"a user having at most {m} trajectories"
            if m
            else "nothing bounding the trajectories of a user (MOST_TRIPS)"
        )
        return (
            f"spent so far: releases by trajectory {s['trajectory'].in_words()}; releases by user {s['user'].in_words()}; all of them "
            f"together {s['all, per trajectory'].in_words()}, and, with {bound}, {s['all, per user'].in_words()} ({COMPOSITION})"
            + (f"; {CUT_OTHERWISE}" if self.cuts > 1 else "")
        )


@dataclass(frozen=True)
class Ticket:
    """An entry that counts from now on; ``account``: the state with it."""

    entry: str
    account: Account


class BudgetLedger:
    """The ledger in ``folder``, which is made where it is absent. Raises ParameterError where it cannot be written."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser().resolve()

    def reserve(
        self, content: str | tuple[str, ...], *, spend: Spend | None, method: str, cap: Asked = NOTHING, raise_cap: bool = False,
        most_trips: int | None = None, largest: int = 0, account: str | None = None, anonymous: bool = False,
    ) -> Ticket:  # fmt: skip
        """Enter ``spend`` (None: a release without an epsilon, which is only noted) and return its ticket, the entry being on the disk.

        anonymous: it has an epsilon, and holds anonymized true trajectories as well, which no epsilon covers: both are noted.
        content: texts any of which identifies the data, the last one as it is cut. cap: asked for on the first DP release of an account; a larger
        one later needs ``raise_cap``. most_trips: public bound on a user's trajectories; a larger one replaces a smaller one; ``largest``: how
        many some user really has. Raises PrivacyAccountingError, with the sum, where the cap would be passed; ParameterError for a cap that is
        missing or was raised without being asked to, a bound that is none, and data that is unknown beside others; nothing is entered then.
        """
        with self._locked():
            marks = self._marks(content)
            name = self._booked(marks, account) or account or self._opened(marks)
            before = self._read(name)
            new = [mark for mark in marks if mark not in before.fingerprints]
            lines: list[dict[str, Any]] = [{"event": "data", "fingerprint": mark} for mark in new]
            bound = _bound(before, spend, most_trips, largest, marks[-1])
            if most_trips is not None and most_trips > (before.most_trips or 0):
                lines.append({"event": "bound", "most_trips": most_trips})
            if spend is not None:
                used = _settled_cap(before, cap, spend.unit, raise_cap)
                if used != before.cap:
                    lines.append({"event": "cap", **asdict(used)})
                _check(before, spend, used, bound)
            entry = secrets.token_hex(8)
            cost = {} if spend is None else {**asdict(spend), "cut": marks[-1]}
            both = {"anonymous": True} if anonymous and spend is not None else {}
            lines.append({"event": "reserved", "entry": entry, "at": _now(), "method": method, **cost, **both})
            append_lines(self._file(name), lines)
            return Ticket(entry, self._read(name))

    def complete(self, ticket: Ticket, *, spend: Spend | None) -> None:
        """Note that the release of ``ticket`` is out. ``spend``: what its guarantee says; a smaller one changes nothing."""
        with self._locked():
            line = {"event": "released", "entry": ticket.entry, "at": _now(), **(asdict(spend) if spend else {})}
            append_lines(self._file(ticket.account.name), [line])

    def state(self, content: str | tuple[str, ...]) -> Account:
        """The account of this data, empty where there is none yet."""
        with self._locked():
            marks = self._marks(content)
            return self._read(self._booked(marks, None) or marks[0][:NAME_LENGTH])

    # ---- files --------------------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ParameterError(
                f"the budget ledger cannot be kept in {self.folder} ({error.strerror}): name a folder of your own that stays (LEDGER=...)"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _marks(self, content: str | tuple[str, ...]) -> list[str]:
        """Keyed fingerprints of each text of ``content``; the key is made where there is none yet."""
        path = self.folder / "key"
        if not path.is_file():
            if any(self.folder.glob("*.jsonl")):
                raise PrivacyAccountingError(
                    f"{path} is gone, so no data set is recognised and nothing may be released: restore it from a copy"
                )
            part = self.folder / f".key.{os.getpid()}"
            write_flushed(part, secrets.token_bytes(KEY_BYTES), os.O_TRUNC)
            part.replace(path)
            flush(self.folder)
        try:
            key = path.read_bytes()
        except OSError as error:
            raise PrivacyAccountingError(
                f"{path} cannot be read ({error.strerror}), so no data set is recognised"
            ) from error
        if len(key) != KEY_BYTES:
            raise PrivacyAccountingError(f"{path} is damaged, so no data set is recognised: restore it from a copy")
        texts = (content,) if isinstance(content, str) else content
        return [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in texts]

    def _booked(self, marks: list[str], asked: str | None) -> str | None:
        """The account on which the data is booked, None where there is none. Raises ParameterError where ``asked`` names another one."""
        if asked is not None and not NAME.fullmatch(asked):
            raise ParameterError(f"account {asked!r}: use letters, digits, - and _, at most 64")
        held = {name: self._read(name).fingerprints for name in self._accounts()}
        known = [name for mark in marks for name, of in held.items() if mark in of]
        if known and asked not in (None, known[0]):
            raise ParameterError(
                f"this data is booked on account {known[0]!r} already, where its budget is counted: leave ACCOUNT={asked} out"
            )
        return known[0] if known else None

    def _opened(self, marks: list[str]) -> str:
        """The name of a first account. Raises ParameterError where there are others: the data may be a copy or a version of theirs."""
        if others := self._accounts():
            raise ParameterError(
                f"the ledger {self.folder} does not know this data, but has account(s) {', '.join(others)}: if it is about the same people (saved "
                "again, corrected, longer, a part), say ACCOUNT= with that name, so that its budget goes on; for other people a new name"
            )
        return marks[0][:NAME_LENGTH]

    def _accounts(self) -> list[str]:
        return sorted(p.stem for p in self.folder.glob("*.jsonl"))

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def _read(self, name: str) -> Account:
        path = self._file(name)
        try:
            return _account(name, read_lines(path) if path.is_file() else [])
        except (KeyError, TypeError, OSError, ParameterError) as error:
            raise PrivacyAccountingError(
                f"{path} is damaged or cannot be read ({error}), so what was spent is not known: restore the ledger from a copy"
            ) from error


def _settled_cap(before: Account, asked: Asked, unit: str, raise_cap: bool) -> Cap:
    """The cap that holds from now on."""
    cap = asked.settled(before.cap, unit)
    if before.cap is not None and cap.exceeds(before.cap) and not raise_cap:
        raise ParameterError(
            f"the cap of account {before.name!r} is {before.cap.in_words()}; {cap.in_words()} is larger or of another unit, which weakens what "
            "was promised: leave CAP out, or say RAISE_CAP=1 as well"
        )
    return cap


def _bound(before: Account, spend: Spend | None, asked: int | None, largest: int, fixes: str) -> int | None:
    """The most trajectories of a user that is counted with. Raises ParameterError where it does not hold of all that is counted with it."""
    bound = max(asked or 0, before.most_trips or 0) or None
    if asked is not None and asked < 1:
        raise ParameterError(f"MOST_TRIPS={asked}: must be at least 1")
    if bound and largest > bound and (asked or (spend and spend.unit == "trajectory")):
        raise ParameterError(
            f"MOST_TRIPS={bound}: some user has more trajectories than that in this data as it is cut now, so the bound is no bound for him: "
            "take a larger public number"
        )
    if asked and before.most_trips is None and before.unbounded - {fixes}:
        raise ParameterError(
            f"MOST_TRIPS={asked}: account {before.name!r} has releases by trajectory of data that was cut otherwise, for which it was never checked, "
            "so nothing bounds what they tell of a user: leave it out"
        )
    return bound


def _check(before: Account, spend: Spend, cap: Cap, most_trips: int | None) -> None:
    """Raise PrivacyAccountingError where ``spend`` would pass the cap."""
    now = total(before.spends, cap.unit, most_trips)
    then = total([*before.spends, spend], cap.unit, most_trips)
    if not cap.allows(then):
        unbounded = (
            "; releases by trajectory have no bound per user without MOST_TRIPS"
            if most_trips is None and cap.unit == "user"
            else ""
        )
        raise PrivacyAccountingError(
            f"refused, the budget of account {before.name!r} would be passed: spent {now.in_words()}, with this release "
            f"{then.in_words()}, the cap is {cap.in_words()} ({COMPOSITION}){unbounded}. Nothing was drawn and nothing entered"
        )


def _account(name: str, lines: list[dict[str, Any]]) -> Account:
    cap: Cap | None = None
    most: int | None = None
    marks: set[str] = set()
    spends: dict[str, Spend | None] = {}
    done: set[str] = set()
    unbounded: set[str | None] = set()
    cuts: set[str | None] = set()
    mixed: set[str] = set()
    for line in lines:
        kind = line["event"]
        if kind == "cap":
            cap = Cap(line["epsilon"], line["delta"], line["unit"])
        elif kind == "bound":
            most = max(most or 0, line["most_trips"])
        elif kind == "data":
            marks.add(line["fingerprint"])
        elif kind in ("reserved", "released"):
            spends[line["entry"]] = _larger(spends.get(line["entry"]), line)
            done |= {line["entry"]} if kind == "released" else set()
            mixed |= {line["entry"]} if line.get("anonymous") else set()
            if kind == "reserved" and line.get("unit") == "trajectory":
                (cuts if most else unbounded).add(line.get("cut"))
    counted = [s for s in spends.values() if s is not None]
    left = len(spends) - len(done), len(spends) - len(counted) + len(mixed)
    return Account(
        name, cap, most, frozenset(marks), tuple(counted), *left, frozenset(unbounded), len(cuts | unbounded)
    )


def _larger(known: Spend | None, line: dict[str, Any]) -> Spend | None:
    """What an entry costs: never less than was reserved."""
    if "epsilon" not in line:
        return known
    new = Spend(line["epsilon"], line["delta"], line["unit"])
    if known is None:
        return new
    return Spend(max(known.epsilon, new.epsilon), max(known.delta, new.delta), known.unit)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
