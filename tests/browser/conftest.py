"""A real browser without a network: Chromium driven by Playwright, JupyterLab on loopback, and what both complained about.

Every test fails that leaves an error on the console or asks a host outside this machine. Screenshots go to
``outputs/browser/``. Without Chromium the tests skip; ``make test-browser`` makes its absence an error.
"""

from __future__ import annotations

import io
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import numpy as np
import pytest
from papermill.parameterize import parameterize_notebook
from PIL import Image

sync_api = pytest.importorskip("playwright.sync_api", reason="no browser is driven without playwright")

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "outputs" / "browser"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# no background services, no lookups but loopback, WebGL in software
FLAGS = (
    *("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-quic", "--no-first-run", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
INSTALL = "install Chromium (Debian: apt-get install chromium) or name it in TRAJKIT_CHROMIUM"
NEWS = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser, and minutes where two cores draw in software."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(600))


@dataclass
class Watch:
    """What a page asked and complained about."""

    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def of(self, page: Any) -> None:
        """Listen to a page from now on."""
        page.on("request", lambda request: self._asked(request.url))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _asked(self, url: str) -> None:
        if urlsplit(url).hostname not in (None, "127.0.0.1", "localhost"):
            self.outside.append(url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium of this machine, headless."""
    found = os.environ.get("TRAJKIT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        if os.environ.get("TRAJKIT_BROWSER") == "needed":
            pytest.fail(f"no Chromium here: {INSTALL}")
        pytest.skip(f"no Chromium here: {INSTALL}")
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def watch() -> Watch:
    """What the page of this test asked and complained about."""
    return Watch()


@pytest.fixture
def page(browser: Any, watch: Watch) -> Iterator[Any]:
    """A fresh page of 1400 x 1000 pixels; the test fails on an error of the console or a request to another host."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    watch.of(opened)
    yield opened
    context.close()
    assert not watch.outside, f"asked outside hosts: {watch.outside}"
    assert not watch.errors, f"console: {watch.errors}"


@pytest.fixture(scope="session")
def pixels() -> Callable[[Any, str], np.ndarray]:
    """``pixels(page, selector)``: the first such element as it is seen, uint8 [height, width, 3]."""

    def seen(page: Any, selector: str) -> np.ndarray:
        shot = page.locator(selector).first.screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))

    return seen


@pytest.fixture(scope="session")
def shot() -> Callable[[Any, str], Path]:
    """``shot(page, name)``: write what the window shows to ``outputs/browser/name.png``."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def write(page: Any, name: str) -> Path:
        path = SHOTS / f"{name}.png"
        page.screenshot(path=str(path))
        return path

    return write


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
        server = subprocess.Popen(
            command, env=environment, cwd=self.folder, stdout=self.log.open("wb"), stderr=subprocess.STDOUT
        )
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
        nbformat.write(parameterize_notebook(nbformat.read(path, as_version=4), parameters), path)
        page.goto(f"http://127.0.0.1:{self.port}/lab/workspaces/{name}/tree/notebooks/{name}.ipynb")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=120_000)
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        said = page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").all_inner_texts()
        assert not said, said


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab over a copy of the notebooks."""
    found = Lab(tmp_path_factory.mktemp("lab"))
    server = found.start()
    yield found
    server.terminate()
    server.wait(timeout=60)


def drag(page: Any, label: str, share: float) -> None:
    """Drag the handle of the slider named ``label`` by a share of its length."""
    row = page.locator(".widget-hslider, .widget-hrange-slider").filter(
        has=page.locator(".widget-label", has_text=re.compile(f"^{re.escape(label)}$"))
    )
    row.scroll_into_view_if_needed()
    handle, track = row.locator(".noUi-handle").first.bounding_box(), row.locator(".noUi-base").bounding_box()
    x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + share * track["width"], y, steps=8)
    page.mouse.up()
