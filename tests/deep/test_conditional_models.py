"""Every model takes every type of condition: it trains, resumes, releases, and says what it promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deep_toys import SMALL_CONFIG, renamed, toy_trajectories

from trajkit.deep.checkpoint import finalise_checkpoint
from trajkit.deep.conditioning import Conditioned, body_of
from trajkit.deep.generator import HIDDEN, DeepGenerator
from trajkit.deep.trainer import Trainer
from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories

MECHANISMS = ("laplace", "gaussian", "vmf")
CONDITIONS: dict[str, dict[str, Any]] = {
    "attributes": {"type": "attributes"},
    "sample": {"type": "sample"},
    **{m: {"type": "sample", "mechanism": m, "epsilon": 20.0} for m in MECHANISMS},
    "attributes-gaussian": {"type": "attributes", "mechanism": "gaussian", "epsilon": 20.0},
}
OWN: dict[str, dict[str, Any]] = {
    "diffusion": {"diffusion_steps": 20, "sampling_steps": 5, "noise_draws_per_example": 2},
    "vae": {"latent": 4},
    "gan": {"latent": 4, "n_critic": 2},
}
PRIVATE = {"regime": "private", "noise_multiplier": 2.0}
BASE = {k: v for k, v in SMALL_CONFIG.items() if k != "latent"}


def timed(n: int = 40) -> Trajectories:
    """Toy walks with times."""
    made = toy_trajectories(n)
    return replace(made, t=np.arange(made.n_points, dtype=np.int64) * 15_000)


def make(model: str, condition: dict[str, Any], **changes: Any) -> DeepGenerator:
    return make_method(model, **{**BASE, **OWN[model], "condition": condition, **changes})  # type: ignore[return-value]


@pytest.mark.parametrize("model", OWN)
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_model_takes_every_type(model: str, name: str) -> None:
    condition = CONDITIONS[name]
    train, draws = timed(), {}
    for regime in ({}, PRIVATE):
        fitted = make(model, condition, **regime).fit(train, seed=1)
        release = fitted.release(4, seed=2)
        again, other = fitted.release(4, seed=2), fitted.release(4, seed=3)
        draws[bool(regime)] = release
        assert (
            release.trajectories.fingerprint() == again.trajectories.fingerprint() != other.trajectories.fingerprint()
        )
        assert isinstance(fitted.model_, Conditioned) and release.report["parameters apart (condition)"] > 0
        assert fitted.n_params_ == sum(p.numel() for p in body_of(fitted.model_).parameters())
        assert release.report["condition"]["size"] == 4 and release.report["condition"]["drawn from"] == "held-out"
        assert set(release.report[HIDDEN]["leak"]) == {"ratio", "found", "chance"}
        assert (release.report[HIDDEN]["mean cosine"] is not None) == ("mechanism" in condition)
    both = "both" if "mechanism" in condition else "training set"
    assert draws[True].guarantee.threat_model == both
    assert draws[False].guarantee.threat_model == ("conditioning set" if "mechanism" in condition else "none")


@pytest.mark.parametrize("model", OWN)
def test_a_resumed_training_ends_bit_identical(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    condition = CONDITIONS["gaussian"]
    whole = make(model, condition, **PRIVATE).fit(timed(), seed=1).release(5, seed=0)
    step = Trainer._take_step

    def stop_at_three(self: Trainer) -> tuple[int, float]:
        if self.step == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Trainer, "_take_step", stop_at_three)
    with pytest.raises(KeyboardInterrupt):
        make(model, condition, **PRIVATE, checkpoint_every_s=0.0).fit(timed(), seed=1, checkpoint=tmp_path / "c.pt")
    monkeypatch.setattr(Trainer, "_take_step", step)
    resumed = make(model, condition, **PRIVATE, checkpoint_every_s=0.0).fit(
        timed(), seed=1, checkpoint=tmp_path / "c.pt"
    )
    assert resumed.release(5, seed=0).trajectories.fingerprint() == whole.trajectories.fingerprint()


def test_the_gan_goes_on_with_the_vectors_it_has_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise of the operating system a resumed training must not draw the private vectors again."""
    condition, options = CONDITIONS["vmf"], {**PRIVATE, "noise": "os", "checkpoint_every_s": 0.0}
    seen: list[Any] = []
    step = Trainer._take_step

    def watch(self: Trainer) -> tuple[int, float]:
        seen.append(self.companion.conditions.clone())  # type: ignore[union-attr]
        if self.step == 3 and len(seen) == 4:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Trainer, "_take_step", watch)
    with pytest.raises(KeyboardInterrupt):
        make("gan", condition, **options).fit(timed(), seed=1, checkpoint=tmp_path / "c.pt")
    resumed = make("gan", condition, **options).fit(timed(), seed=1, checkpoint=tmp_path / "c.pt")
    assert all(bool((a == seen[0]).all()) for a in seen)
    finalise_checkpoint(
        tmp_path / "c.pt", keep_state=False
    )  # private vectors are no secret, and made again would be new ones
    again = make("gan", condition, **options).fit(timed(), seed=1, checkpoint=tmp_path / "c.pt")
    assert bool((again.conditions_.pool(again._encode).vectors == seen[0][:, :-1]).all())  # type: ignore[union-attr]
    pool = resumed.conditions_.pool(resumed._encode).vectors  # type: ignore[union-attr]
    assert bool((pool == seen[0][:, :-1]).all())


