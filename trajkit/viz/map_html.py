"""A map as one file: kepler.gl, the lines and the static twin in it; it opens from disk without a network."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from importlib.resources import files
from typing import Any

CLOSED = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src data: blob:; worker-src blob:; child-src blob:; font-src data:; form-action 'none'; base-uri 'none'"
)
"""What a browser lets the page load: nothing but what is in it."""
START = """
const held = (id) => document.getElementById(id).textContent.trim();
const raw = (id) => Uint8Array.from(atob(held(id)), (c) => c.charCodeAt(0));
const lines = new Uint8Array(await unzipped(raw("lines")));
const values = { state: held("state"), lines, kepler: raw("kepler") };
const model = { get: (name) => values[name], on: () => {}, off: () => {} };
await render({ model, el: document.getElementById("map") });
document.getElementById("twin").hidden = !document.querySelector(".trajkit-failed");
"""


def page(state: str, lines: bytes, kepler: bytes, *, twin: str, title: str, online: bool) -> str:
    """Return the page. ``state`` and ``lines`` as in `KMap`, ``twin`` an HTML element that is shown where the map cannot be."""
    packed = {"lines": gzip.compress(lines, 9, mtime=0), "kepler": kepler}
    held = "\n".join(
        f'<script type="application/octet-stream" id="{name}">{base64.b64encode(data).decode()}</script>'
        for name, data in packed.items()
    )
    policy = "" if online else f'<meta http-equiv="Content-Security-Policy" content="{CLOSED}">\n'
    code = files("trajkit.viz").joinpath("kmap.js").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy}<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>body {{ margin: 0; background: #fff }}</style>
</head>
<body>
<div id="map"></div>
<div id="twin" hidden>{twin}</div>
<noscript>{twin}</noscript>
<script type="application/json" id="state">{_safe(state)}</script>
{held}
<script type="module">
{code}
{START}</script>
</body>
</html>
"""


def read_page(text: str) -> tuple[dict[str, Any], bytes]:
    """Return the state and the packed lines that a page holds: to check what it tells."""
    held = {name: re.search(rf'id="{name}">(.*?)</script>', text, re.DOTALL) for name in ("state", "lines")}
    state, lines = (m.group(1) if m else "" for m in (held["state"], held["lines"]))
    return json.loads(state), gzip.decompress(base64.b64decode(lines))


def _safe(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c")
