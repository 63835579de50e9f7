"""``make doctor``: what this machine has, and what to do about each problem.

Every check returns findings; a finding with a ``remedy`` is a problem, and only a ``fatal`` one makes the kit unusable
(exit code 1). No check changes anything.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
OLDEST_PYTHON = (3, 11)
SHOWN = ("torch", "opacus", "dp-accounting", "numpy", "scipy", "pandas", "geopandas", "numba", "snakemake", "papermill")
MIN_FREE_GB = 2.0
MIN_MEMORY_GB = 4.0
OWN_VENV = Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()
REINSTALL = "rm -r .venv && make env" if OWN_VENV else "conda env update -f environment.yml, or use make without PY="


@dataclass(frozen=True)
class Finding:
    """One line of the page.

    remedy: what to do; empty where there is no problem.
    fatal: nothing will run until it is done.
    absent: not here, which is no problem for those who do not need it.
    """

    topic: str
    value: str
    remedy: str = ""
    fatal: bool = False
    absent: bool = False


def locked_versions(lock: str) -> dict[str, str]:
    """Return name -> version of the lines of a lock file that apply to this machine."""
    lines = (re.sub(r"\s*\\$", "", line) for line in lock.splitlines() if re.match(r"[A-Za-z0-9][\w.-]*==", line))
    pins = [Requirement(line) for line in lines]
    return {pin.name: next(iter(pin.specifier)).version for pin in pins if pin.marker is None or pin.marker.evaluate()}


def installed_version(name: str) -> str | None:
    """Return the installed version without its build tag ("2.13.0+cpu" is "2.13.0"), or None."""
    try:
        return Version(importlib.metadata.version(name)).public
    except importlib.metadata.PackageNotFoundError:
        return None


def check_python() -> list[Finding]:
    """Return the interpreter and its version."""
    value = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return [
            Finding("python", value, f"the kit needs {wanted} or newer: make env PYTHON=python{wanted}", fatal=True)
        ]
    return [Finding("python", value)]


def check_packages(lock: Path = ROOT / "requirements.lock") -> list[Finding]:
    """Return the versions of the main packages, and every package that is absent or not what the lock says."""
    findings = [Finding(name, importlib.metadata.version(name)) for name in SHOWN if installed_version(name)]
    if not lock.is_file():
        return [*findings, Finding("lock", "not here", "versions are not compared: run doctor in a clone of the kit")]
    wanted = locked_versions(lock.read_text())
    found = {name: installed_version(name) for name in wanted}
    missing = [name for name in wanted if found[name] is None] + ["torch"] * (installed_version("torch") is None)
    other = [f"{n} {found[n]} (lock {wanted[n]})" for n in wanted if found[n] not in (None, wanted[n])]
    if missing:
        findings.append(
            Finding("lock", f"{len(missing)} packages missing: {', '.join(missing)}", REINSTALL, fatal=True)
        )
    if other:
        findings.append(
            Finding("lock", f"{len(other)} other versions: {', '.join(other)}", f"results may differ: {REINSTALL}")
        )
    if not missing and not other:
        findings.append(Finding("lock", f"all {len(wanted)} packages as locked"))
    return findings


def check_kernel() -> list[Finding]:
    """Return whether the kernel that notebooks name (python3) runs in this very environment (complaint C42)."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    from jupyter_client.manager import KernelManager

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return [Finding("kernel", "no kernel named python3", REINSTALL, fatal=True)]
    manager = KernelManager(kernel_name="python3")
    interpreter = manager.format_kernel_cmd()[0]
    where = f"python3 ({spec.resource_dir}) runs {interpreter}"
    ask = [interpreter, "-c", "import sys, ipykernel; print(sys.prefix)"]
    try:
        done = subprocess.run(
            ask, env={**os.environ, **spec.env}, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Finding("kernel", f"{where}: {type(error).__name__}", f"rm -r {spec.resource_dir}, then {REINSTALL}")]
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Finding("kernel", f"{where}: {reason}", f"rm -r {spec.resource_dir}, then {REINSTALL}")]
    prefix = done.stdout.strip()
    if Path(prefix).resolve() != Path(sys.prefix).resolve():
        remedy = (
            f"JupyterLab would use other packages than make does ({prefix}): rm -r {spec.resource_dir}, then make lab"
        )
        return [Finding("kernel", where, remedy)]
    return [Finding("kernel", f"{where}, in this environment")]


def browser_side(extension: str) -> str | None:
    """Return the version of the JupyterLab extension that the browser would get, or None; user folders come first."""
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        package = Path(folder) / extension / "package.json"
        if package.is_file():
            return str(json.loads(package.read_text())["version"])
    return None


