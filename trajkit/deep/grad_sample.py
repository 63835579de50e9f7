"""Per-record gradients by hooks, and their clipped sum.

A layer's weights are taken out of autograd while it runs; when the gradient of its output arrives, a rule makes of it and
of the layer's input one gradient a record. For Conv1d, Linear and GroupNorm the rule is our own: one small matrix product
a record; other layers use Opacus' rule for their type. Against Opacus' hooks, which this replaces, the batch gradient that
nobody reads is not computed, nothing is zeroed and copied, and kernels stay in the order in which they were made.

One record may enter the network several times (K noise draws in a row): its gradient is the sum over its draws, taken
before clipping, so that one record still counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from opacus.grad_sample import GradSampleModule
from opacus.grad_sample.functorch import ft_compute_per_sample_gradient, prepare_layer
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
# (layer, its input, gradient of its output, draws=rows a record) -> per-record gradients of its parameters
Rule = Callable[..., dict[Tensor, Tensor]]


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


class RecordGradients(nn.Module):
    """Wrap ``model`` so that ``backward`` leaves ``grad_sample`` [records, *shape] on every trained parameter.

    Inputs hold ``draws`` consecutive rows a record; the loss must be a sum over records. While ``active`` is false the hooks
    stand still and the model is an ordinary one.
    """

    def __init__(self, model: nn.Module, *, draws: int = 1) -> None:
        super().__init__()
        self.model, self.draws, self.active = model, draws, True
        self.handles = []
        for layer in model.modules():
            if any(p.requires_grad for p in layer.parameters(recurse=False)):
                rule = _rule(layer)
                self.handles += [
                    layer.register_forward_pre_hook(self._before),
                    layer.register_forward_hook(partial(self._after, rule=rule)),
                ]

    def forward(self, *inputs: Tensor) -> Tensor:
        """Run the model."""
        return self.model(*inputs)

    def backward(self, losses: Tensor) -> None:
        """Back-propagate the sum of ``losses``."""
        losses.sum().backward()

    def remove_hooks(self) -> None:
        """Leave the model as it was."""
        for handle in self.handles:
            handle.remove()

    def _before(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if self.active and torch.is_grad_enabled():
            trained = [p for p in layer.parameters(recurse=False) if p.requires_grad]
            for p in trained:
                p.requires_grad_(False)
            layer.__dict__["trained_parameters"] = trained

    def _after(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor, *, rule: Rule) -> None:
        for p in layer.__dict__.pop("trained_parameters", ()):
            p.requires_grad_(True)
        if self.active and torch.is_grad_enabled():
            if not output.requires_grad:
                output.requires_grad_()
            output.register_hook(partial(_capture, layer, inputs[0].detach(), partial(rule, draws=self.draws)))


def _capture(layer: nn.Module, x: Tensor, rule: Rule, grads: Tensor) -> None:
    for p, sample in rule(layer, x, grads).items():
        if p.requires_grad:
            before = getattr(p, "grad_sample", None)
            p.grad_sample = sample if before is None else before + sample  # type: ignore[attr-defined]


def clipped_sum(parameters: list[nn.Parameter], max_grad_norm: float) -> tuple[list[Tensor], Tensor]:
    """Return (sum over records of their gradients, each scaled to L2 norm at most ``max_grad_norm``; norms before clipping).

    Abadi et al. 2016, Algorithm 1. Consumes ``grad_sample``: it is None afterwards.
    """
    return clip([_take(p) for p in parameters], max_grad_norm)


def clip(samples: list[Tensor], max_grad_norm: float) -> tuple[list[Tensor], Tensor]:
    """The same for per-record gradients [records, *shape] held in a list, one entry a parameter; never in less than their own precision."""
    flat = [_parts(s) for s in samples]
    with torch.autocast("cuda" if flat[0].is_cuda else "cpu", enabled=False):
        norms = torch.cat([torch.linalg.vector_norm(f, dim=2) for f in flat]).norm(dim=0)
        scale = (max_grad_norm / norms.clamp(min=1e-12)).clamp(max=1.0)
        sums = [torch.matmul(scale, f) for f in flat]
    return [_shaped(total, s) for total, s in zip(sums, samples, strict=True)], norms


def _parts(sample: Tensor) -> Tensor:
    """``sample`` [records, *shape] as [parts, records, elements] without a copy; a kernel's taps lie one after the other in memory."""
    if _by_tap(sample):
        return sample.permute(3, 0, 1, 2).flatten(2)
    return sample.flatten(1)[None]


def _shaped(total: Tensor, sample: Tensor) -> Tensor:
    """A sum over records [parts, elements] in the shape of the parameter."""
    if _by_tap(sample):
        return total.unflatten(1, sample.shape[1:3]).permute(1, 2, 0).contiguous()
    return total.reshape(sample.shape[1:])


