"""Stacks of tiny GANs: gradients against torch.func, the scheme step by step, and the verdicts at small size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import grad, vmap

from tests.toys import META, walks
from trajkit.attacks.audit_bounds import audit, one_run_epsilon
from trajkit.attacks.audit_task import Part
from trajkit.attacks.gan_audit import audit_tiny, noise_for
from trajkit.attacks.gan_tasks import TinyGanTask
from trajkit.attacks.tiny_game import (
    BLACK_BOX,
    Setting,
    corner,
    crafted,
    discriminant,
    natural,
    one_run,
    play,
    pretrain,
    rows_of,
    zigzag,
)
from trajkit.attacks.tiny_gan import Layers, TinyGan, Training, clipped
from trajkit.datasets.samples import paths
from trajkit.errors import ParameterError
from trajkit.privacy.ledger import DpSgd
from trajkit.trajectories import Trajectories

DELTA, N = 1e-5, 64


def _noise(epsilon: float) -> float:
    return noise_for(epsilon, DELTA, n=N, batch=16, noisy_steps=200)


@pytest.mark.parametrize("smooth", [True, False])
def test_gradients_are_those_of_torch_func(smooth: bool) -> None:
    layers, random = Layers((3, 5, 4, 2), smooth=smooth), torch.Generator().manual_seed(1)
    flat = layers.init(6, random) + 0.1
    x, counts = torch.randn(6, 7, 3, generator=random), (torch.rand(6, 7, generator=random) < 0.7).float()

    def loss(weights: Tensor, row: Tensor) -> Tensor:
        return layers.forward(weights[None], row[None, None])[-1].sum()

    each = vmap(vmap(grad(loss), in_dims=(None, 0)))(flat, x)  # [models, rows, weights]
    found = layers.forward(flat, x)
    errors, at_input = layers.errors(flat, found, torch.ones_like(found[-1]))
    torch.testing.assert_close(layers.norms(found, errors), each.norm(dim=2))
    for clip in (None, 0.5):
        scale = counts if clip is None else counts * (clip / each.norm(dim=2)).clamp(max=1)
        torch.testing.assert_close(clipped(layers, found, errors, counts, clip), (each * scale[..., None]).sum(1))
    by_input = vmap(vmap(grad(loss, argnums=1), in_dims=(None, 0)))(flat, x)
    torch.testing.assert_close(at_input, by_input)


def test_draws_are_poisson_and_padding_counts_nothing() -> None:
    config = TinyGan(scheme="critic", noise_multiplier=1.0)
    done = Training(config, torch.arange(20.0)[:, None].expand(20, 16), rate=0.25, models=4000, seed=1)
    rows, counts = done.drawn()
    sizes = counts.sum(1)
    assert sizes.mean().item() == pytest.approx(5.0, abs=0.15) and sizes.var().item() == pytest.approx(3.75, rel=0.15)
    drawn = torch.zeros(4000, 20).scatter_add_(1, rows[..., 0].long(), counts)
    assert drawn.max() == 1 and drawn.mean(0) == pytest.approx(torch.full((20,), 0.25), abs=0.03)


def test_one_record_moves_the_private_critics_sum_by_at_most_the_clip_norm() -> None:
    config = TinyGan(scheme="critic", noise_multiplier=1.0, clip=0.1)
    done = Training(config, torch.zeros(4, 16), rate=1.0, models=3, seed=1)
    x = torch.cat([torch.zeros(3, 4, 16), 1000 * torch.ones(3, 1, 16)], dim=1)
    counts = torch.ones(3, 5)
    moved = done._scores_gradient(x, counts, -1.0, 0.1) - done._scores_gradient(x[:, :4], counts[:, :4], -1.0, 0.1)
    torch.testing.assert_close(moved.norm(dim=1), torch.full((3,), 0.1), rtol=1e-3, atol=0)


def test_the_noise_is_where_the_scheme_puts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[int] = []
    noise = Training._noise
    monkeypatch.setattr(Training, "_noise", lambda self, like: shapes.append(like.shape[1]) or noise(self, like))
    for scheme in ("generator", "critic"):
        config = TinyGan(scheme=scheme, noise_multiplier=1.0, steps=3, n_critic=2, batch=4)
        Training(config, torch.zeros(8, 16), rate=0.5, models=2, seed=1).run()
        weights = config.generator.n_weights if scheme == "generator" else config.critic.n_weights
        assert shapes == [weights] * config.mechanism(8).steps
        shapes.clear()
    assert TinyGan(scheme="critic", noise_multiplier=2.0, steps=3, n_critic=2).mechanism(32) == DpSgd(0.5, 2.0, 6)
    plain = TinyGan(scheme="critic", noise_multiplier=0.0, steps=2)
    Training(plain, torch.zeros(8, 16), rate=0.5, models=2, seed=1).run()
    assert shapes == []


def test_without_noise_it_learns_where_the_records_are() -> None:
    config = TinyGan(scheme="generator", noise_multiplier=0.0, steps=600)
    records = torch.tensor([0.5, -0.3] * 8).expand(64, 16)
    done = Training(config, records, rate=0.25, models=3, seed=1).run()
    assert (done.samples(200).mean(1) - records[0]).abs().mean() < 0.08
    lp = config.model_copy(update={"penalty": 10.0, "steps": 300})
    done = Training(lp, records, rate=0.25, models=3, seed=1).run()
    assert (done.samples(200).mean(1) - records[0]).abs().mean() < 0.15
    assert done.critic.abs().max() > lp.weight_clip  # the penalty stands instead of the clipping


def test_a_discriminant_judges_rows_it_has_not_seen() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(200, 150)), rng.normal(size=(200, 150))  # nothing to learn, room to overfit
    found = audit({"x": discriminant(a, b)}, delta=0.0)
    assert abs(found.by_score[0].auc - 0.5) < 0.06
    a[:, 0] += 2
    assert audit({"x": discriminant(a, b)}, delta=0.0).by_score[0].auc > 0.7


def test_the_claim_of_noise_on_the_generator_falls() -> None:
    config = TinyGan(scheme="generator", noise_multiplier=_noise(1.0))
    setting = crafted(config, n=N)
    leaks = audit_tiny(setting, config, delta=DELTA, models=250, seed=1)
    assert leaks.epsilon_lower is not None and leaks.epsilon_lower > 1 >= leaks.claimed_epsilon
    assert leaks.by == ("epsilon", "curve")
    assert leaks.epsilon_by(BLACK_BOX) > 1
    assert "Bonferroni over 5 scores" in leaks.tried


def test_the_claim_of_noise_on_the_critic_stands() -> None:
    config = TinyGan(scheme="critic", noise_multiplier=_noise(1.0))
    sound = audit_tiny(crafted(config, n=N), config, delta=DELTA, models=200, seed=1)
    assert not sound.contradicted
    assert "6 scores" in sound.tried  # the critic, which the claim covers, is looked at as well


def test_two_equal_worlds_contradict_nothing() -> None:
    config = TinyGan(scheme="generator", noise_multiplier=_noise(1.0))
    found = audit_tiny(crafted(config, n=N), config, delta=DELTA, models=250, seed=1, placebo=True)
    assert not found.contradicted and found.epsilon_lower == 0.0 and "placebo" in found.subject


@pytest.fixture(scope="module")
def trips() -> Callable[..., tuple[Setting, TinyGan]]:
    """Trips between busy places, and two networks that were trained on others of them."""
    ways = paths(600, META.box, lengths=(20, 20), random=np.random.default_rng(3))
    rows = rows_of(Trajectories.from_fixed(np.stack(ways), meta=META), 8)
    start = pretrain(rows[N:], TinyGan(scheme="generator", noise_multiplier=0.0), seed=1)

    def made(scheme: str, epsilon: float) -> tuple[Setting, TinyGan]:
        config = TinyGan(scheme=scheme, noise_multiplier=_noise(epsilon))
        return natural(rows[:N], canary=corner(16), start=start), config

    return made


def test_the_control_at_epsilon_10_is_not_blind_and_stands(trips: Any) -> None:
    setting, config = trips("critic", 10.0)
    config = config.model_copy(update={"critic_rate": 2e-4, "generator_rate": 5e-4})  # slow: the critic forgets less
    control = audit_tiny(setting, config, delta=DELTA, models=200, seed=1)
    assert not control.contradicted
    assert control.best_auc is not None and control.best_auc > 0.6
    assert max(s.auc_interval[0] for s in control.scores) > 0.5  # and not by the number of scores
    assert control.claimed_epsilon == pytest.approx(10, rel=0.02)


def test_natural_trips_with_a_public_start_leak(trips: Any) -> None:
    setting, config = trips("generator", 1.0)
    found = audit_tiny(setting, config, delta=DELTA, models=250, seed=1)
    assert "curve" in found.by and found.best_auc is not None and found.best_auc > 0.7


def test_one_run_with_many_canaries_refutes_the_one_and_not_the_other() -> None:
    found = {}
    for scheme in ("generator", "critic"):
        config = TinyGan(scheme=scheme, noise_multiplier=_noise(1.0))
        canaries, guesses, right = one_run(config, n=N, runs=20, seed=1)
        assert (canaries, guesses) == (320, 160)
        found[scheme] = one_run_epsilon(canaries=canaries, guesses=guesses, right=right, delta=DELTA)
    assert found["critic"] <= 1 < found["generator"]


@pytest.mark.slow
def test_city_trips_with_a_public_start_break_the_claim_black_box(tmp_path: Path) -> None:
    (found,) = TinyGanTask(data="natural", models=1000).run(Part(1, tmp_path)).verdicts
    assert found.claimed_epsilon is not None
    assert found.epsilon_by(BLACK_BOX) > 1 >= found.claimed_epsilon


def test_settings() -> None:
    config = TinyGan(scheme="generator", noise_multiplier=1.0)
    setting = crafted(config, n=5)
    start = Training(config, setting.records, rate=0.5, models=2, seed=1, start=setting.start)
    assert start.samples(3).abs().max() == 0.0  # the generator starts where the records are
    assert zigzag(8).tolist() == [-1, -1, 1, 1, -1, -1, 1, 1]
    rows = rows_of(walks(3, 20, 3), 8)
    assert rows.shape == (3, 16) and rows.abs().max() <= 1
    scratch = natural(rows, canary=corner(16), start=None)
    assert scratch.start == (None, None) and "scratch" in scratch.name
    with pytest.raises(ParameterError, match="models"):
        play(setting, config, 15, seed=1)
    with pytest.raises(ParameterError, match="penalty"):
        TinyGan(scheme="critic", noise_multiplier=1.0, penalty=1.0)


def test_a_canary_in_the_middle_of_the_box_has_no_direction_and_harms_nothing() -> None:
    config = TinyGan(scheme="generator", noise_multiplier=_noise(1.0), steps=5)
    setting = replace(crafted(config, n=N), canary=torch.zeros(config.size))
    found = audit_tiny(setting, config, delta=DELTA, models=16, seed=1)
    assert not found.contradicted and found.scores[0].auc == 0.5
