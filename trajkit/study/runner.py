"""The only way a notebook is executed: checked before, run by papermill in a fresh kernel, checked after, then sealed by a manifest."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from trajkit.errors import DISK_FULL, MissingDataError, RunFailedError, TrajkitError
from trajkit.parameters import checked
from trajkit.study.identity import template_of
from trajkit.study.notebooks import check_executed, check_parameters, declared_parameters
from trajkit.study.params import ROOT, RunConfig
from trajkit.study.run import OUTPUTS, RELEASE_FILES, SENTINEL, reuse_release
from trajkit.yamlio import load_yaml, write_text

ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = (
    "trajkit",
    "torch",
    "opacus",
    "dp-accounting",
    "numpy",
    "scipy",
    "pandas",
    "numba",
    "papermill",
    "snakemake",
)


def run_file(path: str | Path) -> int:
    """Execute the run whose resolved parameters are in ``path`` (``outputs/runs/<run_id>/params.yaml``); return an exit code.

    0: complete (also when it was before). 1: failed; ``FAILED.json`` and ``executed.ipynb`` in the folder say why.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist: runs are planned by `python -m trajkit study`")
    folder = path.parent
    with lock(OUTPUTS / "locks" / f"{folder.name}.lock"):
        if (folder / "manifest.json").is_file():
            return 0
        config = checked(RunConfig, load_yaml(path), where=str(path))
        label = f"{config.method} fold {config.fold} seed {config.seed} [{folder.name}]"
        started = time.monotonic()
        try:
            (folder / "FAILED.json").unlink(missing_ok=True)
            reuse_release(folder)
            template = template_of(config.method)
            execute(template, folder / "executed.ipynb", _notebook_parameters(template, folder, config), SENTINEL)
            _seal(folder, config, time.monotonic() - started)
        except KeyboardInterrupt:
            print(f"stopped: {label}; its checkpoint stays, the same command goes on from there", flush=True)
            return 130
        except Exception as error:
            record_failure(folder, error)
            print(f"FAILED: {label}: {in_one_line(error)}", flush=True)
            return 1
    print(f"done: {label} in {time.monotonic() - started:.0f} s", flush=True)
    return 0


def execute(
    template: Path,
    target: Path,
    parameters: dict[str, Any],
    sentinel: str,
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``template`` with ``parameters`` into ``target`` with the interpreter that runs this, from the package root.

    ``environment``: variables that its kernel has besides those of this process.

    Raises ParameterError before, RunFailedError after, with the first line of the notebook's own error.
    """
    check_parameters(template, parameters)
    _check_kernel()
    import papermill
    from nbclient.exceptions import DeadKernelError

    before = dict(os.environ)
    os.environ.update(environment or {})
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    os.environ["TRAJKIT_LIVE"] = "0"  # nobody sits in front of it: panels show figures
    # figures go into the notebook, whatever the shell says
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    try:
        papermill.execute_notebook(
            str(template), str(target), parameters=parameters, kernel_name="python3", cwd=str(ROOT),
            progress_bar=False, store_widget_state=False, log_output=False, extra_arguments=["--log-level=CRITICAL"],
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        raise RunFailedError(f"{template.name}, cell {error.cell_index}: {error.ename}: {error.evalue}") from error
    except DeadKernelError as error:
        raise RunFailedError(
            f"{template.name}: the kernel died, most often for want of memory: run fewer side by side (JOBS=1)"
        ) from error
    finally:
        os.environ.clear()
        os.environ.update(before)
    check_executed(target, sentinel=sentinel)


def _notebook_parameters(template: Path, folder: Path, config: RunConfig) -> dict[str, Any]:
    values = config.model_dump(mode="json")
    if "method" not in declared_parameters(template):  # a template that serves one method only names it itself
        del values["method"]
    return {**values, "run_dir": str(folder)}


def _check_kernel() -> None:
    """Raise RunFailedError when the kernel called python3 is another interpreter than this one (complaint C42)."""
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    from jupyter_client.kernelspec import KernelSpecManager

    argv = KernelSpecManager().get_kernel_spec("python3").argv
    if argv[0] not in ("python", "python3") and Path(argv[0]).resolve() != Path(sys.executable).resolve():
        raise RunFailedError(
            f"the kernel 'python3' starts {argv[0]}, not {sys.executable}: remove that kernel (jupyter kernelspec uninstall python3)"
        )


def _seal(folder: Path, config: RunConfig, seconds: float) -> None:
    """Write the manifest, the only mark of completeness, after every output was found and is not empty."""
    names = ["params.yaml", *RELEASE_FILES, "metrics.json", "cost.json", "executed.ipynb"]
    empty = [n for n in names if n != "history.csv" and not ((folder / n).is_file() and (folder / n).stat().st_size)]
    if empty:
        raise RunFailedError(f"{', '.join(empty)} missing or empty in {folder}: the notebook did not do its work")
    cost = json.loads((folder / "cost.json").read_text())
    manifest = {
        "run_id": folder.name,
        "files": {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names},
        "seed": config.seed,
        "fold": config.fold,
        "wall_s": round(seconds, 2),
        "peak_mb": cost["peak_mb"],
        "seconds": cost["seconds"],
        "versions": {"python": platform.python_version(), **{p: metadata.version(p) for p in PACKAGES}},
        "git_commit": git_commit(),
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        },
        "scheduler": {
            k: v for k, v in os.environ.items() if k in ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "CUDA_VISIBLE_DEVICES")
        },
    }
    write_text(folder / "manifest.json", json.dumps(manifest, indent=1))


def record_failure(folder: Path, error: Exception) -> None:
    """Write ``FAILED.json``; where even that fails, say so."""
    record = {"error": type(error).__name__, "message": in_one_line(error), "traceback": traceback.format_exc()}
    try:
        write_text(folder / "FAILED.json", json.dumps(record, indent=1))
    except OSError as problem:
        print(f"the reason could not be written to {folder}: {problem.strerror}", flush=True)


def in_one_line(error: BaseException) -> str:
    """One sentence for a person: what went wrong and, for a full disk, what to do."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return DISK_FULL
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, TrajkitError) else f"{type(error).__name__}: {text}"


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path``; a second process waits. The system frees it when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def git_commit() -> str:
    """Commit of the working tree, marked ``-dirty`` where tracked files differ; "unknown" outside git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
