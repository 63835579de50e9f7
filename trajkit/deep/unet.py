"""The 1-D UNet that every deep generator shares, with the sizes of DiffTraj (Zhu et al. 2023), and its two halves.

`DownPath` and `UpPath` stand alone, so that an encoder, a decoder or a critic is made of the same blocks. Only Conv1d,
Linear and GroupNorm hold parameters: each of them has exact per-record gradients (see `grad_sample`), and none mixes records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trajkit.errors import ParameterError

COORDINATES = 2


@dataclass(frozen=True)
class Sizes:
    """Widths and depth. Level i has ``channels * multipliers[i]`` channels and half the positions of level i - 1."""

    channels: int = 128
    multipliers: tuple[int, ...] = (1, 2, 2, 2)
    blocks: int = 2
    groups: int = 32
    attention: bool = True

    def __post_init__(self) -> None:
        widths = self.widths
        if not widths or min(widths) < 1 or self.blocks < 1 or self.groups < 1:
            raise ParameterError(f"{self} is no network: channels, multipliers, blocks and groups must be at least 1")
        if any(width % self.groups for width in widths) or self.channels % 2:
            raise ParameterError(
                f"widths {widths} must be multiples of groups = {self.groups} (GroupNorm) and channels even "
                "(sine and cosine): change channels or groups"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels per level, finest first."""
        return tuple(self.channels * m for m in self.multipliers)

    @property
    def embedding(self) -> int:
        """Size of the time (and condition) embedding: four times the base channels."""
        return 4 * self.channels


