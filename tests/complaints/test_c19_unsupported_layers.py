"""A layer that DP-SGD cannot train is refused with the name of the layer to use instead."""

from __future__ import annotations

import pytest
from deep_toys import toy_model
from torch import nn

from trajkit.deep.grad_sample import check_supported
from trajkit.errors import ParameterError


@pytest.mark.parametrize(
    ("layer", "replacement"),
    [
        (nn.GRU(2, 4), r"opacus\.layers\.DPGRU"),
        (nn.LSTM(2, 4), r"opacus\.layers\.DPLSTM"),
        (nn.MultiheadAttention(4, 2), r"opacus\.layers\.DPMultiheadAttention"),
        (nn.BatchNorm1d(4), r"torch\.nn\.GroupNorm"),
    ],
)
def test_c19_message_names_the_layer_and_its_replacement(layer: nn.Module, replacement: str) -> None:
    model = nn.Sequential(nn.Conv1d(2, 2, 3), layer)
    with pytest.raises(ParameterError, match=rf"1 \({type(layer).__name__}\) → {replacement}"):
        check_supported(model)
    with pytest.raises(ParameterError, match=replacement):
        check_supported(layer)


def test_c19_the_shared_network_passes() -> None:
    check_supported(toy_model())
