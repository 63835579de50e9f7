"""Who sits in front of a kernel is told by how it was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from trajkit.errors import ParameterError
from trajkit.study.runner import execute
from trajkit.viz.live import is_live

ASK = "from trajkit.viz.live import is_live; print(is_live())"


def _said(environment: dict[str, str]) -> str:
    """What a kernel started by this process with ``environment`` answers."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env={**os.environ, **environment}, extra_arguments=["--log-level=CRITICAL"])
    client: BlockingKernelClient = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        said: list[str] = []
        client.execute_interactive(ASK, timeout=60, output_hook=lambda m: said.append(m["content"].get("text", "")))
        return "".join(said).strip()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@pytest.mark.filterwarnings("ignore")  # what the libraries of the kernel's manager warn of
@pytest.mark.parametrize(
    ("environment", "live"),
    [
        ({"JPY_SESSION_NAME": "notebooks/explore-data.ipynb"}, "True"),
        ({"SERVER_SOFTWARE": "voila/0.5.13"}, "True"),
        ({}, "False"),
        ({"JPY_SESSION_NAME": "notebooks/explore-data.ipynb", "TRAJKIT_LIVE": "0"}, "False"),
    ],
    ids=["jupyter server", "voila", "nbclient", "told not to"],
)
def test_a_kernel_knows_who_started_it(environment: dict[str, str], live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JPY_SESSION_NAME", "SERVER_SOFTWARE", "TRAJKIT_LIVE"):
        monkeypatch.delenv(name, raising=False)
    assert _said(environment) == live


def test_the_trace_of_a_live_notebook_does_not_count_for_what_it_starts() -> None:
    """A kernel that a process of a live notebook starts inherits its environment, but nobody looks at it."""
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom {Path(__file__).stem} import _said\nprint(_said({{}}))"
    environment = {**os.environ, "JPY_SESSION_NAME": "notebooks/explore-data.ipynb"}
    environment.pop("TRAJKIT_LIVE", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_plain_python_is_not_live_and_the_caller_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")
    assert not is_live() and is_live(True)
    monkeypatch.setenv("TRAJKIT_LIVE", "1")
    assert is_live() and not is_live(False)


def test_a_wrong_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_LIVE", "yes")
    with pytest.raises(ParameterError, match="set it to 1"):
        is_live()


def test_the_runner_says_that_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_LIVE", "1")
    parameters = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[parameters, nbformat.v4.new_code_cell(f"{ASK}; print('end')")])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, tmp_path / "ask.ipynb")
    execute(tmp_path / "ask.ipynb", tmp_path / "told.ipynb", {}, "end")
    said = nbformat.read(tmp_path / "told.ipynb", as_version=4).cells[-1].outputs[0].text
    assert said == "False\nend\n"
