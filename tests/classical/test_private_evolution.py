"""Private Evolution: one trajectory is one vote, rounds compose as claimed, the population goes where the votes are, nothing stays."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import META, ORIGIN, from_metres, reached, walks

from trajkit.attacks.threshold_audit import epsilon_lower_bound
from trajkit.classical import evolution_votes, private_evolution
from trajkit.classical.evolution_votes import Embedding, NoisyVotes, votes
from trajkit.classical.private_evolution import PrivateEvolution, PrivateEvolutionConfig, evolved, systematic
from trajkit.classical.simulators import Paths, PublicPaths, reflected
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.geo import box_xy
from trajkit.methods import make_method
from trajkit.privacy.gdp import gdp_delta
from trajkit.privacy.mechanisms import Gaussian
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories
from trajkit.viz.votes import noisy_votes

BOUNDS = box_xy(META.box, META.crs)
SMALL = {"length": 6, "population": 60, "rounds": 3, "embedding_points": 8}


def fitted(train: Trajectories, *, seed: int = 0, **parameters: Any) -> PrivateEvolution:
    return PrivateEvolution(PrivateEvolutionConfig(**{**SMALL, **parameters})).fit(train, seed=seed)


def released(train: Trajectories, n: int = 20, *, seed: int = 0, **parameters: Any) -> Release:
    return fitted(train, seed=seed, **parameters).release(n, seed=seed)


# ---- one trajectory is one vote ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 12),
    m=st.integers(2, 9),
    spots=st.integers(1, 4),
    length=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_one_trajectory_changes_one_entry_by_one(n: int, m: int, spots: int, length: int, seed: int) -> None:
    """On few spots, so that trajectories and candidates coincide and distances tie."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, spots, (n, length, 2)) * 1000.0
    train, embedding = from_metres(places.tolist()), Embedding(BOUNDS, 3, 2.0)
    candidates = embedding.of_points(ORIGIN + rng.integers(0, spots, (m, 3, 2)) * 1000.0)
    gone = int(rng.integers(n))
    with_it = votes(embedding.of(train), candidates)
    without = votes(embedding.of(train.take(np.delete(np.arange(n), gone))), candidates)
    change = with_it - without
    assert with_it.sum() == n and with_it.dtype == np.int64
    assert np.count_nonzero(change) == 1 and change.sum() == 1


def test_the_nearest_candidate_gets_the_vote() -> None:
    rng = np.random.default_rng(0)
    private, candidates = rng.normal(size=(300, 16)), rng.normal(size=(50, 16))
    nearest = ((private[:, None] - candidates) ** 2).sum(axis=2).argmin(axis=1)
    assert (votes(private, candidates) == np.bincount(nearest, minlength=50)).all()


def test_ends_weigh_more_and_both_directions_are_scaled_alike() -> None:
    embedding = Embedding((0.0, 0.0, 2000.0, 1000.0), 4, 3.0)
    still = np.zeros((1, 4, 2))

    def squared(point: int, east: float, north: float) -> float:
        moved = still.copy()
        moved[0, point] = east, north
        return float(((embedding.of_points(moved) - embedding.of_points(still)) ** 2).sum())

    assert squared(0, 200, 0) == squared(3, 0, 200) == pytest.approx(0.03) and squared(1, 0, 200) == pytest.approx(0.01)


# ---- the account ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "rounds"), [(0.1, 1e-5, 6), (1.0, 1e-6, 1), (10.0, 1e-5, 9)])
def test_rounds_compose_to_the_exact_profile(epsilon: float, delta: float, rounds: int) -> None:
    account = NoisyVotes(epsilon, delta, rounds, seed=0)
    for _ in range(rounds):
        account.take(np.zeros(3, dtype=np.int64))
    g = account.guarantee(public=())
    mu = math.sqrt(rounds) / account.sigma
    assert account.sigma == Gaussian.calibrate(epsilon, delta, l2_sensitivity=math.sqrt(rounds)).sigma
    assert gdp_delta(mu, epsilon) <= delta < gdp_delta(mu * 1.000001, epsilon)
    assert g.epsilon == pytest.approx(epsilon, rel=1e-6) and g.epsilon <= epsilon and g.delta == delta
    assert g.parts[0].details == {"rounds": rounds, "sigma": account.sigma, "l2_sensitivity": 1.0, "mu": mu}
    one = privacy_loss_distribution.from_gaussian_mechanism(account.sigma, value_discretization_interval=1e-4)
    assert one.self_compose(rounds).get_epsilon_for_delta(delta) == pytest.approx(epsilon, rel=5e-3)


