"""Geometric noise without floating point: its law is exact, so its epsilon is that of the theory.

Own implementation of the sampler of Canonne, Kamath, Steinke 2020 (arXiv:2004.00010, section 5): every decision is a
comparison of whole numbers with uniform random bits. A draw takes about a quarter of a microsecond; its running time depends on
what is drawn, which matters only to an observer with a stopwatch. `tail_binomial` counts how many of many such draws pass a
threshold without making them, and is exact as well.
"""

from __future__ import annotations

import decimal
import secrets
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numba import njit

from trajkit.errors import ParameterError

MOST_WORDS = 1 << 22  # random words asked for at once
MOST_NUMERATOR = 1 << 53  # so that numerator times the rounds of a coin stays below 2^63
MOST_ROUNDS = 1 << 9  # a coin goes on for k rounds with probability 1/k!, here below 1e-1000


class Bits:
    """Uniform random words from ``rng.bytes``, or from the operating system where ``rng`` is None."""

    def __init__(self, rng: np.random.Generator | None) -> None:
        self._source = secrets.token_bytes if rng is None else rng.bytes

    def words(self, n: int) -> np.ndarray:
        """uint64 [n]."""
        return np.frombuffer(self._source(8 * n), dtype=np.uint64)

    def whole(self, width: int) -> int:
        """Uniform in 0 … 2^width - 1."""
        return int.from_bytes(self._source((width + 7) // 8), "little") & ((1 << width) - 1)

    def distinct(self, most: int, k: int) -> np.ndarray:
        """int64 [k], rising: a uniform choice of ``k`` of 0 … most - 1 without replacement."""
        if k > most // 2:
            rest = self.distinct(most, most - k)
            return np.setdiff1d(np.arange(most), rest, assume_unique=True)
        shift = np.uint64(64 - max(1, (most - 1).bit_length()))
        found = np.empty(0, dtype=np.uint64)
        while len(found) < k:
            more = self.words(2 * (k - len(found)) + 16) >> shift
            found = np.concatenate([found, more[more < most]])
            found = found[np.sort(np.unique(found, return_index=True)[1])][:k]  # the first k distinct ones, in order
        return np.sort(found).astype(np.int64)


def two_sided_geometric(scale: Fraction, size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """int64 [size] with P(k) proportional to exp(-|k| / scale), exactly.

    Bits come from ``rng.bytes``, or from the operating system (`secrets`) where ``rng`` is None, as for a real release.
    Raises ParameterError unless ``scale`` is above 0 and its numerator at most 2^53.
    """
    return _draws(scale, size, rng, both_sides=True)


def one_sided_geometric(scale: Fraction, size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """int64 [size] with P(k) proportional to exp(-k / scale), k >= 0, exactly: what two-sided noise exceeds a threshold by."""
    return _draws(scale, size, rng, both_sides=False)


def _draws(scale: Fraction, size: int, rng: np.random.Generator | None, *, both_sides: bool) -> np.ndarray:
    scale = Fraction(scale)
    if scale <= 0:
        raise ParameterError(f"scale = {scale}: must be above 0")
    t, s = scale.numerator, scale.denominator
    if t > MOST_NUMERATOR:
        raise ParameterError(f"scale = {scale}: its numerator is above 2^53, round it up to a float first")
    if s >= 1 << 62:
        # below 2^53 / 2^62 every draw but one in e^512 is 0; widen the noise to a scale that fits
        s = (1 << 62) - 1
    bits = Bits(rng)
    out, words, done = np.empty(size, dtype=np.int64), np.empty(0, dtype=np.uint64), 0
    while done < size:
        fresh = min(MOST_WORDS, 16 * (size - done) + 64)
        words = np.concatenate([words, bits.words(fresh)])
        done, used = _fill(t, s, both_sides, words, out, done)
        words = words[used:]  # an unfinished draw starts again from its first word, so that none is favoured
    return out


@njit(cache=True)
def _below(n, words, at):  # pragma: no cover - compiled
    """(value uniform below n, next position), or (-1, …) where the words ran out."""
    width = 0
    while width < 63 and (1 << width) < n:
        width += 1
    if width == 0:
        return 0, at
    while at < len(words):
        value = np.int64(words[at] >> np.uint64(64 - width))
        at += 1
        if value < n:
            return value, at
    return -1, at


@njit(cache=True)
def _coin(a, b, words, at):  # pragma: no cover - compiled
    """1 with probability exp(-a/b), 0 <= a/b <= 1: the first K whose coin a/(b K) fails is odd that often; -1: no words."""
    k = 1
    while True:
        value, at = _below(b * k, words, at)
        if value < 0:
            return -1, at
        if value >= a:
            return k % 2, at
        k += 1
        if k >= MOST_ROUNDS:
            raise OverflowError("a coin went on for 512 rounds")


@njit(cache=True)
def _fill(t, s, both_sides, words, out, done):  # pragma: no cover - compiled
    """Fill ``out`` from ``done`` on; returns (draws done, words used by them).

    One draw of scale t/s: X with P(X = x) proportional to exp(-x/t) digit by digit, floor(X / s), then a sign.
    """
    at = 0
    while done < len(out):
        start = at
        while True:
            low, at = _below(t, words, at)
            if low < 0:
                return done, start
            keep, at = _coin(low, t, words, at)
            if keep < 0:
                return done, start
            if keep == 0:
                continue
            high, more = 0, 1
            while more == 1:
                more, at = _coin(1, 1, words, at)
                high += more
            if more < 0:
                return done, start
            size = (low + t * high) // s
            if not both_sides:
                break
            sign, at = _below(2, words, at)
            if sign < 0:
                return done, start
            if sign == 1 and size == 0:
                continue  # zero must not be drawn twice, once for each sign
            size = -size if sign == 1 else size
            break
        out[done] = size
        done += 1
    return done, at


def tail_binomial(m: int, threshold: int, scale: Fraction, rng: np.random.Generator | None = None) -> int:
    """How many of ``m`` two-sided geometric draws are at least ``threshold`` >= 1, exactly Binomial(m, P[noise >= threshold]).

    By inversion: a uniform number, known to more and more binary digits, against the distribution function, computed to more and
    more decimal digits, until the two can be told apart. Takes a few microseconds a success.
    """
    if m < 0 or threshold < 1:
        raise ParameterError(f"m = {m}, threshold = {threshold}: m must be at least 0 and the threshold at least 1")
    bits = Bits(rng)
    width = 160
    u = bits.whole(width)
    while (found := _inverse(m, threshold, Fraction(scale), u, width)) is None:
        u, width = (u << 160) | bits.whole(160), width + 160
    return found


def _inverse(m: int, threshold: int, scale: Fraction, u: int, width: int) -> int | None:
    """Least k with u / 2^width below the distribution function at k; None where ``width`` digits cannot tell."""
    digits = int(width * 0.30103) + 2
    with decimal.localcontext() as context:
        context.prec = digits + 2 * len(str(m)) + 20  # every rounding below is worth less than the last digit asked for
        context.Emin, context.Emax = decimal.MIN_EMIN, decimal.MAX_EMAX
        if m == 0:
            return 0
        step = Decimal(-scale.denominator) / Decimal(scale.numerator)
        p = (step * threshold).exp() / (1 + step.exp())
        low, ulp = Decimal(u) / Decimal(1 << width), Decimal(1) / Decimal(1 << width)
        term = (m * (1 - p).ln()).exp()
        k, sure = 0, term
        odds = p / (1 - p)
        while True:
            if low + ulp <= sure - ulp:
                return k
            if low < sure + ulp:
                return None
            if k == m:
                return m
            term = term * (m - k) / (k + 1) * odds
            k, sure = k + 1, sure + term


def tail_probability(threshold: int, scale: float) -> float:
    """P[noise >= threshold] of two-sided geometric noise, threshold >= 1: a^threshold / (1 + a) with a = exp(-1/scale)."""
    return float(np.exp(-threshold / scale) / (1 + np.exp(-1 / scale)))