def sinusoidal(t: Tensor, size: int) -> Tensor:
    """Return [B, size]: sine and cosine of ``t`` [B] at frequencies from 1 down to 1e-4 (Ho et al. 2020)."""
    half = size // 2
    frequency = torch.exp(-math.log(10_000.0) / max(half - 1, 1) * torch.arange(half, device=t.device))
    angle = t.float()[:, None] * frequency[None, :]
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class TimeEmbedding(nn.Module):
    """Diffusion step [B] → [B, embedding]: sinusoidal, Linear, SiLU, Linear."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.size = sizes.channels
        self.dense_1 = nn.Linear(sizes.channels, sizes.embedding)
        self.dense_2 = nn.Linear(sizes.embedding, sizes.embedding)

    def forward(self, t: Tensor) -> Tensor:
        return self.dense_2(F.silu(self.dense_1(sinusoidal(t, self.size))))


class ResBlock(nn.Module):
    """Two (GroupNorm, SiLU, Conv 3) with a shortcut; the embedding, where there is one, is added between them."""

    def __init__(self, inputs: int, outputs: int, groups: int, embedding: int | None) -> None:
        super().__init__()
        self.norm_1 = nn.GroupNorm(math.gcd(groups, inputs), inputs, eps=1e-6)
        self.conv_1 = nn.Conv1d(inputs, outputs, 3, padding=1)
        self.embed = nn.Linear(embedding, outputs) if embedding else None
        self.norm_2 = nn.GroupNorm(groups, outputs, eps=1e-6)
        self.conv_2 = nn.Conv1d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, embedding: Tensor | None = None) -> Tensor:
        h = self.conv_1(F.silu(self.norm_1(x)))
        if self.embed is not None and embedding is not None:
            h = h + self.embed(F.silu(embedding))[:, :, None]
        return self.shortcut(x) + self.conv_2(F.silu(self.norm_2(h)))


class Attention(nn.Module):
    """Self-attention over positions with one head; queries, keys and values are 1x1 convolutions."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, width, eps=1e-6)
        self.query, self.key, self.value, self.out = (nn.Conv1d(width, width, 1) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        weight = torch.bmm(self.query(h).transpose(1, 2), self.key(h)) * x.shape[1] ** -0.5
        return x + self.out(torch.bmm(self.value(h), weight.softmax(dim=2).transpose(1, 2)))


class Middle(nn.Module):
    """Block, attention, block at the coarsest level."""

    def __init__(self, sizes: Sizes, embedding: int | None) -> None:
        super().__init__()
        width = sizes.widths[-1]
        self.block_1 = ResBlock(width, width, sizes.groups, embedding)
        self.attention = Attention(width, sizes.groups) if sizes.attention else nn.Identity()
        self.block_2 = ResBlock(width, width, sizes.groups, embedding)

    def forward(self, x: Tensor, embedding: Tensor | None = None) -> Tensor:
        return self.block_2(self.attention(self.block_1(x, embedding)), embedding)


class Level(nn.Module):
    """The blocks of one resolution, and the convolution that goes with the change to the next."""

    def __init__(self, blocks: nn.ModuleList, resize: nn.Module) -> None:
        super().__init__()
        self.blocks, self.resize = blocks, resize


class DownPath(nn.Module):
    """[B, in, L] → list of features, finest first: the input convolution, every block, every stride-2 convolution.

    The last one has ceil(L / 2^(levels - 1)) positions; the others are what the up path may take as skip connections.
    """

    def __init__(self, sizes: Sizes, inputs: int, embedding: int | None) -> None:
        super().__init__()
        self.conv_in = nn.Conv1d(inputs, sizes.channels, 3, padding=1)
        self.levels = nn.ModuleList()
        width = sizes.channels
        for level, target in enumerate(sizes.widths):
            blocks = nn.ModuleList()
            for _ in range(sizes.blocks):
                blocks.append(ResBlock(width, target, sizes.groups, embedding))
                width = target
            last = level == len(sizes.widths) - 1
            shrink = nn.Identity() if last else nn.Conv1d(width, width, 3, stride=2, padding=1)
            self.levels.append(Level(blocks, shrink))

    def forward(self, x: Tensor, embedding: Tensor | None = None) -> list[Tensor]:
        features = [self.conv_in(x)]
        for i, level in enumerate(_levels(self.levels)):
            for block in level.blocks:
                features.append(block(features[-1], embedding))
            if i < len(self.levels) - 1:
                features.append(level.resize(features[-1]))
        return features


class UpPath(nn.Module):
    """Coarsest features → [B, out, L], with ``blocks + 1`` blocks a level; nearest upsampling, then a convolution.

    With ``skips`` it takes the features of a `DownPath` of the same sizes; without, only the coarsest (a decoder).
    """

    def __init__(self, sizes: Sizes, outputs: int, embedding: int | None, *, skips: bool = True) -> None:
        super().__init__()
        self.skips = skips
        widths = sizes.widths
        below = (sizes.channels, *widths[:-1])
        width = widths[-1]
        self.levels = nn.ModuleList()
        for level in reversed(range(len(widths))):
            blocks = nn.ModuleList()
            for k in range(sizes.blocks + 1):
                skip = (below[level] if k == sizes.blocks else widths[level]) if skips else 0
                blocks.append(ResBlock(width + skip, widths[level], sizes.groups, embedding))
                width = widths[level]
            grow = nn.Conv1d(width, width, 3, padding=1) if level else nn.Identity()
            self.levels.append(Level(blocks, grow))
        self.norm_out = nn.GroupNorm(sizes.groups, width, eps=1e-6)
        self.conv_out = nn.Conv1d(width, outputs, 3, padding=1)

    def forward(self, h: Tensor, length: int, features: list[Tensor] | None, embedding: Tensor | None = None) -> Tensor:
        stack = list(features or [])
        sizes = _lengths(length, len(self.levels))
        for i, level in enumerate(_levels(self.levels)):
            for block in level.blocks:
                h = block(torch.cat([h, stack.pop()], dim=1) if self.skips else h, embedding)
            if i < len(self.levels) - 1:
                h = level.resize(F.interpolate(h, size=sizes[-2 - i]))
        return self.conv_out(F.silu(self.norm_out(h)))


class UNet(nn.Module):
    """Prediction [B, 2, L] for noisy trajectories [B, 2, L] at diffusion steps ``t`` [B]; any L >= 2^(levels - 1) works.

    ``extra_embedding`` [B, 4 * channels] is added to the time embedding: the place for a condition.
    """

    def __init__(self, sizes: Sizes, *, coordinates: int = COORDINATES) -> None:
        super().__init__()
        self.sizes = sizes
        self.time = TimeEmbedding(sizes)
        self.down = DownPath(sizes, coordinates, sizes.embedding)
        self.middle = Middle(sizes, sizes.embedding)
        self.up = UpPath(sizes, coordinates, sizes.embedding)

    def forward(self, x: Tensor, t: Tensor, extra_embedding: Tensor | None = None) -> Tensor:
        embedding = self.time(t)
        if extra_embedding is not None:
            embedding = embedding + extra_embedding
        features = self.down(x, embedding)
        h = self.middle(features[-1], embedding)
        return self.up(h, x.shape[-1], features, embedding)


def n_params(model: nn.Module) -> int:
    """Return the number of trainable parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def _lengths(length: int, levels: int) -> list[int]:
    """Positions at each level, finest first, as stride-2 convolutions with padding 1 leave them."""
    out = [length]
    for _ in range(levels - 1):
        out.append((out[-1] + 1) // 2)
    return out


def _levels(modules: nn.ModuleList) -> list[Level]:
    return [m for m in modules if isinstance(m, Level)]
