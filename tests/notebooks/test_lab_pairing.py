"""Pairing as JupyterLab does it: its contents manager opens a notebook with its text twin, and saving writes both."""

from __future__ import annotations

import asyncio
import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _now(value: Any) -> Any:
    return asyncio.run(value) if inspect.isawaitable(value) else value


@pytest.mark.filterwarnings("ignore")  # what the server's libraries warn of
def test_saving_in_lab_updates_the_twin(tmp_path: Path) -> None:
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
    from jupytext.async_contentsmanager import build_async_jupytext_contents_manager_class

    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    for name in ("notebooks/index.ipynb", "notebooks/text/index.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    manager = build_async_jupytext_contents_manager_class(AsyncLargeFileManager)(root_dir=str(tmp_path))
    model = _now(manager.get("notebooks/index.ipynb"))
    ids = [c["id"] for c in model["content"]["cells"]]
    model["content"]["cells"][0]["source"] += "\n\nWritten in Lab."
    _now(manager.save(model, "notebooks/index.ipynb"))
    twin = tmp_path / "notebooks" / "text" / "index.py"
    assert "# Written in Lab." in twin.read_text()

    twin.write_text(twin.read_text().replace("Written in Lab.", "Written by hand."))
    again = _now(manager.get("notebooks/index.ipynb"))["content"]["cells"]
    assert "Written by hand." in again[0]["source"] and [c["id"] for c in again] == ids
