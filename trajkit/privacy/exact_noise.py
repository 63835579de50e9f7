"""Two-sided geometric noise without floating point: its law is exact, so its epsilon is that of the theory.

Own implementation of the sampler of Canonne, Kamath, Steinke 2020 (arXiv:2004.00010, section 5): every decision is a
comparison of whole numbers with uniform random bits. It takes a few microseconds to tens of them a draw, and its running
time depends on what is drawn, which matters only to an observer with a stopwatch.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from trajkit.errors import ParameterError

CHUNK_BYTES = 64


class _Bits:
    """Uniform whole numbers from a stream of random bytes."""

    def __init__(self, source: Callable[[int], bytes]) -> None:
        self.source, self.pool, self.left = source, 0, 0

    def below(self, n: int) -> int:
        """Uniform in 0 … n-1, by rejection."""
        width = (n - 1).bit_length()
        while True:
            value = self._take(width)
            if value < n:
                return value

    def _take(self, width: int) -> int:
        if self.left < width:
            size = max(CHUNK_BYTES, (width + 7) // 8)
            self.pool, self.left = int.from_bytes(self.source(size), "little"), 8 * size  # a remainder is dropped
        value = self.pool & ((1 << width) - 1)
        self.pool >>= width
        self.left -= width
        return value


def two_sided_geometric(scale: Fraction, size: int, rng: np.random.Generator | None = None) -> list[int]:
    """Draw ``size`` integers with P(k) proportional to exp(-|k| / scale), exactly.

    Bits come from ``rng.bytes``, or from the operating system (`secrets`) where ``rng`` is None, as for a real release.
    Raises ParameterError unless ``scale`` is above 0.
    """
    scale = Fraction(scale)
    if scale <= 0:
        raise ParameterError(f"scale = {scale}: must be above 0")
    bits = _Bits(secrets.token_bytes if rng is None else rng.bytes)
    return [_draw(scale.numerator, scale.denominator, bits) for _ in range(size)]


def _draw(t: int, s: int, bits: _Bits) -> int:
    """One draw of scale t/s: X with P(X = x) proportional to exp(-x/t) digit by digit, floor(X / s), then a sign."""
    while True:
        low = bits.below(t)
        if not _coin(low, t, bits):
            continue
        high = 0
        while _coin(1, 1, bits):
            high += 1
        size = (low + t * high) // s
        negative = bits.below(2)
        if negative and size == 0:
            continue  # zero must not be drawn twice, once for each sign
        return -size if negative else size


def _coin(a: int, b: int, bits: _Bits) -> bool:
    """True with probability exp(-a/b), 0 <= a/b <= 1: the first K whose coin a/(b K) fails is odd that often."""
    k = 1
    while bits.below(b * k) < a:
        k += 1
    return k % 2 == 1
