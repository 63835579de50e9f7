"""Every test of a loader has a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TRAJKIT_CACHE", str(folder))
    monkeypatch.delenv("TRAJKIT_DATA", raising=False)
    return folder
