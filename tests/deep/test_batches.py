"""Which records a step sees, and how they reach the device: moved once, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from deep_toys import toy_records, toy_trainer, weights
from torch.overrides import TorchFunctionMode

from trajkit.deep import batches
from trajkit.deep.batches import ROWS, padded, placed, poisson_sample, taken
from trajkit.errors import ParameterError

ELSEWHERE = torch.device("meta")  # a device that every machine has beside the CPU


def test_poisson_sample_draws_each_record_at_the_rate_independently() -> None:
    g = torch.Generator().manual_seed(0)
    counts, sizes = torch.zeros(50), []
    for _ in range(4000):
        index = poisson_sample(50, 0.1, g)
        counts[index] += 1
        sizes.append(len(index))
    sizes_t = torch.tensor(sizes, dtype=torch.float64)
    assert float(counts.min()) > 300 and float(counts.max()) < 500  # 400 each, 5 standard deviations = 95
    assert float(sizes_t.mean()) == pytest.approx(5.0, abs=0.2)
    assert float(sizes_t.var()) == pytest.approx(4.5, abs=0.5)  # binomial: n q (1 - q); a fixed batch would have 0


def test_rate_1_draws_everybody() -> None:
    assert poisson_sample(7, 1.0, torch.Generator()).tolist() == list(range(7))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_physical_batches_are_filled_up_with_rows_that_do_not_count(n: int) -> None:
    rows, counts = padded(32, n)
    assert len(rows) % ROWS == 0 and len(rows) - n < ROWS
    assert rows[:n].tolist() == list(range(32, 32 + n)) and set(rows[n:].tolist()) <= {31 + n}
    assert counts.tolist() == [1.0] * n + [0.0] * (len(rows) - n)


def test_records_go_to_the_device_where_they_fit_and_stay_where_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    records = toy_records()
    monkeypatch.setattr(batches, "free_memory", lambda device: 2 * records.nbytes)
    assert placed(records, ELSEWHERE).device == ELSEWHERE
    monkeypatch.setattr(batches, "free_memory", lambda device: 2 * records.nbytes - 2)
    assert placed(records, ELSEWHERE) is records
    assert placed(records, ELSEWHERE, "device").device == ELSEWHERE
    assert placed(records, ELSEWHERE, "host") is records
    assert placed(records, torch.device("cpu"), "device") is records


def test_free_memory_of_the_host_is_what_the_system_says() -> None:
    assert 0 < batches.free_memory(torch.device("cpu")) < 2**50


@contextmanager
def _moves() -> Iterator[list[int]]:
    """Rows of every tensor that is sent to another device inside."""
    seen: list[int] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if getattr(func, "__name__", "") == "to" and out.device != args[0].device:
                seen.append(len(out))
            return out

    with Watch():
        yield seen


def test_a_batch_of_records_on_the_device_moves_nothing_and_one_on_the_host_moves_itself() -> None:
    records, index = toy_records(), torch.arange(0, 40, 8)
    with _moves() as moved:
        there = placed(records, ELSEWHERE)
    assert moved == [40]
    with _moves() as moved:
        chosen = taken(there, index, ELSEWHERE)
    assert chosen.device == ELSEWHERE and chosen.shape == (5, 2, 8) and moved == [5]  # the five row numbers alone
    with _moves() as moved:
        sent = taken(records, index, ELSEWHERE)
    assert sent.device == ELSEWHERE and moved == [5]
    torch.testing.assert_close(taken(records, index, torch.device("cpu")), records[index])


def test_where_records_stay_changes_no_weight() -> None:
    trained = {where: toy_trainer(records_on=where) for where in ("auto", "host", "device")}
    for trainer in trained.values():
        trainer.run()
    assert torch.equal(weights(trained["auto"]), weights(trained["host"]))
    assert torch.equal(weights(trained["auto"]), weights(trained["device"]))


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(ParameterError, match="records_on 'disk' is unknown: use one of auto, device, host"):
        toy_trainer(records_on="disk")