def test_no_round_more_than_declared_and_fewer_cost_less() -> None:
    account = NoisyVotes(1.0, 1e-5, 2, seed=0)
    account.take(np.zeros(3, dtype=np.int64))
    half = account.guarantee(public=()).epsilon
    account.take(np.zeros(3, dtype=np.int64))
    assert half is not None and half < 0.8
    with pytest.raises(PrivacyAccountingError, match="all 2 rounds"):
        account.take(np.zeros(3, dtype=np.int64))


def test_candidates_without_votes_have_noise_too(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy: list[np.ndarray] = []
    take = NoisyVotes.take
    monkeypatch.setattr(NoisyVotes, "take", lambda self, exact: noisy.append(take(self, exact)) or noisy[-1])
    model = fitted(walks(5, 8, 0), population=2000).model_
    empty = [np.sort(np.abs(z))[:-5] for z in noisy]
    assert len(noisy) == 3 and all((z > 0).all() for z in empty)
    assert all(z.std() == pytest.approx(model.report["sigma"], rel=0.1) for z in noisy)


# ---- an attacker who knows all but one trajectory ----------------------------------------------------------------

EPSILON, DELTA, FITS = 1.0, 0.05, 900
OTHERS = [[(-3000.0, -3000.0), (-3000.0, -2990.0)], [(-3000.0, -3000.0), (3000.0, -3000.0)]]
TARGET = [(3000.0, 3000.0), (-3000.0, 3000.0)]


class HalfTheNoise(Gaussian):
    """The bug to be caught."""

    @classmethod
    def calibrate(cls, epsilon: float, delta: float, *, l2_sensitivity: float) -> Gaussian:
        return Gaussian(Gaussian.calibrate(epsilon, delta, l2_sensitivity=l2_sensitivity).sigma / 2, l2_sensitivity)


class Transcript:
    """What a fit shows: the candidates of each round, which are public, and their noisy votes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.candidates: list[np.ndarray] = []
        self.noisy: list[np.ndarray] = []
        take = NoisyVotes.take

        def seen_votes(private: np.ndarray, candidates: np.ndarray) -> np.ndarray:
            self.candidates.append(candidates)
            return votes(private, candidates)

        def seen_take(account: NoisyVotes, exact: np.ndarray) -> np.ndarray:
            self.noisy.append(take(account, exact))
            return self.noisy[-1]

        monkeypatch.setattr(private_evolution, "votes", seen_votes)
        monkeypatch.setattr(NoisyVotes, "take", seen_take)
        monkeypatch.setattr(private_evolution, "box_xy", lambda *_: BOUNDS)
        monkeypatch.setattr(private_evolution, "checked_training_set", lambda train: train)

    def score(self, train: Trajectories, others: np.ndarray, target: np.ndarray, seed: int) -> float:
        """Log-likelihood ratio of a whole fit, up to constants: what is left of the votes where the target's would be."""
        self.candidates.clear()
        self.noisy.clear()
        fitted(train, seed=seed, epsilon=EPSILON, delta=DELTA, population=5, rounds=3, variations=1)
        rounds = zip(self.candidates, self.noisy, strict=True)
        return float(sum((z - votes(others, c))[votes(target, c) > 0].sum() for c, z in rounds))


def audit(transcript: Transcript, seed: int) -> tuple[float, float]:
    """Lower bound on epsilon, and by how many of their standard deviations the scores move with the target: an estimate of mu."""
    embedding = Embedding(BOUNDS, 8, 2.0)
    sets = from_metres(OTHERS), from_metres([*OTHERS, TARGET])
    known, target = embedding.of(sets[0]), embedding.of(from_metres([TARGET]))
    a, b = (
        [transcript.score(trajs, known, target, seed + 2 * i + k) for i in range(FITS)] for k, trajs in enumerate(sets)
    )
    spread = math.sqrt((np.var(a) + np.var(b)) / 2)
    return epsilon_lower_bound(a, b, delta=DELTA).epsilon, float(np.mean(b) - np.mean(a)) / spread


def test_the_claim_survives_an_audit_and_half_the_noise_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(monkeypatch)
    honest, mu = audit(transcript, 10_000)
    monkeypatch.setattr(evolution_votes, "Gaussian", HalfTheNoise)
    broken, twice_mu = audit(transcript, 20_000)
    print(honest, mu, broken, twice_mu)
    claimed = math.sqrt(3) / Gaussian.calibrate(EPSILON, DELTA, l2_sensitivity=math.sqrt(3)).sigma
    assert honest <= EPSILON < broken
    assert mu == pytest.approx(claimed, abs=0.15) and twice_mu == pytest.approx(2 * claimed, abs=0.15)


# ---- evolution --------------------------------------------------------------------------------------------------


def corner(n: int) -> Trajectories:
    rng = np.random.default_rng(0)
    return from_metres((np.array([5000.0, 4000.0]) + rng.normal(0, 300, (n, 5, 2))).tolist())


def off_corner(trajs: Trajectories) -> float:
    return float(np.median(np.linalg.norm(trajs.xy - ORIGIN - [5000.0, 4000.0], axis=1)))


def test_the_population_moves_to_where_the_data_are() -> None:
    """With each round the release comes closer, down to the size of the data themselves; without data it stays anywhere."""
    found = [off_corner(released(corner(500), 200, epsilon=100.0, rounds=r).trajectories) for r in (1, 3, 6)]
    assert found[0] > 1.5 * found[1] > 2 * found[2] and found[2] < 1000


def test_what_an_epsilon_buys() -> None:
    train = corner(40)
    far, near = (off_corner(released(train, 200, epsilon=e, rounds=6).trajectories) for e in (0.1, 100.0))
    assert near < 1000 < 3000 < far


def test_a_new_population_keeps_winners_once_and_moves_the_others_a_little() -> None:
    simulator, rng = PublicPaths(BOUNDS), np.random.default_rng(0)
    population = simulator.random(12, rng)
    weights = np.zeros(12)
    weights[[3, 7]] = 2.0, 1.0
    after = evolved(population, weights, simulator, 3, 50.0, rng)
    assert len(after) == 12 and (after.start[:2] == population.start[[3, 7]]).all()
    near = np.linalg.norm(after.start[:, None] - population.start[[3, 7]], axis=2).min(axis=1) < 300
    assert near.mean() > 0.7 and len(np.unique(after.start, axis=0)) == 12


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.integers(1, 50), st.integers(0, 1000))
@settings(deadline=None)
def test_systematic_draws_are_within_one_of_what_is_due(weights: list[float], n: int, seed: int) -> None:
    w = np.array(weights)
    due = n * (w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w)))
    drawn = np.bincount(systematic(w, n, np.random.default_rng(seed)), minlength=len(w))
    assert drawn.sum() == n and (np.abs(drawn - due) < 1 + 1e-9).all()


