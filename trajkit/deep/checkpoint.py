"""Training checkpoints: written atomically, loadable with ``weights_only=True``, complete or refused.

While training runs, the file holds the state of the Poisson sampler and of the noise, with which the noise could be
subtracted again: it is as secret as the records. `finalise_checkpoint` removes that once training is complete.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch

from trajkit.errors import CheckpointError

FORMAT = 1
PARTS = (
    "format",
    "step",
    "steps",
    "identity",
    "model",
    "ema",
    "optimizer",
    "ledger",
    "generators",
    "record",
    "companion",
    "physical_batch",
    "complete",
)
SECRET = ("generators", "record")
SECRET_OF_COMPANION = ("draws", "noise")


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write ``state`` (the parts of `PARTS` but ``format``) and rename it into place."""
    temporary = path.with_name(path.name + ".part")
    torch.save({"format": FORMAT, **state}, temporary)
    temporary.replace(path)


def load_checkpoint(path: Path, *, identity: str) -> dict[str, Any]:
    """Read a checkpoint of the training called ``identity`` (a hash of parameters, seed and data).

    Raises CheckpointError when the file is damaged, a part is missing, it belongs to another training, or the number of
    accounted steps is not the number of steps taken.
    """
    state = _read(path)
    missing = [part for part in PARTS if part not in state]
    if not missing and not state["complete"]:
        missing = [part for part in SECRET if state[part] is None]
    if missing:
        raise CheckpointError(
            f"{path} lacks {', '.join(missing)}: a resumed training would differ from an uninterrupted one or lose spent "
            "epsilon; delete the file to train from the start"
        )
    if state["format"] != FORMAT or state["identity"] != identity:
        raise CheckpointError(
            f"{path} belongs to other parameters, another seed or other data: use the run's own folder, or delete the "
            "file to train from the start"
        )
    if state["ledger"]["steps"] != state["step"]:
        raise CheckpointError(
            f"{path} accounts for {state['ledger']['steps']} steps but holds the weights of step {state['step']}: "
            "delete the file to train from the start"
        )
    return state


def finalise_checkpoint(path: Path, keep_state: bool) -> None:
    """Mark a completed training's checkpoint as final; without ``keep_state`` delete sampler and noise state and the loss record.

    Call with ``keep_state=False`` for private data. Raises CheckpointError when training has not reached its last step.
    """
    state = _read(path)
    if state.get("step") != state.get("steps"):
        raise CheckpointError(
            f"{path} stands at step {state.get('step')} of {state.get('steps')}: finish the training before finalising it"
        )
    if not keep_state:
        state.update(dict.fromkeys(SECRET))
        if state["companion"] is not None:
            state["companion"].update(dict.fromkeys(SECRET_OF_COMPANION))
    save_checkpoint(path, {**state, "complete": True})


def copy_checkpoint(source: Path, target: Path) -> None:
    """Copy a checkpoint and rename it into place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    shutil.copyfile(source, temporary)
    temporary.replace(target)


def longest_prefix(shared: Path, steps: int, target: Path) -> None:
    """Copy to ``target`` the checkpoint ``<shared>-<step>.pt`` with the most steps that is not beyond ``steps``, if there is one."""
    found = {int(p.stem.rpartition("-")[2]): p for p in shared.parent.glob(f"{shared.name}-*.pt")}
    usable = [step for step in found if step <= steps]
    if usable:
        copy_checkpoint(found[max(usable)], target)


def _read(path: Path) -> dict[str, Any]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(
            f"{path} cannot be read ({type(error).__name__}: {str(error).splitlines()[0]}): delete the file to train from the start"
        ) from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} is not a training checkpoint: delete it to train from the start")
    return state
