"""DP-SGD and a count release, sound and deliberately broken, each before every test that might see the break.

The subjects are the kit's own `Trainer` and `LevelNoise`; a broken copy is the same with one thing changed. A test that audits
nothing but copies of itself proves little, so the sound ones go through the same tests and must stand.

- ``gradient``: every step of a training is a release of its own. The loss is linear, so a record's gradient is the record; the
  canary's is a thousand times the clip norm, all others are orthogonal to it; the score is the noisy sum along the canary. Sees noise
  and clipping, not how batches are drawn.
- ``updates``: a score that counts whether a step made an update, on data so small that most batches are empty. Sees skipped steps.
- ``epoch``: the worst case for the sampler, after Chua et al. 2024: the canary's gradient points against all others', the score is the
  largest noisy sum of an epoch. Sees that a record takes part exactly once.
- ``steps``: counts the updates that the optimiser was given against those accounted for.
- ``support``: is a cell in the release that nobody, or one person, visited?
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from trajkit.attacks.audit_bounds import audit, claim_of
from trajkit.attacks.verdict import SOUND, Verdict, judged
from trajkit.attacks.watched import FLAWS, FlawedTrainer
from trajkit.classical.tree_noise import LevelNoise
from trajkit.deep.train_settings import TrainSettings
from trajkit.errors import ParameterError
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.ledger import DpSgd
from trajkit.privacy.mechanisms import Geometric
from trajkit.seeds import child_seed, rng

CLIP, CANARY = 1.0, 1000.0
LEVEL, DELTA, UNIT = 0.95, 1e-5, "trajectory"


class _Linear:
    """The loss <weights, record>: a record is its own gradient."""

    draws, second_order, free_rows = 1, False, 0

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        return {}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        return model(batch)[:, 0]

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {}

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        raise NotImplementedError

    def begin_step(self, step: int) -> None:
        pass

    def end_step(self, model: nn.Module) -> None:
        pass


class Subject(FlawedTrainer):
    """`FlawedTrainer` on [n, k] records whose gradients they are; ``sums`` are float32 [updates, k]."""

    def __init__(self, records: Tensor, settings: TrainSettings, *, flaw: str, seed: int) -> None:
        model = nn.Linear(records.shape[1], 1, bias=False)
        super().__init__(model, _Linear(), records, settings, seed=seed, identity=flaw, flaw=flaw)


@dataclass(frozen=True)
class _Game:
    """Neighbouring data ``others`` [n, k] and the same with ``canary`` [k]; a release is ``steps`` steps, claimed as `DpSgd`."""

    others: Tensor
    canary: Tensor
    sample_rate: float
    noise_multiplier: float
    steps: int
    seen: str

    @property
    def claim(self) -> DpSgd:
        return DpSgd(self.sample_rate, self.noise_multiplier, self.steps)

    def scores(self, flaw: str, releases: int, canary: bool, seed: int) -> np.ndarray:
        """One score a release, [releases]."""
        records = torch.cat([self.others, self.canary[None]]) if canary else self.others
        done = Subject(records, self.settings(releases), flaw=flaw, seed=seed)
        done.run()
        if self.seen == UPDATES:
            return np.array(done.made, dtype=np.float64)
        along = np.zeros(releases * self.steps)  # a step without an update shows nothing
        along[done.made] = done.sums[:, 0]
        return along.reshape(releases, self.steps).max(axis=1)

    def settings(self, releases: int) -> TrainSettings:
        return TrainSettings(
            regime="private",
            steps=releases * self.steps,
            sample_rate=self.sample_rate,
            max_grad_norm=CLIP,
            noise_multiplier=self.noise_multiplier,
            physical_batch=16,
            warmup_steps=0,
            decay="constant",
            ema_decay=0.0,
        )


UPDATES, SUMS = "whether an update was made", "largest noisy sum along the canary"
GAMES = {
    "gradient": _Game(torch.tensor([[0.0, 1.0]] * 4), torch.tensor([CANARY, 0.0]), 0.5, 1.0, 1, SUMS),
    "updates": _Game(torch.tensor([[0.0, 1.0]]), torch.tensor([1.0, 0.0]), 0.3, 20.0, 1, UPDATES),
    "epoch": _Game(torch.tensor([[-1.0, 0.0]] * 9), torch.tensor([1.0, 0.0]), 0.1, 0.5, 10, SUMS),
}


def game(test: str, flaw: str, *, steps: int, seed: int, level: float = LEVEL, placebo: bool = False) -> Verdict:
    """Play ``test``, one of `GAMES`, on the trainer with ``flaw`` (or `SOUND`): ``steps`` in each world, against the accountant's curve.

    With ``placebo`` the canary is in neither world. Raises ParameterError for an unknown test or flaw.
    """
    if test not in GAMES:
        raise ParameterError(f"test = {test!r}: use one of {', '.join(GAMES)}")
    started, g = time.monotonic(), GAMES[test]
    releases = steps // g.steps
    scores = {
        name: g.scores(flaw, releases, canary, child_seed(seed, "attack", "broken", test, flaw, name))
        for name, canary in (("with", not placebo), ("without", False))
    }
    claim, curve = claim_of(g.claim, delta=DELTA)
    found = audit({g.seen: (scores["with"], scores["without"])}, delta=DELTA, level=level, curve=curve)
    seconds = time.monotonic() - started
    return judged(found, subject=f"DP-SGD, {flaw}", test=test, claimed_epsilon=claim, seconds=seconds)


def step_count(flaw: str, *, seed: int, steps: int = 200) -> Verdict:
    """Train once and compare the updates that the optimiser was given with those accounted for: one too few contradicts.

    A plain check, with no chance of a false alarm; it needs the training, not the release.
    """
    started, g = time.monotonic(), GAMES["updates"]
    done = Subject(g.others, g.settings(steps), flaw=flaw, seed=child_seed(seed, "attack", "steps", flaw))
    done.run()
    made, accounted = len(done.sums), done.ledger["steps"]
    by = ("count",) if made != accounted else ()
    claimed = epsilon_of(replace(g.claim, steps=steps), delta=DELTA, unit=UNIT).epsilon
    tried = f"{made} updates made, {accounted} accounted for"
    seconds = time.monotonic() - started
    return Verdict(f"DP-SGD, {flaw}", "steps", claimed, DELTA, None, None, None, by, tried, 1, 1.0, seconds)


class _UnnoisedSupport(LevelNoise):
    """Noisy counts for the visited cells only: which cells are in the release says who was there."""

    def passing(self, level: int, universe: int, visited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


# cells of the release, the one that only the canary visits, and what is claimed
CELLS, CELL, COUNT_EPSILON = 40, 7, 1.0


def support(*, broken: bool, releases: int, seed: int, level: float = LEVEL) -> Verdict:
    """Is the canary's cell in the release? Counts with exact geometric noise at epsilon `COUNT_EPSILON`, kept from a threshold of 1 on.

    ``broken``: cells that nobody visited get no noise, and visited ones are kept whatever their noisy count.
    """
    started = time.monotonic()
    noise = Geometric.calibrate(COUNT_EPSILON, sensitivity=1, exact=True)
    worlds = []
    for name in ("with", "without"):
        visited = np.array([3, CELL, 20] if name == "with" else [3, 20])
        random = rng(seed, "attack", "support", name)
        held = (_UnnoisedSupport if broken else LevelNoise)(noise, 1.0, random)
        scores = np.zeros(releases)
        for i in range(releases):
            scores[i] = CELL in _support(held, visited, kept_always=broken)
        worlds.append(scores)
    found = audit({"canary's cell released": (worlds[0], worlds[1])}, delta=0.0, level=level)
    subject = f"noisy counts, {'un-noised support' if broken else SOUND}"
    seconds = time.monotonic() - started
    return judged(found, subject=subject, test="support", claimed_epsilon=COUNT_EPSILON, seconds=seconds)


def _support(held: LevelNoise, visited: np.ndarray, *, kept_always: bool) -> np.ndarray:
    """The released cells."""
    counts = held.noisy(0, visited, np.ones(len(visited), dtype=np.int64))
    kept = visited if kept_always else visited[counts >= held.threshold]
    more, _ = held.passing(0, CELLS, visited)
    return np.concatenate([kept, more])


def table(*, steps: int, releases: int, seed: int) -> tuple[Verdict, ...]:
    """``steps`` for each game, ``releases`` of the counts. Every subject before every test that applies to it: what was caught, and what each test misses."""
    subjects = (SOUND, *FLAWS)
    found = [game(test, flaw, steps=steps, seed=seed) for test in GAMES for flaw in subjects]
    found += [step_count(flaw, seed=seed) for flaw in subjects]
    return (*found, *(support(broken=broken, releases=releases, seed=seed) for broken in (False, True)))
