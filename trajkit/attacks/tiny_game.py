"""The distinguishing game on tiny GANs: a data set with and without a canary, and what is read off the releases.

Black-box scores look at released trajectories only: ``toward`` how far their mean lies in the direction of the canary, ``nearest``
minus the distance of the nearest one to the canary, ``mean distance`` minus their mean distance, ``moments`` a linear
discriminant on their means, variances and covariances. White box: ``weights``, a linear discriminant on the released weights (of the generator; of the critic
too where the claim covers it), and where the claim covers it ``critic``, what the critic says of the canary beside the generated
trajectories. Discriminants are learned on the first half of the models, which picks the thresholds as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trajkit.attacks.audit_sets import ZIGZAG, canary, unit_rows
from trajkit.attacks.tiny_gan import TinyGan, Training
from trajkit.errors import ParameterError
from trajkit.seeds import child_seed, rng
from trajkit.trajectories import Trajectories

BLOCK = 250  # models that are trained together: their arrays stay in the cache
RELEASED = 1000  # trajectories that each model releases; free, as a promise covers the model
BLACK_BOX = ("toward", "nearest", "mean distance", "moments")
SHRINKAGE = 0.2  # of the discriminant's covariance towards its mean variance
PUBLIC = {"noise_multiplier": 0.0, "steps": 8000, "batch": 64, "generator_rate": 3e-4, "critic_rate": 1e-3}


@dataclass(frozen=True)
class Setting:
    """Neighbouring data sets: ``records`` [n, size], and the same with ``canary`` [size]; numbers in [-1, 1].

    ``start``: public weights that every training starts from, as for `Training`.
    """

    name: str
    records: Tensor
    canary: Tensor
    start: tuple[Tensor | None, Tensor | None] = (None, None)


@dataclass(frozen=True)
class Seen:
    """What one world's models released: ``samples``-based statistics and ``weights``, one row a model.

    toward, nearest, distance, critic: float64 [models]; moments: float64 [models, size + size (size + 1) / 2]; weights: float64 [models, n]
    """

    toward: np.ndarray
    nearest: np.ndarray
    distance: np.ndarray
    moments: np.ndarray
    weights: np.ndarray
    critic: np.ndarray


def crafted(config: TinyGan, *, n: int) -> Setting:
    """Every record at the middle of the box, where the generator starts; the canary stays in the far corner (+1, …, +1).

    The critic then has nothing to learn but the canary.
    """
    generator = config.generator.init(1, torch.Generator().manual_seed(0))
    *_, (weight, _) = config.generator.parts(generator)
    weight.zero_()
    return Setting("crafted", torch.zeros(n, config.size), torch.ones(config.size), (generator[0], None))


def rows_of(trajs: Trajectories, points: int) -> Tensor:
    """Trajectories as rows [n, 2 * points] of x and y in [-1, 1] of their public box, ``points`` points each."""
    return torch.from_numpy(unit_rows(trajs, points)).float()


def pretrain(public: Tensor, config: TinyGan, *, seed: int) -> tuple[Tensor, Tensor]:
    """Weights (generator, critic) for `Setting.start` from a training on ``public`` trips [m, size] that nobody protects, without noise.

    It is long: the better the generator fits the bulk, the more of the critic's signal is the odd record.
    """
    plain = config.model_copy(update=PUBLIC)
    rate = min(1.0, plain.batch / len(public))
    done = Training(plain, public, rate=rate, models=1, seed=child_seed(seed, "init", "public")).run()
    return done.generator[0], done.critic[0]


def natural(private: Tensor, *, canary: Tensor, start: tuple[Tensor, Tensor] | None) -> Setting:
    """Trips as `rows_of` makes them; both networks start from `pretrain`, or (None) from scratch. ``private`` and public trips are others'."""
    if start is None:
        return Setting("natural, from scratch", private, canary)
    return Setting("natural, publicly pre-trained", private, canary, start)


def corner(size: int) -> Tensor:
    """Canary: standing in the far corner of the box."""
    return torch.ones(size)


