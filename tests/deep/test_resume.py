"""Checkpoints: killed and resumed equals uninterrupted, bit for bit; incomplete or foreign ones are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from deep_toys import toy_trainer, weights

from trajkit.deep.checkpoint import PARTS, finalise_checkpoint
from trajkit.errors import CheckpointError


class Stopped(Exception):
    """Raised in the middle of a training."""


def _stop_at(step: int):  # type: ignore[no-untyped-def]
    def hook(now: int) -> None:
        if now == step:
            raise Stopped

    return hook


def _interrupted(path: Path, at: int = 3, **settings: object) -> None:
    trainer = toy_trainer(checkpoint=path, checkpoint_every_s=0.0, **settings)
    trainer.after_step = _stop_at(at)
    with pytest.raises(Stopped):
        trainer.run()


@pytest.mark.parametrize("regime", ["plain", "clipped", "private"])
def test_stopped_and_resumed_equals_uninterrupted(tmp_path: Path, regime: str) -> None:
    whole = toy_trainer(regime=regime)
    whole.run()
    _interrupted(tmp_path / "c.pt", regime=regime)
    resumed = toy_trainer(regime=regime, checkpoint=tmp_path / "c.pt", checkpoint_every_s=0.0)
    resumed.run()
    assert torch.equal(weights(whole), weights(resumed))
    assert whole.ledger == resumed.ledger and whole.ledger["steps"] == 6
    assert whole.record.loss == resumed.record.loss and whole.record.step == resumed.record.step


def test_os_noise_resumes_its_own_stream(tmp_path: Path) -> None:
    """Resuming twice from one checkpoint gives the same weights, although nobody knows the seed."""
    _interrupted(tmp_path / "c.pt", noise_source="os")
    content = (tmp_path / "c.pt").read_bytes()
    found = []
    for k in range(2):
        path = tmp_path / f"c{k}.pt"
        path.write_bytes(content)
        trainer = toy_trainer(noise_source="os", checkpoint=path)
        trainer.run()
        found.append(weights(trainer))
    assert torch.equal(*found)


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from deep_toys import toy_trainer
trainer = toy_trainer(checkpoint=Path(sys.argv[2]), checkpoint_every_s=0.0)
trainer.after_step = lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == 4 else None
trainer.run()
"""


def test_kill_9_and_resume_equals_uninterrupted(tmp_path: Path) -> None:
    whole = toy_trainer()
    whole.run()
    path = tmp_path / "c.pt"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", CHILD, str(Path(__file__).parents[1]), str(path)], env=environment)
    assert done.returncode == -signal.SIGKILL
    assert torch.load(path, weights_only=True)["step"] == 4
    resumed = toy_trainer(checkpoint=path)
    resumed.run()
    assert torch.equal(weights(whole), weights(resumed))


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_part_is_refused(tmp_path: Path, part: str) -> None:
    path = tmp_path / "c.pt"
    _interrupted(path)
    state = torch.load(path, weights_only=True)
    del state[part]
    torch.save(state, path)
    with pytest.raises(CheckpointError, match=f"lacks {part}"):
        toy_trainer(checkpoint=path).run()


def test_other_parameters_damage_and_a_wrong_ledger_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.pt"
    _interrupted(path)
    with pytest.raises(CheckpointError, match="other parameters"):
        toy_trainer(checkpoint=path, identity="something else").run()
    state = torch.load(path, weights_only=True)
    state["ledger"]["steps"] = 2
    torch.save(state, path)
    with pytest.raises(CheckpointError, match="accounts for 2 steps but holds the weights of step 3"):
        toy_trainer(checkpoint=path).run()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read"):
        toy_trainer(checkpoint=path).run()


def test_finalising_deletes_sampler_and_noise_state_but_keeps_the_model(tmp_path: Path) -> None:
    path = tmp_path / "c.pt"
    _interrupted(path)
    with pytest.raises(CheckpointError, match="step 3 of 6"):
        finalise_checkpoint(path, keep_state=False)
    trainer = toy_trainer(checkpoint=path)
    trainer.run()
    finalise_checkpoint(path, keep_state=True)
    assert torch.load(path, weights_only=True)["generators"] is not None
    finalise_checkpoint(path, keep_state=False)
    state = torch.load(path, weights_only=True)
    assert state["generators"] is None and state["record"] is None and state["complete"] is True
    again = toy_trainer(checkpoint=path)
    again.run()
    assert torch.equal(weights(again), weights(trainer)) and again.ledger == trainer.ledger
