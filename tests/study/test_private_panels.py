"""Maps in reports of private data: a release without a guarantee may be the data under other names, so it is not drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trajkit.study.results import StudyResults

HOLDS = {"dp": True, "pseudonyms": False}


class Made(StudyResults):
    """A study of which two cells are complete; ``may_show_raw`` as given."""

    may_show_raw: Any = False

    def __init__(self, raw: bool) -> None:
        self.may_show_raw = raw

    def run(self, cell: str, replicate: int = 0) -> Any:
        if cell not in HOLDS:
            return None
        release = SimpleNamespace(trajectories=cell, guarantee=SimpleNamespace(holds=HOLDS[cell]))
        return SimpleNamespace(config=SimpleNamespace(method=cell), release=lambda n: release)

    def real_panel(self) -> Any:
        return "raw" if self.may_show_raw else None


@pytest.mark.parametrize(("raw", "drawn"), [(False, None), (True, "pseudonyms")])
def test_only_what_is_protected_is_drawn_of_private_data(raw: bool, drawn: str | None) -> None:
    shown = Made(raw).panels(["dp", "pseudonyms", "unfinished"])
    assert shown == {"real (test)": "raw" if raw else None, "dp": "dp", "pseudonyms": drawn}
