"""A signal to stop: the trainer writes its checkpoint at once and ends; the next one goes on and ends bit for bit the same."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from deep_toys import toy_trainer, weights

from trajkit.deep.stop import SIGNALS, stop_requests
from trajkit.errors import StoppedError


def _signal_at(step: int, number: int):  # type: ignore[no-untyped-def]
    def hook(now: int) -> None:
        if now == step:
            os.kill(os.getpid(), number)

    return hook


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_leaves_a_checkpoint_from_which_the_training_ends_the_same(tmp_path: Path, number: int) -> None:
    whole = toy_trainer()
    whole.run()
    stopped = toy_trainer(checkpoint=tmp_path / "c.pt", checkpoint_every_s=3600.0)
    stopped.after_step = _signal_at(2, number)
    with pytest.raises(StoppedError, match="stopped by a signal at step"):
        stopped.run()
    assert stopped.step in (2, 3), "the step in which the signal came, or the next"
    resumed = toy_trainer(checkpoint=tmp_path / "c.pt", checkpoint_every_s=3600.0)
    resumed.run()
    assert torch.equal(weights(whole), weights(resumed)) and whole.ledger == resumed.ledger
    assert whole.record.loss == resumed.record.loss


def test_afterwards_signals_do_what_they_did_before() -> None:
    before = [signal.getsignal(s) for s in SIGNALS]
    with pytest.raises(ValueError, match="a test"), stop_requests():
        assert [signal.getsignal(s) for s in SIGNALS] != before
        raise ValueError("a test")
    assert [signal.getsignal(s) for s in SIGNALS] == before


def test_a_training_in_a_thread_is_not_disturbed(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            toy_trainer(checkpoint=tmp_path / "c.pt").run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
