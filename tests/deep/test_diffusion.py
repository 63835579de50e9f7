"""The diffusion method: fit, release, guarantee, report."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from deep_toys import BOX, TINY_CONFIG, toy_trajectories

from trajkit.deep.diffusion import Diffusion
from trajkit.errors import DataContractError, ParameterError
from trajkit.methods import Method, make_method
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED
from trajkit.trajectories import Trajectories

PRIVATE = {"regime": "private", "noise_multiplier": 2.0}


def make(**changes: Any) -> Diffusion:
    return make_method("diffusion", **{**TINY_CONFIG, **changes})  # type: ignore[return-value]


@pytest.fixture(scope="module")
def fitted() -> Diffusion:
    return make(**PRIVATE).fit(toy_trajectories(), seed=1)


def test_follows_the_method_protocol(fitted: Diffusion) -> None:
    assert isinstance(fitted, Method)


def test_release_is_deterministic_by_seed_inside_the_box_and_without_time(fitted: Diffusion) -> None:
    first, same, other = (fitted.release(9, seed=s).trajectories for s in (4, 4, 5))
    assert first.fingerprint() == same.fingerprint() != other.fingerprint()
    assert len(first) == 9 and first.lengths.tolist() == [8] * 9 and first.t is None
    assert bool(BOX.contains(first.lonlat).all())
    assert first.meta.steps == ()


def test_fit_is_deterministic_by_seed_and_leaves_its_input_alone(fitted: Diffusion) -> None:
    train = toy_trajectories()
    before = train.fingerprint()
    again = make(**PRIVATE).fit(train, seed=1)
    other = make(**PRIVATE).fit(train, seed=2)
    assert train.fingerprint() == before
    a, b, c = (torch.cat([p.flatten() for p in m.model_.parameters()]) for m in (fitted, again, other))
    assert torch.equal(a, b) and not torch.equal(a, c)


def test_private_guarantee_is_complete(fitted: Diffusion) -> None:
    g = fitted.release(3, seed=0).guarantee
    assert g.holds and g.kind == "dp" and g.unit == "trajectory" and g.adjacency == "add-remove"
    assert g.delta == pytest.approx(40**-1.1) and g.rng == RNG_SEEDED and g.numerics == "idealised floating point"
    (part,) = g.parts
    assert part.protects == "training set" and part.epsilon == g.epsilon
    assert part.details == {
        "sample_rate": 0.2,
        "noise_multiplier": 2.0,
        "max_grad_norm": 0.1,
        "steps": 6,
        "n": 40,
        "sampling": "poisson",
    }
    text = " ".join(g.assumptions)
    assert "n, the number of training trajectories, is public" in text and "box is public" in text
    assert "hyper-parameters are not accounted" in text


def test_epsilon_falls_as_noise_rises_and_rises_with_steps(fitted: Diffusion) -> None:
    more_noise = make(**{**PRIVATE, "noise_multiplier": 4.0}).fit(toy_trajectories(), seed=1).guarantee_
    more_steps = make(**PRIVATE, steps=12).fit(toy_trajectories(), seed=1).guarantee_
    assert more_noise.epsilon < fitted.guarantee_.epsilon < more_steps.epsilon  # type: ignore[operator]


def test_calibrated_epsilon_never_exceeds_the_target() -> None:
    g = make(regime="private", epsilon=10.0).fit(toy_trajectories(), seed=0).guarantee_
    assert 9.8 < g.epsilon <= 10.0  # type: ignore[operator]


def test_plain_and_clipped_promise_nothing_and_say_why() -> None:
    plain, clipped = (make(regime=r).fit(toy_trajectories(), seed=0).guarantee_ for r in ("plain", "clipped"))
    assert not plain.holds and "without differential privacy" in str(plain.reason) and plain.epsilon == np.inf
    assert not clipped.holds and "no noise is added" in str(clipped.reason)


def test_os_noise_is_stated_with_its_limit() -> None:
    g = make(**PRIVATE, noise="os").fit(toy_trajectories(), seed=0).guarantee_
    assert g.rng == RNG_OS and any("not cryptographic" in a for a in g.assumptions)


def test_statistics_of_the_records_stand_apart_in_the_report(fitted: Diffusion) -> None:
    report = fitted.release(3, seed=0).report
    hidden = report.pop("not covered by the guarantee")
    assert set(hidden) == {"final_loss", "examples", "empty_batches", "clipped_share", "mean_grad_norm"}
    assert report["steps"] == 6 and report["expected_examples"] == 8 * 6 * 2 and report["points"] == 24
    json.dumps(report)
    assert {"step", "loss", "seconds"} <= set(fitted.history_)


def test_points_outside_the_box_are_moved_and_counted(fitted: Diffusion, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = torch.zeros(2, 2, 8)
    samples[0, 0, :3] = 1.5 * fitted.config.half_box
    monkeypatch.setattr("trajkit.deep.diffusion.ddim", lambda *a, **k: samples)
    release = fitted.release(2, seed=0)
    assert release.report["points_moved_into_box"] == 3
    np.testing.assert_allclose(release.trajectories.lonlat[:3, 0], BOX.lon_max)


def test_physical_batch_changes_no_draw() -> None:
    a, b = (make(**PRIVATE, physical_batch=k).fit(toy_trajectories(), seed=1) for k in (3, 40))
    for p, q in zip(a.model_.parameters(), b.model_.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5)
    assert a.guarantee_ == b.guarantee_


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"regime": "private"}, "needs epsilon or noise_multiplier"),
        ({"regime": "plain", "epsilon": 1.0}, "belong to regime private"),
        ({"regime": "private", "epsilon": "ten"}, "epsilon = 'ten'"),
        ({"regime": "private", "epsilon": 0.0}, "epsilon = 0.0"),
        ({"regime": "private", "epsilon": -1.0}, "epsilon = -1.0"),
        ({"regime": "private", "epsilon": float("inf")}, "finite"),
        ({"delta": 1.0}, "delta = 1.0"),
        ({"chanels": 8}, "chanels is unknown"),
        ({"channels": 5}, "groups"),
        ({"sampling_steps": 21}, "exceeds diffusion_steps"),
    ],
)
def test_bad_parameters_are_one_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make(**changes)


def test_multipliers_may_come_as_a_list_from_yaml() -> None:
    assert make(channel_multipliers=[1, 2]).config.channel_multipliers == (1, 2)


def test_bad_calls_are_refused(fitted: Diffusion) -> None:
    with pytest.raises(ParameterError, match="before fit"):
        make().release(3, seed=0)
    with pytest.raises(ParameterError, match="at least 1, got None"):
        fitted.release(None, seed=0)
    with pytest.raises(ParameterError, match="got 0"):
        fitted.release(0, seed=0)
    with pytest.raises(ParameterError, match="device 'warp'"):
        make(device="warp").fit(toy_trajectories(), seed=0)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_few_trajectories_are_refused(n: int) -> None:
    train: Trajectories = toy_trajectories().take(np.arange(n))
    with pytest.raises(DataContractError, match=f"{n} trajectories, fewer than batch_size 8"):
        make().fit(train, seed=0)


def test_one_point_trajectories_work() -> None:
    train = toy_trajectories(length=1)
    assert len(make(regime="plain").fit(train, seed=0).release(2, seed=0).trajectories) == 2