def check_widgets() -> list[Finding]:
    """Return the kernel and browser halves of the widgets, which must match (complaint C55)."""
    findings = [
        Finding(
            "jupyterlab",
            installed_version("jupyterlab") or "absent",
            "" if installed_version("jupyterlab") else REINSTALL,
        )
    ]
    # ipywidgets 8 speaks to version 5 of its browser half; anywidget ships both halves under one version
    pairs: list[tuple[str, str, Callable[[str], str]]] = [
        ("ipywidgets", "@jupyter-widgets/jupyterlab-manager", lambda v: str(Version(v).major - 3)),
        ("anywidget", "anywidget", lambda v: v),
    ]
    for name, extension, expected in pairs:
        kernel, browser = installed_version(name), browser_side(extension)
        value = f"kernel {kernel or 'absent'}, browser {browser or 'absent'}"
        fits = kernel is not None and browser is not None and f"{browser}.".startswith(f"{expected(kernel)}.")
        remedy = f"sliders and maps would show as text: look for a second copy in `jupyter labextension list`, or {REINSTALL}"
        findings.append(Finding(name, value, "" if fits else remedy))
    keplergl = installed_version("keplergl")
    findings.append(Finding("keplergl", keplergl or "absent", "" if keplergl else REINSTALL))
    return findings


def check_accelerator() -> list[Finding]:
    """Return the CUDA devices that torch can use, or that there are none."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return [Finding("accelerator", f"torch does not import: {error}", REINSTALL, fatal=True)]
    if torch.cuda.is_available():
        devices = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
        return [
            Finding("accelerator", f"{d.name}, {d.total_memory / 1e9:.0f} GB (CUDA {torch.version.cuda})")
            for d in devices
        ]
    if shutil.which("nvidia-smi"):
        remedy = "there is a driver but this torch build cannot use it: make env TORCH_INDEX=<index of the CUDA build>"
        return [Finding("accelerator", "none: CPU", remedy)]
    return [Finding("accelerator", "none: CPU")]


def check_machine(outputs: Path = ROOT / "outputs") -> list[Finding]:
    """Return cores, memory and the disk that outputs go to."""
    import psutil

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory()
    tight = "" if memory.available / 1e9 >= MIN_MEMORY_GB else "close other programs, or give JOBS=1"
    findings = [
        Finding("cores", str(cores)),
        Finding("memory", f"{memory.total / 1e9:.1f} GB, {memory.available / 1e9:.1f} GB available", tight),
    ]
    place = next(p for p in (outputs, *outputs.parents) if p.exists())
    free_gb = shutil.disk_usage(place).free / 1e9
    value = f"{outputs}: {free_gb:.0f} GB free"
    if not os.access(place, os.W_OK):
        findings.append(
            Finding("outputs", f"{value}, not writable", "make the folder writable, or a link to one", fatal=True)
        )
    else:
        full = f"studies need about {MIN_FREE_GB:.0f} GB: make clean, or make outputs a link to a larger disk"
        findings.append(Finding("outputs", value, "" if free_gb >= MIN_FREE_GB else full))
    return findings


def check_data() -> list[Finding]:
    """Return where each registered data set was found; an absent one is a fact, not a problem."""
    from trajkit.datasets import DATASETS
    from trajkit.datasets.sources import find_source
    from trajkit.errors import MissingDataError

    findings = []
    for spec in DATASETS.values():
        topic = f"data: {spec.name}"
        if spec.generated:
            findings.append(Finding(topic, "generated, needs no file"))
            continue
        try:
            findings.append(Finding(topic, str(find_source(spec.name, None, spec.files))))
        except MissingDataError as error:
            findings.append(Finding(topic, str(error), absent=True))
    return findings


CHECKS: tuple[Callable[[], list[Finding]], ...] = (
    check_python,
    check_packages,
    check_kernel,
    check_widgets,
    check_accelerator,
    check_machine,
    check_data,
)


def page(findings: Iterable[Finding]) -> str:
    """Return the printed page: one line a finding, below it what to do about a problem, at the end the verdict."""
    findings = list(findings)
    width = max(len(f.topic) for f in findings)
    lines = []
    for f in findings:
        mark = "!!" if f.remedy else "--" if f.absent else "ok"
        lines.append(f"{mark}  {f.topic:<{width}}  {f.value}")
        if f.remedy:
            lines.append(f"    {'':<{width}}  -> {f.remedy}")
    problems = sum(bool(f.remedy) for f in findings)
    verdict = "no problem found" if not problems else f"{problems} problem(s), see the lines marked !!"
    if any(f.fatal for f in findings):
        verdict += "; the kit cannot run until the first of them is solved"
    return "\n".join([*lines, "", verdict])


def main() -> int:
    """Run every check and print the page. Returns 1 if something makes the kit unusable, else 0."""
    findings = [finding for check in CHECKS for finding in check()]
    print(page(findings))
    return int(any(f.fatal for f in findings))