def _by_tap(sample: Tensor) -> bool:
    return sample.dim() == 4 and sample.stride(3) > sample.stride(0)


def _take(p: nn.Parameter) -> Tensor:
    # clipped in float32 whatever the network computed in: a norm in bfloat16 can be too small by 1 %, and the bound with it
    sample: Tensor = p.grad_sample.float()  # type: ignore[attr-defined]
    p.grad_sample, p.grad = None, None  # type: ignore[attr-defined]
    return sample


def _rule(layer: nn.Module) -> Rule:
    """Our own rule for the type of ``layer``, else Opacus', else `torch.func` on the layer."""
    if type(layer) in OWN_RULES and (not isinstance(layer, nn.Conv1d) or _plain_conv(layer)):
        return OWN_RULES[type(layer)]
    opacus = GradSampleModule.GRAD_SAMPLERS.get(type(layer))
    if opacus is None:
        prepare_layer(layer, batch_first=True)
        opacus = ft_compute_per_sample_gradient
    return partial(_summed, rule=opacus)


def _summed(
    layer: nn.Module, x: Tensor, grads: Tensor, *, rule: Callable[..., dict], draws: int
) -> dict[Tensor, Tensor]:  # type: ignore[type-arg]
    return {p: g.unflatten(0, (-1, draws)).sum(1) for p, g in rule(layer, [x], grads).items()}


def _by_record(rows: Tensor, draws: int) -> Tensor:
    """[records * draws, c, l] → [records, c, draws * l]."""
    if draws == 1:
        return rows
    return rows.unflatten(0, (-1, draws)).transpose(1, 2).flatten(2)


def _plain_conv(layer: nn.Conv1d) -> bool:
    return layer.groups == 1 and layer.dilation == (1,) and not isinstance(layer.padding, str)


def _conv1d(layer: nn.Conv1d, x: Tensor, grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    (size,), (stride,), padding = layer.kernel_size, layer.stride, layer.padding
    assert not isinstance(padding, str)  # `_plain_conv` keeps those away
    pad = padding[0]
    x = x.to(grads.dtype)
    if stride > 1:
        cols = F.pad(x, (pad, pad)).unfold(2, size, stride).permute(0, 1, 3, 2).flatten(1, 2)
        g = _by_record(grads, draws)
        weight = torch.bmm(g, _by_record(cols, draws).transpose(1, 2)).unflatten(2, (layer.in_channels, size))
    else:
        # tap k pairs position t of the output with t + k - pad of the input: what lies outside counts nothing
        if draws > 1:  # the draws of a record in one row, with room between them
            width = x.shape[2] + 2 * pad
            x, g = _by_record(F.pad(x, (pad, pad)), draws), _by_record(F.pad(grads, (0, width - grads.shape[2])), draws)
            pad = 0
        else:
            g = grads
        kernel = torch.empty(size, len(g), layer.out_channels, layer.in_channels, dtype=g.dtype, device=g.device)
        for k in range(size):
            start, end = max(0, pad - k), min(g.shape[2], x.shape[2] + pad - k)
            taken = x[:, :, start + k - pad : end + k - pad]
            torch.bmm(g[:, :, start:end], taken.transpose(1, 2), out=kernel[k])
        weight = kernel.permute(1, 2, 3, 0)
    out: dict[Tensor, Tensor] = {layer.weight: weight}
    if layer.bias is not None:
        out[layer.bias] = g.sum(2)
    return out


def _linear(layer: nn.Linear, x: Tensor, grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    x = x.to(grads.dtype).reshape(len(grads) // draws, -1, layer.in_features)
    g = grads.reshape(len(x), -1, layer.out_features)
    out: dict[Tensor, Tensor] = {layer.weight: torch.bmm(g.transpose(1, 2), x)}
    if layer.bias is not None:
        out[layer.bias] = g.sum(1)
    return out


def _group_norm(layer: nn.GroupNorm, x: Tensor, grads: Tensor, *, draws: int) -> dict[Tensor, Tensor]:
    normed = F.group_norm(x.to(grads.dtype), layer.num_groups, eps=layer.eps)
    sums = (normed * grads).flatten(2).sum(2), grads.flatten(2).sum(2)
    return {p: s.unflatten(0, (-1, draws)).sum(1) for p, s in zip((layer.weight, layer.bias), sums, strict=True)}


OWN_RULES: dict[type, Callable[..., dict[Tensor, Tensor]]] = {
    nn.Conv1d: _conv1d,
    nn.Linear: _linear,
    nn.GroupNorm: _group_norm,
}
