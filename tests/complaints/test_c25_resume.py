"""A resumed training remembers what was spent: weights alone are refused, names carry no prefix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from deep_toys import TINY_CONFIG, toy_model, toy_trajectories

from trajkit.deep.trainer import Trainer
from trajkit.errors import CheckpointError
from trajkit.methods import make_method

CONFIG = {**TINY_CONFIG, "regime": "private", "noise_multiplier": 2.0, "checkpoint_every_s": 0.0}


def _stop(self: Trainer, n: int, loss: float, norms: torch.Tensor, seconds: float) -> None:
    if self.step == 4:
        raise KeyboardInterrupt


def test_c25_stopped_at_step_k_and_resumed_equals_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, path = toy_trajectories(), tmp_path / "checkpoint.pt"
    whole = make_method("diffusion", **CONFIG).fit(train, seed=1)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_log", _stop)
        with pytest.raises(KeyboardInterrupt):
            make_method("diffusion", **CONFIG).fit(train, seed=1, checkpoint=path)  # type: ignore[call-arg]
    assert torch.load(path, weights_only=True)["step"] == 3
    resumed = make_method("diffusion", **CONFIG).fit(train, seed=1, checkpoint=path)  # type: ignore[call-arg]
    a, b = (m.release(5, seed=2) for m in (whole, resumed))
    np.testing.assert_array_equal(a.trajectories.lonlat, b.trajectories.lonlat)
    assert a.guarantee == b.guarantee and b.guarantee.parts[0].details["steps"] == 6


def test_c25_weights_alone_are_not_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": toy_model().state_dict()}, path)
    with pytest.raises(CheckpointError, match=r"lacks .*ledger.*generators.*spent epsilon"):
        make_method("diffusion", **CONFIG).fit(toy_trajectories(), seed=1, checkpoint=path)  # type: ignore[call-arg]


def test_c25_names_carry_no_prefix_and_other_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    make_method("diffusion", **CONFIG).fit(toy_trajectories(), seed=1, checkpoint=path)  # type: ignore[call-arg]
    assert set(torch.load(path, weights_only=True)["model"]) == set(toy_model().state_dict())
    with pytest.raises(CheckpointError, match="other data"):
        make_method("diffusion", **CONFIG).fit(toy_trajectories(seed=9), seed=1, checkpoint=path)  # type: ignore[call-arg]
