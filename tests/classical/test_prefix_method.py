"""Method "prefix_tree": trajectories through a public grid and back, its guarantee, and what black-box tests make of it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import META, walks

from trajkit import geo
from trajkit.attacks.threshold_audit import epsilon_lower_bound
from trajkit.classical.prefix_method import ends_first
from trajkit.classical.prefix_release import NoisyTree, publish_tree, released_sequences
from trajkit.classical.prefix_tree import build_tree
from trajkit.classical.tree_noise import LevelNoise
from trajkit.datasets.sequence_files import read_sequences
from trajkit.errors import DataContractError, ParameterError
from trajkit.grid import Grid
from trajkit.methods import make_method
from trajkit.metrics.point import jensen_shannon
from trajkit.privacy.mechanisms import Geometric, Laplace
from trajkit.sequences import Sequences, cell_sequences
from trajkit.trajectories import Trajectories, make

RNG = np.random.default_rng


def publish(rows: list[list[int]], *, n_symbols: int = 4, **given: Any) -> NoisyTree:
    return publish_tree(Sequences.of(rows, n_symbols=n_symbols), **{"epsilon": 1.0, "height": 3, "seed": 0, **given})


def test_the_guarantee_composes_the_levels() -> None:
    noisy = publish([[0, 1], [2]], epsilon=0.9, height=3)
    g = noisy.guarantee()
    assert g.holds and g.epsilon == pytest.approx(0.9) and g.epsilon <= 0.9 and g.delta == 0.0
    assert (g.unit, g.adjacency, g.numerics) == ("trajectory", "add-remove", "exact")
    assert "3 x epsilon 0.3" in (g.mechanism or "") and any("universe of 4 locations" in a for a in g.assumptions)
    look = g.parts[0].details["looks"][0]
    assert (look["times"], look["sensitivity"]) == (3, 1) and look["scale"] >= 1 / 0.3
    assert any("replace-one" in a for a in g.assumptions)
    published = publish([[0, 1], [2]], mechanism="laplace", threshold="published").guarantee()
    assert published.numerics == "idealised floating point"


def test_noise_of_the_operating_system_is_said_and_differs() -> None:
    rows = [[0, 1, 2]] * 50
    a, b = (publish(rows, source="os") for _ in range(2))
    assert a.guarantee().rng == "os entropy"
    assert not np.array_equal(a.tree.count, b.tree.count)
    c, d = (publish(rows, source="seeded") for _ in range(2))
    assert np.array_equal(c.tree.count, d.tree.count) and "seeded" in c.guarantee().rng


def test_the_published_threshold_is_refused_where_noise_would_breed() -> None:
    rows = [[i, i + 1] for i in range(500)]
    with pytest.raises(ParameterError, match=r"29\.9 children by noise alone"):
        publish(rows, n_symbols=1012, height=20, threshold="published", mechanism="laplace")
    noisy = publish(rows, n_symbols=1012, height=20)
    assert noisy.false_children <= 0.5 and noisy.expected_noise_nodes < 1.1
    assert publish(
        rows[:3], n_symbols=17, height=10, threshold="published", mechanism="laplace"
    ).false_children == pytest.approx(17 * math.exp(-2 * math.sqrt(2)) / 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=2, max_size=8), st.integers(0, 7))
def test_one_sequence_changes_one_count_a_level_by_one(rows: list[list[int]], which: int) -> None:
    """Sensitivity, on the counts that the builder hands to the noise, whatever is kept: all of it, here."""
    height = 4

    def counts(rows: list[list[int]]) -> list[dict[int, int]]:
        seen: list[dict[int, int]] = []

        class All:
            threshold = 0.5

            def noisy(self, level: int, keys: np.ndarray, true: np.ndarray) -> np.ndarray:
                seen.append(dict(zip(keys.tolist(), true.tolist(), strict=True)))
                return true.astype(float)

            def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                empty = np.setdiff1d(np.arange(universe), visited)  # keep everything, so that keys mean the same
                return empty, np.ones(len(empty))

        build_tree(Sequences.of(rows, n_symbols=3), height=height, noise=All())
        return seen

    without = rows[: which % len(rows)] + rows[which % len(rows) + 1 :]
    for a, b in zip(counts(rows), counts(without), strict=True):
        assert sum(abs(a.get(k, 0) - b.get(k, 0)) for k in {*a, *b}) <= 1


# ---- black-box: what the released tree tells about one sequence -----------------------------------------------------


def scores(
    rows: list[list[int]], target: tuple[int, ...], *, epsilon: float, halved: bool, n: int, kind: str, seed: int
) -> np.ndarray:
    """Sum of the noisy counts along the target's path in ``n`` trees; what is not kept counts as just below the threshold."""
    height = len(target)
    scale = height / epsilon / (2 if halved else 1)
    noise = Geometric(scale, 1, exact=True) if kind == "geometric" else Laplace(scale, 1.0)
    source = LevelNoise(noise, 1.0 if kind == "geometric" else 0.7, RNG(seed))
    sequences = Sequences.of(rows, n_symbols=2)
    out = np.empty(n)
    for i in range(n):
        tree, _ = build_tree(sequences, height=height, noise=source)
        found = {tuple(p): c for p, c in zip(tree.prefixes(np.arange(len(tree))).to_lists(), tree.count, strict=True)}
        out[i] = sum(found.get(target[: k + 1], 0.0) for k in range(height))
    return out


