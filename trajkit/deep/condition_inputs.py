"""The condition of a training record, as an objective hands it to its network: one packed row beside the others."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trajkit.deep import attributes
from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.conditioning import Compressor, ConditionNet, Privatised, mixed
from trajkit.deep.unet import COORDINATES
from trajkit.trajectories import Trajectories

NOISE, KEPT = "condition noise", "condition kept"


class ConditionInputs:
    """Takes records apart into trajectory and source, draws the condition's random numbers, packs the rows for `ConditionNet`.

    ``net``: whose share of the private version follows the schedule, from 0 to 1 over ``mix_steps``. ``fixed``: a compressor
    outside the network (the GAN's).
    """

    def __init__(
        self,
        config: ConditionConfig,
        private: Privatised | None,
        *,
        length: int,
        half_box: float,
        mix_steps: int = 0,
        net: ConditionNet | None = None,
        fixed: Compressor | None = None,
    ) -> None:
        self.config, self.private, self.length, self.half_box = config, private, length, half_box
        self.mix_steps, self.net, self.fixed, self.mix = mix_steps, net, fixed, 1.0

    @property
    def active(self) -> bool:
        """Whether there is a condition."""
        return self.config.is_conditional

    def begin_step(self, step: int) -> None:
        """Raise the share of the private version linearly from 0 to 1 over ``mix_steps`` steps."""
        self.mix = min(1.0, step / self.mix_steps) if self.mix_steps else 1.0
        if self.net is not None:
            self.net.mix = self.mix

    def split(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """(trajectories [n, 2, L], sources [n, inputs]); a record with attributes is one row [n, 2 L + columns]."""
        if batch.dim() == 3:
            return batch, batch.flatten(1) / self.half_box
        points = COORDINATES * self.length
        return batch[:, :points].unflatten(1, (COORDINATES, -1)), batch[:, points:]

    def draw(self, records: int, draws: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return what `rows` needs, [records, draws, …]; nothing where there is no condition."""
        if not self.active:
            return {}
        out = {KEPT: (torch.rand(records, draws, 1, generator=generator) >= self.config.drop).float()}
        if self.private is not None:
            rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
            out[NOISE] = self.private.draw(records * draws, rng).unflatten(0, (records, draws))
        return out

    def rows(self, source: Tensor, drawn: dict[str, Tensor], draws: int) -> tuple[Tensor, ...]:
        """The last input of the network: packed rows [n * draws, …], or nothing where there is no condition."""
        if not self.active:
            return ()
        source = source.repeat_interleave(draws, dim=0)
        noise = drawn[NOISE].flatten(0, 1) if NOISE in drawn else source[:, :0]
        if self.fixed is not None:
            with torch.no_grad():
                source, noise = mixed(self.private, self.fixed(source), noise, self.mix), source[:, :0]
        return (torch.cat([source, noise, drawn[KEPT].flatten(0, 1)], dim=1),)


def no_condition(length: int, half_box: float = 1.0) -> ConditionInputs:
    """The inputs of a network without a condition."""
    return ConditionInputs(ConditionConfig(), None, length=length, half_box=half_box)


def source_columns(config: ConditionConfig, trajs: Trajectories) -> Tensor | None:
    """float32 [n, columns] of attributes to be packed behind the points; None where the trajectory itself is the source."""
    if config.type != "attributes":
        return None
    encoded = attributes.encode(attributes.trip_attributes(trajs))
    made = attributes.features(encoded) if config.compresses else encoded
    return torch.from_numpy(made.astype(np.float32))


def inputs_of(config: ConditionConfig, length: int) -> int:
    """Numbers of a source."""
    if config.type == "sample":
        return COORDINATES * length
    return attributes.FEATURES if config.compresses else len(attributes.NAMES)


def condition_net(
    config: ConditionConfig, private: Privatised | None, *, length: int, size: int, compress: bool = True
) -> ConditionNet:
    """The part of a network that embeds its condition; without ``compress`` rows hold the vector itself."""
    inputs = inputs_of(config, length)
    compressor = Compressor(config, inputs) if compress and config.compresses else None
    if config.compresses and not compress:
        inputs = config.d_out
    return ConditionNet(config, private, compressor, inputs=inputs, size=size)


def fixed_compressor(config: ConditionConfig, length: int) -> Compressor | None:
    """A compressor that is not trained: orthonormal random rows, from the present torch seed; None where nothing is compressed."""
    if not config.compresses:
        return None
    made = Compressor(config, inputs_of(config, length))
    torch.nn.init.orthogonal_(made.dense.weight)
    torch.nn.init.zeros_(made.dense.bias)
    return made.requires_grad_(False)