# ---- the simulator ----------------------------------------------------------------------------------------------


def test_paths_are_equally_spaced_along_their_bend() -> None:
    paths = Paths(*(np.array([x], dtype=np.float64) for x in ((0, 0), (30, 0), (30, 10))), np.array([True]))
    assert np.allclose(paths.points(5)[0], [[0, 0], [10, 0], [20, 0], [30, 0], [30, 10]])
    still = Paths(*(np.zeros((1, 2)) for _ in range(3)), np.array([False]))
    assert (still.points(4) == 0).all()


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), degree=st.floats(0, 1e6))
def test_variations_stay_in_the_box(seed: int, degree: float) -> None:
    simulator, rng = PublicPaths(BOUNDS), np.random.default_rng(seed)
    xy = simulator.vary(simulator.random(20, rng), degree, rng).points(9)
    assert (xy >= np.array(BOUNDS[:2]) - 1e-6).all() and (xy <= np.array(BOUNDS[2:]) + 1e-6).all()


def test_places_are_reflected_at_the_border() -> None:
    assert np.allclose(
        reflected(np.array([[-1.0, 5.0], [11.0, 27.0], [3.0, 4.0]]), (0, 0, 10, 10)), [[1, 5], [9, 7], [3, 4]]
    )


def test_variations_move_by_their_degree() -> None:
    simulator, rng = PublicPaths(BOUNDS), np.random.default_rng(0)
    before = simulator.random(4000, rng)
    moved = np.median(np.linalg.norm(simulator.vary(before, 100.0, rng).start - before.start, axis=1))
    assert moved == pytest.approx(100 * math.sqrt(2 * math.log(2)), rel=0.1)  # median of a Rayleigh law


class Corners:
    """A simulator that knows the same straight trips again and again."""

    public = "trips between four corners"

    def random(self, n: int, rng: np.random.Generator) -> Paths:
        spots = ORIGIN + np.array([(-3000.0, -3000.0), (3000.0, -3000.0), (3000.0, 3000.0), (-3000.0, 3000.0)])
        start, end = spots[rng.integers(0, 4, n)], spots[rng.integers(0, 4, n)]
        return Paths(start, (start + end) / 2, end, np.zeros(n, dtype=bool))

    def vary(self, candidates: Paths, degree: float, rng: np.random.Generator) -> Paths:
        return candidates


