"""The two halves of the shared UNet as networks of their own: an encoder (also a GAN's critic) and a decoder (the released one).

The decoder is made as large as the UNet by its width, so that models which release a decoder and models which release a
whole UNet are compared at the same number of parameters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trajkit.deep.unet import COORDINATES, DownPath, Middle, Sizes, UNet, UpPath, n_params
from trajkit.errors import ParameterError

TOLERANCE = 0.10


def coarsest(length: int, sizes: Sizes) -> int:
    """Positions left after every level of the down path."""
    for _ in range(len(sizes.widths) - 1):
        length = (length + 1) // 2
    return length


class Encoder(nn.Module):
    """Trajectories [B, 2, L] → [B, outputs]: down path, middle, and one linear layer over all coarsest features.

    ``conditional``: every block takes ``extra_embedding`` [B, 4 * channels], the place for a condition.
    """

    def __init__(self, sizes: Sizes, length: int, outputs: int, *, conditional: bool = False) -> None:
        super().__init__()
        width, embedding = sizes.widths[-1], sizes.embedding if conditional else None
        self.down = DownPath(sizes, COORDINATES, embedding)
        self.middle = Middle(sizes, embedding)
        self.norm = nn.GroupNorm(sizes.groups, width, eps=1e-6)
        self.dense = nn.Linear(width * coarsest(length, sizes), outputs)

    def forward(self, x: Tensor, extra_embedding: Tensor | None = None) -> Tensor:
        h = self.middle(self.down(x, extra_embedding)[-1], extra_embedding)
        return self.dense(F.silu(self.norm(h)).flatten(1))


class Decoder(nn.Module):
    """Latent vectors [B, latent] → trajectories [B, 2, L]: a linear layer to the coarsest features, middle, up path.

    The latent vector also enters every block, where the UNet takes its time embedding; ``extra_embedding`` [B, 4 * channels]
    is added there: the place for a condition.
    """

    def __init__(self, sizes: Sizes, length: int, latent: int) -> None:
        super().__init__()
        self.length, self.width, self.embedding = length, sizes.widths[-1], sizes.embedding
        self.dense = nn.Linear(latent, self.width * coarsest(length, sizes))
        self.embed_1 = nn.Linear(latent, sizes.embedding)
        self.embed_2 = nn.Linear(sizes.embedding, sizes.embedding)
        self.middle = Middle(sizes, sizes.embedding)
        self.up = UpPath(sizes, COORDINATES, sizes.embedding, skips=False)

    def forward(self, z: Tensor, extra_embedding: Tensor | None = None) -> Tensor:
        embedding = self.embed_2(F.silu(self.embed_1(z)))
        if extra_embedding is not None:
            embedding = embedding + extra_embedding
        h = self.middle(self.dense(z).unflatten(1, (self.width, -1)), embedding)
        return self.up(h, self.length, None, embedding)


@lru_cache(maxsize=32)
def decoder_sizes(sizes: Sizes, length: int, latent: int) -> Sizes:
    """Sizes of the `Decoder` whose parameter count is nearest to that of the UNet of ``sizes``.

    Raises ParameterError when none comes within 10 %.
    """
    target, groups = _count(UNet, sizes), sizes.groups
    while groups >= 1:
        step = groups if groups % 2 == 0 else 2 * groups  # channels must be even
        made = [replace(sizes, channels=c, groups=groups) for c in range(step, 4 * sizes.channels + 1, step)]
        off = {m: abs(_count(Decoder, m, length, latent) / target - 1) for m in made}
        best = min(off, key=off.__getitem__)
        if off[best] <= TOLERANCE:
            return best
        groups //= 2
    raise ParameterError(
        f"no decoder comes within {TOLERANCE:.0%} of the {target:,} parameters of a UNet of channels {sizes.channels}, "
        f"multipliers {sizes.multipliers}: change channels, channel_multipliers or latent"
    )


def _count(kind: type[nn.Module], *arguments: object) -> int:
    with torch.device("meta"):
        return n_params(kind(*arguments))
