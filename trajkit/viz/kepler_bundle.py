"""kepler.gl as the installed wheel has it, packed, and cut off from every outside host unless the online basemap is asked for."""

from __future__ import annotations

import gzip
import importlib.util
import re
from functools import lru_cache
from pathlib import Path

from trajkit.errors import MissingDataError

EDITS = (
    # a change of data keeps the view; the side panel, which asks hosts for pictures of basemaps, stays away
    ("centerMap:!0,readOnly:!1,keepExistingConfig:!0", "centerMap:!1,readOnly:!0,keepExistingConfig:!0"),
    ("readOnly:!1}", "readOnly:!0}"),
    # lines are read again when their set changes
    ("else if(this.dataToFeature.length===0||this.config.columnMode===", "else if(!0||this.config.columnMode==="),
    # a slow machine gets a minute to start, not 5 s
    ('console.warn("[keplergl-widget] Timeout waiting for instance registration"),t()},5e3)', "t()},6e4)"),
)
STYLE_FETCH = re.compile(r"fetch\(\w+\)(?=\.then\(function\((\w)\)\{return \1\.ok\?\1\.json\(\):\1\.text\(\))")
NO_STYLE = 'Promise.resolve(new Response(\'{"version":8,"sources":{},"layers":[]}\'))'


@lru_cache(maxsize=2)
def bundle(online: bool = False) -> bytes:
    """Return kepler.gl's widget as gzipped JavaScript. Raises MissingDataError where the keplergl package is absent or differs.

    What is changed in it stands beside `EDITS`. Without ``online`` it also gets an empty style where it would fetch that of an online
    basemap, which it does for every map, also for one without a basemap.
    """
    text = _widget_file().read_text(encoding="utf-8")
    found = [text.count(old) for old, _ in EDITS]
    for old, new in EDITS:
        text = text.replace(old, new)
    if not online:
        text, n = STYLE_FETCH.subn(NO_STYLE, text)
        found.append(n)
    if found != [1] * len(found):
        raise MissingDataError(
            f"the installed keplergl is not the one that maps are made for (places to change found: {found}, not one each): "
            "install keplergl>=0.4,<0.5"
        )
    return gzip.compress(text.encode(), 6, mtime=0)


def _widget_file() -> Path:
    spec = importlib.util.find_spec("keplergl")
    file = Path(spec.origin).parent / "static" / "widget.js" if spec and spec.origin else None
    if file is None or not file.is_file():
        raise MissingDataError(
            "the package keplergl is not installed or has no widget: pip install 'keplergl>=0.4,<0.5'"
        )
    return file
