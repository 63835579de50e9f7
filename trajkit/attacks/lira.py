"""LiRA, the likelihood-ratio attack with shadow models (Carlini et al. 2022, arXiv:2112.03570), from statistics of models about targets.

For each target the statistic of models trained with it and of models trained without it is a Gaussian each; the score of an attacked model
is the log ratio of the two densities at its own statistic. Offline, only models without the target are known, and the score is the
probability that one of them would have a smaller statistic. What the statistic is, is the caller's choice (`member_scores`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from trajkit import seeds
from trajkit.errors import ParameterError

Variance = Literal["per target", "pooled", "fixed"]
LEAST_STD = 1e-3  # of a statistic that hardly moves: differences below it say nothing


def halves(models: int, targets: int, seed: int, *stream: str | int) -> np.ndarray:
    """bool [models, targets]: who trains which model. Every target is in half of the models, drawn for each target by itself.

    Raises ParameterError unless ``models`` is even and at least 4, so that both Gaussians have two points or more.
    """
    if models < 4 or models % 2:
        raise ParameterError(f"shadows = {models!r}: need an even number of at least 4, half of them with each target")
    keys = seeds.rng(seed, "attack", "halves", *stream).random((models, targets))
    return np.argsort(np.argsort(keys, axis=0), axis=0) < models // 2


def gaussians(
    shadow: np.ndarray, inside: np.ndarray, *, variance: Variance = "pooled", least_std: float = LEAST_STD
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(mean in, std in, mean out, std out), float64 [targets] each, of ``shadow`` [models, targets].

    ``inside`` bool [models, targets]: whether the target trained the model. ``variance``: "per target" keeps the two apart, "pooled" takes
    their mean over a target's models, "fixed" takes one inside and one outside variance for all targets, which few shadow models need.
    Population variances (ddof 0), and none below ``least_std`` squared. Raises ParameterError for other shapes, fewer than two models
    on a side of any target, or statistics that are no finite numbers.
    """
    shadow, inside = np.asarray(shadow, dtype=np.float64), np.asarray(inside, dtype=bool)
    if shadow.ndim != 2 or shadow.shape != inside.shape:
        raise ParameterError(f"shadow {shadow.shape} and inside {inside.shape}: both must be [models, targets]")
    if not np.isfinite(shadow).all():
        raise ParameterError(
            "shadow: some statistics are no finite numbers, so nothing can be said about their targets"
        )
    means, variances, sizes = [], [], []
    for side in (inside, ~inside):
        n = side.sum(axis=0)
        if n.min(initial=2) < 2:
            raise ParameterError(
                f"target {int(np.argmin(n))} has {n.min()} models on one side: two are needed for a Gaussian"
            )
        mean = np.where(side, shadow, 0.0).sum(axis=0) / n
        means.append(mean)
        variances.append(np.where(side, (shadow - mean) ** 2, 0.0).sum(axis=0) / n)
        sizes.append(n)
    if variance == "pooled":
        both = (sizes[0] * variances[0] + sizes[1] * variances[1]) / (sizes[0] + sizes[1])
        variances = [both, both]
    elif variance == "fixed":
        variances = [np.full(len(v), v.mean()) for v in variances]
    elif variance != "per target":
        raise ParameterError(f"variance {variance!r} is unknown: use per target, pooled or fixed")
    stds = [np.sqrt(np.maximum(v, least_std**2)) for v in variances]
    return means[0], stds[0], means[1], stds[1]


def log_ratio(
    t: np.ndarray, shadow: np.ndarray, inside: np.ndarray, *, variance: Variance = "pooled", least_std: float = LEAST_STD
) -> np.ndarray:  # fmt: skip
    """float64 [targets]: log N(t; in) - log N(t; out) of the attacked model's statistics ``t`` [targets]; see `gaussians`."""
    mean_in, std_in, mean_out, std_out = gaussians(shadow, inside, variance=variance, least_std=least_std)
    return _log_density(t, mean_in, std_in) - _log_density(t, mean_out, std_out)


def log_offline(
    t: np.ndarray, shadow: np.ndarray, inside: np.ndarray, *, variance: Variance = "pooled", least_std: float = LEAST_STD
) -> np.ndarray:  # fmt: skip
    """float64 [targets]: log Phi((t - mean out) / std out), the score of who has no models with the target.

    "pooled" borrows the spread of models with the target, which he would not have either; "per target" and "fixed" do not.
    """
    _, _, mean_out, std_out = gaussians(shadow, inside, variance=variance, least_std=least_std)
    return np.asarray(log_ndtr((np.asarray(t, dtype=np.float64) - mean_out) / std_out))


def _log_density(t: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    return -np.log(std) - ((np.asarray(t, dtype=np.float64) - mean) / std) ** 2 / 2
