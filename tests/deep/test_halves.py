"""Encoder and decoder: shapes at any length, and released networks of one size."""

from __future__ import annotations

import pytest
import torch

from trajkit.deep.halves import TOLERANCE, Decoder, Encoder, decoder_sizes
from trajkit.deep.unet import Sizes, UNet, n_params
from trajkit.errors import ParameterError

QUICK, PAPER = Sizes(16, (1, 2, 2, 2), 1, 8), Sizes(128, (1, 2, 2, 2), 2, 32)


@pytest.mark.parametrize("length", [8, 9, 15, 64])
def test_shapes(length: int) -> None:
    sizes = Sizes(4, (1, 2, 2), 1, 2)
    x = torch.randn(3, 2, length)
    code = Encoder(sizes, length, 5)(x)
    assert code.shape == (3, 5)
    assert Decoder(sizes, length, 5)(code).shape == x.shape


def test_a_condition_enters_the_decoder() -> None:
    decoder = Decoder(Sizes(4, (1, 2), 1, 2), 8, 5)
    z, condition = torch.randn(3, 5), torch.randn(3, 16)
    assert not torch.equal(decoder(z), decoder(z, condition))


@pytest.mark.parametrize(
    ("sizes", "length", "latent"),
    [(QUICK, 64, 16), (QUICK, 64, 32), (PAPER, 200, 64), (Sizes(8, (1, 2, 2, 2), 1, 8), 32, 16)],
)
def test_the_decoder_is_as_large_as_the_unet(sizes: Sizes, length: int, latent: int) -> None:
    with torch.device("meta"):
        unet, decoder = UNet(sizes), Decoder(decoder_sizes(sizes, length, latent), length, latent)
    assert abs(n_params(decoder) / n_params(unet) - 1) <= TOLERANCE


def test_sizes_that_no_decoder_meets_are_refused_in_words() -> None:
    with pytest.raises(ParameterError, match=r"no decoder comes within 10% .*channels 4"):
        decoder_sizes(Sizes(4, (1, 2), 1, 2), 8, 4000)


def test_records_do_not_mix() -> None:
    encoder = Encoder(Sizes(4, (1, 2), 1, 2), 8, 3).eval()
    x = torch.randn(4, 2, 8)
    torch.testing.assert_close(encoder(x)[:2], encoder(x[:2]))
