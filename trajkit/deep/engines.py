"""Three ways to the gradient sum of a physical batch: whole (plain), per record by hooks, per record by `torch.func`.

The hooks are the fastest; they see one backward pass only. A loss that contains the network's own input gradient (a
gradient penalty) differentiates twice, which only `torch.func` does record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from opacus.grad_sample import GradSampleModule
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from trajkit.deep.grad_sample import RecordGradients, check_supported, clip, clipped_sum
from trajkit.errors import ParameterError

NOT_COMPILED = (
    "compile: only regime plain, and a GAN whose lipschitz is slope or projection, can be compiled: gradients a record come by hooks, and a penalty "
    "is differentiated twice; leave compile out"
)
# (network, inputs of the batch) -> loss of each record
Losses = Callable[[nn.Module, dict[str, Tensor]], Tensor]


def of_records(objective: HasLosses) -> Losses:
    """The losses of ``objective`` as an engine takes them: inputs hold the batch as "record" and what was drawn for it."""

    def losses(network: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        drawn = {k: v for k, v in inputs.items() if k != "record"}
        return objective.losses(network, inputs["record"], drawn)

    return losses


class HasLosses(Protocol):
    """What has a loss a record."""

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor: ...


class Engine(Protocol):
    """`summed` returns (losses [records], gradient sum, norms before clipping [records] or empty).

    ``draws`` rows of the network belong to one record, where that differs from what the engine was made for.
    """

    def summed(
        self, losses: Losses, inputs: dict[str, Tensor], counts: Tensor, *, draws: int | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]: ...

    @property
    def network(self) -> nn.Module:
        """The model as the losses see it."""
        ...

    def close(self) -> None:
        """Leave the model as it was."""
        ...


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that are trained, in the order in which every engine returns their gradients."""
    return [p for p in model.parameters() if p.requires_grad]


def adamw(
    parameters: list[nn.Parameter], *, learning_rate: float, betas: tuple[float, float], weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """AdamW in one pass over all parameters; on "meta", where that is unknown and nothing is computed, in several."""
    fused = parameters[0].device.type != "meta"
    return torch.optim.AdamW(parameters, lr=learning_rate, betas=betas, weight_decay=weight_decay, fused=fused)


def make_engine(
    model: nn.Module, *, draws: int, second_order: bool, max_grad_norm: float | None, compiled: bool = False
) -> Engine:
    """The fastest engine that is exact; without ``max_grad_norm`` nothing is clipped.

    ``compiled``: the network goes through `torch.compile`. Raises ParameterError for a model that cannot be trained record by record, and
    where nothing can be compiled: hooks, and a second differentiation, are not.
    """
    if compiled and (second_order or max_grad_norm is not None):
        raise ParameterError(NOT_COMPILED)
    if max_grad_norm is None:
        return Whole(model, compiled=compiled)
    check_supported(model)
    return Functional(model, max_grad_norm) if second_order else Hooked(model, max_grad_norm, draws)


class Whole:
    """Autograd over the whole batch."""

    def __init__(self, model: nn.Module, *, compiled: bool = False) -> None:
        self.network, self.parameters = model, trainable(model)
        if compiled:
            self.network = torch.compile(model)  # type: ignore[assignment]

    def summed(
        self, losses: Losses, inputs: dict[str, Tensor], counts: Tensor, *, draws: int | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        values = losses(self.network, inputs) * counts
        values.sum().backward()
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        for p in self.parameters:
            p.grad = None
        return values.detach(), gradients, torch.zeros(0)

    def close(self) -> None:
        pass


class Hooked:
    """Per-record gradients by hooks."""

    def __init__(self, model: nn.Module, max_grad_norm: float, draws: int) -> None:
        self.network, self.max_grad_norm, self.draws = RecordGradients(model, draws=draws), max_grad_norm, draws
        self.parameters = trainable(model)

    def summed(
        self, losses: Losses, inputs: dict[str, Tensor], counts: Tensor, *, draws: int | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        self.network.draws = self.draws if draws is None else draws
        values = losses(self.network, inputs) * counts
        self.network.backward(values)
        gradients, norms = clipped_sum(self.parameters, self.max_grad_norm)
        for p in self.parameters:
            p.grad = None
        return values.detach(), gradients, norms

    def close(self) -> None:
        self.network.remove_hooks()


class Functional:
    """Per-record gradients by `torch.func`: exact for losses that contain gradients of the network."""

    def __init__(self, model: nn.Module, max_grad_norm: float) -> None:
        self.network, self.max_grad_norm = model, max_grad_norm

    def summed(
        self, losses: Losses, inputs: dict[str, Tensor], counts: Tensor, *, draws: int | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        weights = {name: p.detach() for name, p in self.network.named_parameters() if p.requires_grad}

        def one(weights: dict[str, Tensor], row: dict[str, Tensor], count: Tensor) -> Tensor:
            bound = _Bound(self.network, weights)
            return losses(bound, {k: v[None] for k, v in row.items()})[0] * count

        samples, values = vmap(grad_and_value(one), in_dims=(None, 0, 0))(weights, inputs, counts)
        gradients, norms = clip([g.float() for g in samples.values()], self.max_grad_norm)
        return values.detach(), gradients, norms

    def close(self) -> None:
        pass


class _Bound(nn.Module):
    """``model`` with other weights."""

    def __init__(self, model: nn.Module, weights: dict[str, Tensor]) -> None:
        super().__init__()
        object.__setattr__(self, "bound", (model, weights))

    def forward(self, *arguments: Tensor) -> Tensor:
        model, weights = self.bound  # type: ignore[misc]
        return functional_call(model, weights, arguments)


def check_single_device(model: nn.Module) -> None:
    """Raise ParameterError for a model that is wrapped or spread over devices or processes."""
    wrapped = type(model).__name__ in ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")
    devices = {p.device for p in model.parameters()}
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    processes = torch.distributed.get_world_size() if distributed else 1
    if wrapped or isinstance(model, GradSampleModule) or len(devices) > 1 or processes > 1:
        raise ParameterError(
            f"{type(model).__name__} on {len(devices)} device(s) in {processes} processes: each copy of a wrapped or spread model "
            "would draw its own batch and add its own noise, which the accounting does not cover; pass the bare module, on one device"
        )


@contextmanager
def bystander(network: nn.Module) -> Iterator[nn.Module]:
    """``network`` as a part of another one's loss, or asked for its input gradient: its per-record hooks stand still."""
    hooked = network if isinstance(network, RecordGradients) else None
    if hooked is not None:
        hooked.active = False
    try:
        yield network
    finally:
        if hooked is not None:
            hooked.active = True
