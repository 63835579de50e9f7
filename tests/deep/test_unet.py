"""Sizes and shapes of the shared UNet."""

from __future__ import annotations

import pytest
import torch
from deep_toys import TINY, toy_model

from trajkit.deep.unet import DownPath, Sizes, UNet, UpPath, n_params, sinusoidal
from trajkit.errors import ParameterError


def test_paper_size_has_the_parameter_count_of_difftraj() -> None:
    with torch.device("meta"):
        assert n_params(UNet(Sizes(128, (1, 2, 2, 2), 2, 32))) == 14_466_818


def test_quick_size_has_between_100_and_200_thousand_parameters() -> None:
    assert n_params(UNet(Sizes(16, (1, 2, 2, 2), 1, 8))) == 158_578


@pytest.mark.parametrize("length", [2, 7, 8, 13, 200])
def test_any_length_keeps_its_shape(length: int) -> None:
    x = torch.randn(3, 2, length)
    assert toy_model()(x, torch.tensor([0, 5, 19])).shape == x.shape


def test_output_depends_on_time_and_on_the_extra_embedding() -> None:
    model, x, t = toy_model(), torch.randn(2, 2, 8), torch.zeros(2, dtype=torch.long)
    plain = model(x, t)
    assert not torch.allclose(plain, model(x, t + 10))
    assert torch.equal(plain, model(x, t, torch.zeros(2, TINY.embedding)))
    assert not torch.allclose(plain, model(x, t, torch.ones(2, TINY.embedding)))


def test_records_do_not_mix() -> None:
    model, x, t = toy_model(), torch.randn(4, 2, 8), torch.arange(4)
    other = x.clone()
    other[1:] = 0
    assert torch.allclose(model(x, t)[0], model(other, t)[0], atol=1e-6)


def test_the_halves_make_an_encoder_and_a_decoder() -> None:
    features = DownPath(TINY, 2, None)(torch.randn(3, 2, 9))
    assert features[-1].shape == (3, TINY.widths[-1], 5)
    assert UpPath(TINY, 2, None, skips=False)(features[-1], 9, None).shape == (3, 2, 9)


def test_sinusoidal_starts_at_sine_0_cosine_1() -> None:
    assert torch.equal(sinusoidal(torch.zeros(1), 6), torch.tensor([[0.0, 0, 0, 1, 1, 1]]))


def test_widths_that_groups_do_not_divide_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"widths \(6, 12\).*groups = 4"):
        Sizes(6, (1, 2), 1, 4)