def zigzag(size: int) -> Tensor:
    """Canary: jumping between two opposite corners, a route nobody drives."""
    return torch.from_numpy(canary(ZIGZAG, size // 2).ravel()).float()


def play(
    setting: Setting, config: TinyGan, models: int, *, seed: int, placebo: bool = False
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Train ``models`` in each world; return score name -> (scores with the canary [models], without it [models]).

    With ``placebo`` the canary is in neither data set. Raises ParameterError for fewer than 16 models.
    """
    if models < 16:
        raise ParameterError(f"models = {models!r}: the discriminants need at least 16 in each world")
    with_canary = setting.records if placebo else torch.cat([setting.records, setting.canary[None]])
    seen = [
        _world(records, setting, config, models, seed, name)
        for name, records in (("with", with_canary), ("without", setting.records))
    ]
    a, b = seen
    scores = {
        "toward": (a.toward, b.toward),
        "nearest": (a.nearest, b.nearest),
        "mean distance": (a.distance, b.distance),
        "moments": discriminant(a.moments, b.moments),
        "weights": discriminant(a.weights, b.weights),
    }
    return scores | ({"critic": (a.critic, b.critic)} if config.scheme == "critic" else {})


def _world(records: Tensor, setting: Setting, config: TinyGan, models: int, seed: int, name: str) -> Seen:
    rate = config.batch / len(setting.records)  # the claim's, the same in both worlds
    parts = []
    for at in range(0, models, BLOCK):
        block_seed = child_seed(seed, "attack", "tiny gan", name, at)
        block = Training(
            config, records, rate=rate, models=min(BLOCK, models - at), seed=block_seed, start=setting.start
        )
        parts.append(_read(block.run(), setting.canary))
    return Seen(*(np.concatenate([getattr(p, f) for p in parts]) for f in Seen.__dataclass_fields__))


def _read(done: Training, canary: Tensor) -> Seen:
    samples = done.samples(RELEASED)
    distance = (samples - canary).square().sum(2).sqrt()
    mean = samples.mean(1)
    centred = samples - mean[:, None]
    row, column = torch.triu_indices(samples.shape[2], samples.shape[2])
    second = torch.bmm(centred.transpose(1, 2), centred)[:, row, column] / RELEASED
    covered = [done.generator, done.critic] if done.config.scheme == "critic" else [done.generator]
    found = (
        mean @ (canary / canary.norm().clamp(min=1e-9)),
        -distance.min(1).values,
        -distance.mean(1),
        torch.cat([mean, second], dim=1),
        torch.cat(covered, dim=1),
        done.judged(canary[None]).mean(1) - done.judged(samples).mean(1),
    )
    return Seen(*(x.double().numpy() for x in found))


def one_run(config: TinyGan, *, n: int, runs: int, seed: int) -> tuple[int, int, int]:
    """Canaries, guesses and right ones of ``runs`` independent trainings, pooled, for `audit_bounds.one_run_epsilon`.

    The data of `crafted`, and in each training every one of ``config.size`` canaries by a fair coin: number j keeps to the end of
    axis j. Those of the largest and of the smallest quarter of the mean released coordinates are guessed to be in, or out.
    """
    m = config.size
    records = torch.cat([torch.zeros(n, m), torch.eye(m)])
    coins = torch.from_numpy(rng(seed, "attack", "canaries").random((runs, m)) < 0.5)
    members = torch.cat([torch.ones(runs, n, dtype=torch.bool), coins], dim=1)
    base = crafted(config, n=n)
    block = Training(
        config,
        records,
        rate=config.batch / n,
        models=runs,
        seed=child_seed(seed, "attack", "one run"),
        start=base.start,
        members=members,
    )
    order = block.run().samples(RELEASED).mean(1).argsort(dim=1)
    k = m // 4
    right = coins.gather(1, order[:, -k:]).sum() + (~coins.gather(1, order[:, :k])).sum()
    return runs * m, runs * 2 * k, int(right)


def discriminant(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fisher's linear score of each row, larger for ``a`` [N, k] than for ``b`` [M, k], learned on the first half of each.

    Rows of that half get the score of a rule that was learned on the other quarter only, so that they say what the
    rule does to rows it has not seen; those of the second half get the rule of the whole first half.
    """
    scores = np.empty(len(a)), np.empty(len(b))
    parts = [np.split(np.arange(len(x)), [len(x) // 4, len(x) // 2]) for x in (a, b)]
    (a1, a2, a3), (b1, b2, b3) = parts
    whole = np.concatenate([a1, a2]), np.concatenate([b1, b2])
    for learn, say in (((a2, b2), (a1, b1)), ((a1, b1), (a2, b2)), (whole, (a3, b3))):
        weight, offset = _fisher(a[learn[0]], b[learn[1]])
        for x, score, rows in zip((a, b), scores, say, strict=True):
            score[rows] = x[rows] @ weight - offset
    return scores


def _fisher(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """Direction of unit variance within the worlds, and the middle between their means along it."""
    within = np.concatenate([a - a.mean(0), b - b.mean(0)])
    scale = within.std(0) + 1e-12
    cov = np.cov(within / scale, rowvar=False)
    cov = (1 - SHRINKAGE) * cov + SHRINKAGE * np.trace(cov) / len(cov) * np.eye(len(cov))
    weight = np.linalg.solve(cov, (a.mean(0) - b.mean(0)) / scale) / scale
    weight /= (within @ weight).std() + 1e-300
    return weight, float((a.mean(0) + b.mean(0)) @ weight / 2)
