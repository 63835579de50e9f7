"""Splitting a logical batch into physical ones changes neither draws, nor noise, nor steps."""

from __future__ import annotations

import pytest
import torch
from deep_toys import toy_trainer, weights


@pytest.mark.parametrize("physical", [1, 3, 40])
def test_c24_physical_batch_leaves_steps_and_seeded_weights_unchanged(physical: int) -> None:
    reference, other = toy_trainer(physical_batch=8), toy_trainer(physical_batch=physical)
    for trainer in (reference, other):
        trainer.run()
    assert reference.ledger == other.ledger
    assert reference.record.examples == other.record.examples
    torch.testing.assert_close(weights(other), weights(reference), rtol=1e-3, atol=1e-5)