@pytest.mark.parametrize("model", OWN)
def test_a_wide_condition_does_not_break(model: str) -> None:
    condition = {"type": "sample", "mechanism": "gaussian", "epsilon": 0.01, "d_out": 256}
    release = make(model, condition).fit(timed(), seed=1).release(4, seed=0)
    assert np.isfinite(release.trajectories.lonlat).all()


def test_a_condition_makes_the_release_follow_it() -> None:
    """200 plain steps: a released trajectory lies nearer to its own condition than to others; with epsilon 0.01 it does not."""
    leaks = {}
    for name, condition in {
        "open": {"type": "sample", "size": 20},
        "private": {"type": "sample", "mechanism": "gaussian", "epsilon": 0.01, "size": 20, "mix_steps": 0},
    }.items():
        model = make("vae", condition, steps=200, learning_rate=0.01, batch_size=60)
        leaks[name] = model.fit(timed(200), seed=0).release(20, seed=0).report[HIDDEN]["leak"]
    assert leaks["open"]["ratio"] < 0.7 and leaks["open"]["found"] > 0.25
    assert leaks["private"]["ratio"] > 0.8 and leaks["private"]["found"] < 0.25


def test_the_conditioning_trajectories_do_not_train() -> None:
    """Another conditioning set of the same size leaves the trained weights as they were."""
    train = timed()
    base = make("vae", {"type": "sample", "drawn_from": "test", "size": 5})
    one = base.fit(train, seed=1, test=renamed(toy_trajectories(5, seed=98))).model_.state_dict()
    other = make("vae", {"type": "sample", "drawn_from": "test", "size": 5})
    two = other.fit(train, seed=1, test=renamed(toy_trajectories(5, seed=99))).model_.state_dict()
    assert all(bool((one[k] == two[k]).all()) for k in one)


def test_guidance_is_for_diffusion_and_vectors_of_a_gan_are_drawn_once() -> None:
    for model in ("vae", "gan"):
        with pytest.raises(ParameterError, match="belong to the diffusion model"):
            make(model, {"type": "sample", "drop": 0.1})
    with pytest.raises(ParameterError, match=r"condition\.redraw must be left out"):
        make("gan", {**CONDITIONS["vmf"], "redraw": True})
    with pytest.raises(ParameterError, match="fakes must be paired"):
        make("gan", {"type": "sample"}, fakes="separate")
    guided = make("diffusion", {"type": "sample", "drop": 0.2, "guidance": 3.0}).fit(timed(), seed=0)
    plain = make("diffusion", {"type": "sample", "drop": 0.2}).fit(timed(), seed=0)
    assert guided.release(4, seed=0).trajectories.fingerprint() != plain.release(4, seed=0).trajectories.fingerprint()
