"""The noisy prefix tree: the worked example to the last node, the law of its noise, its constraints and its size."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trajkit.classical.prefix_tree import PrefixTree, build_tree
from trajkit.classical.tree_inference import (
    consistent_counts,
    counts_of,
    least_squares_counts,
    path_means,
    terminating_counts,
    whole_counts,
)
from trajkit.classical.tree_noise import (
    LevelNoise,
    chosen_threshold,
    expected_nodes,
    false_share,
    published_threshold,
    subcritical_threshold,
)
from trajkit.errors import DataContractError, ParameterError
from trajkit.privacy.mechanisms import Geometric, Laplace
from trajkit.sequences import Sequences

RNG = np.random.default_rng


def level_noise(
    scale: float, children: int, *, seed: int = 0, threshold: Any = "subcritical", kind: str = "geometric"
) -> LevelNoise:
    noise = Geometric(scale, 1, exact=True) if kind == "geometric" else Laplace(scale, 1.0)
    return LevelNoise(noise, chosen_threshold(threshold, noise, children), RNG(seed))


def random_sequences(n: int, symbols: int, *, seed: int = 0, mean: float = 4.0) -> Sequences:
    rng = RNG(seed)
    weights = 1 / np.arange(1, symbols + 1)
    return Sequences.of(
        [rng.choice(symbols, size=k, p=weights / weights.sum()) for k in rng.poisson(mean, n)], n_symbols=symbols
    )


def names(tree: PrefixTree, letters: str) -> list[str]:
    return ["".join(letters[s] for s in row) for row in tree.prefixes(np.arange(len(tree))).to_lists()]


@dataclass
class Scripted:
    """Given noise for every prefix, and the prefix of every key worked out beside."""

    letters: str
    threshold: float
    given: dict[str, float]
    examined: dict[str, float] = field(default_factory=dict)
    above: list[str] = field(default_factory=lambda: [""])

    def _name(self, key: int) -> str:
        return self.above[key // len(self.letters)] + self.letters[key % len(self.letters)]

    def noisy(self, level: int, keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
        found = np.array([c + self.given[self._name(k)] for k, c in zip(keys, counts, strict=True)])
        self.examined |= {self._name(k): v for k, v in zip(keys, found, strict=True)}
        return found

    def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        empty = np.setdiff1d(np.arange(universe), visited)
        values = np.array([self.given[self._name(k)] for k in empty])
        self.examined |= {self._name(k): v for k, v in zip(empty, values, strict=True)}
        keys = [k for k in range(universe) if self.examined[self._name(k)] >= self.threshold]
        self.above = [self._name(k) for k in keys]
        return empty[values >= self.threshold], values[values >= self.threshold]


@pytest.mark.shared
def test_the_worked_example_to_the_last_node(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "prefix_tree_example.json").read_text())["cases"]:
        given, expected, tolerance = case["inputs"], case["expected"], case["tolerance"]["abs"]
        letters = "".join(given["locations"])
        rows = [[letters.index(c) for c in word] for word, k in given["trajectories"].items() for _ in range(k)]
        noise = Scripted(
            letters, published_threshold(Laplace(given["h"] / given["epsilon"], 1.0)), given["laplace_noise"]
        )
        assert noise.threshold == pytest.approx(expected["theta"], abs=tolerance)
        tree, masses = build_tree(Sequences.of(rows, n_symbols=len(letters)), height=given["h"], noise=noise)
        assert noise.examined == {e["prefix"]: pytest.approx(e["noisy"], abs=tolerance) for e in expected["examined"]}
        kept = {e["prefix"]: e["noisy"] for e in expected["examined"] if e["kept"]}
        named = names(tree, letters)
        assert dict(zip(named, tree.count, strict=True)) == {
            k: pytest.approx(v, abs=tolerance) for k, v in kept.items()
        }
        for values, what in (
            (path_means(tree), "consolidated_intermediate"),
            (consistent_counts(tree), "consistent"),
            (terminating_counts(tree, consistent_counts(tree)), "terminating_count"),
        ):
            assert dict(zip(named, values, strict=True)) == pytest.approx(expected[what], abs=tolerance), what
        true = {e["prefix"]: e["true"] for e in expected["examined"]}
        assert [m.of_noise for m in masses] == [sum(true[k] == 0 for k in kept if len(k) == d) for d in (1, 2, 3)]
        assert [m.real for m in masses] == [sum(true[k] for k in kept if len(k) == d) for d in (1, 2, 3)]


@pytest.mark.shared
def test_constants_of_the_published_mechanism(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "prefix_tree_constants.json").read_text())["cases"]:
        given, rel = case["inputs"], case["tolerance"]["rel"]
        expected = {k: float(v) for k, v in case["expected"].items() if not isinstance(v, dict)}
        noise = Laplace(given["h"] / given["epsilon"], 1.0)
        theta = published_threshold(noise)
        share = false_share(noise, theta)
        m = given["empty_children"]
        assert (noise.scale, theta, share) == pytest.approx(
            (expected["noise_scale"], expected["theta"], expected["p_theta"]), rel=rel
        )
        assert (m * share, m * share * (1 - share)) == pytest.approx(
            (expected["expected_false_nodes"], expected["var_false_nodes"]), rel=rel
        )
        for count, p in case["expected"]["prob_count_c_survives"].items():
            c = int(count)
            above = (
                0.5 * math.exp((c - theta) / noise.scale)
                if c <= theta
                else 1 - 0.5 * math.exp((theta - c) / noise.scale)
            )
            assert above == pytest.approx(float(p), rel=1e-6)
            drawn = c + noise.noise(20_000, RNG(c)) >= theta  # what the builder does with a visited child
            assert abs(drawn.mean() - above) < 4 * math.sqrt(above * (1 - above) / 20_000) + 1e-9
        over = LevelNoise(noise, theta, RNG(1))
        drawn_counts = np.concatenate([over.passing(1, m, np.empty(0, dtype=np.int64))[1] for _ in range(400)])
        assert stats.kstest(drawn_counts - theta, "expon", args=(0, noise.scale)).pvalue > 1e-3
        for q, value in case["expected"]["conditional_quantiles"].items():
            assert theta - noise.scale * math.log(1 - float(q)) == pytest.approx(float(value), rel=rel)


@pytest.mark.parametrize("kind", ["geometric", "laplace"])
def test_children_by_noise_alone_are_as_many_as_predicted(kind: str) -> None:
    """Total variation of the mean over 3,000 empty levels, 4 standard errors; and no visited key is ever among them."""
    noise = level_noise(4.0, 60, threshold="published", kind=kind)
    visited = np.array([0, 3, 4, 59])
    share = false_share(noise.noise, noise.threshold)
    numbers, seen = [], np.zeros(60)
    for _ in range(3000):
        keys, counts = noise.passing(1, 60, visited)
        assert (np.diff(keys) > 0).all() and (counts >= noise.threshold).all()
        numbers.append(len(keys))
        seen[keys] += 1
    assert not seen[visited].any()
    assert abs(np.mean(numbers) - 56 * share) < 4 * math.sqrt(56 * share * (1 - share) / 3000)
    assert stats.chisquare(np.delete(seen, visited)).pvalue > 1e-3
    law = stats.binom(56, share)
    few = [k for k in range(57) if 3000 * law.pmf(k) >= 10]
    observed = [numbers.count(k) for k in few] + [sum(k not in few for k in numbers)]
    expected = 3000 * np.append(law.pmf(few), 1 - law.pmf(few).sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["geometric", "laplace"])
def test_the_fast_builder_has_the_law_of_testing_every_child(kind: str) -> None:
    """Nodes kept per level over 400 trees against a builder that draws noise for each child; two-sample tests, 1 in 1000 each."""
    sequences, scale = random_sequences(40, 6, seed=3), 2.0
    noise = level_noise(scale, 6, kind=kind)

    @dataclass
    class Naive:
        threshold: float
        rng: np.random.Generator

        def _draw(self, n: int) -> np.ndarray:
            if kind == "laplace":
                return self.rng.laplace(scale=scale, size=n)
            p = -math.expm1(-1 / scale)
            return self.rng.geometric(p, n) - self.rng.geometric(p, n)

        def noisy(self, level: int, keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
            return counts + self._draw(len(counts))

        def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            empty = np.setdiff1d(np.arange(universe), visited)
            values = self._draw(len(empty))
            return empty[values >= self.threshold], values[values >= self.threshold]

    def many(source: Any) -> list[Any]:
        return [build_tree(sequences, height=3, noise=source) for _ in range(400)]

    fast, naive = many(noise), many(Naive(noise.threshold, RNG(9)))
    for level in range(3):
        for what in ("kept", "of_noise", "noise"):
            a, b = ([getattr(masses[level], what) for _, masses in trees] for trees in (fast, naive))
            assert stats.ks_2samp(a, b).pvalue > 1e-3, (level, what)


def test_noise_is_unbiased_before_the_threshold() -> None:
    noise = level_noise(5.0, 10)
    drawn = noise.noisy(1, np.arange(20_000), np.full(20_000, 7))
    assert abs(drawn.mean() - 7) < 4 * drawn.std() / math.sqrt(20_000)
    a = math.exp(-1 / 5.0)
    assert drawn.var() == pytest.approx(2 * a / (1 - a) ** 2, rel=0.06)


# ---- inference ------------------------------------------------------------------------------------------------------


def random_tree(seed: int, *, symbols: int = 4, height: int = 4, n: int = 60, scale: float = 2.0) -> PrefixTree:
    return build_tree(
        random_sequences(n, symbols, seed=seed), height=height, noise=level_noise(scale, symbols, seed=seed)
    )[0]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["full", "least-squares"]),
    st.integers(1, 6),
    st.sampled_from([0.3, 2.0, 9.0]),
)
def test_released_counts_could_be_true(seed: int, variant: Any, symbols: int, scale: float) -> None:
    tree = random_tree(seed, symbols=symbols, scale=scale)
    counts = counts_of(tree, variant)
    sums = tree.children_sum(counts)
    assert (counts >= 0).all() and (sums <= counts + 1e-9 * (1 + counts)).all()
    ends = terminating_counts(tree, counts)
    first = counts[: tree.level[1]].sum()
    assert ends.sum() == pytest.approx(first, abs=1e-6)
    whole = whole_counts(ends)
    assert (whole >= 0).all() and abs(whole.sum() - first) <= 0.5 + 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.5, 2.0, 6.0]))
def test_least_squares_is_the_minimum(seed: int, symbols: int, scale: float) -> None:
    tree = random_tree(seed, symbols=symbols, scale=scale, n=40)
    if not len(tree):
        return
    below = np.eye(len(tree))  # a trajectory that ends at u counts at u and at every node above
    for u in range(len(tree)):
        v = tree.parent[u]
        while v >= 0:
            below[v, u] = 1
            v = tree.parent[v]
    counts = least_squares_counts(tree)
    ends = counts - tree.children_sum(counts)
    slope = below.T @ (counts - tree.count)  # of half the sum of squares, in how many end at each node
    tolerance = 1e-7 * (1 + tree.count.max())
    assert (ends >= -tolerance).all() and (slope >= -tolerance).all()
    assert (np.minimum(ends, slope) <= tolerance).all()  # Karush-Kuhn-Tucker: the minimum, as the problem is convex


def test_counts_that_are_consistent_already_stay() -> None:
    sequences = random_sequences(300, 3, seed=1)
    tree, _ = build_tree(sequences, height=4, noise=level_noise(0.02, 3))  # noise is 0 but once in e^50 draws
    true = {tuple(r[: k + 1]) for r in sequences.to_lists() for k in range(min(4, len(r)))}
    assert {tuple(p) for p in tree.prefixes(np.arange(len(tree))).to_lists()} == true
    for variant in ("basic", "full", "least-squares"):
        assert counts_of(tree, variant) == pytest.approx(tree.count)  # type: ignore[arg-type]
    ends = terminating_counts(tree, tree.count)
    assert ends.sum() == (sequences.lengths > 0).sum()


def test_small_children_stop_at_zero_and_the_rest_is_spread() -> None:
    tree = PrefixTree(
        symbol=np.array([0, 0, 1, 2], dtype=np.int32),
        time=None,
        parent=np.array([-1, 0, 0, 0]),
        count=np.array([10.0, 9.0, 9.0, 1.0]),
        level=np.array([0, 1, 4]),
        n_symbols=3,
    )
    counts = consistent_counts(tree)  # lowering all three by 3 would bring the last below 0
    assert counts == pytest.approx([10, 5, 5, 0])


# ---- size and edges -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.05, 0.7, 3.0, 20.0, 2000.0])
@pytest.mark.parametrize("children", [1, 2, 17, 33, 1012, 50_000])
def test_subcritical_means_at_most_half_a_child_and_no_more_noise_than_that(scale: float, children: int) -> None:
    for noise in (Geometric(scale, 1, exact=True), Laplace(scale, 1.0)):
        threshold = subcritical_threshold(noise, children)
        assert children * false_share(noise, threshold) <= 0.5 * (1 + 1e-12) and threshold > 0
        if isinstance(noise, Geometric) and threshold > 1:
            assert children * false_share(noise, threshold - 1) > 0.5


def test_the_published_threshold_is_subcritical_for_33_locations_and_not_for_34() -> None:
    noise = Laplace(12.0, 1.0)
    share = false_share(noise, published_threshold(noise))
    assert 33 * share < 1 < 34 * share
    assert expected_nodes(33, 10, share) < 33 and expected_nodes(1012, 20, share) > 1e29
    assert expected_nodes(2, 5, 0.5) == 5.0
    assert expected_nodes(10, 3, 0.2) == pytest.approx(2 + 4 + 8)


def test_size_of_a_tree_of_noise_is_as_predicted() -> None:
    """One sequence far from everything, 300 trees; mean within 5 standard errors of the prediction."""
    sequences = Sequences.of([[0]], n_symbols=40)
    noise = level_noise(3.0, 40, threshold="published")
    r = 40 * false_share(noise.noise, noise.threshold)
    sizes = [len(build_tree(sequences, height=4, noise=noise)[0]) for _ in range(300)]
    assert 0.5 < r < 1.5
    assert abs(np.mean(sizes) - expected_nodes(40, 4, r / 40)) < 5 * np.std(sizes) / math.sqrt(300) + 0.2


def test_a_level_that_noise_would_flood_is_refused_before_it_is_drawn() -> None:
    noise = level_noise(1000.0, 10, threshold=1)
    with pytest.raises(ParameterError, match="by noise alone"):
        noise.passing(3, 10**8, np.empty(0, dtype=np.int64))


@pytest.mark.parametrize("rows", [[[0]], [[0, 0, 0]], [[], [0]]])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_one_location_one_trajectory_and_a_height_beyond_its_length(rows: list[list[int]], epsilon: float) -> None:
    height = 8
    noise = Geometric.calibrate(epsilon / height, sensitivity=1, exact=True)
    source = LevelNoise(noise, subcritical_threshold(noise, 1), RNG(0))
    tree, masses = build_tree(Sequences.of(rows, n_symbols=1), height=height, noise=source)
    assert len(masses) == height and tree.height == height
    for variant in ("basic", "full", "least-squares"):
        counts = counts_of(tree, variant)  # type: ignore[arg-type]
        assert np.isfinite(counts).all() and (terminating_counts(tree, counts) >= 0).all()


def test_empty_input_and_bad_parameters_are_refused_by_name() -> None:
    noise = level_noise(1.0, 3)
    with pytest.raises(DataContractError, match="no sequences"):
        build_tree(Sequences.of([], n_symbols=3), height=3, noise=noise)
    for height in (0, 10**6):
        with pytest.raises(ParameterError, match="height"):
            build_tree(Sequences.of([[0]], n_symbols=3), height=height, noise=noise)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="threshold"):
            chosen_threshold(bad, noise.noise, 3)
    with pytest.raises(ParameterError, match="variant"):
        counts_of(random_tree(0), "other")  # type: ignore[arg-type]


def test_sorted_and_counted_keys_give_one_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = random_sequences(400, 30, seed=2)
    first, _ = build_tree(sequences, height=3, noise=level_noise(1.5, 30))
    monkeypatch.setattr("trajkit.classical.prefix_tree.DENSE", 0)
    second, _ = build_tree(sequences, height=3, noise=level_noise(1.5, 30))
    assert np.array_equal(first.count, second.count) and np.array_equal(first.parent, second.parent)
    assert np.array_equal(first.symbol, second.symbol)


# ---- locations with times -------------------------------------------------------------------------------------------


def timed(n: int, symbols: int, times: int, *, seed: int = 0) -> Sequences:
    rng = RNG(seed)
    base = random_sequences(n, symbols, seed=seed)
    drawn = [np.sort(rng.integers(0, times, size=k)) for k in base.lengths]
    return Sequences(base.symbols, base.offsets, symbols, np.concatenate(drawn).astype(np.int32), times).check()


def test_times_never_fall_along_a_prefix_and_their_children_are_all_that_may_follow() -> None:
    sequences = timed(300, 4, 5)
    seen: list[int] = []

    class Spy(LevelNoise):
        def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen.append(universe)
            return super().passing(level, universe, visited)

    plain = level_noise(1.0, 20)
    tree, _ = build_tree(sequences, height=3, noise=Spy(plain.noise, plain.threshold, plain.rng))
    prefixes = tree.prefixes(np.arange(len(tree))).check()  # refuses times that decrease
    assert prefixes.times is not None and prefixes.n_times == 5 and len(tree) > 20
    assert seen[0] == 20
    assert tree.time is not None
    for depth in (1, 2):
        nodes = np.flatnonzero(tree.depth == depth)
        assert seen[depth] == 4 * (5 - tree.time[nodes].astype(int)).sum()
    assert (tree.time[tree.parent[tree.depth > 1]] <= tree.time[tree.depth > 1]).all()


def test_without_noise_a_timed_tree_counts_pairs() -> None:
    sequences = timed(200, 3, 4, seed=5)
    tree, _ = build_tree(sequences, height=2, noise=level_noise(0.02, 12))
    assert sequences.times is not None
    pairs: dict[tuple[int, ...], int] = {}
    for a, b in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True):
        code = tuple(zip(sequences.symbols[a:b].tolist(), sequences.times[a:b].tolist(), strict=True))
        for k in (1, 2):
            if len(code) >= k:
                pairs[code[:k]] = pairs.get(code[:k], 0) + 1  # type: ignore[index]
    found = tree.prefixes(np.arange(len(tree)))
    assert found.times is not None
    codes = [
        tuple(zip(found.symbols[a:b].tolist(), found.times[a:b].tolist(), strict=True))
        for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)
    ]
    assert dict(zip(codes, tree.count, strict=True)) == pairs


def test_scale_is_the_rational_number_that_it_is() -> None:
    """12 levels of epsilon 1: scale exactly 12, and the tail is computed from the same number."""
    noise = Geometric.calibrate(float(Fraction(1, 12)), sensitivity=1, exact=True)
    assert (
        noise.scale == pytest.approx(12.0, rel=1e-15) and Fraction(noise.scale) * Fraction(float(Fraction(1, 12))) >= 1
    )


# ---- what may be said about the data --------------------------------------------------------------------------------


def test_whether_a_level_is_refused_and_in_which_words_does_not_depend_on_who_was_there() -> None:
    noise, said = level_noise(1000.0, 10, threshold=1), set()
    for visited in (0, 1, 500):
        with pytest.raises(ParameterError) as refused:
            noise.passing(3, 16_000_000, np.arange(visited))
        said.add(str(refused.value))
    assert len(said) == 1


def test_noise_whose_two_branches_would_differ_is_refused() -> None:
    exact = Geometric(2.0, 1, exact=True)
    for noise, threshold in ((exact, 2.5), (Geometric(2.0, 1), 2.0), (Laplace(2.0, 1.0), 0.0), (exact, -1.0)):
        with pytest.raises(ParameterError, match="threshold"):
            LevelNoise(noise, threshold, RNG(0))
    assert LevelNoise(Laplace(2.0, 1.0), 2.5, RNG(0)).threshold == 2.5


def test_universes_and_trees_beyond_their_bounds_are_refused() -> None:
    wide = Sequences(np.zeros(1, dtype=np.int32), np.array([0, 1]), 2**31 - 1, np.zeros(1, dtype=np.int32), 2**31 - 1)
    with pytest.raises(ParameterError, match="more than the tree can number"):
        build_tree(wide, height=2, noise=level_noise(1.0, 10))
    m = 300_000
    chain = PrefixTree(
        symbol=np.zeros(m, dtype=np.int32), time=None, parent=np.full(m, -1), count=np.ones(m),
        level=np.concatenate([[0], np.full(1000, m)]), n_symbols=m,
    )  # fmt: skip
    with pytest.raises(ParameterError, match="use variant full"):
        least_squares_counts(chain)
