"""What count queries and frequent patterns cost on simulated transit weeks of the published size."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trajkit.bench import peak_memory_mb
from trajkit.benchmarks import BenchRow
from trajkit.datasets.transit import N_SEQUENCES, simulate_transit
from trajkit.metrics.count_queries import Index, Queries, queries_from, random_queries
from trajkit.metrics.frequent_patterns import top_patterns
from trajkit.sequences import Sequences

QUERIES, LONGEST, TOP = 10_000, 12, 250
REPEATS = 3


def rows() -> list[BenchRow]:
    """CPU seconds of one thread: best of three after a small call that compiles; peak memory of the process last."""
    return measured(N_SEQUENCES)


def measured(n: int, *, queries: int = QUERIES, top: int = TOP) -> list[BenchRow]:
    """The rows for ``n`` sequences."""
    small = simulate_transit(50, seed=0)
    Index(small).answers(random_queries(small.n_symbols, 10, 3, np.random.default_rng(0)))
    top_patterns(small, 5)
    transit, simulation_s = _best(lambda: simulate_transit(n, seed=0))
    index, index_s = _best(lambda: Index(transit))
    patterns_s = _best(lambda: top_patterns(transit, top))[1]
    what = f"{n:,} sequences"
    return [
        BenchRow(f"transit weeks, {what} simulated", simulation_s, "s"),
        BenchRow(f"index of count queries, {what}", index_s, "s"),
        *(
            BenchRow(f"count queries of up to {LONGEST} symbols, {kind}, {what}", asked / seconds, "queries/s")
            for kind, asked, seconds in _asked(transit, index, queries)
        ),
        BenchRow(f"exact top {top} patterns, {what}", patterns_s, "s"),
        BenchRow("peak memory of the process", peak_memory_mb(), "MB"),
    ]


def _asked(transit: Sequences, index: Index, n: int) -> list[tuple[str, int, float]]:
    """How the queries were drawn, how many, and the seconds for all."""
    draws: dict[str, Queries] = {
        "uniform": random_queries(transit.n_symbols, n, LONGEST, np.random.default_rng(0)),
        "from sequences": queries_from(transit, n, LONGEST, np.random.default_rng(0)),
    }
    return [(kind, len(q), _best(partial(index.answers, q))[1]) for kind, q in draws.items()]


def _best(call: Callable[[], Any]) -> tuple[Any, float]:
    """What ``call`` returns, and the best CPU time of `REPEATS` calls in seconds."""
    best, found = float("inf"), None
    for _ in range(REPEATS):
        start = time.process_time()
        found = call()
        best = min(best, time.process_time() - start)
    return found, best
