"""Kalman smoothing of noisy tracks: the place at each moment, given all printed points before and after it.

State of an axis: place and speed, driven by white acceleration; the Rauch, Tung and Striebel (1965) smoother. Both axes are independent, and
neither depends on the number or order of trajectories.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def smoothed(
    xy: np.ndarray,
    seconds: np.ndarray,
    offsets: np.ndarray,
    *,
    variance_m2: float,
    acceleration: float,
    speed_mps: float,
) -> np.ndarray:
    """float64 [N, 2]: the smoothed places of points [N, 2] (metres) at ``seconds`` [N] of trajectories ``offsets`` [n + 1].

    variance_m2   of the noise along one axis
    acceleration  spectral density of the white acceleration, m^2 / s^3
    speed_mps     standard deviation of the speed along one axis before anything is seen
    """
    return np.asarray(
        _smoothed(np.ascontiguousarray(xy), seconds, offsets, float(variance_m2), float(acceleration), float(speed_mps))
    )


@njit(cache=True)
def _smoothed(xy, seconds, offsets, noise, q, speed):  # pragma: no cover - compiled
    out = np.empty_like(xy)
    longest = np.diff(offsets).max() if len(offsets) > 1 else 0
    # covariances (place, place-speed, speed) are the same for both axes
    state, guess = np.empty((longest, 4)), np.empty((longest, 4))
    p, s = np.empty((longest, 3)), np.empty((longest, 3))
    for r in range(len(offsets) - 1):
        a, n = offsets[r], offsets[r + 1] - offsets[r]
        if n == 0:
            continue
        state[0, 0], state[0, 1], state[0, 2], state[0, 3] = xy[a, 0], xy[a, 1], 0.0, 0.0
        p[0, 0], p[0, 1], p[0, 2] = noise, 0.0, speed * speed
        for i in range(1, n):
            dt = seconds[a + i] - seconds[a + i - 1]
            s[i, 0] = p[i - 1, 0] + dt * (2 * p[i - 1, 1] + dt * p[i - 1, 2]) + q * dt**3 / 3
            s[i, 1] = p[i - 1, 1] + dt * p[i - 1, 2] + q * dt**2 / 2
            s[i, 2] = p[i - 1, 2] + q * dt
            gain_x, gain_v = s[i, 0] / (s[i, 0] + noise), s[i, 1] / (s[i, 0] + noise)
            for d in range(2):
                guess[i, d] = state[i - 1, d] + dt * state[i - 1, 2 + d]
                guess[i, 2 + d] = state[i - 1, 2 + d]
                off = xy[a + i, d] - guess[i, d]
                state[i, d], state[i, 2 + d] = guess[i, d] + gain_x * off, guess[i, 2 + d] + gain_v * off
            p[i, 0], p[i, 1] = (1 - gain_x) * s[i, 0], (1 - gain_x) * s[i, 1]
            p[i, 2] = s[i, 2] - gain_v * s[i, 1]
        for i in range(n - 2, -1, -1):
            dt = seconds[a + i + 1] - seconds[a + i]
            det = s[i + 1, 0] * s[i + 1, 2] - s[i + 1, 1] ** 2
            cross_x, cross_v = p[i, 0] + dt * p[i, 1], p[i, 1] + dt * p[i, 2]
            xx = (cross_x * s[i + 1, 2] - p[i, 1] * s[i + 1, 1]) / det
            xv = (p[i, 1] * s[i + 1, 0] - cross_x * s[i + 1, 1]) / det
            vx = (cross_v * s[i + 1, 2] - p[i, 2] * s[i + 1, 1]) / det
            vv = (p[i, 2] * s[i + 1, 0] - cross_v * s[i + 1, 1]) / det
            for d in range(2):
                off_x, off_v = state[i + 1, d] - guess[i + 1, d], state[i + 1, 2 + d] - guess[i + 1, 2 + d]
                state[i, d] += xx * off_x + xv * off_v
                state[i, 2 + d] += vx * off_x + vv * off_v
        for i in range(n):
            out[a + i, 0], out[a + i, 1] = state[i, 0], state[i, 1]
    return out
