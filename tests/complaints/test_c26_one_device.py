"""Several processes or devices are outside the accounting: a wrapped model is refused with the reason."""

from __future__ import annotations

import pytest
import torch
from deep_toys import LENGTH, toy_model, toy_records
from opacus.grad_sample import GradSampleModule
from torch import nn

from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.errors import ParameterError


class DistributedDataParallel(nn.Module):
    """Stands for torch's wrapper, which needs a process group to be built."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module


@pytest.mark.parametrize("wrap", [nn.DataParallel, DistributedDataParallel, GradSampleModule])
@pytest.mark.parametrize("regime", ["plain", "private"])
def test_c26_a_wrapped_model_is_refused(wrap: type, regime: str) -> None:
    settings = TrainSettings(regime, 3, 0.1, noise_multiplier=1.0 if regime == "private" else 0.0)
    objective = Denoising(alphas_bar("linear", 20), (2, LENGTH), draws=1)
    with pytest.raises(ParameterError, match=r"draw its own batch and add its own noise.*bare module, on one device"):
        Trainer(wrap(toy_model()), objective, toy_records(), settings, seed=0, identity="x")


def test_c26_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    settings = TrainSettings("plain", 3, 0.1)
    objective = Denoising(alphas_bar("linear", 20), (2, LENGTH), draws=1)
    with pytest.raises(ParameterError, match="2 processes"):
        Trainer(toy_model(), objective, toy_records(), settings, seed=0, identity="x")
