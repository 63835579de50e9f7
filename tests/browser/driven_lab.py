"""JupyterLab over a copy of the notebooks, driven by a browser: start it, run a notebook, drag a slider."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

ROOT = Path(__file__).resolve().parents[2]
# once the kernel is there: before, JupyterLab would ask which one to take
RUN_ALL = """async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    await panel.context.ready;
    await panel.sessionContext.ready;
    await window.jupyterapp.commands.execute('notebook:run-all-cells');
    const outputs = panel.content.model.toJSON().cells.flatMap(cell => cell.outputs || []);
    return outputs.filter(one => one.output_type === 'error').map(one => `${one.ename}: ${one.evalue}`);
}"""
NEWS = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}


class Lab:
    """A JupyterLab over a copy of the notebooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> subprocess.Popen[bytes]:
        """Copy the notebooks and start the server; returns its process once it answers."""
        for name in ("notebooks", "jupytext.toml"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.folder / name)
        settings = self.folder / ".settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(NEWS))
        own = {
            **{f"JUPYTER_{what}_DIR": str(self.folder / f".{what.lower()}") for what in ("CONFIG", "DATA", "RUNTIME")},
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / ".settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.folder / ".workspaces"),
            "IPYTHONDIR": str(self.folder / ".ipython"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={self.port}"]
        command += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--expose-app-in-browser"]
        command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={self.folder}"]
        self.log = self.folder / "server.log"
        environment = {**os.environ, **own}
        with self.log.open("wb") as log:
            server = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
        self._wait(server)
        return server

    def _wait(self, server: subprocess.Popen[bytes]) -> None:
        for _ in range(120):
            if server.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=2).close()
                return
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(0.5)
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def run_all(self, page: Any, name: str, parameters: dict[str, Any]) -> None:
        """Open ``notebooks/name.ipynb`` with parameters in a workspace of its own, run all cells, and check that none failed."""
        path = self.folder / "notebooks" / f"{name}.ipynb"
        notebook = parameterize_notebook(load_notebook_node(str(path)), parameters)
        nbformat.write(notebook, path)
        jupytext.write(notebook, path.parent / "text" / f"{name}.py", fmt="py:percent")  # the newer twin
        page.goto(f"http://127.0.0.1:{self.port}/lab/workspaces/{name}/tree/notebooks/{name}.ipynb")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=120_000)
        failed = page.evaluate(RUN_ALL)
        assert not failed, failed


def drag(page: Any, label: str, share: float) -> None:
    """Drag the handle of the slider named ``label`` by a share of its length, once the page has stopped moving; again where the hand missed."""
    row = page.locator(".widget-hslider, .widget-hrange-slider").filter(
        has=page.locator(".widget-label", has_text=re.compile(f"^{re.escape(label)}$"))
    )
    row.scroll_into_view_if_needed()
    before = row.inner_text()
    for _ in range(5):
        handle, track = _still(page, row, ".noUi-handle"), _still(page, row, ".noUi-base")
        assert track["width"] > 100, f"the slider {label!r} is too short to be dragged: {track}"
        x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + share * track["width"], y, steps=8)
        page.mouse.up()
        page.wait_for_timeout(500)
        if row.inner_text() != before:
            return
    raise AssertionError(f"the slider {label!r} did not move: {before!r}")


def _still(page: Any, row: Any, part: str) -> dict[str, float]:
    """Where a part of the slider is, once it is twice at the same place in the window: JupyterLab lays cells out anew as one scrolls."""
    before = None
    for _ in range(60):
        row.scroll_into_view_if_needed()
        now = row.locator(part).first.bounding_box()
        if now is not None and now == before:
            return now
        before = now
        page.wait_for_timeout(300)
    raise AssertionError(f"the page does not come to rest: {before}")
