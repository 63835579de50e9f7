"""The experiments of Chen, Fung, Desai 2011, section V, on simulated sequences: errors, patterns, run time, signal and noise.

Every figure is one row of a long table: experiment, data, n, locations, epsilon, height, threshold, mechanism, variant, repetition, what,
x, value. ``x`` is what the figure belongs to beside that: the longest query, k, or the level. Nothing here is private: true counts
are looked at throughout.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from trajkit import seeds
from trajkit.classical.prefix_release import NoisyTree, publish_tree, released_sequences
from trajkit.classical.tree_inference import Variant
from trajkit.datasets.sequence_files import sample_sequences
from trajkit.datasets.transit import simulate_transit
from trajkit.metrics.count_queries import Index, Queries, queries_from, random_queries, relative_errors
from trajkit.metrics.frequent_patterns import TopPatterns, compare, top_patterns
from trajkit.sequences import Sequences

VARIANTS: tuple[Variant, ...] = ("basic", "full", "least-squares")
PAGES = "pages"
TRANSIT = "transit"
FEW_QUERIES = 1_000
_Form = tuple[Literal["published", "subcritical"], Literal["laplace", "geometric"]]
COLUMNS = (
    *("experiment", "data", "n", "locations", "epsilon", "height", "threshold", "mechanism", "variant", "repetition"),
    *("what", "x", "value"),
)


class ExperimentSettings(BaseModel):
    """Sizes of the experiments. The paper's: 1,210,096 sequences over 1,012 locations, height 12, queries of several lengths.

    ``sanity``: share of the sequences below which the error of a count is not relative (the text that we have does not give it).
    ``queries``: for each longest length. ``pages_n``: sequences over 17 symbols, on which the published threshold can run, as it can on
    ``few_locations`` and on trees of ``literal_height``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    n: int = Field(1_210_096, ge=10)
    locations: int = Field(1_012, ge=2)
    seed: int = Field(0, ge=0)
    repetitions: int = Field(1, ge=1)
    epsilons: list[float] = [0.5, 0.75, 1.0, 1.25, 1.5]
    height: int = Field(12, ge=1)
    heights: list[int] = [2, 3, 4, 6, 8, 12, 16, 20]
    query_lengths: list[int] = [3, 6, 9, 12]
    height_query_length: int = 6
    queries: int = Field(10_000, ge=1)
    sanity: float = Field(0.001, gt=0, le=1)
    tops: list[int] = [50, 100, 150, 200, 250]
    sizes: list[int] = [300_000, 600_000, 900_000, 1_200_000]
    universes: list[int] = [250, 500, 750, 1000]
    universe_n: int = Field(800_000, ge=10)
    time_height: int = Field(20, ge=1)
    pages_n: int = Field(989_818, ge=10)
    few_locations: int = Field(33, ge=2)
    literal_height: int = Field(3, ge=1)

    @model_validator(mode="after")
    def _held(self) -> Self:
        if (
            1.0 not in self.epsilons
            or self.height not in self.heights
            or self.height_query_length not in self.query_lengths
        ):
            raise ValueError(
                "epsilons must hold 1.0, heights the height, and query_lengths the height_query_length: the claims are about them"
            )
        return self


def run_experiments(settings: ExperimentSettings) -> pd.DataFrame:
    """All of them, in order. About two minutes at the paper's sizes on one core, 1 GB."""
    rows = itertools.chain(_settings(settings), _thresholds(settings), _utility(settings), _run_times(settings))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _settings(s: ExperimentSettings) -> Iterator[tuple[Any, ...]]:
    """What the tables and sentences are about, so that nobody has to guess it from the rows."""
    key = ("settings", "", s.n, s.locations, 0.0, 0, "", "", "", 0)
    yield (*key, "height", 0, float(s.height))
    yield (*key, "height query length", 0, float(s.height_query_length))
    yield (*key, "sanity", 0, s.sanity)


@dataclass(frozen=True)
class _Asked:
    """Real answers to every kind of query, and the real top patterns."""

    queries: dict[tuple[str, int], Queries]
    answers: dict[tuple[str, int], np.ndarray]
    top: TopPatterns
    sanity: float
    tops: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, real: Sequences, settings: ExperimentSettings, name: str) -> _Asked:
        index = Index(real)
        queries: dict[tuple[str, int], Queries] = {}
        for length in settings.query_lengths:
            rng = seeds.rng(settings.seed, "metrics", "queries", name, length)
            queries["error, uniform queries", length] = random_queries(
                real.n_symbols, settings.queries, min(length, real.n_symbols), rng
            )
            queries["error, visited queries", length] = queries_from(real, settings.queries, length, rng)
        answers = {key: index.answers(q) for key, q in queries.items()}
        top = top_patterns(real, max(settings.tops)) if settings.tops else TopPatterns((), np.zeros(0, dtype=np.int64))
        return cls(queries, answers, top, settings.sanity * len(real), settings.tops)

    def figures(self, released: Sequences, lengths: list[int], *, patterns: bool) -> Iterator[tuple[str, int, float]]:
        """(what, x, value): mean relative error by longest query, share of the real top k that is found by k."""
        index = Index(released)
        for (what, length), queries in self.queries.items():
            if length in lengths:
                errors = relative_errors(self.answers[what, length], index.answers(queries), self.sanity)
                yield what, length, float(errors.mean())
        if patterns and self.tops:
            found = top_patterns(released, max(self.tops))
            for k in self.tops:
                yield "top patterns found", k, compare(_first(self.top, k), _first(found, k)).accuracy


