"""Per-record gradients by Opacus hooks, and their clipped sum.

One record may enter the network several times (K noise draws in a row): its gradient is the sum over its draws, taken
before clipping, so that one record still counts once. For Conv1d, Linear and GroupNorm the sum over positions and draws
is one matrix product, which makes K draws far cheaper than K per-draw gradients; other layers use Opacus' own rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from opacus.grad_sample import GradSampleModule
from opacus.grad_sample.functorch import ft_compute_per_sample_gradient
from opacus.validators import ModuleValidator
from torch import Tensor, nn

from trajkit.errors import ParameterError

REPLACEMENTS = {
    "BatchNorm1d": "torch.nn.GroupNorm",
    "BatchNorm2d": "torch.nn.GroupNorm",
    "BatchNorm3d": "torch.nn.GroupNorm",
    "SyncBatchNorm": "torch.nn.GroupNorm",
    "LSTM": "opacus.layers.DPLSTM",
    "GRU": "opacus.layers.DPGRU",
    "RNN": "opacus.layers.DPRNN",
    "MultiheadAttention": "opacus.layers.DPMultiheadAttention",
    "InstanceNorm1d": "torch.nn.GroupNorm, or InstanceNorm1d with track_running_stats=False",
}
Sampler = Callable[[nn.Module, list[Tensor], Tensor], dict[Tensor, Tensor]]


def check_supported(model: nn.Module) -> None:
    """Raise ParameterError naming each layer that mixes records or has no per-record gradient, and its replacement."""
    bad = {
        name or "(the model itself)": REPLACEMENTS[type(layer).__name__]
        for name, layer in model.named_modules()
        if type(layer).__name__ in REPLACEMENTS
        and (type(layer).__name__ != "InstanceNorm1d" or layer.track_running_stats)
    }
    if bad:
        parts = "; ".join(
            f"{name} ({type(model.get_submodule('' if name[0] == '(' else name)).__name__}) → {to}"
            for name, to in bad.items()
        )
        raise ParameterError(
            f"DP-SGD needs the gradient of each record alone, which these layers do not give: {parts}. "
            "Use the layer after the arrow instead."
        )
    errors = ModuleValidator.validate(model.train(), strict=False)
    if errors:
        raise ParameterError("DP-SGD cannot train this model: " + "; ".join(map(str, errors)))


class RecordGradients(GradSampleModule):
    """Wrap ``model`` so that ``backward`` leaves ``grad_sample`` [records, *shape] on every parameter.

    Inputs hold ``draws`` consecutive rows a record; the loss must be a sum over records.
    """

    def __init__(self, model: nn.Module, *, draws: int = 1) -> None:
        super().__init__(model, batch_first=True, loss_reduction="sum")
        self.draws = draws
        self.GRAD_SAMPLERS = _Samplers(GradSampleModule.GRAD_SAMPLERS, draws)
        for layer in model.modules():
            if type(layer) in OWN_RULES:
                self.autograd_grad_sample_hooks += [
                    layer.register_forward_pre_hook(_freeze),
                    layer.register_forward_hook(_thaw, prepend=True),
                ]

    def backward(self, losses: Tensor) -> None:
        """Back-propagate the sum of ``losses``; torch's note about layers whose input has no gradient is of no concern here."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Full backward hook is firing")
            losses.sum().backward()

    def rearrange_grad_samples(
        self, *, module: nn.Module, backprops: Tensor, loss_reduction: str, batch_first: bool
    ) -> tuple[list[Tensor], Tensor]:
        """As in Opacus, but the buffers that it sizes next hold one row a record, not one a draw."""
        activations, backprops = super().rearrange_grad_samples(
            module=module, backprops=backprops, loss_reduction=loss_reduction, batch_first=batch_first
        )
        module.max_batch_len = len(backprops) // self.draws  # type: ignore[assignment]
        return activations, backprops


def clipped_sum(parameters: list[nn.Parameter], max_grad_norm: float) -> tuple[list[Tensor], Tensor]:
    """Return (sum over records of their gradients, each scaled to L2 norm at most ``max_grad_norm``; norms before clipping).

    Abadi et al. 2016, Algorithm 1. Consumes ``grad_sample``: it is None afterwards.
    """
    return clip([_take(p) for p in parameters], max_grad_norm)


def clip(samples: list[Tensor], max_grad_norm: float) -> tuple[list[Tensor], Tensor]:
    """The same for per-record gradients [records, *shape] held in a list, one entry a parameter."""
    norms = torch.stack([s.flatten(1).norm(dim=1) for s in samples]).norm(dim=0)
    scale = (max_grad_norm / norms.clamp(min=1e-12)).clamp(max=1.0)
    return [torch.einsum("n,n...->...", scale, s) for s in samples], norms


