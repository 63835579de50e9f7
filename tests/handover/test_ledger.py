"""The budget ledger: sums by unit, conversions, the cap, crashes, damage, and two processes at once."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.handover.budget import Asked, Cap, Spend, converted, total
from trajkit.handover.ledger import BudgetLedger

ONE = Spend(1.0, 0.0, "trajectory")
CAP = Asked(2.0, 1e-4, "trajectory")
NO_CAP = Asked()


def enter(folder: Path, spend: Spend | None = ONE, *, content: str = "a", **more: object) -> object:
    return BudgetLedger(folder).reserve(content, spend=spend, method="flat", **{"cap": CAP, **more})  # type: ignore[arg-type]


def file_of(folder: Path) -> Path:
    (file,) = folder.glob("*.jsonl")
    return file


def test_sum_by_hand_in_both_units() -> None:
    spends = [Spend(0.5, 1e-6, "trajectory"), Spend(1.0, 0.0, "trajectory"), Spend(2.0, 0.0, "user")]
    assert total(spends[:2], "trajectory", None) == Spend(1.5, 1e-6, "trajectory")
    # a user of at most 3 trips: 3 x 0.5 and 1e-6 (1 + e^.5 + e^1), 3 x 1, and his own 2
    user = total(spends, "user", 3)
    assert user.epsilon == pytest.approx(6.5) and user.delta == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.e))
    # a trajectory under a promise to users: out and in again
    assert total(spends, "trajectory", None).epsilon == pytest.approx(0.5 + 1.0 + 4.0)


def test_without_a_bound_a_user_has_none() -> None:
    assert math.isinf(converted(ONE, "user", None).epsilon)
    assert converted(Spend(0.0, 0.0, "trajectory"), "user", None).epsilon == 0


def test_third_release_is_refused_with_the_sum_and_leaves_no_entry(tmp_path: Path) -> None:
    enter(tmp_path)
    enter(tmp_path)
    before = file_of(tmp_path).read_bytes()
    with pytest.raises(
        PrivacyAccountingError, match=r"spent epsilon 2,.*with this release epsilon 3,.*the cap is epsilon 2"
    ):
        enter(tmp_path)
    assert file_of(tmp_path).read_bytes() == before


def test_delta_has_a_cap_too(tmp_path: Path) -> None:
    with pytest.raises(PrivacyAccountingError, match=r"delta 0\.001"):
        enter(tmp_path, Spend(0.1, 1e-3, "trajectory"))


def test_tenths_fill_the_cap_exactly(tmp_path: Path) -> None:
    for _ in range(20):
        enter(tmp_path, Spend(0.1, 0.0, "trajectory"))
    with pytest.raises(PrivacyAccountingError):
        enter(tmp_path, Spend(0.1, 0.0, "trajectory"))


def test_first_release_needs_a_cap_and_a_larger_one_needs_the_flag(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no cap in the ledger yet"):
        enter(tmp_path, cap=NO_CAP)
    enter(tmp_path)
    larger = Asked(9.0, 1e-4, "trajectory")
    with pytest.raises(ParameterError, match="RAISE_CAP=1"):
        enter(tmp_path, cap=larger)
    assert BudgetLedger(tmp_path).state("a").cap == Cap(2.0, 1e-4, "trajectory")
    enter(tmp_path, cap=larger, raise_cap=True)
    assert BudgetLedger(tmp_path).state("a").cap == Cap(9.0, 1e-4, "trajectory")
    enter(tmp_path, cap=Asked(3.0, 1e-4, "trajectory"))  # stricter: no flag
    with pytest.raises(PrivacyAccountingError):
        enter(tmp_path, cap=NO_CAP)


def test_what_is_not_asked_of_a_cap_stays_as_it_was(tmp_path: Path) -> None:
    enter(tmp_path, cap=Asked(2.0, 1e-6, "trajectory"))
    enter(tmp_path, Spend(0.1, 0.0, "user"), cap=Asked(2.0))
    assert BudgetLedger(tmp_path).state("a").cap == Cap(2.0, 1e-6, "trajectory")
    enter(tmp_path, Spend(0.1, 0.0, "user"), content="b", cap=Asked(2.0), account="others")
    assert BudgetLedger(tmp_path).state("b").cap == Cap(2.0, 1e-4, "user")


def test_cap_by_user_refuses_releases_by_trajectory_that_nothing_bounds(tmp_path: Path) -> None:
    cap = Asked(10.0, 1e-4, "user")
    with pytest.raises(PrivacyAccountingError, match="MOST_TRIPS"):
        enter(tmp_path, cap=cap)
    ticket = enter(tmp_path, cap=cap, most_trips=3)
    assert ticket.account.sums()["all, per user"].epsilon == 3.0  # type: ignore[attr-defined]
    with pytest.raises(PrivacyAccountingError, match="epsilon 12"):  # 3 of them are 9; the fourth would be 12
        for _ in range(3):
            enter(tmp_path, cap=cap)


def test_units_are_summed_apart_and_together(tmp_path: Path) -> None:
    enter(tmp_path, cap=Asked(9.0, 1e-4, "trajectory"), most_trips=4)
    ticket = enter(tmp_path, Spend(2.0, 0.0, "user"), cap=NO_CAP)
    sums = ticket.account.sums()  # type: ignore[attr-defined]
    assert [sums[u].epsilon for u in ("trajectory", "user", "all, per user", "all, per trajectory")] == [1, 2, 6, 5]


def test_other_data_has_another_account_and_the_name_joins_versions(tmp_path: Path) -> None:
    enter(tmp_path, content="a", account="trips")
    with pytest.raises(ParameterError, match=r"does not know this data, but has account\(s\) trips"):
        enter(tmp_path, content="b")  # a copy, perhaps: no fresh budget without a word
    enter(tmp_path, content="b", account="others")
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    enter(tmp_path, content="a, corrected", account="trips")
    with pytest.raises(PrivacyAccountingError):
        enter(tmp_path, content="a")
    with pytest.raises(ParameterError, match="booked on account 'trips' already"):
        enter(tmp_path, content="a", account="fresh")


def test_data_is_known_by_its_file_or_by_its_fixes(tmp_path: Path) -> None:
    enter(tmp_path, content=("bytes", "fixes"), cap=Asked(2.0))  # type: ignore[arg-type]
    enter(tmp_path, content=("saved again", "fixes"), cap=NO_CAP)  # type: ignore[arg-type]
    with pytest.raises(PrivacyAccountingError, match="epsilon 3"):
        enter(tmp_path, content=("saved again", "cut otherwise"), cap=NO_CAP)  # type: ignore[arg-type]


def test_a_bound_holds_of_everything_that_is_counted_with_it(tmp_path: Path) -> None:
    cap = Asked(9.0, 1e-4, "trajectory")
    with pytest.raises(ParameterError, match="MOST_TRIPS=3"):
        enter(tmp_path, cap=cap, most_trips=3, largest=4)
    enter(tmp_path, cap=cap, most_trips=3, largest=3)
    with pytest.raises(ParameterError, match="MOST_TRIPS=3"):  # of the first release, which this one breaks
        enter(tmp_path, cap=cap, largest=4)
    enter(tmp_path, Spend(1.0, 0.0, "user"), cap=cap, largest=4)  # needs none
    assert enter(tmp_path, cap=cap, most_trips=4, largest=4).account.most_trips == 4  # type: ignore[attr-defined]


def test_a_bound_says_nothing_of_releases_of_data_that_was_cut_otherwise(tmp_path: Path) -> None:
    enter(tmp_path, content=("file", "cut at gaps"), cap=Asked(9.0), largest=39)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="never checked"):
        enter(tmp_path, content=("file", "whole"), most_trips=3, largest=3, cap=NO_CAP)  # type: ignore[arg-type]
    ticket = enter(tmp_path, content=("file", "cut at gaps"), most_trips=39, largest=39, cap=NO_CAP)  # type: ignore[arg-type]
    assert ticket.account.sums()["all, per user"].epsilon == 78  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line", ['{"event": "reserved"}', "7", '{"event":"reserved","entry":"x","epsilon":NaN,"delta":0,"unit":"user"}']
)
def test_a_line_that_says_nothing_sound_stops_everything(tmp_path: Path, line: str) -> None:
    enter(tmp_path)
    with file_of(tmp_path).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(PrivacyAccountingError, match="damaged"):
        enter(tmp_path)


def test_anonymous_releases_are_noted_and_cost_nothing(tmp_path: Path) -> None:
    ticket = enter(tmp_path, None, cap=NO_CAP)
    BudgetLedger(tmp_path).complete(ticket, spend=None)  # type: ignore[arg-type]
    state = BudgetLedger(tmp_path).state("a")
    assert (state.anonymous, state.open, state.spends) == (1, 0, ())


def test_reserved_counts_for_ever_and_released_only_closes_it(tmp_path: Path) -> None:
    ledger = BudgetLedger(tmp_path)
    ticket = enter(tmp_path)
    assert (ledger.state("a").open, ledger.state("a").sums()["trajectory"].epsilon) == (1, 1.0)
    ledger.complete(ticket, spend=Spend(0.9, 0.0, "trajectory"))  # type: ignore[arg-type]
    assert (ledger.state("a").open, ledger.state("a").sums()["trajectory"].epsilon) == (0, 1.0)


def test_fingerprints_say_nothing_without_the_key(tmp_path: Path) -> None:
    enter(tmp_path / "x", content="the same")
    enter(tmp_path / "y", content="the same")
    marks = [BudgetLedger(tmp_path / d).state("the same").fingerprints for d in ("x", "y")]
    assert marks[0] and marks[1] and marks[0].isdisjoint(marks[1])
    assert [oct((tmp_path / "x" / name).stat().st_mode & 0o077) for name in ("key", "lock")] == ["0o0", "0o0"]


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_line_that_a_crash_cut_off_neither_blocks_nor_loses_anything(tmp_path: Path, kept: int) -> None:
    enter(tmp_path)
    file = file_of(tmp_path)
    whole = file.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    file.write_bytes(whole + last[:kept])  # a second reservation that did not reach the disk whole
    assert BudgetLedger(tmp_path).state("a").sums()["trajectory"].epsilon == 1.0
    enter(tmp_path)
    assert file.read_bytes().startswith(whole)
    with pytest.raises(PrivacyAccountingError, match="would be passed"):
        enter(tmp_path)


def test_other_damage_stops_everything(tmp_path: Path) -> None:
    enter(tmp_path)
    file = file_of(tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], "{half", *lines[1:]]) + "\n")
    with pytest.raises(PrivacyAccountingError, match="line 2 is damaged"):
        enter(tmp_path)


def test_a_lost_key_is_no_fresh_start(tmp_path: Path) -> None:
    enter(tmp_path)
    (tmp_path / "key").unlink()
    with pytest.raises(PrivacyAccountingError, match="is gone"):
        enter(tmp_path)


def test_a_key_that_cannot_be_read_is_no_fresh_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path)
    real = Path.read_bytes

    def refused(self: Path) -> bytes:
        if self.name == "key":
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(PrivacyAccountingError, match="cannot be read"):
        enter(tmp_path)


def test_entries_hold_no_data(tmp_path: Path) -> None:
    enter(tmp_path, content="/some/path citizens")
    text = file_of(tmp_path).read_text()
    assert "citizens" not in text
    assert {json.loads(line)["event"] for line in text.splitlines()} == {"data", "cap", "reserved"}


RACE = """
import sys, time
from pathlib import Path
from trajkit.handover.budget import Asked, Spend
from trajkit.handover.ledger import BudgetLedger
from trajkit.errors import PrivacyAccountingError
folder, me, other = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
ledger = BudgetLedger(folder)
me.touch()
while not other.exists():
    time.sleep(0.001)
won = 0
for _ in range(20):
    try:
        ledger.reserve("a", spend=Spend(0.1, 0.0, "trajectory"), method="flat", cap=Asked(2.5, 0.0, "trajectory"))
        won += 1
    except PrivacyAccountingError:
        pass
print(won)
"""


def test_two_processes_cannot_both_slip_under_the_cap(tmp_path: Path) -> None:
    marks = [tmp_path / "one", tmp_path / "two"]
    arguments = [[*marks], [*marks[::-1]]]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path / "ledger"), *map(str, pair)], stdout=subprocess.PIPE, env=os.environ, text=True
        )
        for pair in arguments
    ]  # fmt: skip
    won = [int(p.communicate(timeout=120)[0]) for p in running]
    assert sum(won) == 25  # of the 40 that were asked for
    assert min(won) > 0
    assert BudgetLedger(tmp_path / "ledger").state("a").sums()["trajectory"].epsilon == pytest.approx(2.5)
