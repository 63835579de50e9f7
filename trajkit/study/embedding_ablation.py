"""Ablation of the embedding alone: what a mechanism leaves of a condition, before any network sees it.

Random unit vectors stand for compressed conditions (public, seeded, no data). For each mechanism, dimension and epsilon_c: the mean
cosine between a vector and its private version, measured and by theory, and how often the private version is still nearest to
its own vector among all of them, which is what an attacker who knows the candidates would find.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from trajkit.study.cells import MECHANISMS

D_OUTS, EPSILONS, DELTA = (4, 8, 64, 256), (1.0, 5.0, 20.0, 50.0, 100.0), 1e-5
VECTORS, DRAWS = 200, 10
COLUMNS = [
    *("mechanism", "d_out", "epsilon_c", "mean cosine", "standard error", "predicted", "off by", "found", "chance"),
]


def embedding_ablation(
    *,
    mechanisms: Sequence[str] = tuple(MECHANISMS),
    d_outs: Sequence[int] = D_OUTS,
    epsilons: Sequence[float] = EPSILONS,
    vectors: int = VECTORS,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """One row a mechanism, dimension and epsilon_c. ``off by``: measured minus predicted, in standard errors of the measurement.

    Each of ``vectors`` random directions is made private ``draws`` times; ``found`` is the share of these whose own vector is the
    most similar of all, ``chance`` what guessing would reach. Laplace takes them scaled to L1 norm 1, the others to L2 norm 1.
    """
    from trajkit.privacy.mechanisms import row_mechanism  # here: nothing else of a study needs it

    rows = []
    for d in d_outs:
        rng = np.random.default_rng([seed, d])
        unit = _rows_of_norm(rng.standard_normal((vectors, d)), 2)
        for kind in mechanisms:
            given = _rows_of_norm(unit, 1) if kind == "laplace" else unit
            for epsilon in epsilons:
                delta = DELTA if kind == "gaussian" else None
                mechanism = row_mechanism(kind, epsilon=epsilon, delta=delta, norm=1.0, dimension=d)
                cosines, found = _measure(mechanism, given, unit, draws, rng)
                mean, error = float(cosines.mean()), float(cosines.std(ddof=1)) / math.sqrt(len(cosines))
                predicted = float(np.mean(mechanism.expected_cosine(given)))
                off = (mean - predicted) / error if error > 0 else 0.0
                rows.append((MECHANISMS[kind], d, epsilon, mean, error, predicted, off, found, 1 / vectors))
    return pd.DataFrame(rows, columns=COLUMNS)


def _measure(
    mechanism: Any, given: np.ndarray, unit: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Cosines of the private versions with their own vectors, ``draws`` after one another, and the share that is found."""
    cosines, found = [], 0
    for _ in range(draws):
        similar = _rows_of_norm(mechanism.randomise(given, rng), 2) @ unit.T
        cosines.append(np.diagonal(similar))
        found += int((similar.argmax(axis=1) == np.arange(len(unit))).sum())
    return np.concatenate(cosines), found / (draws * len(unit))


def _rows_of_norm(rows: np.ndarray, order: int) -> np.ndarray:
    return rows / np.linalg.norm(rows, ord=order, axis=1, keepdims=True)


def in_words(table: pd.DataFrame, *, epsilon: float = 20.0) -> str:
    """What the ablation shows at one epsilon_c, and how far measurement and theory agree over all of it."""
    worst = float(table["off by"].abs().max())
    at = table[table["epsilon_c"] == epsilon]
    said = []
    for name, rows in at.groupby("mechanism", sort=False):
        small, large = rows.loc[rows["d_out"].idxmin()], rows.loc[rows["d_out"].idxmax()]
        said.append(
            f"{name} keeps a mean cosine of {small['mean cosine']:.3f} in {small['d_out']} dimensions and {large['mean cosine']:.3f} in "
            f"{large['d_out']} (predicted {small['predicted']:.3f} and {large['predicted']:.3f}), where {100 * small['found']:.0f} % and "
            f"{100 * large['found']:.0f} % of the vectors are still found among {round(1 / small['chance'])}"
        )
    check = (
        f"Over all {len(table)} settings the measured mean differs from the predicted one by at most {worst:.1f} standard errors"
        f"{'' if worst < 4 else ', which is more than chance explains: theory and code disagree somewhere'}."
    )
    return f"At epsilon_c {epsilon:g}: {'; '.join(said)}. {check}"
