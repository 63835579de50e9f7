"""The GAN: which network is trained on records, what is accounted, what is refused, what is noticed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from deep_toys import BOX, SMALL_CONFIG, toy_trajectories

from trajkit.deep.critic import project
from trajkit.deep.gan import Gan
from trajkit.deep.halves import Decoder, Encoder
from trajkit.deep.unet import Sizes, n_params
from trajkit.errors import RunFailedError
from trajkit.methods import Method, make_method
from trajkit.privacy.accounting import DpSgd, epsilon_of

PRIVATE = {"regime": "private", "noise_multiplier": 2.0}


def make(**changes: Any) -> Gan:
    return make_method("gan", **{**SMALL_CONFIG, "n_critic": 2, **changes})  # type: ignore[return-value]


def generator_weights(gan: Gan) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in gan.model_.parameters()])


@pytest.fixture(scope="module")
def fitted() -> Gan:
    return make(**PRIVATE).fit(toy_trajectories(), seed=1)


def test_the_generator_is_released_and_the_critic_counted_apart(fitted: Gan) -> None:
    assert isinstance(fitted, Method) and isinstance(fitted.model_, Decoder)
    assert fitted.n_params_ == n_params(fitted.model_)
    report = fitted.report_
    assert report["parameters apart (critic)"] > 0
    assert (report["generator updates"], report["critic updates"]) == (6, 12)
    assert report["updates of the released network"] == 6


def test_release_is_deterministic_by_seed_and_inside_the_box(fitted: Gan) -> None:
    first, same, other = (fitted.release(9, seed=s).trajectories for s in (4, 4, 5))
    assert first.fingerprint() == same.fingerprint() != other.fingerprint()
    assert bool(BOX.contains(first.lonlat).all())


def test_every_critic_step_is_accounted_and_epsilon_is_the_accountants(fitted: Gan) -> None:
    g = fitted.guarantee_
    assert g.holds and g.parts[0].details["steps"] == 12
    expected = epsilon_of(DpSgd(0.2, 2.0, 12), delta=40**-1.1, unit="trajectory", adjacency="add-remove")
    assert g.epsilon == expected.epsilon


def test_calibration_counts_critic_steps() -> None:
    few, many = (make(regime="private", epsilon=10.0, n_critic=k).fit(toy_trajectories(), seed=0) for k in (1, 3))
    assert few.guarantee_.parts[0].details["noise_multiplier"] < many.guarantee_.parts[0].details["noise_multiplier"]
    assert 9.8 < many.guarantee_.epsilon <= 10.0  # type: ignore[operator]


def test_the_published_scheme_promises_nothing_and_says_what_can_be_proved() -> None:
    g = make(**PRIVATE, dp_target="generator").fit(toy_trajectories(), seed=0).guarantee_
    assert not g.holds and g.epsilon == math.inf and g.parts == ()
    mu = 2 * 8 * math.sqrt(6) / 2.0
    assert f"mu = {mu:.4g}" in str(g.reason) and "critic trained without noise" in str(g.reason)
    assert "no guarantee" in g.in_words()


def test_noise_on_both_is_accounted_by_the_critic(fitted: Gan) -> None:
    both = make(**PRIVATE, dp_target="both").fit(toy_trajectories(), seed=1)
    assert (both.guarantee_.epsilon, both.guarantee_.parts) == (fitted.guarantee_.epsilon, fitted.guarantee_.parts)
    assert "adds nothing" in str(both.guarantee_.mechanism) and "post-processing" in str(fitted.guarantee_.mechanism)
    assert not torch.equal(generator_weights(both), generator_weights(fitted))


def test_the_critic_of_the_published_scheme_is_trained_without_noise() -> None:
    """Its history has no clipping; that of the sound scheme has."""
    published = make(**PRIVATE, dp_target="generator").fit(toy_trajectories(), seed=0)
    sound = make(**PRIVATE).fit(toy_trajectories(), seed=0)
    assert "clipped_share" not in published.history_ and "clipped_share" in sound.history_


@pytest.mark.parametrize("lipschitz", ["penalty", "projection"])
@pytest.mark.parametrize("regime", ["plain", "clipped", "private"])
def test_stopped_and_resumed_equals_uninterrupted(
    tmp_path: Path, regime: str, lipschitz: str, monkeypatch: Any
) -> None:
    from trajkit.deep import trainer as module

    options = {"regime": regime, "lipschitz": lipschitz, "checkpoint_every_s": 0.0}
    if regime == "private":
        options["noise_multiplier"] = 2.0
    whole = make(**options).fit(toy_trajectories(), seed=3)
    save, path = module.save_checkpoint, tmp_path / "c.pt"

    def stop(where: Path, state: dict[str, Any]) -> None:
        save(where, state)
        if state["step"] == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "save_checkpoint", stop)
    with pytest.raises(KeyboardInterrupt):
        make(**options).fit(toy_trajectories(), seed=3, checkpoint=path)
    monkeypatch.setattr(module, "save_checkpoint", save)
    resumed = make(**options).fit(toy_trajectories(), seed=3, checkpoint=path)
    assert torch.equal(generator_weights(whole), generator_weights(resumed))
    assert whole.guarantee_ == resumed.guarantee_ and whole.history_["loss"] == resumed.history_["loss"]


def test_projection_bounds_every_singular_value() -> None:
    critic = Encoder(Sizes(4, (1, 2), 1, 2), 8, 1)
    with torch.no_grad():
        for p in critic.parameters():
            p *= 5
    project(critic, 0.7)
    norms = [float(torch.linalg.matrix_norm(p.detach().flatten(1), ord=2)) for p in critic.parameters() if p.dim() > 1]
    assert max(norms) <= 0.7 + 1e-5 and min(norms) > 0


def test_by_default_no_term_of_the_critic_escapes_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    from trajkit.deep.trainer import Trainer

    beside: list[object] = []
    apply = Trainer._apply
    monkeypatch.setattr(
        Trainer, "_apply", lambda self, total, free=None: (beside.append(free), apply(self, total, free))
    )
    make(**PRIVATE).fit(toy_trajectories(), seed=0)
    assert len(beside) == 12 and set(beside) == {None}


def test_clipped_fakes_do_not_drown_the_records() -> None:
    """The term on generated samples is clipped to the norm of the records' and weighs as the expected batch."""
    from trajkit.deep.trainer import Trainer

    seen: list[float] = []
    apply = Trainer._apply

    def spy(self: Trainer, total: list[torch.Tensor], free: list[torch.Tensor] | None = None) -> None:
        assert free is not None
        seen.append(float(torch.cat([g.flatten() for g in free]).norm()))
        apply(self, total, free)

    Trainer._apply = spy  # type: ignore[method-assign]
    try:
        make(**PRIVATE, max_grad_norm=1e-3, fakes="separate").fit(toy_trajectories(), seed=0)
    finally:
        Trainer._apply = apply  # type: ignore[method-assign]
    assert len(seen) == 12 and max(seen) <= 8 * 1e-3 * (1 + 1e-4) and min(seen) > 0


