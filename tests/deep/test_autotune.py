"""The physical batch that is found fastest changes no draw, and a resumed training keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from deep_toys import toy_model, toy_records, toy_trainer, weights

from trajkit.deep import autotune
from trajkit.deep import trainer as module
from trajkit.deep.autotune import MEMORY, fastest_physical_batch, peak_of, seconds_per_record
from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.engines import Whole, of_records
from trajkit.deep.meter import Meter


def test_sizes_that_the_records_cannot_fill_are_not_tried() -> None:
    objective = Denoising(alphas_bar("linear", 20), (2, 8), draws=1)
    engine = Whole(toy_model())
    before = [p.clone() for p in engine.parameters]
    found = seconds_per_record(engine, objective, toy_records(40), repeats=1)
    assert list(found) == [16, 32] and min(found.values()) > 0
    assert fastest_physical_batch(engine, objective, toy_records(5)) == 5
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(before, engine.parameters, strict=True))


def test_it_changes_neither_draws_nor_weights_beyond_their_last_digits() -> None:
    fixed, found = toy_trainer(physical_batch=8), toy_trainer(physical_batch=None)
    for trainer in (fixed, found):
        trainer.run()
    assert found.physical_batch in (16, 32) and fixed.record.examples == found.record.examples
    torch.testing.assert_close(weights(found), weights(fixed), rtol=1e-3, atol=1e-5)


def test_a_resumed_training_keeps_the_size_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.pt"
    monkeypatch.setattr(module, "fastest_physical_batch", lambda *_: 5)
    stopped = toy_trainer(physical_batch=None, checkpoint=path, checkpoint_every_s=0.0)

    def stop(step: int) -> None:
        if step == 3:
            raise KeyboardInterrupt

    stopped.after_step = stop
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    monkeypatch.setattr(module, "fastest_physical_batch", lambda *_: 7)
    resumed = toy_trainer(physical_batch=None, checkpoint=path)
    resumed.run()
    assert resumed.physical_batch == 5


def test_sizes_that_memory_cannot_hold_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    objective, engine = Denoising(alphas_bar("linear", 20), (2, 8), draws=1), Whole(toy_model())
    records = toy_records(300)
    with Meter() as meter:
        engine.summed(
            of_records(objective), {"record": records[:64], **objective.draw(64, torch.Generator())}, torch.ones(64)
        )
    monkeypatch.setattr(autotune, "free_memory", lambda device: int(meter.peak / MEMORY))
    assert list(seconds_per_record(engine, objective, records, repeats=1)) == [16, 32, 64]


def test_the_memory_of_a_larger_batch_is_on_the_line_through_the_last_two() -> None:
    assert peak_of(64, {16: 160}) == 640
    assert peak_of(64, {16: 160, 32: 200}) == pytest.approx(280)
    assert peak_of(32, {16: 160, 32: 200}) == 200