@pytest.mark.parametrize("kind", ["geometric", "laplace"])
def test_black_box_the_claim_stands_and_half_the_noise_is_caught(kind: str) -> None:
    """Two symbols, height 2, epsilon 1; the target's path is well visited, so its counts are seen. 6,000 trees in each world."""
    target, others = (1, 1), [[1, 1]] * 30 + [[0, 1]] * 5

    def bound(halved: bool) -> float:
        worlds = [
            scores(rows, target, epsilon=1.0, halved=halved, n=6000, kind=kind, seed=s)
            for s, rows in ((1, [*others, list(target)]), (2, others))
        ]
        return epsilon_lower_bound(*worlds, delta=0.0).epsilon

    assert 0.4 < bound(halved=False) <= 1.0
    assert bound(halved=True) > 1.0


# ---- trajectories ---------------------------------------------------------------------------------------------------


def test_ends_come_first_and_every_place_once() -> None:
    assert (
        ends_first(1).tolist() == [0] and ends_first(2).tolist() == [0, 1] and ends_first(5).tolist() == [0, 4, 2, 1, 3]
    )
    for h in range(1, 30):
        assert sorted(ends_first(h)) == list(range(h))


@pytest.mark.parametrize("sampling", ["prefix", "waypoints"])
def test_with_hardly_any_noise_what_comes_out_is_what_went_in(sampling: str) -> None:
    train = walks(300, 20, 1)
    method = make_method("prefix_tree", epsilon=1e6, cells=6, height=12, sampling=sampling, threshold=1, length=64).fit(
        train, seed=0
    )
    out = method.release(3000, seed=0).trajectories
    grid = Grid(geo.box_xy(META.box, META.crs), 6, 6)
    real, released = (cell_sequences(t, grid) for t in (train, out))
    for take in (lambda s: s.symbols[s.offsets[:-1]], lambda s: s.symbols[s.offsets[1:] - 1]):
        a, b = (np.bincount(take(s), minlength=36) for s in (real, released))
        if sampling == "waypoints" or take(real)[0] == real.symbols[0]:
            assert jensen_shannon(a, b) < 0.02


def test_a_tree_cut_short_leaves_the_ends_of_waypoints() -> None:
    there, back = [(-8.70, 41.11), (-8.60, 41.20), (-8.52, 41.12)], [(-8.70, 41.11), (-8.60, 41.13), (-8.52, 41.12)]
    train = make(*([there] * 60 + [back] * 60), meta=META)
    method = make_method("prefix_tree", epsilon=0.5, cells=4, height=3, threshold=80).fit(train, seed=3)
    assert method.report_["nodes per level"][2] == 0  # type: ignore[attr-defined]
    out = method.release(50, seed=0).trajectories.lonlat.reshape(50, -1, 2)
    crossed = (out[:, 0, 0] < -8.66) & (out[:, -1, 0] > -8.56)
    assert crossed.mean() > 0.7  # the rest ends at the first level, where noise says that some do


def test_nothing_private_is_left_behind_and_nothing_to_draw_from_is_an_error() -> None:
    train = walks(40, 10, 2)
    method = make_method("prefix_tree", epsilon=5.0, cells=3, height=2).fit(train, seed=0)
    assert not any(isinstance(v, (Trajectories, Sequences)) for v in vars(method).values())
    hidden = method.release(2, seed=0).report["not covered by the guarantee"]["levels"]
    assert [level["level"] for level in hidden] == [1, 2]
    empty = make_method("prefix_tree", epsilon=0.01, cells=8, height=4).fit(walks(3, 10, 2), seed=0)
    with pytest.raises(DataContractError, match="reached the threshold"):
        empty.release(1, seed=0)
    with pytest.raises(DataContractError, match="no training trajectories"):
        make_method("prefix_tree").fit(train.take(np.zeros(0, dtype=np.int64)), seed=0)


def test_released_sequences_hold_as_many_as_the_first_level() -> None:
    noisy = publish([[0, 1, 2], [0, 1], [3]] * 100, epsilon=3.0)
    rows = released_sequences(noisy.tree, "full")
    assert rows.check() is rows and abs(len(rows) - 300) < 30 and (rows.lengths >= 1).all()
    with pytest.raises(ParameterError, match="height"):
        publish([[0]], height=0)


def test_one_third_of_an_epsilon_three_times_is_not_more_than_it() -> None:
    for epsilon, height in ((0.1, 3), (1.0, 7), (2.3, 20)):
        look = publish([[0]], epsilon=epsilon, height=height).looks.taken[0]
        assert look.spent == Fraction(epsilon)
        assert height * Fraction(1) / Fraction(look.scale) <= Fraction(epsilon)


def test_a_release_of_noise_without_end_is_refused() -> None:
    noisy = publish([[0, 1]], epsilon=1e-8, height=1, n_symbols=40, threshold=1)
    with pytest.raises(ParameterError, match="raise epsilon"):
        released_sequences(noisy.tree, "basic")
    assert any("at least one trajectory is public" in a for a in noisy.guarantee().assumptions)


@pytest.mark.shared
def test_the_literal_algorithm_runs_on_page_visits(shared) -> None:  # type: ignore[no-untyped-def]
    """17 symbols, so that the published threshold is below one child a node (MSNBC form, an excerpt)."""
    real = read_sequences(shared / "data" / "msnbc" / "msnbc323_first220.seq")
    assert real.n_symbols == 17
    noisy = publish_tree(real, epsilon=10.0, height=10, seed=0, threshold="published", mechanism="laplace")
    assert noisy.false_children < 1 and noisy.masses[0].real > 150
    for variant in ("basic", "full", "least-squares"):
        released = released_sequences(noisy.tree, variant).check()  # type: ignore[arg-type]
        assert 100 < len(released) < 900 and released.lengths.max() <= 10
