"""A page as a list of blocks, written as Markdown and as one HTML file that needs nothing else: no script, no network, figures inside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:54em;margin:2em auto;padding:0 1em;color:#1b1b1b}"
    "h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.8em}table{border-collapse:collapse;margin:1em 0}"
    "th,td{border:1px solid #ccc;padding:.35em .6em;text-align:left;vertical-align:top}th{background:#f3f3f3}"
    ".mark{background:#7a1f1f;color:#fff;padding:.6em 1em;font-weight:bold}img{max-width:100%}"
)


@dataclass
class Page:
    """A page under construction; ``mark`` stands above everything, e.g. that the page is private."""

    title: str
    mark: str = ""
    blocks: list[tuple[str, Any]] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.blocks.append(("heading", text))

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.blocks.append(("text", text))

    def listed(self, items: Sequence[str]) -> None:
        """Add a list; nothing for no items."""
        if items:
            self.blocks.append(("list", list(items)))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table; nothing for no rows."""
        if rows:
            self.blocks.append(("table", (list(header), [[shown(cell) for cell in row] for row in rows])))

    def figure(self, figure: Any, caption: str) -> None:
        """Add a matplotlib figure as a PNG."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
        self.blocks.append(("figure", (base64.b64encode(buffer.getvalue()).decode(), caption)))

    def markdown(self) -> str:
        """The page as Markdown, figures by their captions."""
        parts = [f"# {self.title}", *([f"**{self.mark}**"] if self.mark else [])]
        for kind, body in self.blocks:
            if kind == "heading":
                parts.append(f"## {body}")
            elif kind == "text":
                parts.append(body)
            elif kind == "list":
                parts.append("\n".join(f"- {item}" for item in body))
            elif kind == "figure":
                parts.append(f"(figure, in page.html: {body[1]})")
            else:
                header, rows = body
                lines = [header, ["---"] * len(header), *rows]
                parts.append("\n".join("| " + " | ".join(c.replace("|", "/") for c in line) + " |" for line in lines))
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The page as HTML."""
        e = html.escape
        parts = [f"<h1>{e(self.title)}</h1>", *([f'<p class="mark">{e(self.mark)}</p>'] if self.mark else [])]
        for kind, body in self.blocks:
            if kind == "heading":
                parts.append(f"<h2>{e(body)}</h2>")
            elif kind == "text":
                parts.append(f"<p>{e(body)}</p>")
            elif kind == "list":
                parts.append("<ul>" + "".join(f"<li>{e(item)}</li>" for item in body) + "</ul>")
            elif kind == "figure":
                parts.append(
                    f'<p><img alt="{e(body[1])}" src="data:image/png;base64,{body[0]}"><br><em>{e(body[1])}</em></p>'
                )
            else:
                header, rows = body
                head = "".join(f"<th>{e(c)}</th>" for c in header)
                lines = ["<tr>" + "".join(f"<td>{e(c)}</td>" for c in row) + "</tr>" for row in rows]
                parts.append(f"<table><tr>{head}</tr>{''.join(lines)}</table>")
        head = f'<meta charset="utf-8"><title>{e(self.title)}</title><style>{STYLE}</style>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def shown(value: Any) -> str:
    """A cell as text: floats with three digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
