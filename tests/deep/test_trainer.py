"""The training loop: sampling, clipping, noise, steps, failures."""

from __future__ import annotations

import pytest
import torch
from deep_toys import toy_model, toy_trainer, weights

from trajkit.deep.batches import poisson_sample
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import schedule
from trajkit.errors import ParameterError, PrivacyAccountingError, RunFailedError


def test_schedule_rises_then_falls_to_zero() -> None:
    factors = [schedule(s, TrainSettings("plain", 100, 0.1, warmup_steps=10)) for s in range(100)]
    assert factors[0] == pytest.approx(0.1) and max(factors) == 1.0 and factors[-1] < 1e-3
    assert factors[9:] == sorted(factors[9:], reverse=True)


def test_gradient_is_divided_by_the_fixed_expected_batch() -> None:
    trainer = toy_trainer(regime="plain", n=40, sample_rate=0.2)
    seen = {}

    def spy() -> None:
        seen["grad"] = [p.grad.clone() for p in trainer.parameters]

    trainer.optimizer.register_step_pre_hook(lambda *_: spy())
    total = [torch.full_like(p, 16.0) for p in trainer.parameters]
    trainer._apply(total)
    assert all(bool((g == 2.0).all()) for g in seen["grad"])  # 16 / (0.2 * 40), whatever was drawn


def test_noise_has_the_stated_standard_deviation() -> None:
    trainer = toy_trainer(noise_multiplier=3.0, max_grad_norm=0.5)
    total = [torch.zeros_like(p) for p in trainer.parameters]
    trainer._apply(total)
    noise = torch.cat([g.flatten() for g in total])
    assert float(noise.std()) == pytest.approx(1.5, rel=5 / (2 * len(noise)) ** 0.5)
    assert abs(float(noise.mean())) < 5 * 1.5 / len(noise) ** 0.5


def test_private_differs_from_clipped_by_the_noise_alone() -> None:
    clipped, private = toy_trainer(regime="clipped", steps=1), toy_trainer(regime="private", steps=1)
    before: dict[str, list[torch.Tensor]] = {}
    for name, trainer in (("clipped", clipped), ("private", private)):
        index = poisson_sample(40, 0.2, trainer.generators["sampler"])
        drawn = trainer.objective.draw(len(index), trainer.generators["draws"])
        before[name] = trainer._summed_gradient(index, drawn)[0]
    assert all(torch.equal(a, b) for a, b in zip(before["clipped"], before["private"], strict=True))
    clean = [g.clone() for g in before["private"]]
    private._apply(before["private"])
    noise = torch.Generator().set_state(toy_trainer().generators["noise"].get_state())
    for noisy, without in zip(before["private"], clean, strict=True):
        torch.testing.assert_close(noisy, without + 0.1 * torch.randn(without.shape, generator=noise))


def test_regimes_draw_the_same_batches_and_only_clipping_and_noise_differ() -> None:
    runs = {regime: toy_trainer(regime=regime) for regime in ("plain", "clipped", "private")}
    for trainer in runs.values():
        trainer.run()
    assert len({t.record.examples for t in runs.values()}) == 1
    assert len({float(weights(t).sum()) for t in runs.values()}) == 3
    huge = toy_trainer(regime="clipped", max_grad_norm=1e9)
    huge.run()
    torch.testing.assert_close(weights(huge), weights(runs["plain"]), rtol=1e-3, atol=3e-4)  # Adam magnifies rounding


def test_ema_follows_its_formula() -> None:
    trainer = toy_trainer(steps=1, ema_decay=0.999)
    start = [p.detach().clone() for p in trainer.parameters]
    trainer.run()
    for average, first, now in zip(trainer.ema, start, trainer.parameters, strict=True):
        torch.testing.assert_close(average, 0.1 * first + 0.9 * now.detach())


def test_history_covers_the_run() -> None:
    trainer = toy_trainer(steps=6)
    trainer.run()
    r = trainer.record
    assert r.step == [1, 2, 3, 4, 5, 6] and len(r.loss) == len(r.seconds) == len(r.clipped_share) == 6
    assert r.seconds == sorted(r.seconds)


def test_loss_that_is_not_finite_stops_the_run_with_step_and_history() -> None:
    trainer = toy_trainer(steps=6)
    trainer.after_step = lambda step: [p.data.fill_(torch.nan) for p in trainer.parameters] if step == 3 else None
    with pytest.raises(RunFailedError, match=r"loss is nan at step 4 of 6 \(before: .*3: "):
        trainer.run()


def test_a_ledger_that_misses_a_step_refuses_the_result() -> None:
    trainer = toy_trainer(steps=4)
    trainer.after_step = lambda step: trainer.ledger.update(steps=step - 1)
    with pytest.raises(PrivacyAccountingError, match="4 steps were taken, 3 accounted"):
        trainer.run()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"regime": "almost"}, ParameterError),
        ({"sample_rate": 0.0}, ParameterError),
        ({"sample_rate": 1.5}, ParameterError),
        ({"steps": 0}, ParameterError),
        ({"physical_batch": 0}, ParameterError),
        ({"regime": "clipped", "max_grad_norm": 0.0}, ParameterError),
        ({"regime": "private"}, PrivacyAccountingError),
        ({"regime": "clipped", "noise_multiplier": 1.0}, PrivacyAccountingError),
    ],
)
def test_settings_that_contradict_themselves_are_refused(values: dict, error: type) -> None:
    with pytest.raises(error):
        TrainSettings(**{"regime": "plain", "steps": 3, "sample_rate": 0.1, **values})


def test_os_noise_differs_between_runs_and_seeded_noise_does_not() -> None:
    def trained(source: str) -> torch.Tensor:
        trainer = toy_trainer(noise_source=source, steps=2)
        trainer.run()
        return weights(trainer)

    assert torch.equal(trained("seeded"), trained("seeded"))
    assert not torch.equal(trained("os"), trained("os"))


def test_load_ema_returns_the_bare_model_with_averaged_weights() -> None:
    trainer = toy_trainer(steps=2)
    trainer.run()
    model = trainer.load_ema()
    assert not model.training and set(model.state_dict()) == set(toy_model().state_dict())
    assert all(torch.equal(p, e) for p, e in zip(model.parameters(), trainer.ema, strict=True))