def test_a_diverged_training_fails_in_words_and_keeps_its_history() -> None:
    gan = make(regime="plain", critic_learning_rate=1e30, steps=60)
    with pytest.raises(RunFailedError, match="the loss is"):
        gan.fit(toy_trajectories(), seed=0)
    assert gan.history_["loss"]


def test_a_curve_is_kept_of_a_divergence_between_two_lines_of_the_log() -> None:
    gan = make(regime="plain", critic_learning_rate=1e30, steps=2000)  # a line every 20 critic steps, diverged before
    with pytest.raises(RunFailedError, match="the loss is"):
        gan.fit(toy_trajectories(), seed=0)
    assert gan.history_["step"][-1] < 20


def test_projected_weights_that_diverge_fail_in_words() -> None:
    critic = Encoder(Sizes(4, (1, 2), 1, 2), 8, 1)
    with torch.no_grad():
        critic.dense.weight.fill_(torch.inf)
    with pytest.raises(RunFailedError, match="no longer finite"):
        project(critic, 1.0)


def test_the_physical_batch_can_be_found_for_a_gan() -> None:
    assert make(regime="plain", physical_batch=None).fit(toy_trajectories(), seed=0).report_["physical_batch"] > 0


def test_a_collapsed_generator_fails_in_words() -> None:
    gan = make(regime="plain", steps=1)
    gan.device_ = torch.device("cpu")
    gan.model_ = Decoder(Sizes(4, (1, 2), 1, 2), 8, 4)
    with torch.no_grad():
        for p in gan.model_.parameters():
            p.zero_()
    with pytest.raises(RunFailedError, match=r"gan has collapsed: .* spreads by more than 0 of half the box"):
        gan._check_collapse()
