"""The reports that `make rq1` … `make rq7` have left, for the index notebook."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from urllib.parse import quote

from IPython.display import HTML

from trajkit.study.folders import OUTPUTS, ROOT


def reports(newest: int) -> HTML:
    """Links to the ``newest`` reports; says what to do where there is none."""
    found = sorted(OUTPUTS.glob("*/*/report.html"), key=lambda p: p.stat().st_mtime, reverse=True)[:newest]
    if not found:
        return HTML(
            "<p>None yet: <code>make rq1</code> in a terminal takes minutes; <code>make smoke</code> makes all in small.</p>"
        )
    return HTML("<ul>" + "".join(f"<li>{_link(file)}</li>" for file in found) + "</ul>")


def _link(file: Path) -> str:
    plan = json.loads((file.parent / "plan.json").read_text())
    name = escape(f"{plan['question']}: {plan['title']} ({plan['profile']}, {plan['dataset']})")
    by_voila = os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")  # it serves notebooks only
    if by_voila or not file.is_relative_to(ROOT):
        return f"{name}: <code>{escape(str(file))}</code>"
    return f'<a href="../{quote(str(file.relative_to(ROOT)))}">{name}</a>'
