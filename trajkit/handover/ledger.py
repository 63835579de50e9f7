"""The budget ledger: what every real release of a data set has spent, kept beside the data and never in what is handed over.

A folder holds a random key, a lock, and one append-only file of JSON lines for each account. An account is a data set, known by keyed
fingerprints (HMAC-SHA256 of the content of its files), which say nothing without the key; a corrected or longer version of the same data
is booked on the same account by its name. An entry is written and flushed to the disk BEFORE any noise is drawn ("reserved") and completed
after ("released"); whatever happens in between, it counts. All is done under an exclusive lock of the folder, so that two releases at
once see each other's entries.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
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

KEY_BYTES = 32
TORN = "torn"
NOTHING = Asked()
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Account:
    """What the lines of an account say. ``spends``: every entry, the reserved ones included; ``anonymous``: releases that hold
    trajectories made from true ones, in no epsilon, whether or not they have one for others."""

    name: str
    cap: Cap | None
    most_trips: int | None
    fingerprints: frozenset[str]
    spends: tuple[Spend, ...]
    open: int
    anonymous: int

    def sums(self, more: Spend | None = None) -> dict[str, Spend]:
        """Sums by unit ("trajectory", "user"), and all of it converted to either ("all, per trajectory", "all, per user")."""
        spends = [*self.spends, *([more] if more else [])]
        own = {unit: own_total(spends, unit) for unit in ("trajectory", "user")}
        return own | {f"all, per {unit}": total(spends, unit, self.most_trips) for unit in own}

    def in_words(self) -> str:
        """The sums in one sentence."""
        s = self.sums()
        bound = (
            f"a user having at most {self.most_trips} trajectories"
            if self.most_trips
            else "nothing bounding the trajectories of a user (MOST_TRIPS)"
        )
        return (
            f"spent so far: releases by trajectory {s['trajectory'].in_words()}; releases by user {s['user'].in_words()}; all of them "
            f"together {s['all, per trajectory'].in_words()}, and, with {bound}, {s['all, per user'].in_words()} ({COMPOSITION})"
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
        self, content: str, *, spend: Spend | None, method: str, cap: Asked = NOTHING, raise_cap: bool = False,
        most_trips: int | None = None, account: str | None = None, anonymous: bool = False,
    ) -> Ticket:  # fmt: skip
        """Enter ``spend`` (None: a release without an epsilon, which is only noted) and return its ticket, the entry being on the disk.

        anonymous: it has an epsilon, and holds anonymized true trajectories as well, which no epsilon covers: both are noted.
        content: any text that identifies the data. cap: asked for on the first DP release of an account; a larger one later needs
        ``raise_cap``. most_trips: public bound on a user's trajectories; a larger one replaces a smaller one.
        Raises PrivacyAccountingError, with the sum, where the cap would be passed; ParameterError for a cap that is missing or was raised
        without being asked to; nothing is entered then.
        """
        with self._locked():
            name = self._name(content, account)
            lines: list[dict[str, Any]] = []
            before = self._read(name)
            mark = self._fingerprint(content)
            if mark not in before.fingerprints:
                lines.append({"event": "data", "fingerprint": mark})
            if most_trips is not None and most_trips > (before.most_trips or 0):
                lines.append({"event": "bound", "most_trips": most_trips})
            if spend is not None:
                used = _settled_cap(before, cap, spend.unit, raise_cap)
                if used != before.cap:
                    lines.append({"event": "cap", **asdict(used)})
                _check(before, spend, used, max(most_trips or 0, before.most_trips or 0) or None)
            entry = secrets.token_hex(8)
            cost = {} if spend is None else asdict(spend)
            both = {"anonymous": True} if anonymous and spend is not None else {}
            lines.append({"event": "reserved", "entry": entry, "at": _now(), "method": method, **cost, **both})
            self._append(name, lines)
            return Ticket(entry, self._read(name))

    def complete(self, ticket: Ticket, *, spend: Spend | None) -> None:
        """Note that the release of ``ticket`` is out. ``spend``: what its guarantee says; a smaller one changes nothing."""
        with self._locked():
            cost = {} if spend is None else asdict(spend)
            self._append(ticket.account.name, [{"event": "released", "entry": ticket.entry, "at": _now(), **cost}])

    def state(self, content: str, *, account: str | None = None) -> Account:
        """The account of this data, empty where there is none yet."""
        with self._locked():
            return self._read(self._name(content, account))

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

    def _fingerprint(self, content: str) -> str:
        path = self.folder / "key"
        if not path.is_file():
            if any(self.folder.glob("*.jsonl")):
                raise PrivacyAccountingError(
                    f"{path} is gone, so no data set is recognised and nothing may be released: restore it from a copy"
                )
            part = self.folder / f".key.{os.getpid()}"
            _write(part, secrets.token_bytes(KEY_BYTES), os.O_TRUNC)
            part.replace(path)
            _flush_folder(self.folder)
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise PrivacyAccountingError(f"{path} is damaged, so no data set is recognised: restore it from a copy")
        return hmac.new(key, content.encode(), hashlib.sha256).hexdigest()

    def _name(self, content: str, asked: str | None) -> str:
        """The account on which the data is booked. Raises ParameterError where it is booked on another one already."""
        if asked is not None and not NAME.fullmatch(asked):
            raise ParameterError(f"account {asked!r}: use letters, digits, - and _, at most 64")
        mark = self._fingerprint(content)
        known = [p.stem for p in sorted(self.folder.glob("*.jsonl")) if mark in self._read(p.stem).fingerprints]
        if known and asked not in (None, known[0]):
            raise ParameterError(
                f"this data is booked on account {known[0]!r} already, where its budget is counted: leave ACCOUNT={asked} out"
            )
        return known[0] if known else asked or mark[:16]

    def _read(self, name: str) -> Account:
        path = self.folder / f"{name}.jsonl"
        return _account(name, _lines(path) if path.is_file() else [])

    def _append(self, name: str, events: list[dict[str, Any]]) -> None:
        path = self.folder / f"{name}.jsonl"
        old = path.read_bytes() if path.is_file() else b""
        cut_off = bool(old) and not old.endswith(b"\n")
        events = [{"event": TORN}, *events] if cut_off else events
        text = ("\n" if cut_off else "") + "".join(json.dumps(e) + "\n" for e in events)
        _write(path, text.encode(), os.O_APPEND)
        _flush_folder(self.folder)


def _settled_cap(before: Account, asked: Asked, unit: str, raise_cap: bool) -> Cap:
    """The cap that holds from now on."""
    cap = asked.settled(before.cap, unit)
    if before.cap is not None and cap.exceeds(before.cap) and not raise_cap:
        raise ParameterError(
            f"the cap of account {before.name!r} is {before.cap.in_words()}; {cap.in_words()} is larger or of another unit, which weakens what "
            "was promised: leave CAP out, or say RAISE_CAP=1 as well"
        )
    return cap


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
    counted = [s for s in spends.values() if s is not None]
    return Account(
        name,
        cap,
        most,
        frozenset(marks),
        tuple(counted),
        len(spends) - len(done),
        len(spends) - len(counted) + len(mixed),
    )


def _larger(known: Spend | None, line: dict[str, Any]) -> Spend | None:
    """What an entry costs: never less than was reserved."""
    if "epsilon" not in line:
        return known
    new = Spend(line["epsilon"], line["delta"], line["unit"])
    if known is None:
        return new
    return Spend(max(known.epsilon, new.epsilon), max(known.delta, new.delta), known.unit)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines of an account. One that a crash cut off is left out: its release had not been let go on.

    Raises PrivacyAccountingError for any other damage.
    """
    found: list[dict[str, Any]] = []
    raw = path.read_bytes().split(b"\n")
    for i, line in enumerate(raw):
        if not line:
            continue
        try:
            found.append(json.loads(line))
        except ValueError:
            last = i == len(raw) - 1
            marked = not last and raw[i + 1].startswith(json.dumps({"event": TORN}).encode())
            if not (last or marked):
                raise PrivacyAccountingError(
                    f"{path}, line {i + 1} is damaged, so what was spent is not known: restore the ledger from a copy"
                ) from None
    return found


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write all of ``data`` and flush it to the disk."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | mode, 0o600)
    try:
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    finally:
        os.close(file)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
