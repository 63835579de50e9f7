"""The condition inside a network: compress, clip or scale, noise, decompress (arXiv 2506.09312, section 5.2, five steps).

The mechanism itself is `Privatised.randomise`: it takes any float array [n, d] whose rows are bounded, whatever they stand for.
In training the same noise is drawn beside each record and differentiated through, so that the network learns on what it will
see; what protects the training set there is DP-SGD, not this noise. In generation the rows of the conditioning set go through
`Privatised.randomise` in double precision, and everything after it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trajkit.deep import attributes
from trajkit.deep.condition_config import ConditionConfig
from trajkit.privacy.mechanisms import Gaussian, Laplace, row_mechanism
from trajkit.privacy.vmf import VonMisesFisher

TINY = 1e-12
# of the norm: private vectors are rounded to this public grid, since the last bits of a float tell what was added
GRID = 2.0**-20


def bounded(rows: Tensor, *, norm: float, order: int, how: str) -> Tensor:
    """Rows [..., d] with a norm of that order of at most ``norm`` ("clip"), or of exactly ``norm`` unless they are 0 ("scale")."""
    size = torch.linalg.vector_norm(rows, ord=order, dim=-1, keepdim=True)
    return rows * (norm / size.clamp(min=norm if how == "clip" else TINY))


@dataclass(frozen=True)
class Privatised:
    """A mechanism on rows of ``d`` numbers with norm at most ``norm``, and the public factor that brings its output back to that size.

    Additive noise makes a row longer, by far where epsilon is small: the output is divided by a public number, so that
    its mean square length is at most ``norm`` and a network can take it at every epsilon. That is post-processing.
    """

    mechanism: Laplace | Gaussian | VonMisesFisher
    d: int
    norm: float

    @classmethod
    def of(cls, config: ConditionConfig, *, delta: float | None) -> Privatised | None:
        """The mechanism that ``config`` asks for; None where it asks for none."""
        if config.epsilon is None:
            return None
        made = row_mechanism(
            config.mechanism, epsilon=config.epsilon, delta=delta, norm=config.norm, dimension=config.d_out
        )
        return cls(made, config.d_out, config.norm)

    @property
    def numbers(self) -> int:
        """Random numbers that one row takes in training."""
        return self.d + isinstance(self.mechanism, VonMisesFisher)

    @property
    def _variance(self) -> float:
        m = self.mechanism
        if isinstance(m, Laplace):
            return 2 * m.scale**2
        return m.sigma**2 if isinstance(m, Gaussian) else 0.0

    @property
    def shrink(self) -> float:
        """The public factor."""
        return self.norm / math.sqrt(self.norm**2 + self.d * self._variance)

    def in_words(self) -> str:
        """The noise, without a word on what it promises."""
        m, rows = self.mechanism, f"on vectors of {self.d} numbers bounded to "
        if isinstance(m, Laplace):
            return f"Laplace noise of scale {m.scale:.4g} {rows}L1 norm {self.norm:g}"
        if isinstance(m, Gaussian):
            return f"Gaussian noise of standard deviation {m.sigma:.4g} {rows}L2 norm {self.norm:g}"
        return f"von Mises-Fisher draws of concentration {m.kappa:.4g} about the directions of {self.d} numbers"

    def draw(self, n: int, rng: np.random.Generator) -> Tensor:
        """Return float32 [n, numbers] for `apply`."""
        if isinstance(self.mechanism, VonMisesFisher):
            made = np.column_stack([self.mechanism.cosines(n, rng), rng.standard_normal((n, self.d))])
        else:
            made = self.mechanism.noise((n, self.d), rng)
        return torch.from_numpy(np.asarray(made, dtype=np.float32))

    def apply(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """What `randomise` does, differentiable in ``rows`` [n, d] given what was `draw`n."""
        if not isinstance(self.mechanism, VonMisesFisher):
            return (rows + drawn) * self.shrink
        u = bounded(rows, norm=1.0, order=2, how="scale")
        cosine, g = drawn[:, :1], drawn[:, 1:]
        tangent = bounded(g - (g * u).sum(dim=1, keepdim=True) * u, norm=1.0, order=2, how="scale")
        return self.norm * (cosine * u + (1 - cosine.square()).clamp(min=0).sqrt() * tangent)

    def randomise(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """float64 [n, d]: each row of ``rows`` [n, d] made private, independently of the others.

        A row of zeros has no direction: for VMF the first axis stands in for it. Raises ParameterError for a row beyond ``norm``.
        """
        if isinstance(self.mechanism, VonMisesFisher):
            made = self.norm * self.mechanism.randomise(_directions(rows), rng)
        else:
            made = self.shrink * self.mechanism.randomise(rows, rng)
        grid = GRID * self.norm
        return np.round(made / grid) * grid

    def expected_cosine(self, rows: np.ndarray) -> float:
        """Mean over ``rows`` [n, d] of the cosine between a row and its private version, by theory; a row of zeros counts as 0."""
        known = np.linalg.norm(rows, axis=1) > TINY
        if not known.any():
            return 0.0
        kept = _directions(rows[known]) if isinstance(self.mechanism, VonMisesFisher) else rows[known]
        return float(self.mechanism.expected_cosine(kept).sum() / len(rows))


def _directions(rows: np.ndarray) -> np.ndarray:
    """Unit vectors [n, d]; the first axis for a row of zeros."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    axis = np.eye(1, rows.shape[1])
    return np.where(size > TINY, rows / np.maximum(size, TINY), axis)


