"""The inverted index: which records hold a label.

Each label that many records hold also has its row of bits, so that asking stays cheap whether labels are rare or common.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.attacks.records import Records


class Index(NamedTuple):
    """Label s is held by the records ``items[starts[s]:starts[s + 1]]`` (rising), and by ``bits[row[s]]`` where row[s] >= 0.

    starts int64 [n_tokens + 1]; items int32 [E]; row int32 [n_tokens]; bits uint64 [common labels, ceil(records / 64)]
    """

    starts: np.ndarray
    items: np.ndarray
    row: np.ndarray
    bits: np.ndarray


def index_of(sets: Records) -> Index:
    """Two passes over the labels."""
    starts, items = _postings(sets.tokens, sets.offsets, sets.n_tokens)
    words = (len(sets) + 63) // 64
    common = np.flatnonzero(np.diff(starts) > max(words, 32))
    row = np.full(sets.n_tokens, -1, dtype=np.int32)
    row[common] = np.arange(len(common), dtype=np.int32)
    return Index(starts, items, row, _bits(starts, items, common, words))


@njit(cache=True)
def _postings(tokens, offsets, n_tokens):  # pragma: no cover - compiled
    starts = np.zeros(n_tokens + 1, dtype=np.int64)
    for s in tokens:
        starts[s + 1] += 1
    starts = np.cumsum(starts)
    at = starts[:-1].copy()
    items = np.empty(len(tokens), dtype=np.int32)
    for r in range(len(offsets) - 1):
        for k in range(offsets[r], offsets[r + 1]):
            s = tokens[k]
            items[at[s]] = r
            at[s] += 1
    return starts, items


@njit(cache=True)
def _bits(starts, items, common, words):  # pragma: no cover - compiled
    bits = np.zeros((len(common), words), dtype=np.uint64)
    for c in range(len(common)):
        for k in range(starts[common[c]], starts[common[c] + 1]):
            bits[c, items[k] >> 6] |= np.uint64(1) << np.uint64(items[k] & 63)
    return bits


@njit(cache=True, inline="always")
def popcount(word):  # pragma: no cover - compiled
    """Bits set in a uint64."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def holds(index, token, item):  # pragma: no cover - compiled
    """Whether record ``item`` holds ``token``."""
    row = index.row[token]
    if row >= 0:
        return (index.bits[row, item >> 6] >> np.uint64(item & 63)) & np.uint64(1) == np.uint64(1)
    low, high = index.starts[token], index.starts[token + 1]
    while low < high:
        middle = (low + high) >> 1
        if index.items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low < index.starts[token + 1] and index.items[low] == item


@njit(cache=True)
def _rarest(known, p, index):  # pragma: no cover - compiled
    """Which of ``known[:p]`` the fewest records hold; -1 where one of them is held by none."""
    rare, fewest = -1, len(index.items) + 1
    for j in range(p):
        if known[j] < 0:
            return -1
        n = index.starts[known[j] + 1] - index.starts[known[j]]
        if n < fewest:
            rare, fewest = j, n
    return rare


@njit(cache=True)
def narrowed(known, listed, p, index, out, n):  # pragma: no cover - compiled
    """Write the records that hold all of ``known[:p]`` into ``out``, rising; return how many (0 if one label is nowhere).

    Where ``listed`` > 0, ``out[:n]`` are already those that hold the first ``listed`` labels.
    """
    if listed > 0:
        for j in range(listed, p):
            n = _kept(known[j], index, out, n)
        return n
    rare = _rarest(known, p, index)
    if rare < 0:
        return 0
    token = known[rare]
    if index.row[token] >= 0 and p > 1:  # then all of them are common
        return _listed(known, p, index, out)
    n = index.starts[token + 1] - index.starts[token]
    out[:n] = index.items[index.starts[token] : index.starts[token + 1]]
    for j in range(p):
        if j != rare:
            n = _kept(known[j], index, out, n)
    return n


@njit(cache=True)
def _kept(token, index, out, n):  # pragma: no cover - compiled
    """Keep of ``out[:n]`` the records that hold ``token``."""
    if token < 0:
        return 0
    row, m = index.row[token], 0
    if row >= 0:
        bits = index.bits[row]
        for k in range(n):
            item = out[k]
            out[m] = item
            m += int((bits[item >> 6] >> np.uint64(item & 63)) & np.uint64(1))
        return m
    at, end = index.starts[token], index.starts[token + 1]
    for k in range(n):  # both lists rise: gallop ahead in the label's own
        item, step = out[k], 1
        while at + step < end and index.items[at + step] < item:
            at += step
            step *= 2
        while at < end and index.items[at] < item:
            at += 1
        if at >= end:
            break
        if index.items[at] == item:
            out[m] = item
            m += 1
    return m


@njit(cache=True)
def _listed(known, p, index, out):  # pragma: no cover - compiled
    n = 0
    for w in range(index.bits.shape[1]):
        word = index.bits[index.row[known[0]], w]
        for j in range(1, p):
            word &= index.bits[index.row[known[j]], w]
        while word != 0:
            low = word & (~word + np.uint64(1))
            out[n] = (w << 6) + popcount(low - np.uint64(1))
            n += 1
            word ^= low
    return n


@njit(cache=True)
def all_common(known, p, index):  # pragma: no cover - compiled
    """Whether every one of ``known[:p]`` has its row of bits."""
    common = True
    for j in range(p):
        common = common and known[j] >= 0 and index.row[known[j]] >= 0
    return common


@njit(cache=True)
def count_matching(known, p, index):  # pragma: no cover - compiled
    """How many records hold all of ``known[:p]``, without listing them."""
    rare = _rarest(known, p, index)
    if rare < 0:
        return 0
    first, last = index.starts[known[rare]], index.starts[known[rare] + 1]
    if p == 1:
        return last - first
    n = 0
    if index.row[known[rare]] >= 0:
        a, b = index.bits[index.row[known[0]]], index.bits[index.row[known[1]]]
        c, d = index.bits[index.row[known[min(2, p - 1)]]], index.bits[index.row[known[min(3, p - 1)]]]
        for w in range(len(a)):
            word = a[w] & b[w] & c[w] & d[w]
            for j in range(4, p):
                word &= index.bits[index.row[known[j]], w]
            n += popcount(word)
        return n
    for k in range(first, last):
        inside = True
        for j in range(p):
            if j != rare and not holds(index, known[j], index.items[k]):
                inside = False
                break
        n += inside
    return n
