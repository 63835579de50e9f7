"""Schedules, the denoising loss and the DDIM sampler."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trajkit.deep.ddpm import Denoising, alphas_bar, ddim
from trajkit.errors import ParameterError, RunFailedError


@pytest.mark.parametrize("kind", ["linear", "cosine"])
@pytest.mark.parametrize("steps", [50, 500])
def test_signal_falls_from_about_1_to_about_0(kind: str, steps: int) -> None:
    signal = alphas_bar(kind, steps)
    assert signal.shape == (steps,) and bool((signal.diff() < 0).all())
    assert signal[0] > 0.99 and 0 < signal[-1] < 1e-3


def test_linear_schedule_by_hand() -> None:
    assert alphas_bar("linear", 500)[:2].tolist() == pytest.approx([0.9999, 0.9999 * (1 - 1e-4 - 0.0499 / 499)])


def test_unknown_schedule_is_refused() -> None:
    with pytest.raises(ParameterError, match="quadratic"):
        alphas_bar("quadratic", 10)


def test_draws_of_a_record_are_stratified_over_time() -> None:
    objective = Denoising(alphas_bar("linear", 100), (2, 4), draws=4)
    t = objective.draw(1000, torch.Generator().manual_seed(0))["t"]
    assert t.min() >= 0 and t.max() <= 99
    assert bool(((t // 25).sort(dim=1).values == torch.arange(4)).all())
    assert t[:, 0].float().mean() == pytest.approx(49.5, abs=3)


def test_loss_is_the_mean_over_draws_and_zero_for_the_true_noise() -> None:
    objective = Denoising(alphas_bar("linear", 10), (2, 4), draws=3)
    drawn = objective.draw(5, torch.Generator().manual_seed(0))
    batch = torch.zeros(5, 2, 4)
    truth = drawn["noise"].flatten(0, 1)
    assert objective.losses(lambda x, t: truth, batch, drawn).tolist() == [0.0] * 5  # type: ignore[arg-type]
    off = objective.losses(lambda x, t: truth + torch.tensor([1.0, 3.0])[:, None], batch, drawn)  # type: ignore[arg-type]
    assert off.tolist() == pytest.approx([5.0] * 5)


def test_velocity_is_asked_for_by_hand() -> None:
    """With signal share a = 0.36, record 1 and noise z: the network sees 0.6 + 0.8 z and must say 0.6 z - 0.8."""
    objective = Denoising(torch.tensor([0.36]), (2, 4), draws=2, prediction="velocity")
    drawn = objective.draw(3, torch.Generator().manual_seed(0))
    noise = drawn["noise"].flatten(0, 1)

    def best(x: Tensor, t: Tensor) -> Tensor:
        torch.testing.assert_close(x, 0.6 + 0.8 * noise)
        return 0.6 * noise - 0.8

    assert objective.losses(best, torch.ones(3, 2, 4), drawn).tolist() == pytest.approx([0.0] * 3, abs=1e-12)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'x0' is unknown"):
        Denoising(torch.tensor([0.36]), (2, 4), draws=2, prediction="x0")


@pytest.mark.parametrize("prediction", ["noise", "velocity"])
def test_ddim_with_the_true_predictor_returns_the_one_record(prediction: str) -> None:
    """For data that is one point c, the best guess of the noise is (x - sqrt(a) c) / sqrt(1 - a); DDIM must land on c."""
    signal = alphas_bar("linear", 50)
    c = torch.tensor([[0.5], [-0.25]]).expand(2, 6)

    def best(x: Tensor, t: Tensor) -> Tensor:
        a = signal[t][:, None, None]
        z = (x - a.sqrt() * c) / (1 - a).sqrt()
        return z if prediction == "noise" else a.sqrt() * z - (1 - a).sqrt() * c

    noise = torch.randn(7, 2, 6, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        ddim(best, noise, signal, steps=10, prediction=prediction, batch=3), c.expand(7, 2, 6), rtol=0, atol=1e-4
    )


def test_ddim_refuses_samples_that_are_not_finite() -> None:
    with pytest.raises(RunFailedError, match="not finite"):
        ddim(lambda x, t: x * torch.nan, torch.zeros(2, 2, 4), alphas_bar("linear", 10), steps=2)
