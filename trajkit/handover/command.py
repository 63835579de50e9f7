"""What the commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trajkit.handover.choice import chosen, parameters_of
from trajkit.handover.release import FILES, Budget, Source, make_release


def run_release(
    method: str, out: Path, *, data: str | None, dataset: str | None, params: Path | None, given: dict[str, Any],
    budget: dict[str, Any], n: int, purpose: str, figures: bool,
) -> int:  # fmt: skip
    """``make release``; the exit code."""
    choice = chosen(method, parameters_of(params, **given))
    asked = Budget(**{name: value for name, value in budget.items() if value is not None})
    ticket = make_release(choice, Source.load(dataset, data), out, asked, n=n, purpose=purpose, figures=figures)
    print(f"released to {out}: {', '.join(FILES)}; read page.html before you pass it on")
    account = ticket.account
    if choice.spend is not None:
        print(
            f"ledger, account {account.name}: {account.in_words()}; cap {account.cap.in_words() if account.cap else 'none'}"
        )
    else:
        print(
            f"ledger, account {account.name}: noted; releases without an epsilon do not add up ({account.anonymous} so far)"
        )
    return 0


def run_assess(*, data: str | None, dataset: str | None, k: int, tolerance: float) -> int:
    """``make assess``; the exit code."""
    from trajkit.handover.assess import assess

    folder = assess(Source.load(dataset, data), k=k, tolerance=tolerance)
    record = json.loads((folder / "assessment.json").read_text())
    print(f"recommended: {record['recommendation']}", *(f"- {reason}" for reason in record["reasons"]), sep="\n")
    print(f"{folder / 'report.html'} (private)")
    return 0


def run_dpia(
    method: str, *, data: str | None, dataset: str | None, params: Path | None, given: dict[str, Any], purpose: str, n: int,
    ledger: Path | None,
) -> int:  # fmt: skip
    """``make dpia``; the exit code."""
    from trajkit.handover.dpia import record

    choice = chosen(method, parameters_of(params, **given))
    folder = record(choice, Source.load(dataset, data), purpose=purpose, n=n, ledger=ledger)
    print(f"{folder / 'risk_report.html'} (private)")
    return 0