def _first(top: TopPatterns, k: int) -> TopPatterns:
    return TopPatterns(top.patterns[:k], top.supports[:k])


def _utility(s: ExperimentSettings) -> Iterator[tuple[Any, ...]]:
    real = simulate_transit(s.n, stations=s.locations, seed=s.seed)
    asked = _Asked.of(real, s, TRANSIT)
    for (kind, length), answers in asked.answers.items():
        if kind == "error, uniform queries":
            about = ("answers", TRANSIT, len(real), s.locations, 0.0, 0, "", "", "", 0)
            yield (*about, "uniform answers of 0", length, float((answers == 0).mean()))
    settings = [(e, s.height) for e in s.epsilons] + [(1.0, h) for h in s.heights if h != s.height]
    for repetition, (epsilon, height) in itertools.product(range(s.repetitions), settings):
        noisy = publish_tree(real, epsilon=epsilon, height=height, seed=s.seed + repetition)
        key = ("utility", TRANSIT, len(real), s.locations, epsilon, height, "subcritical", "geometric")
        lengths = s.query_lengths if height == s.height else [s.height_query_length]
        for variant in VARIANTS:
            released = released_sequences(noisy.tree, variant)
            found = asked.figures(released, lengths, patterns=True)
            yield from ((*key, variant, repetition, *figure) for figure in found)
            yield (*key, variant, repetition, "sequences released", 0, len(released))
        yield from ((*key, "", repetition, *figure) for figure in _masses(noisy))


def _masses(noisy: NoisyTree) -> Iterator[tuple[str, int, float]]:
    for m in noisy.masses:
        for what, value in (
            ("kept", m.kept),
            ("of noise", m.of_noise),
            ("real", m.real),
            ("cut", m.lost),
            ("noise", m.noise),
        ):
            yield what, m.level, float(value)


def _thresholds(s: ExperimentSettings) -> Iterator[tuple[Any, ...]]:
    """The published algorithm to the letter where it can run, and the kit's form beside: on few symbols, and on a low tree of many."""
    pages = sample_sequences(s.pages_n, seed=s.seed)
    few = simulate_transit(s.n, stations=s.few_locations, seed=s.seed)
    many = simulate_transit(s.n, stations=s.locations, seed=s.seed)
    forms: list[_Form] = [("published", "laplace"), ("published", "geometric"), ("subcritical", "geometric")]
    yield from _compare(PAGES, pages, s, forms=forms, epsilons=[1.0], height=s.height)
    yield from _compare(TRANSIT, few, s, forms=forms[::2], epsilons=s.epsilons, height=s.height)
    yield from _compare(TRANSIT, many, s, forms=forms[::2], epsilons=[1.0], height=min(s.literal_height, s.height))


def _compare(
    name: str, real: Sequences, s: ExperimentSettings, *, forms: list[_Form], epsilons: list[float], height: int
) -> Iterator[tuple[Any, ...]]:
    own = {
        "tops": s.tops if name == PAGES else [],
        "query_lengths": [s.height_query_length],
        "queries": min(s.queries, FEW_QUERIES),  # few locations have long lists to compare
    }
    asked = _Asked.of(real, s.model_copy(update=own), name)
    for epsilon, (threshold, mechanism) in itertools.product(epsilons, forms):
        noisy = publish_tree(
            real, epsilon=epsilon, height=height, seed=s.seed, threshold=threshold, mechanism=mechanism
        )
        key = ("threshold", name, len(real), real.n_symbols, epsilon, height, threshold, mechanism)
        yield (*key, "", 0, "nodes", 0, float(len(noisy.tree)))
        mass = [sum(getattr(m, what) for m in noisy.masses) for what in ("noise", "real")]
        yield (*key, "", 0, "noise over signal", 0, mass[0] / max(mass[1], 1))
        for variant in VARIANTS:
            found = asked.figures(released_sequences(noisy.tree, variant), [s.height_query_length], patterns=True)
            yield from ((*key, variant, 0, *figure) for figure in found)


def _run_times(s: ExperimentSettings) -> Iterator[tuple[Any, ...]]:
    """CPU seconds of tree, published inference and release, the better of two, after everything is compiled."""
    whole = simulate_transit(max(s.sizes), stations=s.locations, seed=s.seed)
    sets = [("time by n", whole.take(np.arange(n))) for n in s.sizes]
    sets += [("time by locations", simulate_transit(s.universe_n, stations=m, seed=s.seed)) for m in s.universes]
    for experiment, sequences in sets:
        for variant in VARIANTS[:2]:
            key = (
                experiment,
                TRANSIT,
                len(sequences),
                sequences.n_symbols,
                1.0,
                s.time_height,
                "subcritical",
                "geometric",
            )
            seconds = min(_seconds(sequences, s, variant) for _ in range(2))
            yield (*key, variant, 0, "CPU s", 0, seconds)


def _seconds(sequences: Sequences, s: ExperimentSettings, variant: Variant) -> float:
    start = process_time()
    released_sequences(publish_tree(sequences, epsilon=1.0, height=s.time_height, seed=s.seed).tree, variant)
    return process_time() - start