def _take(p: nn.Parameter) -> Tensor:
    # clipped in float32 whatever the network computed in: a norm in bfloat16 can be too small by 1 %, and the bound with it
    sample: Tensor = p.grad_sample.float()  # type: ignore[attr-defined]
    p.grad_sample, p.grad = None, None  # type: ignore[attr-defined]
    return sample


class _Samplers(dict):  # type: ignore[type-arg]
    """Layer type → per-record rule: our own where there is one, else Opacus' per-row rule summed over the draws."""

    def __init__(self, opacus: dict[type, Sampler], draws: int) -> None:
        super().__init__({kind: partial(rule, draws=draws) for kind, rule in OWN_RULES.items()})
        self.opacus, self.draws = opacus, draws

    def __contains__(self, kind: object) -> bool:
        return True

    def __missing__(self, kind: type) -> Sampler:
        return partial(_summed, rule=self.opacus.get(kind, ft_compute_per_sample_gradient), draws=self.draws)


def _freeze(layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Before a layer of `OWN_RULES` runs: autograd shall not compute the batch gradient, which nobody reads, of its weights."""
    if not torch.is_grad_enabled():
        return inputs
    frozen = [p for p in layer.parameters(recurse=False) if p.requires_grad]
    for p in frozen:
        p.requires_grad_(False)
    layer.__dict__["frozen_by_us"] = frozen
    return tuple(x if x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _thaw(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    """After it ran: Opacus' hooks must find trainable weights."""
    for p in layer.__dict__.pop("frozen_by_us", ()):
        p.requires_grad_(True)


def _summed(layer: nn.Module, inputs: list[Tensor], grads: Tensor, *, rule: Sampler, draws: int) -> dict:  # type: ignore[type-arg]
    return {p: g.unflatten(0, (-1, draws)).sum(1) for p, g in rule(layer, inputs, grads).items()}


def _by_record(rows: Tensor, draws: int) -> Tensor:
    """[records * draws, c, l] → [records, c, draws * l]."""
    if draws == 1:
        return rows
    return rows.unflatten(0, (-1, draws)).transpose(1, 2).flatten(2)


def _conv1d(layer: nn.Conv1d, inputs: list[Tensor], grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    if layer.groups != 1 or layer.dilation != (1,) or isinstance(layer.padding, str):
        return _summed(layer, inputs, grads, rule=GradSampleModule.GRAD_SAMPLERS[nn.Conv1d], draws=draws)
    (size,), (stride,), (pad,) = layer.kernel_size, layer.stride, layer.padding
    x = inputs[0].to(grads.dtype)
    if stride > 1:
        cols = F.pad(x, (pad, pad)).unfold(2, size, stride).permute(0, 1, 3, 2).flatten(1, 2)
        g = _by_record(grads, draws)
        weight = torch.bmm(g, _by_record(cols, draws).transpose(1, 2)).unflatten(2, (layer.in_channels, size))
    else:
        # the draws of a record in one row, each padded to the same width, so that tap k is the row shifted by k
        width = x.shape[2] + 2 * pad
        row, g = _by_record(F.pad(x, (pad, pad)), draws), _by_record(F.pad(grads, (0, width - grads.shape[2])), draws)
        end = row.shape[2] - size + 1
        taps = [torch.bmm(g[:, :, :end], row[:, :, k : k + end].transpose(1, 2)) for k in range(size)]
        weight = torch.stack(taps, dim=3)
    out: dict[Tensor, Tensor] = {layer.weight: weight}
    if layer.bias is not None:
        out[layer.bias] = g.sum(2)
    return out


def _linear(layer: nn.Linear, inputs: list[Tensor], grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    x = inputs[0].to(grads.dtype).reshape(len(grads) // draws, -1, layer.in_features)
    g = grads.reshape(len(x), -1, layer.out_features)
    out: dict[Tensor, Tensor] = {layer.weight: torch.bmm(g.transpose(1, 2), x)}
    if layer.bias is not None:
        out[layer.bias] = g.sum(1)
    return out


def _group_norm(layer: nn.GroupNorm, inputs: list[Tensor], grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    normed = F.group_norm(inputs[0].to(grads.dtype), layer.num_groups, eps=layer.eps)
    sums = (normed * grads).flatten(2).sum(2), grads.flatten(2).sum(2)
    return {p: s.unflatten(0, (-1, draws)).sum(1) for p, s in zip((layer.weight, layer.bias), sums, strict=True)}


OWN_RULES: dict[type, Callable[..., dict[Tensor, Tensor]]] = {
    nn.Conv1d: _conv1d,
    nn.Linear: _linear,
    nn.GroupNorm: _group_norm,
}
