"""Counts what a piece of torch code does: floating-point operations, bytes read and written, calls, and the most memory it held.

It counts on any device; on "meta" tensors nothing is computed, so that a step of the largest network is counted in a moment. Operations are counted
by torch's own formulas (`torch.utils.flop_counter`), but for convolutions: a multiplication and an addition are two.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

CONVOLUTIONS = ("convolution", "convolution_backward")
NO_KERNEL = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view")


class Call(NamedTuple):
    """One kernel: operations, bytes of its inputs and outputs, and whether it is a convolution (GPUs do those in another arithmetic)."""

    flops: int
    nbytes: int
    convolution: bool


@dataclass(frozen=True)
class Work:
    """How often each kind of call is made; the calls may be scaled, so the counts are floats."""

    calls: tuple[tuple[Call, float], ...] = ()

    @classmethod
    def of(cls, calls: Iterable[Any]) -> Work:
        """From ((flops, nbytes, convolution), times) as JSON holds them."""
        return cls(tuple((Call(*call), float(times)) for call, times in calls))

    def __add__(self, other: Work) -> Work:
        total: Counter[Call] = Counter()
        for call, times in (*self.calls, *other.calls):
            total[call] += times  # type: ignore[assignment]
        return Work(tuple(total.items()))

    def __mul__(self, times: float) -> Work:
        return Work(tuple((call, n * times) for call, n in self.calls))

    @property
    def flops(self) -> float:
        """Floating-point operations."""
        return sum(call.flops * n for call, n in self.calls)

    @property
    def nbytes(self) -> float:
        """Bytes read and written, each tensor once a call."""
        return sum(call.nbytes * n for call, n in self.calls)

    @property
    def n_calls(self) -> float:
        """Number of calls."""
        return sum(n for _, n in self.calls)


class Meter(TorchDispatchMode):
    """Counts all that runs inside ``with Meter() as meter``: ``work`` and ``peak``, the most bytes of tensors made inside and held at once."""

    def __init__(self) -> None:
        super().__init__()
        self.held = self.peak = 0
        self._calls: Counter[Call] = Counter()
        self._known: set[int] = set()

    @property
    def work(self) -> Work:
        """What was counted."""
        return Work(tuple((call, float(n)) for call, n in self._calls.items()))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        made = _tensors(out)
        if not func.is_view and func._overloadpacket.__name__ not in NO_KERNEL:
            given = _tensors((args, {k: v for k, v in kwargs.items() if k != "out"}))
            nbytes = sum(t.numel() * t.element_size() for t in (*given, *made))
            name = func._overloadpacket.__name__
            self._calls[Call(_flops(func, args, kwargs, out), nbytes, name in CONVOLUTIONS)] += 1
            for tensor in given:
                self._known.add(_key(tensor))
        for tensor in made:
            self._hold(tensor)
        return out

    def _hold(self, tensor: Tensor) -> None:
        storage, key = tensor.untyped_storage(), _key(tensor)
        if key in self._known:
            return
        self._known.add(key)
        size = storage.nbytes()
        self.held += size
        self.peak = max(self.peak, self.held)
        weakref.finalize(storage, self._free, key, size).atexit = False

    def _free(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.held -= size


def _flops(func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> int:
    """Operations of one call. Convolutions by our own formula: torch's forgets the groups in the backward pass, which per-record gradients use."""
    name = func._overloadpacket.__name__
    if name == "convolution":
        x, weight, transposed = args[0], args[1], args[6]
        return 2 * (x if transposed else out).numel() * math.prod(weight.shape[1:])
    if name == "convolution_backward":
        grads, x, weight, transposed, wanted = args[0], args[1], args[2], args[7], args[10]
        return 2 * (x if transposed else grads).numel() * math.prod(weight.shape[1:]) * sum(wanted[:2])
    count = flop_registry.get(func._overloadpacket)
    return int(count(*args, **kwargs, out_val=out)) if count else 0


def _tensors(values: Any) -> Iterable[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
