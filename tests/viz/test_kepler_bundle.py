"""kepler.gl as it is packed into widgets and pages."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from trajkit.errors import MissingDataError
from trajkit.viz import kepler_bundle
from trajkit.viz.kepler_bundle import STYLE_FETCH, bundle


def test_the_style_of_the_online_basemap_is_fetched_only_online() -> None:
    offline, online = (gzip.decompress(bundle(asked)).decode() for asked in (False, True))
    assert len(STYLE_FETCH.findall(online)) == 1
    assert not STYLE_FETCH.search(offline) and len(offline) > 10_000_000


def test_the_view_stays_and_the_side_panel_stays_away() -> None:
    code = gzip.decompress(bundle()).decode()
    load_data = re.search(r"async loadData\(\)\{.*?async processAllDatasets", code)
    assert load_data and "centerMap:!1,readOnly:!0,keepExistingConfig:!0" in load_data[0]
    assert "options:{centerMap:!o,readOnly:!0}" in code


def test_packing_it_again_gives_the_same_bytes() -> None:
    first = bundle()
    bundle.cache_clear()
    assert bundle() == first


def test_another_keplergl_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "widget.js"
    other.write_text("export default {}")
    monkeypatch.setattr(kepler_bundle, "_widget_file", lambda: other)
    with pytest.raises(MissingDataError, match=r"not the one that maps are made for.*install keplergl>=0\.4,<0\.5"):
        bundle.__wrapped__()


def test_no_keplergl_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kepler_bundle.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match="keplergl is not installed"):
        bundle.__wrapped__()