def test_another_simulator_takes_its_place_and_is_named() -> None:
    method = PrivateEvolution(PrivateEvolutionConfig(**SMALL, epsilon=100.0), Corners())  # type: ignore[arg-type]
    release = method.fit(from_metres([TARGET] * 200), seed=0).release(30, seed=0)
    assert np.allclose(release.trajectories.xy - ORIGIN, np.tile(np.linspace(*TARGET, 6), (30, 1)), atol=1)
    assert any("four corners" in a for a in release.guarantee.assumptions)


# ---- what stays, what repeats, what is odd ----------------------------------------------------------------------


def test_after_fit_nothing_private_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    exact: list[np.ndarray] = []
    monkeypatch.setattr(private_evolution, "votes", lambda a, b: exact.append(votes(a, b)) or exact[-1])
    train = walks(60, 12, 0).with_meta(steps=({"step": "secret count", "trajectories_in": 61},))
    private = np.concatenate([train.lonlat.ravel(), train.xy.ravel(), Embedding(BOUNDS, 8, 2.0).of(train).ravel()])
    method = fitted(train)
    release = method.release(3, seed=0)
    for thing in reached([method, release], set()):
        assert not isinstance(thing, (NoisyVotes, Embedding, np.random.Generator))
        assert not isinstance(thing, Trajectories) or thing is release.trajectories
        if isinstance(thing, np.ndarray) and thing.dtype.kind == "f":
            assert not np.isin(thing, private).any()
        if isinstance(thing, (np.ndarray, list)) and len(thing) == len(exact[0]):
            assert not any(np.array_equal(thing, x) for x in exact)
    assert method.model_.meta.steps == () and HIDDEN not in release.report
    json.dumps(release.report, allow_nan=False)


def test_seeded_runs_repeat_and_those_of_the_system_do_not() -> None:
    train = walks(100, 8, 0)

    def print_of(noise: str, seed: int = 0) -> str:
        return released(train, noise=noise, seed=seed).trajectories.fingerprint()

    assert print_of("seeded") == print_of("seeded") != print_of("seeded", 1)
    assert print_of("os") != print_of("os")
    os_noise, seeded = (released(train, noise=n).guarantee for n in ("os", "seeded"))
    assert os_noise.rng == "os entropy" and any("Gaussian noise comes from" in a for a in os_noise.assumptions)
    assert not any("knows the seed" in a for a in os_noise.assumptions)
    assert any("knows the seed" in a for a in seeded.assumptions)
    assert seeded.numerics == "idealised floating point" and seeded.adjacency == "add-remove"


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 100.0])
@pytest.mark.parametrize("train", [walks(1, 10, 0), walks(1, 1, 0), from_metres([[(0.0, 0.0)] * 5] * 30)])
@pytest.mark.parametrize("sizes", [{"population": 2}, {"rounds": 1}, {"variations": 500}, {"threshold": 1e9}])
def test_odd_sets_budgets_and_sizes_work(epsilon: float, train: Trajectories, sizes: dict[str, Any]) -> None:
    release = released(train, epsilon=epsilon, **sizes)
    assert len(release.trajectories) == 20 and release.trajectories.violations() == []
    assert release.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6) and release.guarantee.delta == 1e-5


def test_an_empty_set_is_refused_by_its_name() -> None:
    with pytest.raises(DataContractError, match=META.dataset):
        fitted(walks(2, 3, 0).take(np.zeros(0, dtype=np.int64)))


@pytest.mark.parametrize(
    "bad", [{"delta": 0.0}, {"rounds": 0}, {"population": 1}, {"degree": 2.0}, {"threshold": -1.0}, {"epsilon": 0.0}]
)
def test_bad_parameters_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        make_method("private_evolution", **bad)


def test_the_number_of_trajectories_decides_neither_noise_nor_delta() -> None:
    few, many = (released(walks(n, 8, 0)) for n in (10, 200))
    assert few.report["sigma"] == many.report["sigma"] and few.guarantee == many.guarantee


def test_the_figure_has_a_line_a_round() -> None:
    report = released(walks(100, 8, 0)).report
    lines = noisy_votes(report).axes[0].get_lines()
    assert len(lines) == 3 and list(lines[0].get_ydata()) == report["rounds"][0]["noisy votes"]
