"""The only way a notebook is executed: checked before, run by papermill in a fresh kernel, checked after, then sealed by a manifest."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traitlets.config import Config

from trajkit.errors import DISK_FULL, MissingDataError, ResourceError, RunFailedError, TrajkitError
from trajkit.parameters import checked
from trajkit.study.devices import own_gpus
from trajkit.study.folders import OUTPUTS, RELEASE_FILES, ROOT, SENTINEL, reuse_release
from trajkit.study.identity import template_of
from trajkit.study.manifest import hashes, write_manifest
from trajkit.study.notebooks import check_executed, check_parameters, declared_parameters, seconds_of_cells
from trajkit.study.run_config import RunConfig
from trajkit.study.stopping import STOPPED, stop_handed_on
from trajkit.yamlio import load_yaml, write_text

FAILED = "FAILED.json"
OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError")
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_file(path: str | Path, *, gpus: int = 0, attempt: int = 1) -> int:
    """Execute the run whose resolved parameters are in ``path`` (``outputs/runs/<run_id>/params.yaml``); return an exit code.

    0: complete (also when it was before). 1: failed; ``FAILED.json`` and ``executed.ipynb`` in the folder say why. 75: a signal stopped it after
    a checkpoint. ``gpus`` are held for it alone. At a later ``attempt`` a run that failed for a reason of its own is not done again.
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
        if attempt > 1 and failed_for_good(folder):
            print(f"FAILED: {label}: not tried again, since it would fail again", flush=True)
            return 1
        started, begun = time.monotonic(), time.time()
        with stop_handed_on() as stop:
            try:
                (folder / FAILED).unlink(missing_ok=True)
                with own_gpus(gpus, OUTPUTS / "locks"):
                    _work(folder, config)
                    _seal(folder, config, time.monotonic() - started, attempt)
            except KeyboardInterrupt:
                print(f"stopped: {label}; its checkpoint stays, the same command goes on from there", flush=True)
                return 130
            except Exception as error:
                if stop.asked:
                    return _stopped(folder, label, since=begun)
                record_failure(folder, error)
                print(f"FAILED: {label}: {in_one_line(error)}", flush=True)
                return 1
    print(f"done: {label} in {time.monotonic() - started:.0f} s", flush=True)
    return 0


def _work(folder: Path, config: RunConfig) -> None:
    reuse_release(folder)
    template = template_of(config.method)
    execute(template, folder / "executed.ipynb", _notebook_parameters(template, folder, config), SENTINEL)


def _stopped(folder: Path, label: str, *, since: float) -> int:
    """Exit code of a run that a signal stopped: `STOPPED` where it has got on, 1 where it would begin again."""
    checkpoint = folder / "checkpoint.pt"
    got_on = checkpoint.is_file() and checkpoint.stat().st_mtime >= since
    how = (
        "a checkpoint is written, the same command goes on from there" if got_on else "there was no checkpoint to write"
    )
    print(f"stopped by a signal: {label}; {how}", flush=True)
    return STOPPED if got_on else 1


def failed_for_good(folder: Path) -> bool:
    """Whether the last try in ``folder`` failed for a reason of its own, not for want of memory or a lost process."""
    note = folder / FAILED
    return note.is_file() and not json.loads(note.read_text()).get("again", False)


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
        with _own_sockets() as config:
            papermill.execute_notebook(
                str(template), str(target), parameters=parameters, kernel_name="python3", cwd=str(ROOT), config=config,
                progress_bar=False, store_widget_state=False, log_output=False, extra_arguments=["--log-level=CRITICAL"],
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        kind = ResourceError if error.ename in OUT_OF_MEMORY else RunFailedError
        raise kind(f"{template.name}, cell {error.cell_index}: {error.ename}: {error.evalue}") from error
    except DeadKernelError as error:
        raise ResourceError(
            f"{template.name}: the kernel died, most often for want of memory: run fewer side by side (JOBS=1)"
        ) from error
    except RuntimeError as error:
        raise ResourceError(f"{template.name}: the kernel did not start: {error}") from error
    finally:
        os.environ.clear()
        os.environ.update(before)
    check_executed(target, sentinel=sentinel)


@contextmanager
def _own_sockets() -> Iterator[Config]:
    """Configuration of a kernel that is talked to by socket files in a folder of its own.

    TCP ports are drawn before they are bound: of many kernels that start on one machine, some draw the same.
    """
    place = tempfile.gettempdir()
    short = place if len(place) < 40 else "/tmp"  # a socket's path has at most 107 characters
    with tempfile.TemporaryDirectory(prefix="trajkit-", dir=short) as folder:
        own = {"transport": "ipc", "ip": f"{folder}/socket", "connection_file": f"{folder}/kernel.json"}
        yield Config({"KernelManager": own})


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


def _seal(folder: Path, config: RunConfig, seconds: float, attempt: int) -> None:
    """Write the manifest, the only mark of completeness, after every output was found and is not empty."""
    names = ["params.yaml", *RELEASE_FILES, "metrics.json", "cost.json", "executed.ipynb"]
    empty = [n for n in names if n != "history.csv" and not ((folder / n).is_file() and (folder / n).stat().st_size)]
    if empty:
        raise RunFailedError(f"{', '.join(empty)} missing or empty in {folder}: the notebook did not do its work")
    cost = json.loads((folder / "cost.json").read_text())
    write_manifest(
        folder, hashes(folder, names), cells_s=seconds_of_cells(folder / "executed.ipynb"), seed=config.seed, fold=config.fold,
        attempt=attempt, wall_s=round(seconds, 2), peak_mb=cost["peak_mb"], seconds=cost["seconds"],
    )  # fmt: skip


def record_failure(folder: Path, error: Exception) -> None:
    """Write ``FAILED.json``; where even that fails, say so."""
    again = isinstance(error, (ResourceError, MemoryError, OSError))
    record = {
        "error": type(error).__name__,
        "message": in_one_line(error),
        "again": again,
        "traceback": traceback.format_exc(),
    }
    try:
        write_text(folder / FAILED, json.dumps(record, indent=1))
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