class WideDeep(nn.Module):
    """Encoded attributes [B, 8] → [B, size]: a linear layer on the numbers plus a small network on the ids (DiffTraj).

    The tables of the ids are linear layers on indicators, so that every weight has an exact per-record gradient.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.wide = nn.Linear(5, size)
        self.slot = nn.Linear(attributes.SLOTS, size, bias=False)
        self.start = nn.Linear(attributes.CELLS, size, bias=False)
        self.end = nn.Linear(attributes.CELLS, size, bias=False)
        self.deep_1, self.deep_2 = nn.Linear(3 * size, size), nn.Linear(size, size)

    def forward(self, encoded: Tensor) -> Tensor:
        tables = (self.slot, self.start, self.end)
        ids = [table(_indicator(encoded[:, c], table)) for c, table in zip(attributes.IDS, tables, strict=True)]
        deep = self.deep_2(F.relu(self.deep_1(torch.cat(ids, dim=1))))
        return self.wide(encoded[:, attributes.CONTINUOUS]) + deep


def _indicator(ids: Tensor, table: nn.Linear) -> Tensor:
    known = torch.arange(table.in_features, device=ids.device)
    return (ids[:, None].round() == known).to(table.weight.dtype)


class Compressor(nn.Module):
    """Sources [B, inputs] → bounded vectors [B, d_out]: one fully connected layer, then the bound."""

    def __init__(self, config: ConditionConfig, inputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.d_out)
        self.how = {
            "norm": config.norm,
            "order": config.order,
            "how": "scale" if config.mechanism == "vmf" else config.bound,
        }

    def forward(self, source: Tensor) -> Tensor:
        return bounded(self.dense(source), **self.how)  # type: ignore[arg-type]


class ConditionNet(nn.Module):
    """Packed rows [B, inputs + random numbers + 1] → embeddings [B, size], 0 where the last column says that there is no condition.

    With a ``compressor`` the source is compressed here and its private version mixed in with share ``mix``; without one the
    row holds the condition vector (or encoded attributes) itself.
    """

    def __init__(
        self,
        config: ConditionConfig,
        private: Privatised | None,
        compressor: Compressor | None,
        *,
        inputs: int,
        size: int,
    ) -> None:
        super().__init__()
        self.private, self.compressor, self.inputs = private, compressor, inputs
        self.mix = 1.0
        self.head: nn.Module = (
            nn.Sequential(nn.Linear(config.d_out, size), nn.SiLU(), nn.Linear(size, size))
            if config.compresses
            else WideDeep(size)
        )

    def forward(self, packed: Tensor) -> Tensor:
        vector, kept = packed[:, : self.inputs], packed[:, -1:]
        if self.compressor is not None:
            vector = mixed(self.private, self.compressor(vector), packed[:, self.inputs : -1], self.mix)
        return self.head(vector) * kept


def mixed(private: Privatised | None, rows: Tensor, drawn: Tensor, share: float) -> Tensor:
    """(1 - share) * rows + share * their private version (equation 5)."""
    return rows if private is None else torch.lerp(rows, private.apply(rows, drawn), share)


class Conditioned(nn.Module):
    """``body`` with the embedding of its last input, the packed condition, added where the time embedding enters."""

    def __init__(self, body: nn.Module, condition: ConditionNet) -> None:
        super().__init__()
        self.body, self.condition = body, condition

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.body(*inputs[:-1], extra_embedding=self.condition(inputs[-1]))


def body_of(model: nn.Module) -> nn.Module:
    """The network without what embeds its condition."""
    return model.body if isinstance(model, Conditioned) else model


def conditioned(body: nn.Module, net: ConditionNet | None) -> nn.Module:
    """``body`` with ``net`` where there is one."""
    return body if net is None else Conditioned(body, net)


def embedded(model: nn.Module, vectors: Tensor | None, device: torch.device) -> Tensor | None:
    """The embeddings [n, size] of condition vectors, to be handed to the body; None without a condition."""
    if not isinstance(model, Conditioned) or vectors is None:
        return None
    return model.condition.head(vectors.to(device))


def decoded(model: nn.Module, z: Tensor, vectors: Tensor | None, *, batch: int = 512) -> Tensor:
    """What a decoder, conditioned or not, makes of latent vectors ``z`` [n, latent] and condition vectors [n, …]: [n, 2, L]."""
    embedding, decoder = embedded(model, vectors, z.device), body_of(model)
    if embedding is None:
        return torch.cat([decoder(part) for part in z.split(batch)])
    return torch.cat([decoder(a, b) for a, b in zip(z.split(batch), embedding.split(batch), strict=True)])
