"""One GPU for one job on a machine without a scheduler: Snakemake counts GPUs but does not say which one is whose."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trajkit.errors import ParameterError

LOOK_EVERY_S = 2.0
GIVEN = "TRAJKIT_GPUS"  # "given": a scheduler has chosen this job's devices (set by workflow/slurm/job)


def visible_gpus() -> list[str]:
    """Ids of the GPUs that may be used: CUDA_VISIBLE_DEVICES where it is set, else what nvidia-smi lists; empty where there is none."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [one.strip() for one in chosen.split(",") if one.strip()]
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return []


@contextmanager
def own_gpus(n: int, folder: Path) -> Iterator[None]:
    """Hold ``n`` GPUs that no other job holds and show only these to whatever is started inside (CUDA_VISIBLE_DEVICES).

    Waits while others hold them; ``folder`` keeps the lock files, which the system frees when a holder dies. Does nothing for ``n`` 0, in
    a job whose scheduler hands out devices itself, and where there is no GPU. Raises ParameterError where there are fewer than ``n``.
    """
    ids = visible_gpus() if n and os.environ.get(GIVEN) != "given" else []
    if not ids:
        yield
        return
    if len(ids) < n:
        raise ParameterError(f"the run asks for {n} GPUs, this machine shows {len(ids)}: lower `gpus` in its resources")
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    held = _hold(ids, n, folder)
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(held)
    try:
        yield
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES")
        if before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = before
        for handle in held.values():
            os.close(handle)


def _hold(ids: list[str], n: int, folder: Path) -> dict[str, int]:
    """Id -> open lock file of ``n`` of them; never waits while holding some."""
    folder.mkdir(parents=True, exist_ok=True)
    locks = {one: folder / f"gpu-{platform.node()}-{one.replace('/', '_')}.lock" for one in ids}
    while True:
        held: dict[str, int] = {}
        for one, lock in locks.items():
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            held[one] = handle
            if len(held) == n:
                return held
        for handle in held.values():
            os.close(handle)
        time.sleep(LOOK_EVERY_S)
