"""Pattern-level metrics: which cells of a public grid trajectories pass together, and in which order."""

from __future__ import annotations

import numpy as np

from trajkit import seeds
from trajkit.metrics.comparison import Comparison
from trajkit.metrics.count_queries import Index, Queries, queries_from, relative_errors
from trajkit.metrics.frequent_patterns import compare, top_patterns


def cell_queries(c: Comparison) -> Queries:
    """The seeded count queries: each asks for cells that some real trajectory passes together.

    Sets drawn uniformly over the grid, as published, would mostly have the answer 0, so that a release in which nobody
    leaves one place would score close to real data (the simulated city: 0.16, where straight lines score 0.88).
    """
    return queries_from(c.sequences[0], c.settings.cq_queries, c.settings.cq_length, seeds.rng(c.seed, "metrics", "CQ"))


def cq(c: Comparison) -> float:
    """Mean relative error of the shares of trajectories that pass all cells of a query."""
    queries = cell_queries(c)
    real, released = (
        Index(s, visits=visits).answers(queries) / len(s) for s, visits in zip(c.sequences, c.visits, strict=True)
    )
    return float(np.mean(relative_errors(real, released, c.settings.cq_sanity)))


def fp(c: Comparison) -> float:
    """Share of the most frequent patterns of two cells or more that the two sides do not have in common."""
    real, released = (
        top_patterns(s, c.settings.fp_top, min_length=2, visits=visits)
        for s, visits in zip(c.sequences, c.visits, strict=True)
    )
    return 1.0 - compare(real, released).accuracy
