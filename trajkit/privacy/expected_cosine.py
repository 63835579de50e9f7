"""How much of a row's direction survives additive noise: E[cos(angle between the row and the noisy row)], by theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfc, erfcx

from trajkit.errors import ParameterError
from trajkit.privacy.release_checks import finite

GAUSSIAN_NODES = 128
LAPLACE_NODES = 64
CHUNK = 2**17  # entries of the rows that are worked on at a time, for the processor's cache


def gaussian_expected_cosine(rows: Any, sigma: float) -> np.ndarray:
    """Rows [n, d] under N(0, sigma^2 I) -> [n].

    The mean of the offset normal, with r = |row| / sigma: r Gamma((d+1)/2) / (sqrt 2 Gamma(d/2+1)) 1F1(1/2; d/2+1; -r^2/2).
    Euler's integral of 1F1 turns it into r sqrt(2/pi) times the integral over [0, pi/2] of exp(-r^2 sin^2 t / 2) cos^d t,
    which has neither overflow nor cancellation for any r and d. Raises ParameterError for a zero row.
    """
    rows = _with_direction(rows)
    d = rows.shape[1]
    r = np.linalg.norm(rows, axis=1) / sigma
    x, weights = _unit_nodes(GAUSSIAN_NODES)
    end = np.minimum(math.pi / 2, 16 / np.sqrt(r**2 + d))  # beyond it the integrand is below exp(-51)
    total = np.zeros_like(r)
    for node, weight in zip(x, weights, strict=True):
        t = end * node
        total += weight * np.exp(-0.5 * (r * np.sin(t)) ** 2 + d * np.log(np.cos(t)))
    return np.minimum(r * math.sqrt(2 / math.pi) * end * total, 1.0)


def laplace_expected_cosine(rows: Any, scale: float) -> np.ndarray:
    """Rows u [n, d] under independent Laplace noise of ``scale`` -> [n], good to 1e-6 for |u| up to 1e4 scales, to 1e-4 beyond.

    1/|x| is 2/sqrt(pi) times the integral of exp(-s^2 |x|^2) over s > 0, which splits over the coordinates:
    E cos = 2 / (sqrt(pi) |u|) * integral of sum_i u_i A_i(s) prod_{j != i} B_j(s) with A_i = E[x_i exp(-s^2 x_i^2)] and
    B_j = E[exp(-s^2 x_j^2)] in closed form (see `_log_b_and_ratio`). Raises ParameterError for a zero row.
    """
    rows = _with_direction(rows) / scale
    step = max(1, CHUNK // rows.shape[1])
    parts = [_laplace_chunk(rows[start : start + step]) for start in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _laplace_chunk(v: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(v, axis=1)
    typical = 1 / np.sqrt(lengths**2 + 2 * v.shape[1])  # 1 / root mean square length of the noisy row
    size = np.abs(v)
    total = np.zeros(len(v))
    for node, weight in zip(*_unit_nodes(LAPLACE_NODES), strict=True):
        s = typical * node / (1 - node)
        log_b, ratio = _log_b_and_ratio(size, s[:, None])
        total += weight / (1 - node) ** 2 * np.exp(log_b.sum(axis=1)) * (size * ratio).sum(axis=1)
    return np.minimum(2 / math.sqrt(math.pi) * typical * total / lengths, 1.0)


def _log_b_and_ratio(v: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log B and A / B for x = v + Laplace(1), v >= 0 of any shape, s > 0.

    With h = 1/(2s), the integrals of exp(-|x-v| - s^2 x^2) right and left of v are sqrt(pi)/(2s) exp(-s^2 v^2) times
    erfcx(h + sv) and erfcx(h - sv). B is half their sum; A, by parts, their difference over 4 s^2.
    """
    h = 1 / (2 * s)
    y = h - s * v
    inside = y >= 0
    log_factor = np.where(inside, -((s * v) ** 2), h**2 - v)  # for y < 0: exp(-s^2 v^2) erfcx(y) = exp(h^2 - v) erfc(y)
    left = np.where(inside, erfcx(np.maximum(y, 0)), erfc(np.minimum(y, 0)))
    right = erfcx(h + s * v) * np.exp(np.where(inside, 0, -(y**2)))
    both = left + right
    return log_factor + np.log(math.sqrt(math.pi) / (4 * s) * both), (left - right) / both / (2 * s**2)


def _with_direction(rows: Any) -> np.ndarray:
    rows = finite(rows)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ParameterError(f"rows: shape {rows.shape}, must be [n, d], one row for each record")
    zero = np.flatnonzero(~rows.any(axis=1))
    if len(zero):
        raise ParameterError(f"rows: row {zero[0]} is zero and has no direction; leave such rows out")
    return rows


def _unit_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, weights / 2
